"""Makes a region of steps of a module of StableHLO, with calls inlined and counted loops unrolled."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import LocationAttr, NameLoc, TensorType, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.element_types import numpy_dtype
from ...provenance.span import layer_location
from ...runtime.interpreting.flow import Region, Step
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing.constants import Constants
from ..importing.frames import frames_location, user_frames
from .bodies import described, name_of, recognised
from .loops import MOST_STEPS, counted
from .nodes import CUSTOM_CALL, Node, attributes_of
from .places import LayerNames, Origin, argument_name, origin_of
from .text import Program

Names: TypeAlias = "ChainMap[SSAValue, str]"
"""The names of the values that are visible to an op."""

RENAMING = "a value under another name"
"""The kind of step that gives an output its public name."""
EQUALS = "equal to a number"
"""The kind of step that compares the chooser with the number of a branch."""
IDENTITIES = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"})
"""Custom calls that return their operands."""
_SAME = frozenset({"optimization_barrier", "create_token", "after_all", "sdy.sharding_constraint"})
_DEEPEST = 50
"""The greatest number of calls and bodies around an op."""
_MOST = 1_000_000
"""The greatest number of steps of a program, which inlined calls multiply."""


@dataclass(frozen=True)
class Around:
    """The surroundings of a block: the region that its steps go to, and where it is called from."""

    region: Region
    origin: Origin = field(default_factory=Origin)
    path: tuple[int, ...] = ()
    """The numbers of the calls and bodies around the block."""


class Builder:
    """Makes the region of a program.

    params: the values of inputs that are the same in every call, by their names. operators: the supported ones.
    """

    def __init__(self, program: Program, params: Mapping[str, Array], operators: Container[str]):
        self.program, self.file, self.params, self.operators = program, program.file, params, operators
        self.functions: dict[str, func.FuncOp] = {}
        self.inputs: dict[str, TensorType[Attribute]] = {}
        self.outputs: dict[str, TensorType[Attribute]] = {}
        self.symbols: dict[tuple[str, int], str] = {}
        """Input and axis -> the program's name of an extent that calls decide."""
        self.constants = Constants()
        self._names = LayerNames()
        self._layers: dict[tuple[object, ...], str] = {}
        self._values = LayerNames()
        self._of_constants: dict[int, str] = {}
        self._count = 0

    def fail(self, where: str, expected: str, actual: str) -> FrontendError:
        return FrontendError(f"{self.file}: {where}: expected {expected}, got {actual}")

    def main(self) -> Region:
        """Return the region of the function `main`, or of the only public function."""
        for op in self.program.module.body.block.ops:
            if isinstance(op, func.FuncOp):
                self.functions[op.sym_name.data] = op
        public = [
            op for op in self.functions.values() if op.sym_visibility is None or op.sym_visibility.data != "private"
        ]
        main = self.functions.get("main") or (public[0] if len(public) == 1 else None)
        if main is None or not main.body.blocks:
            listed = ", ".join(self.functions) or "none"
            raise self.fail("module", "a function called main, or one public function", listed)
        region = Region((), (), [], self.constants)
        names: Names = ChainMap()
        self._enter(main, region, names)
        self._name_sizes(main, names)
        results = self._block(main.body.block, names, Around(region))
        self._leave(main, results, region)
        return region

    # Inputs and outputs.

    def _enter(self, main: func.FuncOp, region: Region, names: Names) -> None:
        input_names = LayerNames()
        keys: set[str] = set()
        callee_names = self._called_names(main)
        for index, argument in enumerate(main.body.block.args):
            text = _text_of(argument.location) or callee_names.get(argument, "")
            name = input_names.named(argument_name(text) if text else f"arg{index}")
            type_ = self._tensor(argument.type, f"input '{name}'")
            names[argument] = self._values.named(name)
            value = next((self.params[key] for key in (name, text) if key in self.params), None)
            if value is None:
                self.inputs[name] = type_
            else:
                keys |= {name, text}
                self.constants.sources[name] = self._given(name, type_, value)
        region.inputs = tuple(self.inputs)
        if unknown := [key for key in self.params if key not in keys]:
            inputs = ", ".join(names.values())
            raise self.fail("parameters", f"names among the inputs {inputs}", ", ".join(unknown[:5]))

    def _called_names(self, main: func.FuncOp) -> dict[SSAValue, str]:
        """Return the names that called functions have for main's arguments, unnamed in the wrapper that JAX exports."""
        names: dict[SSAValue, str] = {}
        for op in main.body.block.ops:
            callee = self.functions.get(op.callee.string_value()) if isinstance(op, func.CallOp) else None
            if callee is not None and callee.body.blocks:
                for value, argument in zip(op.operands, callee.body.block.args, strict=False):
                    names.setdefault(value, _text_of(argument.location))
        return names

    def _given(self, name: str, type_: TensorType[Attribute], array: Array) -> Callable[[], Array]:
        dtype, shape = numpy_dtype(type_.element_type), type_.get_shape()
        if array.dtype != dtype or array.shape != shape:
            actual = f"{array.dtype}{list(array.shape)}"
            raise self.fail(f"parameter '{name}'", f"{dtype}{list(shape)}", actual)
        return lambda: array

    def _tensor(self, type_: Attribute, where: str) -> TensorType[Attribute]:
        if not isinstance(type_, TensorType):
            raise self.fail(where, "a tensor", str(type_))
        return cast("TensorType[Attribute]", type_)

    def _name_sizes(self, main: func.FuncOp, names: Names) -> None:
        """Record the names of extents: JAX passes a named extent to a function whose argument has that name."""
        for op in main.body.block.ops:
            callee = self.functions.get(op.callee.string_value()) if isinstance(op, func.CallOp) else None
            if callee is None or callee.arg_attrs is None:
                continue
            for value, extra in zip(op.operands, callee.arg_attrs.data, strict=False):
                name = getattr(extra.data.get("jax.global_constant"), "data", None)
                size = value.owner
                if name and isinstance(size, Operation) and name_of(size) == "get_dimension_size":
                    axis = attributes_of(size).get("dimension", 0)
                    self.symbols[names.get(size.operands[0], ""), axis] = str(name)

    def _leave(self, main: func.FuncOp, results: list[str], region: Region) -> None:
        labels = LayerNames()
        outputs: list[str] = []
        extras = main.res_attrs.data if main.res_attrs is not None else ()
        computed = {output for step in region.steps for output in step.outputs}
        renamed: dict[str, str] = {}
        for index, value in enumerate(results):
            info = extras[index].data.get("jax.result_info") if index < len(extras) else None
            name = labels.named(_output_name(getattr(info, "data", ""), index))
            type_ = self._tensor(main.function_type.outputs.data[index], f"output '{name}'")
            value_name = self._values.named(name)
            if value in computed and value not in renamed:
                renamed[value] = value_name
            else:
                leaf = layer_location(value_name, self.file, 0)
                node = Node(op_type=RENAMING, leaf=leaf, layer=value_name, index=0, results=(type_,))
                region.steps.append(Step((value,), (value_name,), value_name, "", source=node, renames=True))
            self.outputs[value_name] = type_
            outputs.append(value_name)
        _rename(region, renamed)
        region.outputs = tuple(outputs)

    # Blocks.

    def _block(self, block: Block, names: Names, around: Around) -> list[str]:
        """Add the steps of a block; return the names of its results."""
        if len(around.path) > _DEEPEST:
            raise self.fail(
                "module", f"at most {_DEEPEST} calls in each other", "more, or functions that call themselves"
            )
        before: tuple[object, str] = (None, "")
        for index, op in enumerate(block.ops):
            self._count += 1
            if self._count > _MOST:
                raise self.fail("module", f"at most {_MOST} steps", "functions that are called more often")
            kind = name_of(op)
            if kind == "return":
                return [self._read(value, names) for value in op.operands]
            if kind == "constant":
                names[op.results[0]] = self._constant(op)
                continue
            layer, origin = self._layer(op, index, around, before)
            before = (op.location, layer)
            self._op(op, kind, names, around, layer, origin, index)
        raise self.fail("module", "blocks that return", "one without a terminator")

    def _layer(self, op: Operation, index: int, around: Around, before: tuple[object, str]) -> tuple[str, Origin]:
        """Return the name of an op's layer: adjacent ops of one location are one layer."""
        op_origin = origin_of(op.location, nested=name_of(op) == "call" and bool(around.path))
        origin = op_origin.inside(around.origin)
        if before[0] == op.location and not isinstance(op.location, UnknownLoc):
            return before[1], origin
        key = (around.path, id(op.parent), index)
        if key not in self._layers:
            path = origin.path if op_origin.path else (*origin.path, name_of(op))
            self._layers[key] = self._names.named("/".join(path))
        return self._layers[key], origin

    def _read(self, value: SSAValue, names: Names) -> str:
        if value not in names:
            raise self.fail("module", "values that an op before makes", "one of another function")
        return names[value]

    def _constant(self, op: Operation) -> str:
        name = self._of_constants.get(id(op))
        if name is None:
            name = self._of_constants[id(op)] = self._values.named("constant")
            value = op.properties.get("value") or op.attributes.get("value")
            if value is None:
                raise self.fail("constant", "a value", "none")
            attribute = value
            self.constants.sources[name] = lambda: self.program.array(attribute)
        return name

    def _node(self, op: Operation, kind: str, layer: str, origin: Origin, attributes: Mapping[str, Any]) -> Node:
        frames = user_frames(origin.frames)
        leaf = frames_location(layer, frames) if frames else layer_location(layer, self.file, 0)
        types = tuple(
            cast("TensorType[Attribute]", result.type) for result in op.results if isinstance(result.type, TensorType)
        )
        return Node(
            op_type=kind,
            leaf=leaf,
            layer=layer,
            index=frames[0].line if frames else 0,
            frames=frames,
            module="/".join(origin.path[:-1]),
            attributes=attributes,
            body=recognised(op),
            body_text=described(op.regions[0]) if op.regions else "",
            results=types if len(types) == len(op.results) else (),
        )

    def _op(
        self, op: Operation, kind: str, names: Names, around: Around, layer: str, origin: Origin, index: int
    ) -> None:
        attributes = attributes_of(op)
        match kind:
            case "composite" if operator := self._composed(attributes):
                stated = attributes.get("composite_attributes", {})
                self._step(op, operator, names, around, self._node(op, operator, layer, origin, stated))
            case "call" | "composite":
                callee = str(attributes.get("callee" if kind == "call" else "decomposition", ""))
                self._call(op, callee, names, around, origin, index)
            case "while":
                self._while(op, names, around, layer, origin, index)
            case "case" | "if":
                self._choice(op, kind, names, around, layer, origin, index)
            case "custom_call" if attributes.get("call_target_name") == "shape_assertion":
                self._assertion(op, names, around, layer, origin)
            case _ if kind in _SAME or (kind == "custom_call" and attributes.get("call_target_name") in IDENTITIES):
                for result, operand in zip(op.results, op.operands, strict=False):
                    names[result] = self._read(operand, names)
            case _:
                if kind == "custom_call":
                    kind = f"{CUSTOM_CALL}{attributes.get('call_target_name', '')}"
                self._step(op, kind, names, around, self._node(op, kind, layer, origin, attributes))

    def _composed(self, attributes: Mapping[str, Any]) -> str:
        """Return the operator of CHLO that JAX exported as a composite; empty for a composite to be decomposed."""
        dialect, _, operator = str(attributes.get("name", "")).partition(".")
        return operator if dialect == "chlo" and operator in self.operators else ""

    def _step(self, op: Operation, kind: str, names: Names, around: Around, node: Node, **more: Any) -> None:
        inputs = tuple(self._read(value, names) for value in op.operands)
        outputs = self._results(op, names, node.layer)
        around.region.steps.append(Step(inputs, outputs, node.layer, "", source=node))

    def _results(self, op: Operation, names: Names, layer: str) -> tuple[str, ...]:
        outputs: list[str] = []
        for result in op.results:
            outputs.append(names.setdefault(result, self._values.named(layer.rpartition("/")[2] or "value")))
        return tuple(outputs)

    def _call(self, op: Operation, callee: str, names: Names, around: Around, origin: Origin, index: int) -> None:
        target = self.functions.get(callee)
        if target is None or not target.body.blocks:
            raise self.fail("call", "a function of the module", f"'{callee}'")
        arguments = target.body.block.args
        if len(arguments) != len(op.operands):
            raise self.fail(f"call of '{callee}'", f"{len(arguments)} values", str(len(op.operands)))
        inner_names: Names = ChainMap({a: self._read(v, names) for a, v in zip(arguments, op.operands, strict=True)})
        inner = Around(around.region, origin, (*around.path, id(op.parent), index))
        self._bind(op, self._block(target.body.block, inner_names, inner), names, f"call of '{callee}'")

    def _bind(self, op: Operation, results: list[str], names: Names, where: str) -> None:
        if len(results) != len(op.results):
            raise self.fail(where, f"{len(op.results)} results", str(len(results)))
        names |= zip(op.results, results, strict=True)

    # Control flow.

    def _number(self, value: SSAValue, names: Names) -> int | None:
        """Return the integer that a value is known to be, else None."""
        name = names.get(value, "")
        array = self.constants[name] if name in self.constants else None
        return int(array.item()) if array is not None and array.size == 1 and array.dtype.kind in "iu" else None

    def _while(self, op: Operation, names: Names, around: Around, layer: str, origin: Origin, index: int) -> None:
        cond, body = (region.block for region in op.regions)
        if len(cond.args) != len(op.operands) or len(body.args) != len(op.operands):
            raise self.fail(f"while (layer '{layer}')", f"bodies of {len(op.operands)} values", "others")
        outer = Origin(origin.path[:-1] if origin.path[-1:] == ("while",) else origin.path, origin.frames)
        inside = Around(around.region, Origin((), outer.frames), (*around.path, id(op.parent), index))
        carried = [self._read(value, names) for value in op.operands]
        count = counted(op, lambda value: self._number(value, names))
        if count is not None and count * sum(1 for _ in body.walk()) <= MOST_STEPS:
            for _ in range(count):
                carried = self._block(body, names.new_child(dict(zip(body.args, carried, strict=True))), inside)
            self._bind(op, carried, names, "while")
            return
        node = self._node(op, "while", layer, origin, {})
        bodies: dict[str, Region] = {}
        for role, block in (("cond", cond), ("body", body)):
            arguments = tuple(self._values.named(f"{role}_{at}") for at in range(len(block.args)))
            region = Region(arguments, (), [], Constants(), around.region)
            inner_names = names.new_child(dict(zip(block.args, arguments, strict=True)))
            results = self._block(block, inner_names, Around(region, inside.origin, (*inside.path, len(bodies))))
            region.outputs = tuple(results)
            bodies[role] = region
        outputs = self._results(op, names, layer)
        around.region.steps.append(Step(tuple(carried), outputs, layer, "While", bodies, {}, node))

    def _choice(
        self, op: Operation, kind: str, names: Names, around: Around, layer: str, origin: Origin, index: int
    ) -> None:
        blocks = [region.block for region in op.regions]
        if not blocks:
            raise self.fail(f"case (layer '{layer}')", "branches", "none")
        chooser = op.operands[0]
        node = self._node(op, kind, layer, origin, {})
        at = (*around.path, id(op.parent), index)
        if len(blocks) == 1:
            results = self._block(blocks[0], names.new_child(), Around(around.region, Origin((), origin.frames), at))
            self._bind(op, results, names, "case")
            return
        condition, blocks = self._condition(chooser, blocks, kind, names)
        outputs = self._results(op, names, layer)
        self._branches(
            blocks,
            condition,
            self._read(chooser, names),
            outputs,
            names,
            Around(around.region, Origin((), origin.frames), at),
            node,
        )

    def _condition(
        self, chooser: SSAValue, blocks: list[Block], kind: str, names: Names
    ) -> tuple[str | None, list[Block]]:
        """Return the boolean that chooses between two branches, if any, and the branches, that for true first."""
        if kind == "if":
            return self._read(chooser, names), blocks
        producer = chooser.owner
        if len(blocks) == 2 and isinstance(producer, Operation) and name_of(producer) == "convert":
            source = producer.operands[0]
            if str(getattr(source.type, "element_type", "")) == "i1":
                return self._read(source, names), blocks[::-1]
        return None, blocks

    def _branches(
        self,
        blocks: list[Block],
        condition: str | None,
        chooser: str,
        outputs: tuple[str, ...],
        names: Names,
        around: Around,
        node: Node,
        at: int = 0,
    ) -> None:
        """Add an If between the first block and the others."""
        if condition is None:
            condition = self._values.named("is_branch")
            equal = Node(op_type=EQUALS, leaf=node.leaf, layer=node.layer, index=node.index, attributes={"number": at})
            around.region.steps.append(Step((chooser,), (condition,), node.layer, "", source=equal))
        bodies: dict[str, Region] = {}
        for role, chosen in (("then_branch", blocks[:1]), ("else_branch", blocks[1:])):
            region = Region((), (), [], Constants(), around.region)
            inner = Around(region, around.origin, (*around.path, at, len(bodies)))
            if len(chosen) == 1:
                region.outputs = tuple(self._block(chosen[0], names.new_child(), inner))
            else:
                region.outputs = tuple(self._values.named("branch") for _ in outputs)
                self._branches(chosen, None, chooser, region.outputs, names=names, around=inner, node=node, at=at + 1)
            if len(region.outputs) != len(outputs):
                raise self.fail(
                    f"{node.op_type} (layer '{node.layer}')", f"{len(outputs)} results", str(len(region.outputs))
                )
            bodies[role] = region
        around.region.steps.append(Step((condition,), outputs, node.layer, "If", bodies, {}, node))

    def _assertion(self, op: Operation, names: Names, around: Around, layer: str, origin: Origin) -> None:
        """Add a comparison of two sizes, which JAX asserts, to be checked in every call."""
        comparison = op.operands[0].owner if op.operands else None
        if not isinstance(comparison, Operation) or name_of(comparison) != "compare":
            raise self.fail(f"shape_assertion (layer '{layer}')", "a comparison of sizes", "another value")
        node = self._node(op, "shape_assertion", layer, origin, attributes_of(comparison))
        inputs = tuple(self._read(value, names) for value in comparison.operands)
        around.region.steps.append(Step(inputs, (), layer, "", source=node))


def _text_of(location: LocationAttr) -> str:
    """Return the name in a location; empty where there is none."""
    return location.desc.data if isinstance(location, NameLoc) else ""


def _rename(region: Region, names: Mapping[str, str]) -> None:
    """Rename values of a region."""
    waiting = [region]
    while waiting:
        current = waiting.pop()
        current.outputs = tuple(names.get(name, name) for name in current.outputs)
        for step in current.steps:
            step.inputs = tuple(names.get(name, name) for name in step.inputs)
            step.outputs = tuple(names.get(name, name) for name in step.outputs)
            waiting += step.bodies.values()


def _output_name(info: str, index: int) -> str:
    """Return the name of an output: its path in the function's result."""
    if not info:
        return f"output_{index}"
    head, _, path = argument_name(info).partition(".")
    return path if path[:1].isalpha() else f"{head}_{path.replace('.', '_')}" if path else head

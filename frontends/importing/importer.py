"""The steps of a region -> ops: the importer names tensors, converts step by step, and accounts for folded nodes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp, NameLoc, StringAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.index_bounds import IndexBound, set_index_bounds
from ...dialects.relay.size_ranges import Required, set_required
from ...dialects.sizes import Size, UndecidedSize
from ...provenance.audit import surviving_leaves
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import describe, message
from ...provenance.ledger import LayerFacts, current_ledger
from ...provenance.span import fuse, layer_location, value_location
from ...runtime.interpreting.flow import Argument, Region, Step
from ...runtime.interpreting.interpreter import Demand
from ...runtime.program.external import FALLBACK
from ...support.context import spans_enabled
from ...support.errors import FrontendError
from .account import note_evaluated, note_values
from .branches import joined
from .context import Context
from .converter import Converter, Narrowed, Result
from .model import Model
from .names import value_name
from .node import node_of
from .python_calls import LibraryCall, python_call
from .results import Results, Stated, check_results
from .rows import declaration_of, names_of
from .tensor import Tensor, Undecided

MOST_SPLICED = 1 << 16
"""The maximal number of steps of a model's functions, each counted at every call."""


class Importer:
    """The state of one import."""

    def __init__(self, source: Model, region: Region):
        self.source = source
        self.spans = spans_enabled()
        self.positions: dict[tuple[str, int], Attribute] = {}
        """The positions of the layers that inputs and constants are named after, by name and number."""
        self.module = ModuleOp([])
        self.main = FuncOp("main", [], [], location=self.leaf(source.name or "main", 0))
        self.module.body.block.add_op(self.main)
        self.builder = LocatedBuilder(self.main.block)
        self.tensors: dict[str, Tensor] = {}
        self.constants: dict[tuple[int, str], dict[tuple[str, int], Tensor]] = {}
        """The constants by identity of their region and name, then by place."""
        self.arguments: list[Argument] = []
        self.bound: list[str] = []
        """The names of the results of steps."""
        self.converted: list[Step] = []
        self.facts: dict[LocationAttr, LayerFacts] = {}
        """Converted node -> the facts that the model states of it."""
        self.required: list[Required] = []
        """Expressions that sizes must not make negative."""
        self.index_bounds: list[IndexBound] = []
        """The bounds of inputs that are indices."""
        self.reads: list[tuple[Tensor, LocationAttr]] = []
        """The known tensors whose values were read, and the layers that read them."""
        self.region = region
        self.cut: Undecided | None = None
        """The reason why the conversion ended before the last step."""
        self._users: dict[int, dict[str, Step]] = {}
        self._makers: dict[int, dict[str, Step]] = {}
        self._spliced = 0
        """The number of steps of functions that have replaced calls so far."""

    # Names and places.

    def leaf(self, name: str, index: int) -> LocationAttr:
        if not self.spans:
            return UNKNOWN_LOC
        if (position := self.positions.get((name, index))) is not None:
            return NameLoc(StringAttr(name), position)
        return layer_location(name, self.source.file, index)

    def value_leaf(self, name: str, region: Region | None) -> LocationAttr:
        """Return the leaf of an outside value: its layer, or for an input `<layer>.<tensor>` of its first reader."""
        while region is not None:
            makers = self._makers.get(id(region))
            if makers is None:
                makers = {output: step for step in region.steps for output in step.outputs}
                self._makers[id(region)] = makers
            if name in makers:
                node = node_of(makers[name])
                return node.leaf if self.spans else UNKNOWN_LOC
            if name in region.inputs or name in region.constants:
                return self.leaf(*self.place(name, region))
            region = region.parent
        return self.leaf(name, 0)

    def place(self, name: str, region: Region, reader: Step | None = None) -> tuple[str, int]:
        """Return the layer of an input or constant for a reader, by default the first, and the number of that node."""
        label, first = self.source.format.label, self.users(region).get(name)
        layer, index = self.source.homes.get(name, (name, 0))
        reader = first if label is None else reader or first
        if reader is None:
            return layer, index
        node = node_of(reader)
        if label is not None:
            layer = label(self.source, name, node)
        if isinstance(node.leaf, NameLoc):
            self.positions[layer, node.index] = node.leaf.location
        return layer, node.index

    def context(self, step: Step, inputs: Sequence[Tensor | None]) -> Context:
        """Return the context for the converter of a step."""
        node = node_of(step)
        return self.source.format.context(
            op_type=node.op_type,
            leaf=node.leaf,
            inputs=inputs,
            builder=self.builder,
            module=self.module,
            **self.source.format.fields(self.source, node),
        )

    def inputs(self, step: Step, region: Region) -> list[Tensor | None]:
        """Return the inputs of a step up to the last one that is present."""
        inputs = [self.lookup(name, region, step) if name else None for name in step.inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        return inputs

    def splice(self, region: Region, at: int) -> bool:
        """Replace a step that calls a function by the body of the function; return False if it calls none."""
        step, form = region.steps[at], self.source.format
        if form.expansion is None or step.kind or form.converter(self.source, node_of(step)) is not None:
            return False
        if self.source.custom_ops.has(*form.operator_names(node_of(step))):
            return False
        steps = form.expansion(self.source, step, self.context(step, self.inputs(step, region)), region)
        if steps is None:
            return False
        self._spliced += len(steps)
        if self._spliced > MOST_SPLICED:
            # In a chain of functions that each call the one before twice, every line doubles the number of nodes.
            node, allowed = node_of(step), f"functions that come to at most {MOST_SPLICED} nodes"
            raise FrontendError(message(node.op_type, allowed, "a call that makes it more", node.leaf))
        region.splice(at, steps)
        self.forget(region)
        return True

    def users(self, region: Region) -> Mapping[str, Step]:
        """Return value -> the first step of a region that reads it."""
        users = self._users.get(id(region))
        if users is None:
            users = dict[str, Step]()
            for step in region.steps:
                for read in step.reads():
                    users.setdefault(read, step)
            self._users[id(region)] = users
        return users

    def forget(self, region: Region) -> None:
        """Forget facts about a region, because its steps have changed."""
        self._makers.pop(id(region), None)
        self._users.pop(id(region), None)

    def lookup(self, name: str, region: Region | None, reader: Step | None) -> Tensor:
        """Return the tensor with a name; initializers are decoded on first use."""
        if (tensor := self.tensors.get(name)) is not None:
            return tensor
        while region is not None and name not in region.constants:
            region = region.parent
        if region is None:
            where = f"{node_of(reader).op_type} ({describe(node_of(reader).leaf)})" if reader else self.source.file
            raise FrontendError(f"{where}: expected outputs that exist at inference, got '{name}'")
        # Each layer has its own names for the constants that it reads, so that passes do not attribute them to others.
        place = self.place(name, region, reader)
        shared = self.constants.setdefault((id(region), name), {})
        if place not in shared:
            shared[place] = Tensor(name, region.constants[name], leaf=self.leaf(*place))
            if (ledger := current_ledger()) is not None:
                ledger.alias(name, shared[place].leaf)
        return shared[place]

    def argument(self, name: str, type_: TensorType[Attribute], argument: Argument) -> Tensor:
        """Add an argument of `@main` for a value that is computed elsewhere."""
        value = self.main.block.insert_arg(type_, len(self.main.block.args))
        value.location = self.value_leaf(name, self.region)
        value.name_hint = value_name(name)
        self.arguments.append(argument)
        return Tensor(name, value=value, leaf=value.location)

    # Steps.

    def convert_steps(self, region: Region, at: int = 0, *, cut: bool = False) -> Step | None:
        """Convert the steps of a region from `at` on.

        cut: at a step that values decide, stop, and return the step to continue with; otherwise raise Undecided.
        """
        first = region.steps[at] if region.steps else None
        while at < len(region.steps):
            step = region.steps[at]
            if self.splice(region, at):
                first = region.steps[at] if step is first else first
                continue
            mark = self.mark()
            try:
                narrowed = self.convert(step, region)
            except Undecided as undecided:
                if not cut:
                    raise
                self.cut = undecided
                self.roll_back(*mark)
                if step is first and not step.kind and undecided.tensor is not None:
                    value = undecided.tensor.value
                    if not isinstance(value, BlockArgument):
                        raise
                    raise Demand(self.arguments[value.index].name) from undecided
                return step
            at += 1
            if narrowed:
                if not cut:
                    raise Undecided(message(step.layer, "shapes known at import", "one that values decide"), None)
                return region.steps[at] if at < len(region.steps) else None
        return None

    def mark(self) -> tuple[Operation | None, int, int, int]:
        """Return the state of the conversion, for `roll_back`."""
        return self.main.block.last_op, len(self.converted), len(self.reads), len(self.bound)

    def roll_back(self, last: Operation | None, converted: int, reads: int, bound: int) -> None:
        """Undo all conversions after a mark. Constants stay, because tensors refer to them."""
        op = self.main.block.last_op
        while op is not None and op is not last:
            before = op.prev_op
            if not isinstance(op, ConstantOp | SizesOp):
                if isinstance(op, CallOp):
                    self.module.body.block.erase_op(op.function)
                op.detach()
                op.erase()
            op = before
        del self.converted[converted:], self.reads[reads:], self.bound[bound:]

    def convert(self, step: Step, region: Region) -> bool:
        """Emit or evaluate a step and bind its outputs; return whether values decide the shape of one."""
        if step.kind:
            return self.choose(step, region)
        node = node_of(step)
        location = node.leaf if self.spans else UNKNOWN_LOC
        context = self.context(step, self.inputs(step, region))
        try:
            with self.builder.located(location), np.errstate(over="ignore", divide="raise", invalid="raise"):
                results = self.converted_by(step, context)
        except UndecidedSize as error:
            layer = location if error.needed else None
            raise Undecided(f"{error} ({describe(node.leaf)})", None, error.equal, layer) from error
        except VerifyException as error:
            raise FrontendError(f"{error} ({describe(node.leaf)})") from error
        except (ValueError, IndexError, ArithmeticError, struct.error) as error:
            raise FrontendError(message(node.op_type, "inputs that can be evaluated", str(error), node.leaf)) from error
        self.converted.append(step)
        if self.spans:
            self.facts[node.leaf] = context.facts(step.outputs, names_of(self.source.format.named(node)))
        self.required += [(size, location) for size in context.required]
        self.index_bounds += [bound._replace(location=location) for bound in context.bounds]
        # A node may name fewer outputs than there are, or more than exist at inference.
        outputs = results if isinstance(results, tuple) else (results,)
        for name, result in zip(step.outputs, outputs, strict=False):
            if name:
                self.bind(name, result, location, context.read)
        return any(isinstance(result, Narrowed) for result in outputs)

    def converted_by(self, step: Step, context: Context) -> Results:
        """Return the results of a step, from the user's function, if there is one, or from its converter."""
        form, node = self.source.format, node_of(step)
        stated = form.stated(self.source, step, context, self.tensors)
        if (custom := self.source.custom_ops.find(form.operator_names(node))) is not None:
            call = form.python_call(step, context, stated)
            return python_call(context, custom, call.completed(custom.function, self._defaults(context, node)))
        check = None if form.check_types is None else form.check_types(context)
        results = self._computed(step, context, form.converter(self.source, node), stated)
        if check is not None:
            check(results)
        return results

    def _defaults(self, context: Context, node: Any) -> Mapping[str, Any]:
        """The attributes that a node leaves out, where the row of its operator says what they are then."""
        declaration = declaration_of(self.source.format.converter(self.source, node))
        return {} if declaration is None else declaration.defaults(context)

    def _computed(
        self, step: Step, context: Context, converter: Converter[Any] | None, stated: Sequence[Stated]
    ) -> Results:
        """Return the results of a step from its converter, or from the fallback library, as a kernel of its own."""
        fallback = self.source.custom_ops.fallback
        mark = self.mark()
        if converter is not None:
            try:
                results = self.source.format.folded(context, converter.convert) or converter.convert(context)
                context.refuse_unread(converter.unread)
                check_results(context, results, stated, self.source.format.states_shapes)
                return results
            except (FrontendError, VerifyException) as error:
                if fallback is None or isinstance(error, Undecided):
                    raise
                self.roll_back(*mark)
                del context.required[:], context.bounds[:], context.read[:]
        form, node = self.source.format, node_of(step)
        assert fallback is not None
        assert form.library_call is not None
        call = form.python_call(step, context, stated)
        computed = form.library_call(step, context, fallback.library, call)
        fallback.layers[node.layer] = node.op_type
        if not isinstance(computed, LibraryCall):
            return computed
        return python_call(context, computed.custom, computed.call, f"{fallback.library} {FALLBACK}")

    def choose(self, step: Step, region: Region) -> bool:
        """Convert an If whose condition is known as its branch, and other control flow by the model's `control`."""
        node = node_of(step)
        known = step.kind == "If" and self.lookup(step.inputs[0], region, step).array is not None
        if self.source.control is not None and not known:
            self.source.control(self, step, region)
            return False
        if step.kind != "If":
            actual = "one on texts or maps" if step.attributes.get("hosted") else "a loop"
            raise Undecided(message(node.op_type, "steps that shapes decide", actual, node.leaf), None)
        condition = self.lookup(step.inputs[0], region, step)
        if condition.array is None:
            actual = f"'{condition.name}', which is computed at run time"
            raise Undecided(message("If", "a condition known at import", actual, node.leaf), condition)
        self.converted.append(step)
        self.reads.append((condition, node.leaf))
        if condition.symbolic:
            self.choose_at_call(step, region, condition, condition.array.reshape(-1)[0])
            return False
        branch = step.bodies["then_branch" if condition.array.reshape(()).item() else "else_branch"]
        for inner, outer in zip(branch.inputs, step.inputs[1:], strict=False):
            self.tensors[inner] = self.lookup(outer, region, step)
        self.convert_steps(branch)
        for name, inner in zip(step.outputs, branch.outputs, strict=True):
            if name:
                self.tensors[name] = self.lookup(inner, branch, step)
                self.bound.append(name)
        return False

    def choose_at_call(self, step: Step, region: Region, condition: Tensor, chosen: Size) -> None:
        """Convert an If whose condition depends on sizes of the call: both branches are computed, one is selected."""
        node = node_of(step)
        outputs: list[list[Tensor]] = []
        for name in ("then_branch", "else_branch"):
            bound, required, branch = len(self.bound), len(self.required), step.bodies[name]
            bounds = len(self.index_bounds)
            for inner, outer in zip(branch.inputs, step.inputs[1:], strict=False):
                self.tensors[inner] = self.lookup(outer, region, step)
            try:
                self.convert_steps(branch)
            except Undecided as undecided:
                # The needs of one branch are no bounds of the whole program.
                raise Undecided(str(undecided), undecided.tensor, (chosen, 1)) from undecided
            del self.index_bounds[bounds:]  # a branch that is not taken may have any indices
            if len(self.required) > required:
                actual = f"one for {self.required[-1][0]} of at least 0"
                raise Undecided(message(step.kind, "branches for all sizes", actual, node.leaf), None, (chosen, 1))
            outputs.append([self.lookup(inner, branch, step) for inner in branch.outputs])
            for inner in self.bound[bound:]:
                self.tensors.pop(inner, None)
            del self.bound[bound:]
        context = self.context(step, [condition])
        with self.builder.located(node.leaf if self.spans else UNKNOWN_LOC):
            for name, then, otherwise in zip(step.outputs, *outputs, strict=True):
                if name:
                    output = joined(context, chosen, then, otherwise)
                    self.bind(name, output, self.builder.location, context.read)
            self.required += [(size, self.builder.location) for size in context.required]

    def bind(self, name: str, result: Result, location: LocationAttr, read: list[Tensor]) -> None:
        """Record an output under a name, and the layer that read the known values that went into it."""
        self.bound.append(name)
        match result:
            case Tensor():
                self.tensors[name] = result
                return
            case Narrowed():
                self.tensors[name] = Tensor(
                    name, value=result.value, leaf=location, narrowed=(result.count, result.axis)
                )
                value = result.value
            case SSAValue():
                self.tensors[name] = Tensor(name, value=result, leaf=location)
                value = result
            case _:
                self.tensors[name] = Tensor(name, result, leaf=location, made_of=tuple(read))
                return
        self.reads.extend((tensor, location) for tensor in read)
        if value.name_hint is None:
            value.name_hint = value_name(name)

    # The end.

    def finish(self, values: Sequence[SSAValue]) -> ModuleOp:
        """Return the finished module, which returns `values`."""
        with self.builder.located(fuse(map(value_location, values)) if values else self.main.location):
            self.builder.add(ReturnOp(*values))
        set_required(self.main, self.required)
        set_index_bounds(self.main, self.index_bounds)
        self.main.update_type()
        if self.spans and (ledger := current_ledger()) is not None:
            nodes = [node_of(step) for step in self.converted]
            ledger.op_types |= {node.leaf: node.op_type for node in nodes}
            ledger.facts |= {node.leaf: self.facts[node.leaf] for node in nodes if node.leaf in self.facts}
            ledger.modules |= {node.leaf: node.module for node in nodes if node.module}
            ledger.code |= {(at.file, at.line): at.code for node in nodes for at in node.frames if at.code}
            note_values(ledger, [(node_of(step), step.outputs) for step in self.converted], self.tensors)
            note_evaluated(ledger, nodes, self.reads, surviving_leaves(self.main), self.source.format.name)
        self.source.format.finish(self.module)
        return self.module

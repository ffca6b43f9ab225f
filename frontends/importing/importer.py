"""The steps of a model -> module: names the tensors, converts step by step, accounts for what vanished."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp, NameLoc, StringAttr, TensorType, i8
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import tensor_type
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.index_bounds import IndexBound, set_index_bounds
from ...dialects.relay.size_ranges import Required, main_of, set_required
from ...dialects.sizes import Ranges, Size, UndecidedSize, known_ranges
from ...dialects.sizes.types import tensor_of
from ...provenance.audit import surviving_leaves
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import describe, message
from ...provenance.ledger import current_ledger
from ...provenance.span import fuse, layer_location, value_location
from ...runtime.external import FALLBACK
from ...runtime.flow import Argument, Items, Known, Output, Region, Step, Value
from ...runtime.flow import Source as Left
from ...runtime.flow import tensor as array_of
from ...runtime.interpreter import Demand
from ...runtime.shape_patterns import places_of_sizes
from ...support.context import spans_enabled
from ...support.dtypes import Array
from ...support.errors import FrontendError
from .account import note_evaluated, note_values
from .branches import joined
from .context import Context
from .converter import Converter, Narrowed, Result
from .custom import CustomOp, Fallback
from .decisions import Decision
from .fold import folded
from .model import Model as Model
from .names import strings, value_name
from .narrowed_sizes import Taken
from .node import Node, node_of
from .python_calls import LibraryCall, PythonCall, Stated, python_call
from .sizes import open_places
from .tensor import Tensor, Undecided


def import_model(source: Model, shapes: Mapping[str, Sequence[int]]) -> ModuleOp:
    """The relay module of a loaded model; `shapes` are those of inputs that the model leaves open.

    Raises Undecided when only values decide what is computed.
    """
    return _imported(source, source.input_types(shapes))


def import_symbolic(source: Model, shapes: Mapping[str, Sequence[Size]], ranges: Ranges) -> ModuleOp:
    """As `import_model`, with symbolic sizes where inputs are open; `ranges` are those of symbols.

    `@main` keeps the ranges in its attribute `sizes`. A model that makes sense for some values of a symbol only, as one
    does with a table of positions that ends, adds that to them; of two that have to be equal, one is left. Raises
    Undecided when not all sizes follow from the inputs', or operators do not take them; FrontendError for `shapes` that
    contradict the model.
    """
    taken = Taken(source.symbolic_types(shapes), {**source.ranges, **ranges})
    while True:
        try:
            with known_ranges(taken.ranges):
                module = _imported(source, taken.types)
        except Undecided as undecided:
            if (fewer := taken.narrowed(undecided)) is None:
                raise
            taken = fewer
        except FrontendError as error:
            # For the sizes of some calls it may be a model nevertheless.
            raise Undecided(str(error), None) from error
        else:
            taken.note(main_of(module))
            return module


def _imported(source: Model, types: Mapping[str, TensorType[Attribute]]) -> ModuleOp:
    importer: Importer = source.importer(source.region)
    for name, type_ in types.items():
        importer.tensors[name] = importer.argument(name, type_, Argument(name))
    importer.main.attributes["input_names"] = strings(types)
    importer.convert_steps(source.region)
    outputs = source.region.outputs
    tensors = [importer.lookup(name, source.region, None) for name in outputs]
    for tensor in tensors:
        if tensor.narrowed is not None or not tensor.plain:
            raise Undecided(message("output", "a tensor whose shape is known at import", tensor.name), tensor)
    importer.main.attributes["output_names"] = strings(outputs)
    return importer.finish([tensor.materialise(importer.builder, importer.module) for tensor in tensors])


class Importer(ABC):
    """The state of one import. A frontend says what a node is."""

    def __init__(self, source: Model, region: Region):
        self.source = source
        self.spans = spans_enabled()
        self.positions: dict[tuple[str, int], Attribute] = {}
        """Of inputs and constants the position of the layer that they are called after, by name and number."""
        self.module = ModuleOp([])
        self.main = FuncOp("main", [], [], location=self.leaf(source.name or "main", 0))
        self.module.body.block.add_op(self.main)
        self.builder = LocatedBuilder(self.main.block)
        self.tensors: dict[str, Tensor] = {}
        self.constants: dict[tuple[int, str], dict[tuple[str, int], Tensor]] = {}
        """By the identity of the region that has them, then by their places."""
        self.arguments: list[Argument] = []
        self.bound: list[str] = []
        """Names of values that steps made."""
        self.converted: list[Step] = []
        self.required: list[Required] = []
        """Expressions that sizes must not make negative."""
        self.index_bounds: list[IndexBound] = []
        """The bounds of inputs that are indices."""
        self.reads: list[tuple[Tensor, LocationAttr]] = []
        """Known tensors whose values were looked at, and the layers that did."""
        self.region = region
        self.sizes: Iterator[Size] | None = None
        """Those of the values that the interpreter has, in order, where they are not the values' own."""
        self.cut: Undecided | None = None
        """Why the conversion ended before its last step."""
        self._users: dict[int, dict[str, Step]] = {}
        self._makers: dict[int, dict[str, Step]] = {}

    # Names and places.

    def leaf(self, name: str, index: int) -> LocationAttr:
        if not self.spans:
            return UNKNOWN_LOC
        if (position := self.positions.get((name, index))) is not None:
            return NameLoc(StringAttr(name), position)
        return layer_location(name, self.source.file, index)

    def beside(self, node: Node, name: str) -> tuple[str, int]:
        """The place of `<layer>.<name>`, an input or constant of a node; its leaf has the position of the node's."""
        result = f"{node.layer}.{name}", node.index
        if isinstance(node.leaf, NameLoc):
            self.positions[result] = node.leaf.location
        return result

    def value_leaf(self, name: str, region: Region | None) -> LocationAttr:
        """The leaf of a value that was not made here: its layer; of an input `<layer>.<tensor>` of its first reader."""
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

    @abstractmethod
    def place(self, name: str, region: Region, reader: Step | None = None) -> tuple[str, int]:
        """The name of an input or constant of a region for a reader, the first by default, and that node's number."""

    @abstractmethod
    def context(self, step: Step, inputs: Sequence[Tensor | None]) -> Context:
        """Return the context for the converter of a step."""

    @abstractmethod
    def converter(self, step: Step) -> Converter[Any] | None:
        """Return the converter of a step."""

    def operator_names(self, step: Step) -> Sequence[str]:
        """Return the names that the user may call the operator of a step by, the most exact first."""
        return ()

    def python_call(self, step: Step, context: Any) -> PythonCall:
        """Return the operator of a step as a Python function takes it: by default all inputs, and nothing stated."""
        return PythonCall(list(range(len(step.inputs))), [Stated() for _ in step.outputs])

    def library_call(self, step: Step, context: Any, library: str) -> LibraryCall | tuple[Array, ...]:
        """Return the operator of a step as a library computes it, or its results; raises FrontendError if it cannot."""
        raise NotImplementedError(f"{type(self).__module__} has libraries to fall back on, but no calls of them")

    def folded(
        self, context: Context, convert: Callable[[Any], Result | tuple[Result, ...]]
    ) -> tuple[Result, ...] | None:
        """The outputs of a step whose inputs are known and few, evaluated; None where operators compute them."""
        return folded(context, convert)

    def splice(self, region: Region, at: int) -> bool:
        """Put the body of the function that a step calls in its place, if it calls one."""
        return False

    def users(self, region: Region) -> Mapping[str, Step]:
        """Value -> the first step of a region that reads it."""
        users = self._users.get(id(region))
        if users is None:
            users = dict[str, Step]()
            for step in region.steps:
                for read in step.reads():
                    users.setdefault(read, step)
            self._users[id(region)] = users
        return users

    def forget(self, region: Region) -> None:
        """The steps of a region have changed."""
        self._makers.pop(id(region), None)
        self._users.pop(id(region), None)

    def lookup(self, name: str, region: Region | None, reader: Step | None) -> Tensor:
        """The tensor of a name; an initializer is decoded when it is first asked for."""
        if (tensor := self.tensors.get(name)) is not None:
            return tensor
        while region is not None and name not in region.constants:
            region = region.parent
        if region is None:
            where = f"{node_of(reader).op_type} ({describe(node_of(reader).leaf)})" if reader else self.source.file
            raise FrontendError(f"{where}: expected outputs that exist at inference, got '{name}'")
        # Each layer names the constants that it reads, whoever reads them, too: passes blame no layer for another's.
        place = self.place(name, region, reader)
        shared = self.constants.setdefault((id(region), name), {})
        if place not in shared:
            array = next(iter(shared.values())).array if shared else region.constants[name]
            shared[place] = Tensor(name, array, leaf=self.leaf(*place))
            if (ledger := current_ledger()) is not None:
                ledger.alias(name, shared[place].leaf)
        return shared[place]

    def argument(self, name: str, type_: TensorType[Attribute], argument: Argument) -> Tensor:
        """A value that is computed elsewhere: an argument of `@main`."""
        value = self.main.block.insert_arg(type_, len(self.main.block.args))
        value.location = self.value_leaf(name, self.region)
        value.name_hint = value_name(name)
        self.arguments.append(argument)
        return Tensor(name, value=value, leaf=value.location)

    def given(self, name: str, value: Value, argument: Argument) -> Tensor:
        """Return the tensor that the interpreter has under a name."""
        match value:
            case None:
                return Tensor(name, items=None, nothing=True)
            case list():
                inside = [self.given(name, item, Argument(name, (*argument.path, k))) for k, item in enumerate(value)]
                return Tensor(name, items=inside)
            case Known():
                array = self._known(name, value.array, argument)
                return Tensor(name, array, leaf=self.value_leaf(name, self.region), counts=value.array.dtype)
            case _:
                type_ = tensor_type(array := array_of(value, name))
                if self.sizes is not None:
                    type_ = tensor_of(type_.element_type, list(islice(self.sizes, array.ndim)))
                return self.argument(name, type_, argument)

    def _known(self, name: str, array: Array, argument: Argument) -> Array:
        """A known value, with sizes in the place of what may differ between calls; these are read off arguments."""
        if self.sizes is None:
            return array
        places = places_of_sizes(array)
        sizes = dict(zip(places, islice(self.sizes, len(places)), strict=True))
        flat: Array = array.reshape(-1).astype(np.object_)
        for at, size in sizes.items():
            flat[at] = size
        opened = open_places(flat)
        for at in opened:
            self.argument(name, tensor_of(i8, [0, flat[at]]), replace(argument, element=at))
        return flat.reshape(array.shape) if opened else array

    def left(self, tensor: Tensor, values: dict[SSAValue, int]) -> Left:
        """Return where the interpreter finds a tensor after the stretch; `values` are the outputs so far."""
        if tensor.items is not None:
            return Items(tuple(self.left(item, values) for item in tensor.items))
        if tensor.nothing:
            return None
        if tensor.symbolic:
            at = values.setdefault(tensor.materialise(self.builder, self.module), len(values))
            assert tensor.array is not None
            return Output(at, known=open_places(tensor.array))
        if tensor.array is not None:
            return Known(tensor.array)
        assert tensor.value is not None
        if isinstance(tensor.value, BlockArgument):
            return self.arguments[tensor.value.index]
        at = values.setdefault(tensor.value, len(values))
        if tensor.narrowed is None:
            return Output(at)
        count, axis = tensor.narrowed
        return Output(at, values.setdefault(count, len(values)), axis)

    # Steps.

    def convert_steps(self, region: Region, at: int = 0, *, cut: bool = False) -> Step | None:
        """Convert the steps of a region from `at` on.

        cut: where values decide, stop, and return the step to go on with; else raise Undecided.
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
        """Return how far the conversion is, for `roll_back`."""
        return self.main.block.last_op, len(self.converted), len(self.reads), len(self.bound)

    def roll_back(self, last: Operation | None, converted: int, reads: int, bound: int) -> None:
        """Forget what was converted after a mark. Constants stay: tensors know them."""
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
        """Emit what a step stands for, or evaluate it, and bind its outputs; whether values decide a shape of them."""
        if step.kind:
            return self.choose(step, region)
        node = node_of(step)
        location = node.leaf if self.spans else UNKNOWN_LOC
        inputs = [self.lookup(name, region, step) if name else None for name in step.inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        context = self.context(step, inputs)
        custom = self.source.custom_ops.find(self.operator_names(step))
        try:
            with self.builder.located(location), np.errstate(over="ignore", divide="raise", invalid="raise"):
                results = self.converted_by(step, context, custom)
        except UndecidedSize as error:
            layer = location if error.needed else None
            raise Undecided(f"{error} ({describe(node.leaf)})", None, error.equal, layer) from error
        except VerifyException as error:
            raise FrontendError(f"{error} ({describe(node.leaf)})") from error
        except (ValueError, IndexError, ArithmeticError, struct.error) as error:
            raise FrontendError(message(node.op_type, "inputs that can be evaluated", str(error), node.leaf)) from error
        self.converted.append(step)
        self.required += [(size, location) for size in context.required]
        self.index_bounds += [bound._replace(location=location) for bound in context.bounds]
        # A node may name fewer outputs than there are, or more than exist at inference.
        outputs = results if isinstance(results, tuple) else (results,)
        for name, result in zip(step.outputs, outputs, strict=False):
            if name:
                self.bind(name, result, location, context.read)
        return any(isinstance(result, Narrowed) for result in outputs)

    def converted_by(self, step: Step, context: Context, custom: CustomOp | None) -> Result | tuple[Result, ...]:
        """Return what a step gives: by the user's function, if there is one, else by its converter."""
        if custom is not None:
            return python_call(context, custom, self.python_call(step, context))
        converter = self.converter(step)
        fallback = self.source.custom_ops.fallback
        if converter is None:
            assert fallback is not None
            return self.fallen_back(step, context, fallback)
        mark = self.mark()
        try:
            results = self.folded(context, converter.convert) or converter.convert(context)
            context.refuse_unread(converter.unread)
            return results
        except (FrontendError, VerifyException) as error:
            if fallback is None or isinstance(error, Undecided):
                raise
            self.roll_back(*mark)
            del context.required[:], context.bounds[:], context.read[:]
            return self.fallen_back(step, context, fallback)

    def fallen_back(self, step: Step, context: Context, fallback: Fallback) -> Result | tuple[Result, ...]:
        """Return what a step gives, computed by the library that is fallen back on: one node, one kernel."""
        node = node_of(step)
        outcome = self.library_call(step, context, fallback.library)
        fallback.layers[node.layer] = node.op_type
        if not isinstance(outcome, LibraryCall):
            return outcome
        return python_call(context, outcome.custom, outcome.call, f"{fallback.library} {FALLBACK}")

    def choose(self, step: Step, region: Region) -> bool:
        """An If whose condition is known is its branch."""
        node = node_of(step)
        if step.kind != "If":
            what = "one on texts or maps" if step.attributes.get("hosted") else "a loop"
            raise Undecided(message(node.op_type, "steps that shapes decide", what, node.leaf), None)
        condition = self.lookup(step.inputs[0], region, step)
        if condition.array is None:
            found = f"'{condition.name}', which is computed at run time"
            raise Undecided(message("If", "a condition known at import", found, node.leaf), condition)
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

    def choose_at_call(self, step: Step, region: Region, condition: Tensor, chosen: Decision) -> None:
        """An If whose condition sizes of the call decide: both branches are computed, and one is taken."""
        node = node_of(step)
        found: list[list[Tensor]] = []
        for name in ("then_branch", "else_branch"):
            bound, required, branch = len(self.bound), len(self.required), step.bodies[name]
            checked = len(self.index_bounds)
            for inner, outer in zip(branch.inputs, step.inputs[1:], strict=False):
                self.tensors[inner] = self.lookup(outer, region, step)
            try:
                self.convert_steps(branch)
            except Undecided as undecided:
                # What one branch needs is no bound of the whole program.
                raise Undecided(str(undecided), undecided.tensor, (chosen, 1)) from undecided
            del self.index_bounds[checked:]  # what a branch that is not taken reads may be anywhere
            if len(self.required) > required:
                what = f"one for {self.required[-1][0]} of at least 0"
                raise Undecided(message(step.kind, "branches for all sizes", what, node.leaf), None, (chosen, 1))
            found.append([self.lookup(inner, branch, step) for inner in branch.outputs])
            for inner in self.bound[bound:]:
                self.tensors.pop(inner, None)
            del self.bound[bound:]
        context = self.context(step, [condition])
        with self.builder.located(node.leaf if self.spans else UNKNOWN_LOC):
            for name, then, other in zip(step.outputs, *found, strict=True):
                if name:
                    result = joined(context, chosen, then, other)
                    self.bind(name, result, self.builder.location, context.read)
            self.required += [(size, self.builder.location) for size in context.required]

    def bind(self, name: str, result: Result, location: LocationAttr, read: list[Tensor]) -> None:
        """Note what an output is, and where the known values went that it was made with."""
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
        """The module that returns values."""
        with self.builder.located(fuse(map(value_location, values)) if values else self.main.location):
            self.builder.add(ReturnOp(*values))
        set_required(self.main, self.required)
        set_index_bounds(self.main, self.index_bounds)
        self.main.update_type()
        if self.spans and (ledger := current_ledger()) is not None:
            nodes = [node_of(step) for step in self.converted]
            ledger.op_types |= {node.leaf: node.op_type for node in nodes}
            ledger.modules |= {node.leaf: node.module for node in nodes if node.module}
            ledger.code |= {(at.file, at.line): at.code for node in nodes for at in node.frames if at.code}
            note_values(ledger, [(node_of(step), step.outputs) for step in self.converted], self.tensors)
            note_evaluated(ledger, nodes, self.reads, surviving_leaves(self.main), self.source.prefix)
        return self.module

"""tir -> te: a kernel that somebody wrote as loops or blocks becomes tensor expressions, which strategies schedule.

    for i, j { C[i, j] = 0; for k { C[i, j] = C[i, j] + A[i, k] * B[k, j] } }

is `C = te.sum(A[i, k] * B[k, j], axis=k)`. It is done where the loops say it exactly: each buffer is written whole, at
distinct variables of loops; what else runs over a loop is a sum, product, largest or smallest. Sums of floats may round
otherwise, as in any schedule. Statements that are anything else stay loops (parts.py). Ops keep their locations.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FunctionType, StringAttr, UnitAttr, VectorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects import te
from ...dialects.affine import linear
from ...dialects.element_types import is_unsigned, stored_type
from ...dialects.sizes import Size, same
from ...dialects.tir import AllocOp, DeclBufferOp, IndexOp, LoadOp, PrimFuncOp, buffer_of
from ...dialects.tir.index_maps import Touch
from ...passes.tir.lower_match_buffer import run as resolve_views
from ...provenance.builder import LocatedBuilder
from ...provenance.span import fuse
from ..te_to_tir.reducers import identity_attribute
from .nests import Nest, NotRaised, Scheduled, is_whole, nests_of, plain_point
from .parts import Part, Stays, behind, statements_of, tensor_type

_REDUCERS: dict[type[Operation], str] = {
    arith.AddfOp: "sum",
    arith.AddiOp: "sum",
    arith.MulfOp: "prod",
    arith.MuliOp: "prod",
    arith.MaximumfOp: "max",
    arith.MinimumfOp: "min",
    arith.MaxSIOp: "max",
    arith.MinSIOp: "min",
    arith.MaxUIOp: "max",
    arith.MinUIOp: "min",
}
"""The ops by which loops combine terms, and their reducers."""
_OF_UNSIGNED = (arith.MaxUIOp, arith.MinUIOp)
_OF_SIGNED = (arith.MaxSIOp, arith.MinSIOp)


def raised(func: PrimFuncOp) -> te.FuncOp:
    """Return the tensor expressions that a kernel computes; the kernel is not changed.

    Raises NotRaised where none of its loops are surely that, or some say themselves how they run.
    """
    views = [op for op in func.walk() if isinstance(op, DeclBufferOp)]
    if views and all(isinstance(use.operation, Touch | DeclBufferOp) for view in views for use in view.result.uses):
        func = func.clone()
        resolve_views(func)
    statements = statements_of(func)
    kept = frozenset[int]()
    while True:
        try:
            return _Raising(func, statements, kept).run()
        except Stays as stays:
            kept |= stays.numbers
            if len(kept) == len(statements):
                raise stays.reason from None


class _Raising:
    """Raises the statements of a kernel, but for some, by number, which stay loops."""

    def __init__(self, func: PrimFuncOp, statements: Sequence[Operation], kept: Collection[int]):
        self.func = func
        self.statements = statements
        self.kept = kept
        count = len(func.block.args) - func.outputs.value.data
        self.inputs, self.outputs = func.block.args[:count], func.block.args[count:]
        types = [tensor_type(argument) for argument in self.inputs]
        results = [tensor_type(argument) for argument in self.outputs]
        self.out = te.FuncOp(func.sym_name.data, types, results, func.size_names)
        self.out.location = func.location
        self.builder = LocatedBuilder(self.out.block, func.location)
        self.states: dict[SSAValue, SSAValue] = {}
        """The tensor that each buffer holds now."""
        self.writers: dict[SSAValue, int] = {}
        """The statement that made it, by number."""

    def run(self) -> te.FuncOp:
        for argument, value in zip(self.inputs, self.out.block.args, strict=True):
            self.states[argument] = value
            value.name_hint, value.location = argument.name_hint, argument.location
        for stays, numbers in groupby(range(len(self.statements)), self.kept.__contains__):
            if stays:
                self._part(list(numbers))
            else:
                for number in numbers:
                    self._statement(number)
        if missing := [each.name_hint or "an output" for each in self.outputs if each not in self.states]:
            raise NotRaised(self.func, f"nothing written to {', '.join(missing)}")
        results = [self.states[each] for each in self.outputs]
        if len(set(results)) != len(results) or any(isinstance(result, BlockArgument) for result in results):
            raise NotRaised(self.func, "an output that is another tensor")
        with self.builder.located(self.func.location):
            self.builder.add(te.ReturnOp(*results))
        self.out.properties["function_type"] = FunctionType.from_lists(
            [value.type for value in self.out.block.args], [value.type for value in results]
        )
        # Results that readers overwrote are read no more.
        for op in reversed(list(self.out.block.ops)):
            if isinstance(op, te.ComputeOp | te.HybridOp) and not any(
                result.uses.get_length() for result in op.results
            ):
                op.detach()
                op.erase()
        _name_apart([op for op in self.out.block.ops if isinstance(op, te.ComputeOp | te.HybridOp)])
        self.out.verify()
        return self.out

    def _statement(self, number: int) -> None:
        """Add the stages of a statement. Raises Stays if it has to stay loops."""
        try:
            for nest in nests_of(self.statements[number]):
                self._nest(nest)
                self.writers[nest.store.buffer] = number
        except Scheduled:
            raise
        except NotRaised as reason:
            raise Stays([number], reason) from reason

    def _part(self, numbers: Sequence[int]) -> None:
        """Add the stage of statements that stay loops."""
        statements = [self.statements[number] for number in numbers]
        part = Part.of(statements)
        if any(buffer in self.inputs for buffer in part.writes):
            raise NotRaised(statements[0], "an input that is written")
        # A stage makes tensors of its own, so that it begins where their elements are written first.
        if begun := [self.writers[buffer] for buffer in part.writes if buffer in self.states]:
            reason = NotRaised(statements[0], "a buffer that is written in parts")
            raise Stays(range(min(begun), numbers[-1] + 1), reason)
        if any(buffer not in self.states for buffer in part.reads if buffer not in part.writes):
            raise NotRaised(statements[0], "a buffer that is read before it is written")
        if part.writes:
            stage = part.stage(self.builder, self.states)
            self.states.update(zip(part.writes, stage.results, strict=True))
            self.writers.update(dict.fromkeys(part.writes, numbers[0]))

    def _nest(self, nest: Nest) -> None:
        """Add the stages of a nest, after which its buffer is what they compute."""
        store = nest.store
        if store.buffer in self.inputs:
            raise NotRaised(store, "an input that is written")
        if not isinstance(store.buffer, BlockArgument) and not isinstance(store.buffer.owner, AllocOp):
            raise NotRaised(store, "a view that is written")
        if isinstance(store.value.type, VectorType):
            raise NotRaised(store, "a vector")
        point = plain_point(store.map.data.results, store.indices)
        data = [index for index in point if isinstance(index, SSAValue)]
        if not is_whole(nest, data):
            raise NotRaised(store, "a buffer that is not written whole, at an element for each point of the loops")
        # A loop of one pass is at 0.
        terms = [
            axis
            for axis, extent in zip(nest.axes, nest.extents, strict=True)
            if axis not in data and not same(extent, 1)
        ]
        own = [op for op in nest.body if isinstance(op, LoadOp) and op.buffer is store.buffer]
        if any(plain_point(load.map.data.results, load.indices) != point or load.guard is not None for load in own):
            raise NotRaised(store, "elements of the buffer that it writes")
        if not terms:
            self.states[store.buffer] = self._stage(nest, data, [], None, (store.value,))
            return
        reducer, factors = self._combined(nest, own)
        before = self.states.get(store.buffer)
        if before is None:
            raise NotRaised(store, "a reduction without a start")
        start = _start(before, reducer)
        total = self._stage(nest, data, terms, reducer, factors, start)
        self.states[store.buffer] = total if start is not None else self._after(nest, before, total)

    def _combined(self, nest: Nest, own: Sequence[LoadOp]) -> tuple[str, Sequence[SSAValue]]:
        """The reducer of a nest that writes elements several times, and the factors of the term."""
        store, reason = nest.store, "an element that is written several times, and not by a reduction"
        op = store.value.owner
        if not isinstance(op, Operation) or len(own) != 1:
            raise NotRaised(store, reason)
        (load,) = own
        factors = [value for value in op.operands if value is not load.result]
        wrong = _OF_SIGNED if is_unsigned(buffer_of(store.buffer).element_type) else _OF_UNSIGNED
        if len(factors) != len(op.operands) - 1 or load.result.uses.get_length() != 1 or isinstance(op, wrong):
            raise NotRaised(store, reason)
        if isinstance(op, math.FmaOp) and op.operands[-1] is load.result:
            return "sum", factors
        if type(op) not in _REDUCERS:
            raise NotRaised(store, reason)
        return _REDUCERS[type(op)], factors

    def _after(self, nest: Nest, before: SSAValue, total: SSAValue) -> SSAValue:
        """Combine the elements of before with a reduction's terms."""
        store = nest.store
        shape = buffer_of(store.buffer).get_shape()
        op = te.ComputeOp.make(nest.label, shape, buffer_of(store.buffer).element_type)
        axes = list(op.block.args)
        identity = AffineMap.identity(len(axes))
        combine = store.value.owner
        assert isinstance(combine, Operation)
        builder = LocatedBuilder(op.block, combine.location)
        parts = [builder.add(te.ReadOp.make(value, identity, axes)).result for value in (before, total)]
        kind = arith.AddfOp if isinstance(combine, math.FmaOp) else type(combine)
        result = builder.add(
            kind.create(operands=parts, result_types=[parts[0].type], properties=dict(combine.properties))
        )
        builder.add(te.YieldOp(*result.results))
        return self._added(op, nest)

    def _stage(
        self,
        nest: Nest,
        data: Sequence[SSAValue],
        terms: Sequence[SSAValue],
        reducer: str | None,
        factors: Sequence[SSAValue],
        start: arith.ConstantOp | None = None,
    ) -> SSAValue:
        """Add the compute of the product of a nest's values, one or two, and return its result.

        start: the op of the number that a reduction starts from, which says no more than its reducer, but where.
        """
        type_ = buffer_of(nest.store.buffer)
        point = plain_point(nest.store.map.data.results, nest.store.indices)
        names = [
            index.name_hint or f"i{k}" if isinstance(index, SSAValue) else f"i{k}" for k, index in enumerate(point)
        ]
        op = te.ComputeOp.make(
            nest.label,
            type_.get_shape(),
            type_.element_type,
            reduce_extents=[nest.extent_of(axis) for axis in terms],
            reducer=reducer,
            names=[*names, *(axis.name_hint or f"k{k}" for k, axis in enumerate(terms))],
        )
        values: dict[SSAValue, SSAValue] = {
            index: op.block.args[number] for number, index in enumerate(point) if isinstance(index, SSAValue)
        }
        values.update(zip(terms, op.block.args[len(point) :], strict=True))
        zeros = {axis for axis in nest.axes if axis not in values}
        builder = LocatedBuilder(op.block, nest.store.location)
        needed = behind(factors)
        for inner in nest.body:
            if any(result in needed for result in inner.results):
                with builder.located(inner.location):
                    self._element(builder, inner, values, zeros, nest)
        if any(factor not in values for factor in factors):
            raise NotRaised(nest.store, "a value that no op computes")
        elements = [values[factor] for factor in factors]
        assert isinstance(nest.store.value.owner, Operation)
        combine = nest.store.value.owner.location
        with builder.located(combine):
            element = builder.add(arith.MulfOp(elements[0], elements[1])).result if len(elements) > 1 else elements[0]
        starts = [builder.add(start.clone()).result] if start is not None else []
        if start is not None:
            op.attributes[te.STARTS] = UnitAttr()
        with builder.located(combine if reducer is not None else nest.store.location):
            builder.add(te.YieldOp(element, *starts))
        return self._added(op, nest)

    def _element(
        self,
        builder: LocatedBuilder,
        op: Operation,
        values: dict[SSAValue, SSAValue],
        zeros: set[SSAValue],
        nest: Nest,
    ) -> None:
        """Add the op that a value of tir is in a compute."""
        match op:
            case LoadOp():
                values[op.result] = self._read(builder, op, values, zeros, nest)
            case IndexOp():
                if op.result.type != te.INDEX:
                    raise NotRaised(op, "an index that is a vector")
                map_, indices = _moved(op.map.data, op.indices, values, zeros, op)
                values[op.result] = builder.add(te.IndexOp.make(map_, indices)).result
            case _ if all(value in values for value in op.operands) and op.name.startswith(("arith.", "math.")):
                if any(isinstance(result.type, VectorType) for result in op.results):
                    raise NotRaised(op, "a vector")
                made = builder.add(op.clone(dict(values)))
                values.update(zip(op.results, made.results, strict=True))
            case _:
                raise NotRaised(op, f"a value of {op.name}")

    def _read(
        self,
        builder: LocatedBuilder,
        op: LoadOp,
        values: dict[SSAValue, SSAValue],
        zeros: set[SSAValue],
        nest: Nest,
    ) -> SSAValue:
        tensor = self.states.get(op.buffer)
        if tensor is None:
            raise NotRaised(op, "an element that nothing wrote before")
        if op.result.type != stored_type(buffer_of(op.buffer).element_type):
            raise NotRaised(op, "several elements at once")
        if op.guard is not None and not _is_end_of_buffer(op, nest):
            raise NotRaised(op, "an element with a condition that is not the end of its buffer")
        map_, indices = _moved(op.map.data, op.indices, values, zeros, op)
        return builder.add(te.ReadOp.make(tensor, map_, indices, op.otherwise)).result

    def _added(self, op: te.ComputeOp, nest: Nest) -> SSAValue:
        with self.builder.located(fuse([nest.store.location])):
            return self.builder.add(op).result


def _name_apart(computes: Sequence[te.ComputeOp | te.HybridOp]) -> None:
    """Give each stage a label of its own: the name of what it computes, with a number behind further ones."""
    labels: set[str] = set()
    for compute in computes:
        label, number = compute.label.data, 1
        while label in labels:
            label, number = f"{compute.label.data}_{number}", number + 1
        labels.add(label)
        compute.label = StringAttr(label)


def _moved(
    map_: AffineMap, indices: Sequence[SSAValue], values: dict[SSAValue, SSAValue], zeros: set[SSAValue], op: Operation
) -> tuple[AffineMap, list[SSAValue]]:
    """A map over the axes of a compute; loops of one pass are at 0."""
    kept = [index for index in indices if index not in zeros]
    if missing := [index for index in kept if index not in values]:
        raise NotRaised(op, f"an index {missing[0].name_hint or 'that is computed'} of outside")
    unique = list(dict.fromkeys(kept))
    dims = [AffineExpr.constant(0) if index in zeros else AffineDimExpr(unique.index(index)) for index in indices]
    results = tuple(expr.replace_dims_and_symbols(dims, []) for expr in map_.results)
    return AffineMap(len(unique), map_.num_symbols, results), [values[index] for index in unique]


def _start(tensor: SSAValue, reducer: str) -> arith.ConstantOp | None:
    """Return the number that a tensor is everywhere, if a reducer starts from that anyway."""
    op = tensor.owner
    if not isinstance(op, te.ComputeOp) or op.reducer is not None:
        return None
    number = op.yielded.owner
    if not isinstance(number, arith.ConstantOp):
        return None
    return number if number.value == identity_attribute(reducer, op.result.type.element_type) else None


def _is_end_of_buffer(op: LoadOp, nest: Nest) -> bool:
    """Return whether a guard holds exactly where the element is one of the buffer."""
    guard = op.guard
    assert guard is not None
    ranges = tuple((cast(Size, 0), nest.extent_of(index) - 1) for index in op.indices if index in nest.axes)
    if len(ranges) != len(op.indices):
        return False
    shape = buffer_of(op.buffer).get_shape()
    if not all(isinstance(extent, int) for extent in shape) or any(not isinstance(high, int) for _, high in ranges):
        return False
    wanted: set[object] = set()
    for expr, extent in zip(op.map.data.results, shape, strict=True):
        wanted |= {_form(expr, ranges), _form(AffineExpr.constant(cast(int, extent) - 1) - expr, ranges)}
    actual = {_form(expr, ranges) for expr in guard.data.results}
    return wanted - {None} == actual - {None}


def _form(expr: AffineExpr, ranges: tuple[tuple[Size, Size], ...]) -> object:
    """The linear form of an expression that has to be at least 0; None if it always is."""
    form = linear(expr, ranges)
    least = cast(int, form.constant)
    for atom, factor in form.terms:
        if not isinstance(atom, AffineDimExpr):
            return frozenset(form.terms), form.constant
        low, high = ranges[atom.position]
        least += min(cast(int, low) * cast(int, factor), cast(int, high) * cast(int, factor))
    return None if least >= 0 else (frozenset(form.terms), form.constant)

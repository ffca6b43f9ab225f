"""The body of a te.compute as expressions, for stages that primitives made or changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import te
from ...dialects.element_types import dtype_name
from ...dialects.sizes import Size
from ...dialects.sizes.types import extents_of
from ...support.dtypes import INT
from .expr import Axis, Expr, Extent, Read, Var
from .extents import size_expression
from .reductions import Combiner, Reduce
from .statement_view import Viewer
from .tensor import PlaceholderOp, Tensor
from .view_numbers import number_of


def compute_body(compute: te.ComputeOp, names: Sequence[str]) -> list[Expr]:
    """Return the value of each result, for axes of these names; of a reduction a `Reduce`. It reads placeholders."""
    return _ComputeViewer(compute, names).body()


class _ComputeViewer(Viewer):
    def __init__(self, compute: te.ComputeOp, names: Sequence[str]):
        func = compute.parent_op()
        sizes = func.size_names if isinstance(func, te.FuncOp) else ()
        self.values, self.buffers, self.named = {}, {}, set[Operation]()
        self.sizes = [Var(name, INT) for name in sizes]
        self.compute = compute
        self.tensors: dict[SSAValue, Tensor] = {}
        extents = self._extents((*compute.shape, *compute.reduce_shape))
        data = len(compute.shape)
        pairs = enumerate(zip(names, extents, strict=True))
        self.axes = [Axis(name, extent, reduce=number >= data) for number, (name, extent) in pairs]
        self.values.update(zip(compute.block.args, self.axes, strict=True))

    def body(self) -> list[Expr]:
        compute = self.compute
        self._all(compute.block.ops)
        values = [self.values[value] for value in compute.yields]
        if compute.reducer is None:
            return values
        inits = tuple(self.values[value] for value in compute.inits)
        axes, combiner = tuple(self.axes[len(compute.shape) :]), self._combiner([value.dtype for value in values])
        reducer = compute.reducer.data
        return [Reduce(reducer, tuple(values), axes, None, combiner, index, inits) for index in range(len(values))]

    def _extents(self, shape: Sequence[Size]) -> list[Extent]:
        variables = {f"s{number}": size for number, size in enumerate(self.sizes)}
        return [extent if isinstance(extent, int) else size_expression(extent, variables) for extent in shape]

    def _all(self, ops: Iterable[Operation]) -> None:
        for op in ops:
            for result in op.results:
                self.values[result] = self._expression(op)

    def _combiner(self, dtypes: Sequence[str]) -> Combiner | None:
        compute = self.compute
        if compute.combiner is None or compute.identity is None:
            return None
        block = compute.combiner.block
        count = len(dtypes)
        operands = [Var(f"{side}{i}", dtype) for side in "xy" for i, dtype in enumerate(dtypes)]
        self.values.update(zip(block.args, operands, strict=True))
        self._all(block.ops)
        result = tuple(self.values[value] for value in compute.combined)
        identity = tuple(number_of(number, dtype) for number, dtype in zip(compute.identity, dtypes, strict=True))
        assert compute.reducer is not None
        return Combiner(compute.reducer.data, tuple(operands[:count]), tuple(operands[count:]), result, identity)

    def _expression(self, op: Operation) -> Expr:
        match op:
            case te.ReadOp():
                tensor = self._tensor(op.tensor)
                otherwise = None if op.otherwise is None else number_of(op.otherwise, tensor.dtype)
                return Read(tensor, tuple(self._points(op.map.data.results, op.indices)), otherwise)
            case te.IndexOp():
                return self._points(op.map.data.results, op.indices)[0]
            case _:
                return super()._expression(op)

    def _tensor(self, value: SSAValue) -> Tensor:
        if value not in self.tensors:
            type_ = cast(TensorType[Attribute], value.type)
            shape = self._extents(extents_of(type_))
            name = value.name_hint or "tensor"
            self.tensors[value] = PlaceholderOp(name, [shape], [dtype_name(type_.element_type)]).output(0)
        return self.tensors[value]

"""A stage of a schedule: the primitives that place it and say how its result is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from ...dialects import schedule as ops
from ...dialects import te
from ...dialects.element_types import dtype_name
from ...dialects.schedule.base import SCOPES
from ...dialects.sizes import Size
from ...dialects.sizes.types import extents_of
from ...support.doors import doors
from ...support.errors import ScheduleError
from ..language.affine_forms import affine_set, layout_map
from ..language.expr import Axis, Expr
from ..language.layouts import divides_evenly, repeats_within
from ..language.tensor import Body
from .attrs import IterVarAttr, attr_of
from .itervar import IterVar
from .loops import LoopPrimitives
from .stage_state import Attach

SCAN_UPDATE = "Cannot specify compute_at for scan updates"

_CHECKED = 1 << 24
"""The elements of the largest tensor whose layout is checked to be one to one."""


def _rank(layout: AffineMapAttr) -> int:
    return len(layout.data.results)


@doors(ScheduleError, inherited=True)
class Stage(LoopPrimitives):
    """An operation of the function and its schedule.

    The primitives raise ScheduleError for an operation that is no compute, unless they say otherwise.
    """

    @property
    def name(self) -> str:
        return self.label

    @property
    def shape(self) -> tuple[Size, ...]:
        """The shape of the tensors that the stage computes."""
        return extents_of(self._type)

    @property
    def dtype(self) -> str:
        """The dtype of the first tensor that the stage computes."""
        return dtype_name(self._type.element_type)

    @property
    def _type(self) -> TensorType[Attribute]:
        return cast(TensorType[Attribute], self.outputs[0].type)

    def __iter__(self) -> Iterator[Stage]:
        """Itself, for each tensor that it computes: `index, value = s.cache_write([C0, C1], "local")`."""
        return iter([self] * len(self.outputs))

    @property
    def iter_var_attrs(self) -> dict[IterVar | Axis, IterVarAttr]:
        """The marks that primitives put on iteration variables, by the variables and also by the language's axes."""
        attrs: dict[IterVar | Axis, IterVarAttr] = {
            axis: attr_of(axis.sort, axis.kind, axis.thread, axis.intrin, axis.hints)
            for axis in self.all_iter_vars
            if axis.kind != "serial" or axis.thread is not None or axis.intrin is not None or axis.hints
        }
        for operation, stage in self.record.table.operations.items():
            if stage is self:
                pairs = zip(operation.root_iter_vars, [*self.axes, *self.reduce_axes], strict=False)
                attrs |= {axis: attrs[mine] for axis, mine in pairs if mine in attrs}
        return attrs

    def _unattached(self, primitive: str) -> None:
        """Fail for what cannot be computed elsewhere."""
        if self.is_update:
            self.fail(primitive, SCAN_UPDATE)
        self.the_compute(primitive)

    def _not_whole(self, primitive: str, text: str) -> None:
        """Fail when the result is used as a whole; `text` says why that of the function may not be."""
        user = self.whole_use
        if isinstance(user, te.ScanOp | te.ExternOp | te.HybridOp):
            self.fail(primitive, f"'{self.label}' is used as a whole by {user.name} '{user.label.data}'")
        if user is not None:
            self.fail(primitive, text)

    def compute_at(self, consumer: Stage, axis: IterVar | Axis) -> None:
        """`for i {a} for i {b}` -> `for i {a b}`: computed inside the loop `axis` of `consumer`.

        Each iteration computes what it needs. Raises ScheduleError for an output, for an axis that is no loop
        of the consumer or lies inside this stage, and across groups; when lowered, if a stage elsewhere reads it too.
        """
        self._unattached("compute_at")
        if not isinstance(consumer, Stage):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail("compute_at", f"expected a stage to be computed in, got {consumer!r}")
        if all(consumer is not stage for stage in self.record.table.stages):
            self.fail("compute_at", f"expected a stage of this schedule, got '{consumer.label}'")
        axis = consumer.axis_of(axis)
        if axis not in consumer.leaf:
            self.fail("compute_at", f"Cannot find the axis {axis.name} in parent's leaf_iter_vars")
        if not consumer.is_compute:
            self.fail("compute_at", f"Expect a ComputeOp to be computed in, got {consumer.kind} '{consumer.label}'")
        self._not_whole("compute_at", "an output of the function stays at the root")
        if self.group is not None and (consumer.group is None or self.group not in consumer.group.chain):
            self.fail("compute_at", "Can only assign compute_at to stages within the same group")
        at: Attach | None = Attach(consumer, axis)
        while at is not None:
            if at.stage is self:
                self.fail("compute_at", "Find loop in compute_at attach group")
            at = at.stage.attach
        self.placed, self.inlined = Attach(consumer, axis), False
        producer, host = self.record.stage(self), self.record.stage(consumer)
        self.record.add(ops.ComputeAtOp(producer, host, consumer.handle(axis)), self)

    def compute_inline(self) -> None:
        """`b[i] = a[i] + 1; c[i] = b[i] * 2` -> `c[i] = (a[i] + 1) * 2`: computed where it is read.

        Raises ScheduleError for a reduction, an output, the update of a scan, and for what is no compute.
        """
        self._unattached("compute_inline")
        if self.compute.reducer is not None:
            self.fail("compute_inline", "a reduction cannot be inlined")
        self._not_whole("compute_inline", "an output of the function cannot be inlined")
        self.inlined, self.placed = True, None
        self.record.add(ops.ComputeInlineOp(self.record.stage(self)), self)

    def compute_root(self) -> None:
        """`for i {a b}` -> `for i {a} for i {b}`: computed in full before its consumers (the default).

        In a group: where the group is. Raises ScheduleError for the update of a scan.
        """
        self._unattached("compute_root")
        self.inlined, self.placed = False, None
        self.record.add(ops.ComputeRootOp(self.record.stage(self)), self)

    def set_scope(self, scope: str) -> None:
        """`alloc: buffer<8xf32>` -> `alloc: buffer<8xf32, local>`: where the stage's buffer lives.

        Raises ScheduleError for a scope other than `global`, `shared` and `local`, and for an output made local.
        """
        self.the_compute("set_scope")
        if not isinstance(scope, str) or scope not in SCOPES:  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail("set_scope", f"expected a scope among {', '.join(SCOPES)}, got {scope!r}")
        if scope != "global":
            self._not_whole("set_scope", "an output of the function is global")
        self.scope = scope
        self.record.add(ops.SetScopeOp(self.record.stage(self), scope), self)

    def _own_buffer(self, primitive: str, what: str) -> None:
        self.the_compute(primitive)
        if self.is_output:
            self.fail(primitive, f"Cannot apply {what} on output")

    def storage_align(self, axis: IterVar | Axis, factor: int, offset: int) -> None:
        """`alloc: buffer<4x30xf32>` -> `alloc: buffer<4x33xf32>` for the first axis, factor 32 and offset 1.

        The stride of the axis becomes `offset` modulo `factor`. The axis need not be a loop. Raises ScheduleError for
        an output, an axis that is no data axis of the stage, and unless 0 <= offset < factor.
        """
        self.the_compute("storage_align")
        axis = self.axis_of(axis)
        if axis not in self.axes:
            self.fail("storage_align", f"expected a data axis of the stage, got {axis.name}")
        factor = self.integer("storage_align", "the factor", factor)
        offset = self.integer("storage_align", "the offset", offset)
        if factor < 1 or not 0 <= offset < factor:
            self.fail("storage_align", f"expected 0 <= offset < factor, got factor {factor}, offset {offset}")
        self._own_buffer("storage_align", "storage align")
        if self.storage.layout is not None or self.storage.rolling_buffer:
            self.fail("storage_align", "expected a buffer in the order of the axes, got one with a layout or rolling")
        self.storage.align[self.axes.index(axis)] = factor, offset
        self.record.add(ops.StorageAlignOp(self.handle(axis), factor, offset), self)

    def double_buffer(self) -> None:
        """`alloc: buffer<8xf32>` -> `alloc {double_buffer}: buffer<8xf32>`: one half fills while the other is read.

        Raises ScheduleError for an output, and for a buffer that is rolling.
        """
        self._own_buffer("double_buffer", "double buffer")
        if self.storage.rolling_buffer:
            self.fail("double_buffer", "expected a buffer that is filled anew each time, got one that is rolling")
        self.storage.double_buffer = True
        self.record.add(ops.DoubleBufferOp(self.record.stage(self)), self)

    def rolling_buffer(self) -> None:
        """`for i { for j in 3 {b[j]} use b[0..3] }` -> `for i { b[(i + 2) % 3]; use b[..] }`: only what is new.

        The stage is computed at a serial loop of its consumer; what neighbouring passes both need is kept in a circular
        buffer. Raises ScheduleError for an output or a double buffer, and when lowered if it is not computed so.
        """
        self._own_buffer("rolling_buffer", "rolling buffer")
        if self.storage.double_buffer:
            self.fail("rolling_buffer", "expected a buffer that exists once, got a double buffer")
        if self.storage.layout is not None or self.storage.align:
            self.fail("rolling_buffer", "expected a buffer in the order of the axes, got one with a layout")
        self.storage.rolling_buffer = True
        self.record.add(ops.RollingBufferOp(self.record.stage(self)), self)

    def set_store_predicate(self, condition: Expr | AffineSetAttr | Callable[..., Expr]) -> None:
        """`c[i] = ..` -> `if i < 8 { c[i] = .. }`: where the condition does not hold nothing is stored.

        condition: comparisons of the operation's data axes, joined by `te.all`, or a function of them. Raises
        ScheduleError when it is not affine.
        """
        self.the_compute("set_store_predicate")
        if not isinstance(condition, AffineSetAttr):
            condition = self._condition(condition)
        if condition.data.num_dims != len(self.axes):
            self.fail(
                "set_store_predicate",
                f"expected a condition over {len(self.axes)} axes, got one over {condition.data.num_dims}",
            )
        self.storage.predicate = condition
        self.record.add(ops.SetStorePredicateOp(self.record.stage(self), condition), self)

    def _condition(self, condition: Expr | Callable[..., Expr]) -> AffineSetAttr:
        named = [op.axis for op, stage in self.record.table.operations.items() if stage is self]
        # How long they are is nothing to the condition.
        axes = named[0] if named and isinstance(condition, Expr) else [Axis(a.name, 1) for a in self.axes]
        try:
            expr = condition if isinstance(condition, Expr) else condition(*axes)
            if not isinstance(expr, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
                self.fail("set_store_predicate", f"expected a condition, got {expr!r}")
            return affine_set(expr, {axis: AffineExpr.dimension(i) for i, axis in enumerate(axes)})
        except (ScheduleError, TypeError) as error:
            self.fail("set_store_predicate", str(error))

    def transform_layout(self, function: Body) -> list[IterVar]:
        """`for i { for j { b[i, j] = ..` -> `for axis0 { for axis1 { for axis2 { b[axis0, axis1, axis2] = ..`.

        With `lambda i, j: (j // 4, i, j % 4)` element (i, j) is stored at that place, and the loops follow: it returns
        them, one per dimension. They do when the loops over the axes are as they were made, neighbours and serial, and
        each dimension is made of whole digits of axes, as in tiles, transpositions and what is flattened; points past
        the end of an axis are guarded. Else the loops stay, and there are none to return.
        A second layout is one of the first one's dimensions. `te.AXIS_SEPARATOR` among the results stands for
        set_axis_separators.
        The array of a placeholder or a result has the layout's shape: a caller passes, or gets, elements in that order.
        A placeholder has no loops. Raises ScheduleError when the function is not affine or gives two elements one
        place; for a tensor that an operation other than a compute takes as a whole; and for a placeholder or a result
        of open size, or with places of no element.
        """
        self._laid_out_anew("transform_layout")
        try:
            before = self.storage.layout
            names = self._dim_names() if before is None else [f"axis{i}" for i in range(_rank(before))]
            layout, separators = layout_map(function, names)
        except (ScheduleError, TypeError, ValueError) as error:
            self.fail("transform_layout", str(error))
        self._check_separators("transform_layout", separators, len(layout.data.results))
        new_axes = self.set_layout(layout)
        if separators:
            self.set_axis_separators(separators)
        return new_axes

    def set_layout(self, layout: AffineMapAttr) -> list[IterVar]:
        """transform_layout with the function as an affine map: of the axes, or of the dims of the layout before."""
        self._laid_out_anew("transform_layout")
        if self.storage.align or self.storage.rolling_buffer:
            self.fail("transform_layout", "expected a plain buffer, got one that is aligned or rolling")
        composed = layout
        if (before := self.storage.layout) is not None:
            if layout.data.num_dims != _rank(before):
                self.fail(
                    "transform_layout",
                    f"expected a layout of {_rank(before)} dimensions, got one of {layout.data.num_dims}",
                )
            composed = AffineMapAttr(layout.data.compose(before.data))
        self._check_layout(composed)
        self.storage.layout = composed
        new_axes = self.follow_layout(layout.data)
        op = self.record.add(ops.TransformLayoutOp(self.record.tensor(self.outputs[0]), layout, len(new_axes)), self)
        for axis, value in zip(new_axes, op.axes, strict=True):
            self.record.name_axis(axis, value)
        return new_axes

    def _laid_out_anew(self, primitive: str) -> None:
        """Fail unless all that touches the tensors asks for single elements, or is the caller of the function."""
        if not self.is_placeholder:
            self.the_compute(primitive)
        for use in (use.operation for output in self.outputs for use in output.uses):
            if not isinstance(use, te.ReadOp if self.is_placeholder else te.ReadOp | te.ReturnOp):
                self.fail(primitive, f"expected a tensor that is read by element, got one that {use.name} takes whole")

    def _dim_names(self) -> list[str]:
        return [f"i{dim}" for dim in range(len(self.shape))] if self.is_placeholder else [a.name for a in self.axes]

    def _check_layout(self, layout: AffineMapAttr) -> None:
        if layout.data.num_dims != len(self.shape):
            rank = len(self.shape)
            self.fail("transform_layout", f"expected a layout of {rank} axes, got one of {layout.data.num_dims}")
        of_caller = self.is_placeholder or self.is_output
        if of_caller and not all(isinstance(extent, int) for extent in self.shape):
            self.fail("transform_layout", f"expected known extents of an argument or a result, got {self.shape}")
        # An axis of open size is looked at as far as the layout may repeat itself.
        period = repeats_within(layout.data)
        shape = tuple(extent if isinstance(extent, int) else period for extent in self.shape)
        if prod(shape) > _CHECKED:
            self.fail("transform_layout", f"expected a tensor of at most {_CHECKED} elements, got {prod(shape)}")
        grid = list(np.indices(shape).reshape(len(shape), -1))
        # Evaluates on whole columns: the operators of affine expressions are those of arrays.
        try:
            columns = [np.broadcast_to(cast(Any, expr).eval(grid, []), prod(shape)) for expr in layout.data.results]
        except OverflowError:
            self.fail("transform_layout", "expected a layout of numbers that 64 bits hold, got larger ones")
        if any(column.min(initial=0) < 0 for column in columns):
            self.fail("transform_layout", "expected indices of at least 0, got negative ones")
        sizes = [int(column.max(initial=0)) + 1 for column in columns]
        places = np.ravel_multi_index(columns, sizes) if columns else np.zeros(prod(shape), np.int64)
        if len(np.unique(places)) != prod(shape):
            self.fail("transform_layout", f"expected a place of its own for each element, got {layout.data}")
        if of_caller and (prod(sizes) != prod(shape) or not divides_evenly(layout.data, shape)):
            self.fail(
                "transform_layout", f"expected an element at each place of an argument or a result, got {layout.data}"
            )

    def _check_separators(self, primitive: str, positions: Sequence[int], rank: int) -> list[int]:
        """The positions as ints."""
        if not isinstance(positions, Sequence) or isinstance(positions, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail(primitive, f"expected positions as axis separators, got {positions!r}")
        positions = [self.integer(primitive, "an axis separator", position) for position in positions]
        if list(positions) != sorted(set(positions)) or any(not 0 <= p <= rank for p in positions):
            self.fail(primitive, f"expected increasing axis separators from 0 to {rank}, got {list(positions)}")
        return positions

    def set_axis_separators(self, positions: Sequence[int]) -> None:
        """`alloc: buffer<4x8xf32>` -> `alloc {axis_separators = [1]}: buffer<4x8xf32>`: the groups of its dimensions.

        Memory here is flat, so that they change nothing but the attribute. Raises ScheduleError unless the positions
        increase and lie within the buffer's rank.
        """
        if not self.is_placeholder:
            self.the_compute("set_axis_separators")
        layout = self.storage.layout
        rank = len(layout.data.results) if layout is not None else len(self.shape)
        positions = self._check_separators("set_axis_separators", positions, rank)
        self.storage.separators = tuple(positions)
        self.record.add(ops.SetAxisSeparatorsOp(self.record.tensor(self.outputs[0]), positions), self)

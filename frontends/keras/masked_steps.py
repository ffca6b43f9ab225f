"""Sequences of which a mask leaves out steps: those that count go first, one after the other, and back to their places.

Recurrent operators take lengths of sequences, not masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.indexing import GatherNdOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.sorting import ArgsortOp
from ...dialects.relay.transform import StridedSliceOp
from ..importing.tensor import shape_of
from ..importing.terms import Term, maximum, minimum, places, where
from .context import Context


@dataclass(frozen=True, eq=False)
class MaskedSteps:
    """The steps of sequences by their mask (batch, time), true at those that count."""

    ctx: Context
    mask: SSAValue

    @cached_property
    def _ones(self) -> Term:
        return Term(self.ctx, self.mask).to("int32")

    @property
    def _time(self) -> int:
        return shape_of(self.mask)[1]

    @cached_property
    def lengths(self) -> SSAValue:
        """(batch): the number of steps that count."""
        return self._ones.apply(SumOp, axis=(1,), keepdims=False).value

    def joined(self, data: SSAValue) -> SSAValue:
        """The steps that count of `data` (batch, time, ..), in their order, then the others."""
        at = places(self.ctx, self._time, 2, 1, "int32")
        order = where(Term(self.ctx, self.mask), at, at + at.number(self._time))
        return self._gathered(data, order.apply(ArgsortOp, axis=1, dtype="int32"))

    def apart(self, results: SSAValue, reverse: bool, zero: bool) -> SSAValue:
        """The results (batch, time, ..) of joined steps at their places in time.

        A step that does not count has the result of the one computed before it, 0 where there is none, or always 0 if
        `zero`. reverse: whether the last step was computed first.
        """
        count, here = self._ones.apply(CumsumOp, axis=1, dtype="int32"), Term(self.ctx, self.mask)
        at = count - (self._ones if reverse else 1)
        some = at < Term(self.ctx, self.lengths).reshape(shape_of(self.mask)[0], 1) if reverse else count > 0
        inside = minimum(maximum(at, 0), at.number(self._time - 1))
        values = Term(self.ctx, self._gathered(results, inside))
        shape = (*shape_of(self.mask), *(1,) * (len(values.shape) - 2))
        return where((here if zero else some).reshape(*shape), values, 0.0).value

    def at_end(self, result: SSAValue, reverse: bool) -> SSAValue:
        """The result (batch, ..) of the last step in order, 0 where that one does not count."""
        time = self._time
        begin, end = (0, 1) if reverse else (time - 1, time)
        last = Term(self.ctx, self.ctx.emit(StridedSliceOp, self.mask, begin=(begin,), end=(end,), axes=(1,)))
        batch, *rest = shape_of(result)
        return where(last.reshape(batch, *(1,) * len(rest)), Term(self.ctx, result), 0.0).value

    def _gathered(self, data: SSAValue, at: Term) -> SSAValue:
        return self.ctx.emit(GatherNdOp, data, at.reshape(1, *at.shape).value, batch_dims=1)

"""`TensorIntrin`: the result of an intrinsic and how, for `Schedule.tensorize`."""

from __future__ import annotations

from whence.support.doors import doors
from whence.support.errors import ScheduleError
from whence.te.blocks import tensorize
from whence.tir.function import PrimFunc


@doors(ScheduleError)
class TensorIntrin:
    """An intrinsic by name: `desc`, a kernel of loops that says what it computes, and `impl`, which replaces it."""

    def __init__(self, desc: PrimFunc, impl: PrimFunc):
        self.desc, self.impl = desc, impl

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> TensorIntrin:
        """Register an intrinsic for `Schedule.tensorize`.

        desc, impl: of the same buffers. Raises ScheduleError for other ones, and for a name that there is, if it is not
        to be overridden.
        """
        tensorize.register(name, desc.op, impl.op, override=override)
        return TensorIntrin(desc, impl)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """Return the intrinsic of a name. Raises ScheduleError if there is none; allow_missing: return None then."""
        if allow_missing and not tensorize.is_registered(name):
            return None
        intrin = tensorize.intrinsic(name)
        return TensorIntrin(PrimFunc.of(intrin.desc), PrimFunc.of(intrin.impl))

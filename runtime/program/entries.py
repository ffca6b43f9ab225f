"""The functions of a TVM module by name, `module["add"](a, b, c)`, and timers of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...support.errors import FrontendError, PipelineError, WhenceError, expectation
from ..values.device import check_cpu
from ..values.open_specs import OPEN
from .timing import BenchmarkResult, Timing

if TYPE_CHECKING:
    from ...support.dtypes import Array
    from ..values.tensors import Tensor, TensorSpec
    from .executor import Runner
    from .threads import ThreadPool

ENTRY_NAME = "__tvm_main__"
"""The name of a module's main function."""


class NamedFunctions:
    """A module that has functions by name, in TVM's way."""

    entry_name = ENTRY_NAME
    type_key = "library"
    imported_modules: tuple[object, ...] = ()
    """Code for other devices; there is none."""
    is_runnable = True

    def __getitem__(self, name: str) -> Callable[..., Any]:
        raise NotImplementedError

    @property
    def entry_func(self) -> Callable[..., Any]:
        return self[ENTRY_NAME]

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """Return `module[name]`."""
        return self[name]

    def implements_function(self, func_name: str, query_imports: bool = False) -> bool:
        """Return whether there is a function of a name."""
        try:
            self[func_name]
        except WhenceError:
            return False
        return True

    def time_evaluator(
        self,
        func_name: str,
        dev: object = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """Return a timer of a function: called with arguments, it gives the seconds that each repeat's calls take.

        Raises PipelineError for an unknown function, another device, and `f_preproc`.
        """
        check_cpu(dev, "time_evaluator")
        if f_preproc:
            raise PipelineError(expectation("time_evaluator", "no f_preproc", repr(f_preproc)))
        function = self[func_name]
        timing = Timing(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
        timing.check()
        return lambda *arguments: timing.measure(lambda: function(*arguments))


class LoadedFunction:
    """The function of an exported file, called with its inputs, and optionally with output arrays to write.

    order: the position in a call of each argument of the program; empty if they come in its order.
    """

    def __init__(self, name: str, runner: Runner, pool: ThreadPool, order: Sequence[int] = ()):
        self.name = name
        self._runner = runner
        self._pool = pool
        self._order = order

    def __call__(self, *arrays: Any) -> Tensor | tuple[Tensor, ...] | None:
        program = self._runner.program
        count = len(program.inputs)
        if len(arrays) == count:
            results = self._runner.run(arrays, self._pool)
            return results[0] if len(results) == 1 else tuple(results)
        if len(arrays) != count + len(program.outputs):
            names = ", ".join(spec.name for spec in program.inputs)
            expected = f"{count} inputs ({names}), or {count + len(program.outputs)} arguments with outputs to write"
            raise FrontendError(expectation(f"function '{self.name}'", expected, f"{len(arrays)}"))
        if self._order:
            arrays = tuple(arrays[position] for position in self._order)
        for spec, array in zip(program.outputs, arrays[count:], strict=True):
            self._check(spec, array, spec.shape)
        results = self._runner.run(arrays[:count], self._pool)
        for spec, array, result in zip(program.outputs, arrays[count:], results, strict=True):
            # Open extents are known now, and nothing is written yet.
            self._check(spec, array, result.shape)
        for array, result in zip(arrays[count:], results, strict=True):
            np.copyto(array, result)
        return None

    def _check(self, spec: TensorSpec, value: object, shape: Sequence[int]) -> None:
        fits = isinstance(value, np.ndarray) and value.flags.writeable
        array = cast("Array", value)
        fits = (
            fits and array.ndim == len(shape) and all(a in (b, OPEN) for a, b in zip(shape, array.shape, strict=True))
        )
        if not fits or array.dtype != spec.dtype:
            actual = f"{array.dtype}{list(array.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
            actual += ", read-only" if isinstance(value, np.ndarray) and not value.flags.writeable else ""
            expected = f"an array to write as output {spec}"
            expected += f", {list(shape)} here" if OPEN not in shape and OPEN in spec.shape else ""
            raise FrontendError(expectation(f"function '{self.name}'", expected, actual))

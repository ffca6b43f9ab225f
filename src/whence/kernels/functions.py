"""Functions on numpy arrays: compiled kernels."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, cast

import numpy as np

from whence.dialects.element_types import numpy_dtype
from whence.dialects.sizes import Size, evaluate, substitute
from whence.dialects.sizes.expr import symbol
from whence.dialects.sizes.kernel import is_derived, solved
from whence.dialects.sizes.text import parse_size
from whence.dialects.te import ExternOp
from whence.dialects.tir import PrimFuncOp, buffer_of
from whence.kernels.function_module import FunctionModule
from whence.lowering.kernel.printing import located_lines, print_with_lines
from whence.lowering.kernel.tuned import Applied
from whence.lowering.llvm_to_native.compile import compile_text, optimized_text
from whence.lowering.llvm_to_native.emit import emit_module
from whence.lowering.llvm_to_native.link import link
from whence.lowering.llvm_to_native.symbols import check_symbols
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.llvm_to_native.thread_pool import pool_code, thread_pool
from whence.lowering.packed_calls import packed_call
from whence.lowering.tir_to_llvm.constants import ASSERT_FAILED
from whence.lowering.tir_to_llvm.convert import convert
from whence.lowering.tir_to_llvm.float_mode import flushes
from whence.passes.tir.instrument_bound_checkers import sites_of
from whence.passes.tir.pipeline import run_tir_passes
from whence.passes.tir.verify_memory import check_races
from whence.planning.c_kernels import function_text
from whence.provenance.diagnostics import message
from whence.runtime.program.assertions import FailedAssertions
from whence.runtime.program.bounds import CALLBACK, BoundErrors
from whence.runtime.program.library import GraphFunction, Library
from whence.runtime.program.memory import RefusedMemory
from whence.runtime.program.program import REFUSED, Code
from whence.runtime.values.packed import PackedFunctions
from whence.runtime.values.tensors import Arguments, Tensor, address, aligned_empty, readable
from whence.runtime.values.values import Unsuitable, converted
from whence.support.doors import doors, leave
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError

SHAPES = 64
"""The largest number of sizes for which a function keeps the shapes of arrays."""


@doors(besides=("__call__", "at"))
class Function(FunctionModule):
    """A compiled kernel. Called with its inputs, in order, it returns its output, or a tuple of them.

    Called like TVM's functions, with all its arguments, it writes to the outputs among them and returns nothing.
    """

    def __init__(
        self,
        func: PrimFuncOp,
        target: Target,
        threads: int | None,
        calls: Sequence[ExternOp] = (),
        order: Sequence[int] | None = None,
        applied: Applied | None = None,
    ):
        """func: loops as they are written, consumed here, of known sizes or not; calls: the packed calls in them.

        order: where among a call's arguments each of the kernel's is, when they are not in its order.
        applied: what tuning decided about the loops.
        """
        self.name = symbol = func.sym_name.data
        self.tuned: Mapping[str, Applied] = {symbol: applied} if applied is not None else {}
        """Its name -> the decisions of tuning by which it was made; empty where it is made by rule."""
        arguments = func.block.args
        self._shapes = [buffer_of(a).get_shape() for a in arguments]
        self._dtypes = [numpy_dtype(buffer_of(a).element_type) for a in arguments]
        names = func.size_names
        self.sizes = tuple(name for name in names if not is_derived(name))
        self._derived = {f"s{number}": parse_size(name) for number, name in enumerate(names) if is_derived(name)}
        self._names = [(argument.name_hint or f"p{i}", argument.location) for i, argument in enumerate(arguments)]
        self._order = None if order is None or list(order) == sorted(order) else list(order)
        self._count = len(arguments) - func.outputs.value.data
        self._values: tuple[int, ...] = ()
        self._fixed: OrderedDict[tuple[int, ...], Function] = OrderedDict()
        if not self.sizes:
            self._fix(())
        self.target = target
        check_races(func)
        run_tir_passes(func, target.hardware)
        self.tir, lines = print_with_lines(func)
        self.locations = located_lines(self.tir, lines)
        """Per line of `tir` the locations of the ops on it."""
        low = convert(func, lines, flush=flushes(target.triple))
        self.llvm = emit_module(low.module, lines=low.lines, source=f"{symbol}.tir", target=target)
        self.native = native = compile_text(self.llvm, target)
        self.assembly = native.assembly
        self._packed = PackedFunctions(map(packed_call, calls))
        self._sites = sites_of(func)
        self._bounds, self._assertions = BoundErrors(), FailedAssertions()
        pool = pool_code()
        self.imports: dict[str, int] = {
            CALLBACK: self._bounds.address,
            ASSERT_FAILED: self._assertions.address,
            **self._packed.symbols,
        }
        """The addresses in this process that its code may call, by symbol."""
        imports = pool.imports | self.imports
        check_symbols(func, imports)
        self._code = link([native.object], [symbol], imports)
        self._memory = RefusedMemory(Code({REFUSED: pool.refused}))
        kinds = [*[ctypes.c_void_p] * len(arguments), *[ctypes.c_int64] * len(self.sizes), *[ctypes.c_void_p] * 2]
        self._call: Any = ctypes.CFUNCTYPE(None, *kinds)(self._code[symbol])
        self._workspace = aligned_empty((low.workspace,), np.uint8)
        self._scratch = address(self._workspace)
        self._pool = thread_pool(threads)

    @property
    def optimized_llvm(self) -> str:
        """The LLVM IR after LLVM's passes, which are run again for it."""
        return optimized_text(self.llvm, self.target)

    @property
    def c_source(self) -> str:
        """The code as C with GNU's vectors; raises VerifyException for an op that has none."""
        return function_text(self.tir, self.name, self.locations, self.target)

    def _fix(self, values: tuple[int, ...]) -> None:
        """Take arrays of the shapes for these sizes from now on."""
        by_name = {f"s{number}": value for number, value in enumerate(values)}
        for name, size in self._derived.items():
            by_name[name] = evaluate(size, by_name)
        shapes = [tuple([evaluate(extent, by_name) for extent in shape]) for shape in self._shapes]
        specs = list(zip(shapes, self._dtypes, strict=True))
        self._values, self._specs, self._inputs = values, specs, specs[: self._count]
        self._arguments = Arguments(self._inputs, specs[self._count :])

    def at(self, values: tuple[int, ...]) -> Function:
        """Return this function for arrays of the shapes for its sizes, in order; the code is the same."""
        if (fixed := self._fixed.get(values)) is None:
            fixed = self._fixed[values] = copy(self)
            fixed._fix(values)
            if len(self._fixed) > SHAPES:
                self._fixed.popitem(last=False)
        self._fixed.move_to_end(values)
        return fixed

    def _sizes_of(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """The sizes that the shapes of a call's arrays tell; raises FrontendError where they tell none, or several."""
        order = self._order if self._order is not None and len(arrays) == len(self._shapes) else range(len(arrays))
        shapes = [self._array(position, arrays[at]).shape for position, at in enumerate(order)]
        sizes = solved(zip(self._shapes, shapes, strict=False))
        if missing := [name for number, name in enumerate(self.sizes) if number not in sizes]:
            raise FrontendError(f"function '{self.name}': expected arrays whose shapes tell {', '.join(missing)}")
        return tuple([sizes[number] for number in range(len(self.sizes))])

    def __call__(self, *arrays: Any) -> Tensor | tuple[Tensor, ...]:
        try:
            return self._called(arrays)
        except Exception as error:
            leave(error, Function.__call__, (self, *arrays))

    def _called(self, arrays: Sequence[Any]) -> Any:
        if self.sizes and not self._values:
            return self.at(self._sizes_of(arrays))._called(arrays)
        count = len(self._inputs)
        if len(arrays) != count:
            return self._in_place(arrays)
        if (addresses := self._arguments.ready(arrays)) is None:
            arrays = self._checked(arrays)
            addresses = [address(array) for array in arrays]
        results, places = self._arguments.outputs()
        self._run([*addresses, *places])
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def arguments(self) -> list[tuple[str, tuple[int, ...], np.dtype[np.generic]]]:
        """Name, shape and dtype of each argument of the code: of inputs, then of outputs."""
        return [(name, *spec) for (name, _), spec in zip(self._names, self._specs, strict=True)]

    @property
    def open_arguments(self) -> list[tuple[str, tuple[Size, ...], np.dtype[np.generic]]]:
        """Name, shape and dtype of each argument of the code, over the names of its sizes."""
        names = {f"s{number}": symbol(name) for number, name in enumerate(self.sizes)}
        names |= {name: substitute(size, names) for name, size in self._derived.items()}
        shapes = [tuple([substitute(extent, names) for extent in shape]) for shape in self._shapes]
        return [
            (name, *spec) for (name, _), spec in zip(self._names, zip(shapes, self._dtypes, strict=True), strict=True)
        ]

    @property
    def inputs(self) -> int:
        """The number of arguments that are inputs."""
        return self._count

    @property
    def order(self) -> list[int]:
        """The position of each argument of the code among a call's arguments; empty where the order is the same."""
        return self._order or []

    @property
    def workspace_bytes(self) -> int:
        """The scratch memory that a call needs."""
        return self._workspace.nbytes

    @cached_property
    def library(self) -> Library:
        """This function alone, for a graph to call; raises PipelineError unless inputs come before outputs."""
        if self._order is not None:
            raise PipelineError(f"function '{self.name}': expected inputs before outputs, to be called by a graph")
        if self.sizes:
            raise PipelineError(f"function '{self.name}': expected known sizes, to be called by a graph")
        function = GraphFunction(self._code[self.name], self._workspace.nbytes)
        return Library({self.name: function}, self._pool, self, self._after)

    def _after(self, node: str) -> None:
        """Raise the error of a call from a node of a graph."""
        self._packed.check()
        self._assertions.check(node)
        self._bounds.check(node, self._site)

    def __repr__(self) -> str:
        kinds = zip(self._names, self._shapes, self._dtypes, strict=True)
        arguments = [f"{name}: {spelled(shape, dtype)}" for (name, _), shape, dtype in kinds]
        sizes = [f"s{number}: {name}" for number, name in enumerate(self.sizes)]
        outputs = len(self._shapes) - self._count
        return f"Function({self.name}({', '.join([*arguments, *sizes])}), {outputs} outputs)"

    def _run(self, addresses: Sequence[int]) -> None:
        refusals = self._memory.count
        self._call(*addresses, *self._values, self._scratch, self._pool.handle or None)
        self._memory.check(refusals)
        self._after(self.name)

    def _in_place(self, arrays: Sequence[Array]) -> Any:
        """Write the outputs, which are among the arrays; None."""
        inputs, total = len(self._inputs), len(self._specs)
        if len(arrays) != total:
            several = f", or {total} arguments with outputs to write" if total > inputs else ""
            names = ", ".join(name for name, _ in self._names[:inputs]) or "none"
            raise FrontendError(
                f"function '{self.name}': expected {inputs} inputs ({names}){several}, got {len(arrays)}"
            )
        if self._order is not None:
            arrays = [arrays[position] for position in self._order]
        checked = self._checked(arrays[:inputs])
        results: list[Tensor] = []
        for position, array in enumerate(arrays[inputs:], inputs):
            self._check(position, array)
            if not array.flags.writeable:
                self._fail(position, "a read-only array")
            # An array in another layout, or one that shares memory with another argument, is filled by a copy.
            plain = array.flags.c_contiguous and readable(array) is array
            others = (*arrays[:position], *arrays[position + 1 :])
            alone = plain and not any(np.may_share_memory(array, other) for other in others)
            results.append(cast(Tensor, array) if alone else aligned_empty(array.shape, array.dtype))
        self._run([address(array) for array in (*checked, *results)])
        for array, result in zip(arrays[inputs:], results, strict=True):
            if result is not array:
                np.copyto(array, result)

    def _checked(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """Return the inputs as the kernel can read them; raises FrontendError for another shape or dtype."""
        return tuple(readable(self._check(position, array)) for position, array in enumerate(arrays))

    def _check(self, position: int, value: object) -> Array:
        shape, dtype = self._specs[position]
        array = self._array(position, value)
        if array.shape != shape or array.dtype != dtype:
            self._fail(position, spelled(array.shape, array.dtype))
        return array

    def _array(self, position: int, value: object) -> Array:
        """The array of an argument: of an input in the dtype of the kernel, of an output the one to write."""
        try:
            if position < self._count:
                return converted(value, self._dtypes[position])
        except Unsuitable as unsuitable:
            self._fail(position, str(unsuitable))
        if not isinstance(value, np.ndarray):
            self._fail(position, type(value).__name__)
        return cast(Array, value)

    def _fail(self, position: int, actual: str) -> None:
        name, location = self._names[position]
        is_open = bool(self.sizes) and not self._values
        shape = self._shapes[position] if is_open else self._specs[position][0]
        dtype = self._dtypes[position]
        role = "input" if position < len(self._inputs) else "output"
        number = self._order[position] if self._order is not None else position
        expected = f"{role} {number} '{name}' of {spelled(shape, dtype)}"
        raise FrontendError(message(f"function '{self.name}'", expected, actual, location))

    def _site(self, number: int) -> tuple[str, list[str]]:
        site = self._sites[number]
        return site.buffer, [f"layer '{layer}'" for layer in site.layers]


def spelled(shape: Sequence[object], dtype: object) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"

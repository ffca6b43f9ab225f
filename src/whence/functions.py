"""Functions on numpy arrays: compiled kernels, of one size, or of sizes that a call's arrays say."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from whence.dialects.element_types import numpy_dtype
from whence.dialects.te import ExternOp
from whence.dialects.tir import PrimFuncOp, buffer_of
from whence.lowering.kernel.printing import print_with_lines
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.emit import emit_module
from whence.lowering.llvm_to_native.link import link
from whence.lowering.llvm_to_native.symbols import check_symbols
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.llvm_to_native.thread_pool import pool_code, thread_pool
from whence.lowering.packed_calls import packed_call
from whence.lowering.tir_to_llvm.constants import ASSERT_FAILED
from whence.lowering.tir_to_llvm.convert import convert
from whence.passes.tir.instrument_bound_checkers import CALLBACK, sites_of
from whence.passes.tir.pipeline import run_tir_passes
from whence.provenance.diagnostics import message
from whence.runtime.assertions import FailedAssertions
from whence.runtime.bounds import BoundErrors
from whence.runtime.library import GraphFunction, Library
from whence.runtime.packed import PackedFunctions
from whence.runtime.program import PARALLEL_FOR
from whence.runtime.tensors import Arguments, Tensor, address, aligned_empty, readable
from whence.support.dtypes import Array, is_float, python_number
from whence.support.errors import FrontendError, PipelineError
from whence.te.language.expr import Expr, Var
from whence.te.language.scalars import extent_value
from whence.te.language.tensor import Tensor as TeTensor

SPECIALIZATIONS = 16
"""The sizes that a function of open sizes keeps machine code for; the one not called for longest goes first."""


class Function:
    """A compiled kernel. Called with its inputs, in order, it returns its output, or a tuple of them.

    Called with all its arguments, as TVM's functions are, it writes those that are outputs and returns nothing.
    """

    def __init__(
        self,
        func: PrimFuncOp,
        target: Target,
        threads: int | None,
        calls: Sequence[ExternOp] = (),
        order: Sequence[int] | None = None,
    ):
        """func: loops as they are written, consumed here; calls: the packed calls in them.

        order: where among a call's arguments each of the kernel's is, when they are not in its order.
        """
        self.name = symbol = func.sym_name.data
        arguments = func.block.args
        specs = [(buffer_of(a).get_shape(), numpy_dtype(buffer_of(a).element_type)) for a in arguments]
        self._names = [(argument.name_hint or f"p{i}", argument.location) for i, argument in enumerate(arguments)]
        self._order = None if order is None or list(order) == sorted(order) else list(order)
        inputs = len(specs) - func.outputs.value.data
        self._inputs, self._specs = specs[:inputs], specs
        self._arguments = Arguments(self._inputs, specs[inputs:])
        run_tir_passes(func, target.hardware)
        self.tir, lines = print_with_lines(func)
        low = convert(func, lines)
        self.llvm = emit_module(low.module, lines=low.lines, source=f"{symbol}.tir", target=target)
        native = compile_text(self.llvm, target)
        self.assembly = native.assembly
        self._packed = PackedFunctions(map(packed_call, calls))
        self._sites = sites_of(func)
        self._bounds, self._assertions = BoundErrors(), FailedAssertions()
        imports = {
            PARALLEL_FOR: pool_code().parallel_for,
            CALLBACK: self._bounds.address,
            ASSERT_FAILED: self._assertions.address,
            **self._packed.symbols,
        }
        check_symbols(func, imports)
        self._code = link([native.object], [symbol], imports)
        count = len(specs) + 2
        self._call: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(self._code[symbol])
        self._workspace = aligned_empty((low.workspace,), np.uint8)
        self._scratch = address(self._workspace)
        self._pool = thread_pool(threads)

    def __call__(self, *arrays: Any) -> Tensor | tuple[Tensor, ...]:
        count = len(self._inputs)
        if len(arrays) != count:
            return self._in_place(arrays)
        if (addresses := self._arguments.ready(arrays)) is None:
            arrays = self._checked(arrays)
            addresses = [address(array) for array in arrays]
        results, places = self._arguments.outputs()
        self._run([*addresses, *places])
        return results[0] if len(results) == 1 else tuple(results)

    @cached_property
    def library(self) -> Library:
        """This function alone, to run a graph with; raises PipelineError unless inputs come before outputs."""
        if self._order is not None:
            raise PipelineError(f"function '{self.name}': expected inputs before outputs, to be called by a graph")
        function = GraphFunction(self._code[self.name], self._workspace.nbytes)
        return Library({self.name: function}, self._pool, self, self._after)

    def _after(self, node: str) -> None:
        """Raise what happened in a call from a node of a graph."""
        self._packed.check()
        self._assertions.check(node)
        self._bounds.check(node, self._site)

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{name}: {_spelled(*spec)}" for (name, _), spec in zip(self._names, self._specs, strict=True)
        )
        return f"Function({self.name}({arguments}), {len(self._specs) - len(self._inputs)} outputs)"

    def _run(self, addresses: Sequence[int]) -> None:
        self._call(*addresses, self._scratch, self._pool.handle or None)
        self._after(self.name)

    def _in_place(self, arrays: Sequence[Array]) -> Any:
        """Write the outputs, which are among the arrays; None."""
        inputs, total = len(self._inputs), len(self._specs)
        if len(arrays) != total:
            several = f", or {total} arguments with outputs to write" if total > inputs else ""
            found = ", ".join(name for name, _ in self._names[:inputs]) or "none"
            raise FrontendError(
                f"function '{self.name}': expected {inputs} inputs ({found}){several}, got {len(arrays)}"
            )
        if self._order is not None:
            arrays = [arrays[place] for place in self._order]
        given = self._checked(arrays[:inputs])
        results: list[Tensor] = []
        for position, array in enumerate(arrays[inputs:], inputs):
            self._check(position, array)
            if not array.flags.writeable:
                self._fail(position, "a read-only array")
            # What is not laid out as the kernel writes, or shares memory with another argument, is copied to.
            plain = array.flags.c_contiguous and readable(array) is array
            others = (*arrays[:position], *arrays[position + 1 :])
            alone = plain and not any(np.may_share_memory(array, other) for other in others)
            results.append(cast(Tensor, array) if alone else aligned_empty(array.shape, array.dtype))
        self._run([address(array) for array in (*given, *results)])
        for array, result in zip(arrays[inputs:], results, strict=True):
            if result is not array:
                np.copyto(array, result)

    def _checked(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """The inputs, such as the kernel can read; raises FrontendError when they are of another shape or dtype."""
        return tuple(readable(self._check(position, array)) for position, array in enumerate(arrays))

    def _check(self, position: int, value: object) -> Array:
        shape, dtype = self._specs[position]
        if not isinstance(value, np.ndarray | np.generic):
            self._fail(position, type(value).__name__)
        array = np.asarray(cast(Array, value))
        if array.shape != shape or array.dtype != dtype:
            self._fail(position, _spelled(array.shape, array.dtype))
        return array

    def _fail(self, position: int, found: str) -> None:
        name, location = self._names[position]
        shape, dtype = self._specs[position]
        what = "input" if position < len(self._inputs) else "output"
        place = self._order[position] if self._order is not None else position
        expected = f"{what} {place} '{name}' of {_spelled(shape, dtype)}"
        raise FrontendError(message(f"function '{self.name}'", expected, found, location))

    def _site(self, number: int) -> tuple[str, list[str]]:
        site = self._sites[number]
        return site.buffer, [f"layer '{layer}'" for layer in site.layers]


def _spelled(shape: Sequence[object], dtype: object) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"


class OpenFunction(Function):
    """A kernel whose sizes are those of the arrays it is called with: machine code for each, made when first needed."""

    def __init__(
        self,
        name: str,
        parameters: Sequence[TeTensor | Var],
        outputs: Sequence[TeTensor],
        make: Callable[[Mapping[str, float]], Function],
    ):
        """parameters: of a call, in order, outputs and sizes among them; make: the function for some sizes."""
        self.name = name
        self._parameters = list(parameters)
        self._written = set(outputs)
        self._make = make
        self._kernels: OrderedDict[tuple[tuple[str, float], ...], Function] = OrderedDict()

    @property
    def specializations(self) -> list[dict[str, float]]:
        """The sizes that there is machine code for, the last one called for last."""
        return [dict(sizes) for sizes in self._kernels]

    def specialized(self, **sizes: float) -> Function:
        """The function for these sizes."""
        key = tuple(sorted(sizes.items()))
        if key not in self._kernels:
            self._kernels[key] = self._make(sizes)
            if len(self._kernels) > SPECIALIZATIONS:
                self._kernels.popitem(last=False)
        self._kernels.move_to_end(key)
        return self._kernels[key]

    def __call__(self, *arrays: Any) -> Tensor | tuple[Tensor, ...]:
        parameters = self._parameters
        if len(arrays) != len(parameters):
            parameters = [one for one in parameters if one not in self._written]
        if len(arrays) != len(parameters):
            names = ", ".join(parameter.name for parameter in parameters)
            raise FrontendError(
                f"function '{self.name}': expected {len(parameters)} inputs ({names}), got {len(arrays)}"
            )
        found = self.specialized(**self._sizes(parameters, arrays))
        return found(*(a for a, p in zip(arrays, parameters, strict=True) if isinstance(p, TeTensor)))

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{one.name}: {_spelled(one.shape, one.dtype)}" if isinstance(one, TeTensor) else f"{one.name}: {one.dtype}"
            for one in self._parameters
        )
        return f"OpenFunction({self.name}({arguments}), code for {len(self._kernels)} sizes)"

    def _sizes(self, parameters: Sequence[TeTensor | Var], arrays: Sequence[Any]) -> dict[str, float]:
        """The values of the variables; raises FrontendError when shapes do not fit each other."""
        sizes: dict[str, float] = {}
        said: dict[str, str] = {}
        for position, (parameter, array) in enumerate(zip(parameters, arrays, strict=True)):
            if isinstance(parameter, Var):
                kinds = (int, float, np.number) if is_float(parameter.dtype) else (int, np.integer)
                if isinstance(array, bool) or not isinstance(array, kinds):
                    self._refuse(position, parameter, parameter.dtype, type(array).__name__)
                sizes[parameter.name], said[parameter.name] = python_number(array), f"argument {position}"
                continue
            wanted = _spelled(parameter.shape, parameter.dtype)
            if not isinstance(array, np.ndarray):
                self._refuse(position, parameter, wanted, type(array).__name__)
            array = cast(Array, array)
            if array.ndim != parameter.ndim or str(array.dtype) != parameter.dtype:
                self._refuse(position, parameter, wanted, _spelled(array.shape, array.dtype))
            for extent, size in zip(parameter.shape, array.shape, strict=True):
                if isinstance(extent, Var) and sizes.setdefault(extent.name, size) != size:
                    before = f"{extent.name} = {sizes[extent.name]} as in {said[extent.name]}"
                    found = f"{_spelled(array.shape, array.dtype)} with {extent.name} = {size}"
                    self._refuse(position, parameter, f"{wanted}, {before}", found)
                if isinstance(extent, Var):
                    said.setdefault(extent.name, f"'{parameter.name}'")
        for position, (parameter, array) in enumerate(zip(parameters, arrays, strict=True)):
            if isinstance(parameter, TeTensor):
                # Arithmetic of sizes; what it needs and no array says is missed when the kernel is made.
                known = all(not isinstance(extent, Expr) or isinstance(extent, Var) for extent in parameter.shape)
                shape = parameter.shape if known else tuple(extent_value(e, sizes) for e in parameter.shape)
                numbers = [sizes[e.name] if isinstance(e, Var) else e for e in shape]
                if numbers != list(array.shape):
                    wanted = _spelled(parameter.shape, parameter.dtype)
                    values = ", ".join(f"{name} = {value}" for name, value in sizes.items())
                    expected = f"{wanted}, {_spelled(numbers, parameter.dtype)} for {values or 'these sizes'}"
                    self._refuse(position, parameter, expected, _spelled(array.shape, array.dtype))
        return sizes

    def _refuse(self, position: int, parameter: TeTensor | Var, expected: str, found: str) -> None:
        location = parameter.op.location if isinstance(parameter, TeTensor) else None
        expected = f"argument {position} '{parameter.name}' of {expected}"
        raise FrontendError(message(f"function '{self.name}'", expected, found, location))

    @property
    def _last(self) -> Function:
        if not self._kernels:
            raise FrontendError(f"function '{self.name}': expected a call first: there is code for no size yet")
        return next(reversed(self._kernels.values()))

    # Of the sizes called for last.

    @property
    def tir(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._last.tir

    @property
    def llvm(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._last.llvm

    @property
    def assembly(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._last.assembly

"""Functions on numpy arrays of any sizes, which the arrays of a call decide."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from whence.kernels.function_module import FunctionModule
from whence.kernels.functions import Function, spelled
from whence.provenance.diagnostics import message
from whence.runtime.values.tensors import Tensor
from whence.support.doors import doors
from whence.support.dtypes import Array, is_float, python_number
from whence.support.errors import FrontendError, PipelineError, expectation
from whence.te.language.expr import Expr, Extent, Var
from whence.te.language.extents import extent_number
from whence.te.language.tensor import Tensor as TeTensor
from whence.te.language.walks import walk

SPECIALIZATIONS = 16
"""The largest number of sizes for which an open function keeps machine code; the least recently used goes first."""


_FAR = 1 << 20
"""The value at which a size is tried to see how others follow from it: large, to stay positive after subtractions."""


@doors()
class OpenFunction(Function):
    """A kernel whose sizes are those of the arrays it is called with.

    There is one code for all of them, where that can be; else code for each, made when first needed, as `specialized`
    makes it when asked to.
    """

    def __init__(
        self,
        name: str,
        parameters: Sequence[TeTensor | Var],
        outputs: Sequence[TeTensor],
        make: Callable[[Mapping[str, float]], Function],
        symbolic: Function | None = None,
    ):
        """parameters: of a call, in order, outputs and sizes among them; make: the function for some sizes.

        symbolic: the function for all sizes.
        """
        self.name = name
        self.tuned = {}
        self.sizes = _names(parameters)
        self._parameters = list(parameters)
        self._written = set(outputs)
        self._make = make
        self.symbolic = symbolic
        """The function for all sizes, which it takes as numbers; None where code depends on them."""
        self._kernels: OrderedDict[tuple[tuple[str, float], ...], Function] = OrderedDict()

    @property
    def specializations(self) -> list[dict[str, float]]:
        """The sizes that have machine code, the most recently used last."""
        return [dict(sizes) for sizes in self._kernels]

    def specialized(self, **sizes: float) -> Function:
        """Return the function for these sizes."""
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
            parameters = [parameter for parameter in parameters if parameter not in self._written]
        if len(arrays) != len(parameters):
            names = ", ".join(parameter.name for parameter in parameters)
            raise FrontendError(
                f"function '{self.name}': expected {len(parameters)} inputs ({names}), got {len(arrays)}"
            )
        function = self._function(self._sizes(parameters, arrays))
        return function(*(a for a, p in zip(arrays, parameters, strict=True) if isinstance(p, TeTensor)))

    @property
    def _code_for_files(self) -> FunctionModule:
        if self.symbolic is None:
            expected = "code for all sizes (or `specialized` for some)"
            raise PipelineError(expectation(f"export of function '{self.name}'", expected, "code for each size"))
        return self.symbolic

    def _function(self, sizes: Mapping[str, float]) -> Function:
        """Return the function for these sizes."""
        if self.symbolic is None:
            return self.specialized(**sizes)
        return self.symbolic.at(tuple([extent_number(Var(name, "int64"), sizes) for name in self.symbolic.sizes]))

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{parameter.name}: {spelled(parameter.shape, parameter.dtype)}"
            if isinstance(parameter, TeTensor)
            else f"{parameter.name}: {parameter.dtype}"
            for parameter in self._parameters
        )
        code = "all" if self.symbolic is not None else str(len(self._kernels))
        return f"OpenFunction({self.name}({arguments}), code for {code} sizes)"

    def _sizes(self, parameters: Sequence[TeTensor | Var], arrays: Sequence[Any]) -> dict[str, float]:
        """Return the values of the variables; raises FrontendError when shapes do not fit each other."""
        sizes: dict[str, float] = {}
        said: dict[str, str] = {}
        for position, (parameter, array) in enumerate(zip(parameters, arrays, strict=True)):
            if isinstance(parameter, Var):
                kinds = (int, float, np.number) if is_float(parameter.dtype) else (int, np.integer)
                if isinstance(array, bool) or not isinstance(array, kinds):
                    self._refuse(position, parameter, parameter.dtype, type(array).__name__)
                sizes[parameter.name], said[parameter.name] = python_number(array), f"argument {position}"
                continue
            wanted = spelled(parameter.shape, parameter.dtype)
            if not isinstance(array, np.ndarray):
                self._refuse(position, parameter, wanted, type(array).__name__)
            array = cast(Array, array)
            if array.ndim != parameter.ndim or str(array.dtype) != parameter.dtype:
                self._refuse(position, parameter, wanted, spelled(array.shape, array.dtype))
            for extent, size in zip(parameter.shape, array.shape, strict=True):
                if isinstance(extent, Var) and sizes.setdefault(extent.name, size) != size:
                    before = f"{extent.name} = {sizes[extent.name]} as in {said[extent.name]}"
                    actual = f"{spelled(array.shape, array.dtype)} with {extent.name} = {size}"
                    self._refuse(position, parameter, f"{wanted}, {before}", actual)
                if isinstance(extent, Var):
                    said.setdefault(extent.name, f"'{parameter.name}'")
        for parameter, array in zip(parameters, arrays, strict=True):
            for extent, size in (
                zip(parameter.shape, array.shape, strict=True) if isinstance(parameter, TeTensor) else ()
            ):
                sizes |= _solved(extent, size, sizes)
        for position, (parameter, array) in enumerate(zip(parameters, arrays, strict=True)):
            if isinstance(parameter, TeTensor):
                # Arithmetic of sizes; what it needs and no array says is missed when the kernel is made.
                known = all(isinstance(extent, int | Var) for extent in parameter.shape)
                shape = parameter.shape if known else tuple(extent_number(e, sizes) for e in parameter.shape)
                numbers = [sizes[e.name] if isinstance(e, Var) else e for e in shape]
                if numbers != list(array.shape):
                    wanted = spelled(parameter.shape, parameter.dtype)
                    values = ", ".join(f"{name} = {value}" for name, value in sizes.items())
                    expected = f"{wanted}, {spelled(numbers, parameter.dtype)} for {values or 'these sizes'}"
                    self._refuse(position, parameter, expected, spelled(array.shape, array.dtype))
        return sizes

    def _refuse(self, position: int, parameter: TeTensor | Var, expected: str, actual: str) -> None:
        location = parameter.op.location if isinstance(parameter, TeTensor) else None
        expected = f"argument {position} '{parameter.name}' of {expected}"
        raise FrontendError(message(f"function '{self.name}'", expected, actual, location))

    @property
    def _last(self) -> Function:
        if self.symbolic is not None:
            return self.symbolic
        if not self._kernels:
            raise FrontendError(f"function '{self.name}': expected a call first: there is code for no size yet")
        return next(reversed(self._kernels.values()))

    # Properties of the sizes of the last call.

    @property
    def tir(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._last.tir

    @property
    def llvm(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._last.llvm

    @property
    def optimized_llvm(self) -> str:
        return self._last.optimized_llvm

    @property
    def assembly(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._last.assembly


def _names(parameters: Sequence[TeTensor | Var]) -> tuple[str, ...]:
    """Return the names of the sizes in array shapes, and of the arguments that are numbers."""
    extents = [
        extent
        for parameter in parameters
        for extent in ([parameter] if isinstance(parameter, Var) else parameter.shape)
    ]
    nodes = walk([extent for extent in extents if isinstance(extent, Expr)])
    return tuple(dict.fromkeys(node.name for node in nodes if isinstance(node, Var)))


def _solved(extent: Extent, size: int, sizes: Mapping[str, float]) -> dict[str, int]:
    """Return the value of the one unknown in an extent such as `4 * n + 2`, if linear, that makes it `size`."""
    nodes = walk([extent]) if isinstance(extent, Expr) else []
    names = {node.name for node in nodes if isinstance(node, Var) and node.name not in sizes}
    if len(names) != 1:
        return {}
    (name,) = names
    first, second, third = (extent_number(extent, {**sizes, name: _FAR + i}) for i in range(3))
    step = second - first
    if step != third - second or step == 0 or (size - first) % step:
        return {}
    return {name: _FAR + (size - first) // step}

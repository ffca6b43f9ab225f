"""Weights of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whence.relax.frontend.nn.tensors import Tensor
from whence.runtime.values.values import Unsuitable, array_of
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, expectation
from whence.syntax.relay.expr import Expr, Var
from whence.syntax.relay.type_view import TensorType

_default = ["float32"]


def get_default_dtype() -> str:
    """Return the dtype of parameters that state none."""
    return _default[0]


def set_default_dtype(dtype: str) -> None:
    """Have parameters that state no dtype be of another one than float32."""
    _default[0] = TensorType((), dtype).dtype


class Parameter(Tensor):
    """A weight of a module: a parameter of its functions, and `data` for it, if somebody set that."""

    def __init__(self, shape: Sequence[Any], dtype: str | None = None):
        self._type = TensorType(shape, dtype or get_default_dtype())
        super().__init__(_expr=Var("param", self._type))
        self._data: Array | None = None

    @property
    def data(self) -> Array | None:
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        if value is None:
            self._data = None
            return
        try:
            array = array_of(value)
        except Unsuitable as error:
            raise FrontendError(expectation("Parameter", f"an array of {self._type}", str(error))) from error
        wanted = [size if isinstance(size, int) else None for size in self._type.shape]
        fits = len(wanted) == array.ndim and all(
            size in (None, got) for size, got in zip(wanted, array.shape, strict=True)
        )
        if not fits or array.dtype.name != self._type.dtype:
            got = f"{array.dtype.name}{list(array.shape)}"
            raise FrontendError(expectation("Parameter", str(self._type), got))
        self._data = array

    def to(self, dtype: str | None = None) -> None:
        """Be of another dtype; raises FrontendError for a parameter that has data."""
        if dtype is None:
            return
        if self._data is not None:
            raise FrontendError(expectation("Parameter.to", "a parameter without data", f"one of {self._data.dtype}"))
        self._type = TensorType(self._type.shape, dtype)
        self._expr = Var("param", self._type)

    def bound(self, name: str) -> Var:
        """Return the variable that stands for the parameter in the next function."""
        var = Var(name, self._type)
        self._expr = var
        return var

    def stands_for(self, expr: Expr) -> None:
        """Have an expression be the parameter in the next function."""
        self._expr = expr

    @property
    def type(self) -> TensorType:
        """The shape and the dtype."""
        return self._type


def data_of(parameters: Sequence[tuple[str, Parameter]]) -> dict[str, Array]:
    """Return the data of parameters by name; raises FrontendError for one that has none."""
    absent = [name for name, parameter in parameters if parameter.data is None]
    if absent:
        raise FrontendError(expectation("jit", "data for each parameter, see load_state_dict", f"none for {absent[0]}"))
    return {name: np.asarray(parameter.data) for name, parameter in parameters}

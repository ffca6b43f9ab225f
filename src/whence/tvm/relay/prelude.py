"""The prelude: lists, options and trees, with the functions on them; and arrays of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.relay.module import IRModule
from whence.relay.tensor_arrays import add_static, add_to, name_of
from whence.relay.ty import GlobalTypeVar
from whence.support.errors import FrontendError, expectation
from whence.syntax.relay.expr import Constructor, GlobalVar


class Prelude:
    """The prelude in a module: `p.map` and the like are its functions, `p.mod.get_type("List")` a type of it.

    `p.get_global_var("tensor_array", "float32")` and its like are arrays of tensors, which come with their first use.
    """

    def __init__(self, mod: IRModule | None = None):
        self.mod = mod if mod is not None else IRModule()
        self.mod.import_from_std("prelude.rly")

    def get_name(self, canonical: str, dtype: str) -> str:
        """Return the module's name of `canonical` for arrays of a dtype."""
        add_to(self.mod, dtype)
        return name_of(canonical, dtype)

    def get_global_var(self, canonical: str, dtype: str) -> GlobalVar:
        """A function on arrays of tensors of a dtype; raises ValueError for an unknown one."""
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_type(self, name: str, dtype: str | None = None) -> Any:
        """The name of a data type and its constructors, as `IRModule.get_type`; of a dtype's, the name alone."""
        if dtype is None:
            return self.mod.get_type(name)
        return self.mod.get_global_type_var(self.get_name(name, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Constructor:
        """A constructor of tensors of a dtype: `tensor_nil`, `tensor0`, .."""
        return self._constructor(self.get_name("tensor_t", dtype), name_of(canonical, dtype))

    def _constructor(self, data: str, name: str) -> Constructor:
        constructors = [
            constructor for constructor in self.mod.program.types[data].constructors if constructor.name_hint == name
        ]
        if not constructors:
            known = ", ".join(constructor.name_hint for constructor in self.mod.program.types[data].constructors)
            raise FrontendError(expectation(data, f"a constructor among {known}", name))
        return constructors[0]

    def get_name_static(self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: int | None = None) -> str:
        """Return the module's name of `canonical` for arrays of tensors of a shape."""
        return name_of(canonical, dtype, _batched(shape, batch_dim))

    def get_global_var_static(
        self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: int | None = None
    ) -> GlobalVar:
        """A function on arrays of tensors of a shape; raises ValueError for an unknown one."""
        return self.mod.get_global_var(self.get_name_static(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape: Sequence[Any]) -> GlobalTypeVar:
        """The data type of tensors of a shape; raises FrontendError for an unknown one."""
        return self.mod.get_global_type_var(name_of(canonical, dtype, shape))

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Sequence[Any]) -> Constructor:
        """A constructor of tensors of a shape: `tensor_nil` or `tensor_constructor`."""
        return self._constructor(name_of("tensor_t", dtype, shape), name_of(name, dtype, shape))

    def __getattr__(self, name: str) -> GlobalVar:
        try:
            return self.mod.get_global_var(name)
        except ValueError as error:
            raise AttributeError(str(error)) from None


def _batched(shape: Sequence[Any], batch_dim: int | None) -> list[Any]:
    return list(shape) if batch_dim is None or batch_dim == 1 else [batch_dim, *shape[1:]]


class StaticTensorArrayOps:
    """Arrays of tensors of one shape, whose extents may be `relay.Any()`; `register` adds them to the module."""

    def __init__(self, prelude: Prelude, dtype: str, shape: Sequence[Any], batch_dim: int | None = None):
        self.prelude = prelude
        self.dtype = dtype
        self.shape = _batched(shape, batch_dim)

    def get_name(self, canonical: str) -> str:
        """Return the module's name of `canonical` for these arrays."""
        return name_of(canonical, self.dtype, self.shape)

    def get_global_var(self, canonical: str) -> GlobalVar:
        """A function on them; raises ValueError for an unknown one."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def get_ctor(self, canonical: str) -> Constructor:
        """A constructor of them."""
        return self.prelude.get_tensor_ctor_static(canonical, self.dtype, self.shape)

    def register(self) -> None:
        """Add the data types and functions, once."""
        add_static(self.prelude.mod, self.dtype, self.shape)


class TensorArrayOps:
    """Arrays of tensors of any rank of one dtype; `register` adds them to the module."""

    def __init__(self, prelude: Prelude, dtype: str):
        self.prelude = prelude
        self.dtype = dtype

    def get_name(self, canonical: str) -> str:
        """Return the module's name of `canonical` for these arrays."""
        return name_of(canonical, self.dtype)

    def get_global_var(self, canonical: str) -> GlobalVar:
        """A function on them; raises ValueError for an unknown one."""
        return self.prelude.get_global_var(canonical, self.dtype)

    def get_ctor(self, canonical: str) -> Constructor:
        """A constructor of them."""
        return self.prelude.get_tensor_ctor(canonical, self.dtype)

    def register(self) -> None:
        """Add the data type and functions, once."""
        add_to(self.prelude.mod, self.dtype)

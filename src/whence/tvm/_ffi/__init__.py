"""The registry of functions by name, under TVM's path."""

from whence._ffi import base as base
from whence._ffi import registry as registry
from whence._ffi.registry import get_global_func as get_global_func
from whence._ffi.registry import init_api as _init_api  # noqa: F401  # pyright: ignore[reportUnusedImport]
from whence._ffi.registry import register_func as register_func

"""The registry of functions, where TVM has it."""

from whence.runtime.values.registry import PackedFunc as PackedFunc
from whence.runtime.values.registry import get_global_func as get_global_func
from whence.runtime.values.registry import list_global_func_names as list_global_func_names
from whence.runtime.values.registry import register_func as register_func
from whence.runtime.values.registry import remove_global_func as remove_global_func

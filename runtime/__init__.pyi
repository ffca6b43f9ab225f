from typing import Any

from . import ndarray as ndarray
from .container import String as String
from .device import Device as Device
from .loaded import load_module as load_module
from .ndarray import NDArray as NDArray
from .params import load_param_dict as load_param_dict
from .params import load_param_dict_from_file as load_param_dict_from_file
from .params import save_param_dict as save_param_dict
from .params import save_param_dict_to_file as save_param_dict_to_file
from .registry import PackedFunc as PackedFunc
from .threads import num_threads as num_threads

def __getattr__(name: str) -> Any: ...  # pyright: ignore[reportIncompleteStub]

from typing import Any

from .interpreting.container import String as String
from .loading.loaded import load_module as load_module
from .loading.programs import load_program as load_program
from .object_path import ObjectPath as ObjectPath
from .program.threads import num_threads as num_threads
from .values import ndarray as ndarray
from .values.data_type import DataType as DataType
from .values.data_type import DataTypeCode as DataTypeCode
from .values.device import Device as Device
from .values.ndarray import NDArray as NDArray
from .values.params import load_param_dict as load_param_dict
from .values.params import load_param_dict_from_file as load_param_dict_from_file
from .values.params import save_param_dict as save_param_dict
from .values.params import save_param_dict_to_file as save_param_dict_to_file
from .values.registry import PackedFunc as PackedFunc

def __getattr__(name: str) -> Any: ...  # pyright: ignore[reportIncompleteStub]

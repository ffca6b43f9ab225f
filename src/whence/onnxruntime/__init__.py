"""onnxruntime's names for our doors: programs written for it run with only the import changed.

>>> import whence.onnxruntime as ort
>>> session = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
>>> outputs = session.run(None, {"input": array})
"""

from whence.onnxruntime.binding import IOBinding as IOBinding
from whence.onnxruntime.options import ExecutionMode as ExecutionMode
from whence.onnxruntime.options import ExecutionOrder as ExecutionOrder
from whence.onnxruntime.options import GraphOptimizationLevel as GraphOptimizationLevel
from whence.onnxruntime.options import RunOptions as RunOptions
from whence.onnxruntime.options import SessionOptions as SessionOptions
from whence.onnxruntime.options import get_all_providers as get_all_providers
from whence.onnxruntime.options import get_available_providers as get_available_providers
from whence.onnxruntime.options import get_device as get_device
from whence.onnxruntime.options import set_default_logger_severity as set_default_logger_severity
from whence.onnxruntime.options import set_default_logger_verbosity as set_default_logger_verbosity
from whence.onnxruntime.ortvalue import OrtValue as OrtValue
from whence.onnxruntime.session import InferenceSession as InferenceSession
from whence.runtime.program.model_facts import ModelMetadata as ModelMetadata
from whence.runtime.program.model_facts import NodeArg as NodeArg

SessionIOBinding = IOBinding

from . import models as onnx
from . import models as stablehlo
from . import models as tflite
from . import models as torch
from . import nn as nn
from .models import detach_params as detach_params

__all__ = ["onnx", "stablehlo", "tflite", "torch"]

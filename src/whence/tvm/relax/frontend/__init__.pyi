from whence.relay.frontend import from_onnx as from_onnx

from . import nn as nn

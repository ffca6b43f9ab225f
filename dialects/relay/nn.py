"""The neural network operators, of all families."""

from .convolution import ContribConv2DNCHWcOp as ContribConv2DNCHWcOp
from .convolution import ContribDepthwiseConv2DNCHWcOp as ContribDepthwiseConv2DNCHWcOp
from .convolution import Conv2D as Conv2D
from .convolution import Conv2DOp as Conv2DOp
from .convolution import expand_padding as expand_padding
from .convolution import window_extent as window_extent
from .matmul import BatchMatmulOp as BatchMatmulOp
from .matmul import BiasAddOp as BiasAddOp
from .matmul import ContribDensePackOp as ContribDensePackOp
from .matmul import DenseOp as DenseOp
from .normalization import BatchNormOp as BatchNormOp
from .normalization import DropoutOp as DropoutOp
from .normalization import LayerNormOp as LayerNormOp
from .normalization import LogSoftmaxOp as LogSoftmaxOp
from .normalization import LRNOp as LRNOp
from .normalization import SoftmaxOp as SoftmaxOp
from .pooling import AvgPool2DOp as AvgPool2DOp
from .pooling import GlobalAvgPool2DOp as GlobalAvgPool2DOp
from .pooling import GlobalMaxPool2DOp as GlobalMaxPool2DOp
from .pooling import MaxPool2DOp as MaxPool2DOp
from .pooling import Pool2D as Pool2D
from .pooling import WindowedPool2D as WindowedPool2D

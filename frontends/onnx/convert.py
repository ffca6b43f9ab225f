"""The one table of ONNX operators: how each becomes relay, and how it is evaluated when its inputs are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import nn
from ...dialects.relay import transform as tr
from ...support.dtypes import Array
from . import fold, layers, padding, pooling, shaping
from .context import Context
from .elementwise import cast, clip, elementwise, identity, isinf, leaky_relu, power, reduction, variadic
from .fold import Fold

Result: TypeAlias = SSAValue | Array


@dataclass(frozen=True)
class Converter:
    """How one operator is imported."""

    convert: Callable[[Context], Result | tuple[Result, ...]]
    """The outputs of a node: relay values, or arrays where they are known at import."""
    fold: Fold | None = None
    """Evaluates a node whose inputs are all known small integers."""


CONVERTERS: dict[str, Converter] = {
    # Elementwise
    "Abs": Converter(elementwise(ew.AbsOp)),
    "Acos": Converter(elementwise(ew.AcosOp)),
    "Acosh": Converter(elementwise(ew.AcoshOp)),
    "Add": Converter(elementwise(ew.AddOp), fold.binary(np.add)),
    "Asin": Converter(elementwise(ew.AsinOp)),
    "Asinh": Converter(elementwise(ew.AsinhOp)),
    "Atan": Converter(elementwise(ew.AtanOp)),
    "Atanh": Converter(elementwise(ew.AtanhOp)),
    "BitwiseNot": Converter(elementwise(ew.BitwiseNotOp)),
    "Cast": Converter(cast, fold.to_dtype),
    "Ceil": Converter(elementwise(ew.CeilOp)),
    "Clip": Converter(clip),
    "Cos": Converter(elementwise(ew.CosOp)),
    "Cosh": Converter(elementwise(ew.CoshOp)),
    "Div": Converter(elementwise(ew.DivideOp), fold.binary(fold.divide)),
    "Equal": Converter(elementwise(ew.EqualOp)),
    "Erf": Converter(elementwise(ew.ErfOp)),
    "Exp": Converter(elementwise(ew.ExpOp)),
    "Floor": Converter(elementwise(ew.FloorOp)),
    "Greater": Converter(elementwise(ew.GreaterOp)),
    "Identity": Converter(identity),
    "IsInf": Converter(isinf),
    "IsNaN": Converter(elementwise(ew.IsNanOp)),
    "LeakyRelu": Converter(leaky_relu),
    "Less": Converter(elementwise(ew.LessOp)),
    "Log": Converter(elementwise(ew.LogOp)),
    "Max": Converter(variadic(ew.MaximumOp), fold.binary(np.maximum)),
    "Min": Converter(variadic(ew.MinimumOp), fold.binary(np.minimum)),
    "Mul": Converter(elementwise(ew.MultiplyOp), fold.binary(np.multiply)),
    "Neg": Converter(elementwise(ew.NegativeOp), fold.negative),
    "Not": Converter(elementwise(ew.LogicalNotOp)),
    "Pow": Converter(power),
    "Relu": Converter(elementwise(ew.ReluOp)),
    "Round": Converter(elementwise(ew.RoundOp)),
    "Sigmoid": Converter(elementwise(ew.SigmoidOp)),
    "Sign": Converter(elementwise(ew.SignOp)),
    "Sin": Converter(elementwise(ew.SinOp)),
    "Sinh": Converter(elementwise(ew.SinhOp)),
    "Sqrt": Converter(elementwise(ew.SqrtOp)),
    "Sub": Converter(elementwise(ew.SubtractOp), fold.binary(np.subtract)),
    "Sum": Converter(variadic(ew.AddOp), fold.binary(np.add)),
    "Tan": Converter(elementwise(ew.TanOp)),
    "Tanh": Converter(elementwise(ew.TanhOp)),
    # Layers
    "BatchNormalization": Converter(layers.batch_norm),
    "Conv": Converter(layers.conv),
    "Dropout": Converter(layers.dropout),
    "Gemm": Converter(layers.gemm),
    "LRN": Converter(layers.lrn),
    "LayerNormalization": Converter(layers.layer_norm),
    "LogSoftmax": Converter(layers.softmax(nn.LogSoftmaxOp)),
    "MatMul": Converter(layers.matmul),
    "Softmax": Converter(layers.softmax(nn.SoftmaxOp)),
    # Poolings
    "AveragePool": Converter(pooling.pool(nn.AvgPool2DOp)),
    "GlobalAveragePool": Converter(pooling.global_pool(nn.GlobalAvgPool2DOp, tr.MeanOp)),
    "GlobalMaxPool": Converter(pooling.global_pool(nn.GlobalMaxPool2DOp, tr.MaxOp)),
    "MaxPool": Converter(pooling.pool(nn.MaxPool2DOp)),
    # Reductions
    "ReduceMax": Converter(reduction(tr.MaxOp, 18)),
    "ReduceMean": Converter(reduction(tr.MeanOp, 18)),
    "ReduceMin": Converter(reduction(tr.MinOp, 18)),
    "ReduceSum": Converter(reduction(tr.SumOp, 13)),
    # Moving data
    "Concat": Converter(shaping.concat, fold.concat),
    "Expand": Converter(shaping.expand),
    "Flatten": Converter(shaping.flatten),
    "Gather": Converter(shaping.gather, fold.gather),
    "Pad": Converter(padding.pad),
    "Reshape": Converter(shaping.reshape, fold.reshape),
    "Slice": Converter(shaping.strided_slice, fold.slice_),
    "Split": Converter(shaping.split),
    "Squeeze": Converter(shaping.squeeze, fold.squeeze),
    "Transpose": Converter(shaping.transpose),
    "Unsqueeze": Converter(shaping.unsqueeze, fold.unsqueeze),
    # Sources of known values
    "Constant": Converter(fold.constant),
    "ConstantOfShape": Converter(fold.constant_of_shape),
    "Shape": Converter(fold.shape),
}

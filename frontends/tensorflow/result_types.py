"""The element types of results, as TensorFlow's definitions of operators have them: most have that of attribute `T`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .convert import CONVERTERS
from .scopes import Node
from .values import DTYPES, value_type

_OTHERS: Mapping[str, str] = {
    "bool": "All Any Equal Greater GreaterEqual InTopK InTopKV2 IsFinite IsInf IsNan Less LessEqual LogicalAnd "
    "LogicalNot LogicalOr NotEqual",
    "int32": "Bucketize NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 Rank TensorArraySizeV3 "
    "TensorListLength",
    "int64": "SparseReshape Where",
    "float32": "CropAndResize FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel "
    "ResizeBicubic ResizeBilinear",
    "float32 float32 float32 int32": "CombinedNonMaxSuppression",
    "int32 T=float32 int32": "NonMaxSuppressionV5",
    "dtype": "PlaceholderWithDefault RandomStandardNormal RandomUniform ResourceGather ResourceGatherNd "
    "TensorArrayGatherV3 TensorArrayReadV3",
    "dtype int64": "TensorArrayConcatV3",
    "element_dtype": "TensorListGather TensorListGetItem TensorListStack",
    "element_dtype int64": "TensorListConcatV2",
    "other element_dtype": "TensorListPopBack",
    "other": "IdentityN TensorArrayScatterV3 TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3",
    "DstT": "Cast",
    "T U": "FusedBatchNormV2 FusedBatchNormV3",
    "T Targmax=int64": "MaxPoolWithArgmax",
    "T index_type=int32": "TopK TopKV2",
    "T out_idx=int32": "Unique UniqueV2 UniqueWithCounts",
    "Tidx=int32": "Range UnravelIndex",
    "Tout": "BatchMatMulV3 RandomUniformInt",
    "Tparams": "Gather GatherNd GatherV2",
    "out_type=int32": "Shape ShapeN Size",
    "output_dtype=int64": "Multinomial",
    "output_type=int64": "ArgMax ArgMin",
    "shape_type": "TensorListElementShape",
    "type": "Bitcast",
}
"""For each result a dtype, or the attribute that says it, with its default; the last is that of all behind it, too."""
_RESULTS = {operator: types.split() for types, operators in _OTHERS.items() for operator in operators.split()}
_OF_ANY = ("T", "dtype", "out_type", "output_type", "DstT", "Tout")
"""Attributes that say the element type of results of operators without a row, where they say one, and only one."""


def result_dtype(node: Node, index: int) -> np.dtype[np.generic] | None:
    """Return the element type of a result of a node; None where the graph does not say it, or it is no number's."""
    if node.op_type not in CONVERTERS:
        numbers = {value_type(node.attributes[name].type) for name in _OF_ANY if name in node.attributes}
        return DTYPES.get(numbers.pop()) if len(numbers) == 1 else None
    types = _RESULTS.get(node.op_type, ["T"])
    name, _, default = types[min(index, len(types) - 1)].partition("=")
    if name in node.attributes:
        return DTYPES.get(value_type(node.attributes[name].type))
    return next((dtype for dtype in DTYPES.values() if dtype.name == (default or name)), None)

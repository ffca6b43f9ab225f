"""The context of a TensorFlow converter: one node, its tensors, its attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ..importing import context
from ..importing.node_parts import NodePart
from .scopes import Node
from .values import DTYPES, extents_of, type_name, value_type


@dataclass(frozen=True)
class Conversion:
    """The user's choices among equivalent forms of the program."""

    layout: str = "NHWC"
    """The layout of images; NCHW transposes the operators that are in NHWC."""
    dense: bool = True
    """True if matrix products are nn.dense, whose right matrix is transposed; else they are nn.matmul."""


DEFAULT = Conversion()
HINTS: Mapping[str, str] = {
    "N": "the number of inputs",
    "clear_after_read": "of memory",
    "container": "the name of a place for state",
    "element_shape": "what shapes show",
    "element_shape_except0": "what shapes show",
    **dict.fromkeys(("grad_a", "grad_b", "grad_x", "grad_y", "sparse_gradient"), "of gradients"),
    "identical_element_shapes": "what shapes show",
    "incompatible_shape_error": "of shapes that do not meet, which are refused",
    "max_num_elements": "of memory",
    "message": "of an assertion, or of numbers that are none",
    "num_elements": "what the list shows",
    "num_args": "the number of inputs",
    "num_split": "the number of outputs",
    "shared_name": "the name of state",
    "use_cudnn_on_gpu": "of kernels of a GPU",
    "validate_indices": "of indices that are wrong",
}
"""Attributes and inputs of operators that do not change the results, each with the reason."""
INPUTS: Mapping[str, str] = {
    "EmptyTensorList": "element_shape max_num_elements",
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), "x scale offset mean variance"),
    "LSTMBlockCell": "x cs_prev h_prev w wci wcf wco b",
    **dict.fromkeys(("MatrixDiagPartV2", "MatrixDiagPartV3"), "input k padding_value"),
    "SparseTensorDenseAdd": "a_indices a_values a_shape b",
    "TensorArrayConcatV3": "handle flow_in",
    "TensorArrayGatherV3": "handle indices flow_in",
    "TensorArrayReadV3": "handle index flow_in",
    "TensorArrayScatterV3": "handle indices value flow_in",
    "TensorArraySizeV3": "handle flow_in",
    "TensorArraySplitV3": "handle value lengths flow_in",
    "TensorArrayWriteV3": "handle index value flow_in",
    "TensorListConcatLists": "input_a input_b",
    "TensorListConcatV2": "input_handle element_shape leading_dims",
    "TensorListFromTensor": "tensor element_shape",
    "TensorListGather": "input_handle indices element_shape",
    "TensorListGetItem": "input_handle index element_shape",
    "TensorListPopBack": "input_handle element_shape",
    "TensorListReserve": "element_shape num_elements",
    "TensorListScatterV2": "tensor indices element_shape num_elements",
    "TensorListSplit": "tensor element_shape lengths",
    "TensorListStack": "input_handle element_shape",
}
"""The names of the inputs of operators with inputs that do not change the results."""
DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "align": ("RIGHT_LEFT",),
    "axis": (-1,),
    "bias": (1.0,),
    "clip_boxes": (True,),
    "data_format": ("NHWC", "NDHWC"),
    "exponential_avg_factor": (1.0,),
    "dilations": ((1, 1, 1, 1), (1, 1, 1, 1, 1)),
    "method": ("bilinear",),
    "sorted": (True,),
}
"""The defaults of attributes of operators with rows, where they are not 0, false or empty."""


def stated_value(value: Any) -> Any:
    """Return an attribute as a value of Python; None for types, tensors and functions."""
    match value.WhichOneof("value"):
        case "s":
            return value.s.decode(errors="replace")
        case "i" | "f" | "b" as kind:
            return getattr(value, kind)
        case "list":
            fields: tuple[Any, ...] = (value.list.i, value.list.f, value.list.b)
            texts = [text.decode(errors="replace") for text in value.list.s]
            return tuple(texts or [number for field in fields for number in field])
        case "shape":
            return extents_of(value.shape)
        case _:
            return None


@dataclass(eq=False, kw_only=True)
class Context(context.Context):
    """One node under conversion. Inputs and outputs are counted from 0."""

    node: Node
    conversion: Conversion = DEFAULT

    # Attributes. Files may leave out an attribute that has its default.

    def attribute(self, name: str) -> Any:
        """Return an attribute of the file; None where it is left out."""
        self.asked.attributes.add(name)
        return self.node.attributes.get(name)

    def parts(self) -> Iterator[NodePart]:
        """Yield the inputs, and the attributes, but for types, that differ from the defaults of the operators."""
        names = INPUTS.get(self.op_type, "").split()
        yield from (part for part in self.input_parts(names) if part.name not in HINTS)
        for name, value in self.node.attributes.items():
            stated = stated_value(value)
            if not name.startswith("_") and name not in HINTS and stated and stated not in DEFAULTS.get(name, ()):
                yield NodePart(name, "attribute", name, str(stated))

    def stated(self, name: str) -> Any:
        value = self.attribute(name)
        if value is None or value.WhichOneof("value") == "type":
            return value and value_type(value.type)
        return stated_value(value)

    def element_type(self, name: str, value: Any) -> np.dtype[Any]:
        if value not in DTYPES:
            self.fail(f"a type of numbers as '{name}'", type_name(value))
        return DTYPES[value]

    # Values.

    def number(self, value: float, dtype: str) -> SSAValue:
        """Add a scalar constant."""
        return self.constant(np.asarray(value, dtype), "scalar")

    def axes(self, index: int, rank: int) -> tuple[int, ...]:
        """Return the axes in input `index`, counted from 0, each once."""
        return tuple(dict.fromkeys(self.axis(axis, rank) for axis in self.known_ints(index, "axes")))

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from 0."""
        if not -rank <= axis < rank:
            self.fail(f"an axis in [{-rank}, {rank})", str(axis))
        return axis % rank

    def one(self, index: int, what: str) -> int:
        """Return the one integer or size in input `index`, called `what` in errors, which must be known at import."""
        values = self.known_ints(index, what)
        if len(values) != 1:
            self.fail(f"{what} that is one integer", str(list(values)))
        return values[0]

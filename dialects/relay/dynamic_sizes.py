"""More operators of which operands decide the shape of the result: counts, widths of borders, axes, sizes of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, var_result_def

from ..element_types import DTYPES
from .attributes import Value, boolean, integer, real, string
from .dynamic import Dynamic, Single, StandsFor
from .indexing import OneHotOp
from .operator import Signature, Tensor
from .resize import Resize2DOp, UpsamplingOp
from .sorting import TopKOp
from .sparse import SparseToDenseOp
from .traits import ANY
from .transform import ExpandDimsOp, PadOp, SqueezeOp


@irdl_op_definition
class DynTopKOp(Single):
    name = "relay.dyn.topk"
    data = operand_def(TensorType)
    k = operand_def(TensorType)
    results_ = var_result_def(TensorType)
    axis = integer(-1)
    ret_type = string("both")
    is_ascend = boolean(False)
    dtype = string("int32")
    STANDS_FOR: ClassVar = StandsFor(TopKOp, ("k",))

    @classmethod
    def gives_tuple(cls, count: int) -> bool:
        return count != 1

    @classmethod
    def extents(cls, sig: Signature) -> list[int]:
        shape = list(sig.shape(0))
        shape[sig.axis(sig.int("axis"), len(shape))] = DYNAMIC_INDEX
        return shape

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        (values,) = super().infer(sig)
        kinds = {
            "both": [values, TensorType(DTYPES[sig.str("dtype")], values.get_shape())],
            "values": [values],
            "indices": [TensorType(DTYPES[sig.str("dtype")], values.get_shape())],
        }
        if sig.str("ret_type") not in kinds:
            sig.fail("ret_type both, values or indices", repr(sig.str("ret_type")))
        return kinds[sig.str("ret_type")]


@irdl_op_definition
class DynOneHotOp(Single):
    name = "relay.dyn.one_hot"
    indices = operand_def(TensorType)
    on_value = operand_def(TensorType)
    off_value = operand_def(TensorType)
    depth = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-1)
    dtype = string("float32")
    STANDS_FOR: ClassVar = StandsFor(OneHotOp, ("depth",))

    @classmethod
    def element(cls, sig: Signature) -> Attribute:
        return DTYPES[sig.str("dtype")]

    @classmethod
    def extents(cls, sig: Signature) -> list[int]:
        shape = list(sig.shape(0))
        shape.insert(sig.axis(sig.int("axis"), len(shape) + 1), DYNAMIC_INDEX)
        return shape


@irdl_op_definition
class DynPadOp(Dynamic):
    """`pad_width`: (rank, 2), before and after of each axis."""

    name = "relay.dyn.nn.pad"
    data = operand_def(TensorType)
    pad_width = operand_def(TensorType)
    pad_value = operand_def(TensorType)
    result = result_def(TensorType)
    pad_mode = string("constant")
    STANDS_FOR: ClassVar = StandsFor(PadOp, ("pad_width",))


@irdl_op_definition
class DynSqueezeOp(Dynamic):
    """`axis`: a vector, of as many axes as go."""

    name = "relay.dyn.squeeze"
    data = operand_def(TensorType)
    axis = operand_def(TensorType)
    result = result_def(TensorType)
    STANDS_FOR: ClassVar = StandsFor(SqueezeOp, ("axis",), extents="axis")

    @classmethod
    def rank(cls, sig: Signature) -> int:
        if (left := len(sig.shape(0)) - cls.length(sig)) < 0:
            sig.fail(f"at most {len(sig.shape(0))} axes", str(sig.types[1]))
        return left


@irdl_op_definition
class DynExpandDimsOp(Single):
    name = "relay.dyn.expand_dims"
    data = operand_def(TensorType)
    axis = operand_def(TensorType)
    result = result_def(TensorType)
    num_newaxis = integer(1)
    STANDS_FOR: ClassVar = StandsFor(ExpandDimsOp, ("axis",))

    @classmethod
    def rank(cls, sig: Signature) -> int:
        return len(sig.shape(0)) + sig.int("num_newaxis")


@irdl_op_definition
class DynSparseToDenseOp(Dynamic):
    name = "relay.dyn.sparse_to_dense"
    sparse_indices = operand_def(TensorType)
    output_shape = operand_def(TensorType)
    sparse_values = operand_def(TensorType)
    default_value = opt_operand_def(TensorType)
    result = result_def(TensorType)
    STANDS_FOR: ClassVar = StandsFor(SparseToDenseOp, ("output_shape",), extents="output_shape")

    @classmethod
    def element(cls, sig: Signature) -> Attribute:
        return sig.types[2].element_type


@irdl_op_definition
class DynUpsamplingOp(Single):
    name = "relay.dyn.nn.upsampling"
    data = operand_def(TensorType)
    scale_h = operand_def(TensorType)
    scale_w = operand_def(TensorType)
    result = result_def(TensorType)
    layout = string("NCHW")
    method = string("nearest_neighbor")
    align_corners = boolean(False)
    STANDS_FOR: ClassVar = StandsFor(UpsamplingOp, ("scale_h", "scale_w"), numbers=ANY)

    @classmethod
    def extents(cls, sig: Signature) -> list[int]:
        return _open_along("HW", sig)

    @classmethod
    def completed(cls, known: dict[str, Value]) -> dict[str, Value]:
        scales = {key: float(cast(Any, value)) for key, value in super().completed(known).items() if "scale" in key}
        return known | scales


@irdl_op_definition
class DynResize2DOp(Dynamic):
    name = "relay.dyn.image.resize2d"
    data = operand_def(TensorType)
    size = operand_def(TensorType)
    roi = operand_def(TensorType)
    result = result_def(TensorType)
    layout = string("NCHW")
    method = string("linear")
    coordinate_transformation_mode = string("half_pixel")
    rounding_method = string("")
    cubic_alpha = real(-0.5)
    cubic_exclude = integer(0)
    extrapolation_value = real(0.0)
    STANDS_FOR: ClassVar = StandsFor(Resize2DOp, ("size", "roi"), numbers=ANY)

    @classmethod
    def extents(cls, sig: Signature) -> list[int]:
        return _open_along("HW", sig)

    @classmethod
    def completed(cls, known: dict[str, Value]) -> dict[str, Value]:
        # Sizes that were computed from scales are floats, which lose what is behind the point.
        sizes = [int(size) if isinstance(size, float) else size for size in cast("Sequence[Any]", known["size"])]
        return {**known, "size": sizes}


def _open_along(letters: str, sig: Signature) -> list[int]:
    """The shape of the first operand, in its layout, with these axes open."""
    layout, shape = sig.str("layout"), sig.rank(0, len(sig.str("layout")))
    return [DYNAMIC_INDEX if letter in letters else extent for letter, extent in zip(layout, shape, strict=True)]

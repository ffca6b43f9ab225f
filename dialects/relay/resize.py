"""Resizing images, and sampling them at points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ...runtime.interpreting.images import METHODS, MODES, ROUNDINGS, resized, scaled_sizes, selects
from ..element_types import DTYPES, numpy_dtype
from ..sizes.types import tensor_of
from .attributes import boolean, integer, optional_ints, optional_reals, real, required_ints, string
from .interpolation import Resizing, quotient
from .layout_traits import OF_IMAGE, OwnLayouts
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import OPAQUE, Averages, Selects


class Resized(Operator):
    """Images in another size."""

    data = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(OPAQUE, OwnLayouts(), OF_IMAGE, Selects(), Averages())

    SPATIAL: ClassVar[str] = "HW"
    """The letters of the axes that are resized."""

    @classmethod
    def axes(cls, sig: Signature) -> tuple[int, ...]:
        """The axes that are resized, in the order of their letters."""
        layout = sig.str("layout")
        if sorted(layout) != sorted("NC" + cls.SPATIAL) or len(sig.shape(0)) != len(layout):
            sig.fail(f"a layout of N, C and {cls.SPATIAL} that fits", f"{layout!r} for {sig.types[0]}")
        return tuple(layout.index(letter) for letter in cls.SPATIAL)

    @classmethod
    def how(cls, sig: Signature) -> list[Resizing]:
        """Return the resizing of each axis."""
        raise NotImplementedError

    @classmethod
    def selects(cls, sig: Signature) -> bool:
        """Return whether each result is the element nearest to its place."""
        return selects(cls.how(sig))

    @classmethod
    def extrapolates(cls, sig: Signature) -> bool:
        """Return whether there is a number of its own outside of the image."""
        return any(resizing.mode == "tf_crop_and_resize" for resizing in cls.how(sig))

    @classmethod
    def extrapolation(cls, sig: Signature) -> float:
        """Return the number outside of the image in mode tf_crop_and_resize."""
        return 0.0

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = list(sig.shape(0))
        for axis, resizing in zip(cls.axes(sig), cls.how(sig), strict=True):
            sig.require_source(0, [shape[axis]], [resizing.size])
            shape[axis] = resizing.size
        dtype = sig.get("out_dtype")
        return [tensor_of(DTYPES[dtype] if dtype else sig.types[0].element_type, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        dtype = numpy_dtype(cls.infer(sig)[0].element_type)
        return resized(x, cls.axes(sig), cls.how(sig), cls.extrapolation(sig), dtype)


class Resize(Resized):
    """To `size`; `scales` are those of ONNX, which coordinates are computed with (sizes by extents without them).

    ratio: two sizes, where a call decides the one scale of all axes.

    roi: starts, then ends, of the part that mode tf_crop_and_resize takes, in fractions of the image. antialias: when
    it gets smaller, the filter gets as much wider. Integers are rounded towards zero.
    """

    size = required_ints()
    roi = optional_reals()
    layout = string("NCHW")
    method = string("linear")
    coordinate_transformation_mode = string("half_pixel")
    rounding_method = string("")
    cubic_alpha = real(-0.5)
    cubic_exclude = integer(0)
    extrapolation_value = real(0.0)
    out_dtype = string("")
    scales = optional_reals()
    ratio = optional_ints()
    antialias = boolean(False)

    @classmethod
    def extrapolation(cls, sig: Signature) -> float:
        return sig.get("extrapolation_value")

    @classmethod
    def how(cls, sig: Signature) -> list[Resizing]:
        axes, sizes = cls.axes(sig), sig.ints("size")
        count, extents = len(axes), [sig.shape(0)[axis] for axis in axes]
        for name, allowed in (
            ("method", METHODS),
            ("coordinate_transformation_mode", MODES),
            ("rounding_method", ROUNDINGS),
        ):
            if sig.str(name) not in allowed:
                sig.fail(f"{name} among {', '.join(filter(None, allowed))}", repr(sig.str(name)))
        ratio = sig.get("ratio")
        own = map(quotient, sizes, extents) if ratio is None else [quotient(*ratio)] * count
        scales = sig.get("scales") or tuple(own)
        roi = sig.get("roi") or (0.0,) * count + (1.0,) * count
        if (
            len(sizes) != count
            or len(scales) != count
            or len(roi) != 2 * count
            or not all(s is None or s > 0 for s in scales)
        ):
            sig.fail(f"{count} sizes and positive scales, {2 * count} roi", f"{sizes}, {scales}, {roi}")
        return [
            Resizing(
                extent=extents[i],
                size=sizes[i],
                scale=scales[i],
                method=sig.str("method"),
                mode=sig.str("coordinate_transformation_mode"),
                rounding=sig.str("rounding_method"),
                alpha=sig.get("cubic_alpha"),
                exclude=bool(sig.int("cubic_exclude")),
                antialias=bool(sig.get("antialias")),
                roi=(roi[i], roi[count + i]),
                ratio=ratio if scales[i] is None else None,
            )
            for i in range(count)
        ]


@irdl_op_definition
class Resize1DOp(Resize):
    name = "relay.image.resize1d"
    SPATIAL: ClassVar[str] = "W"
    layout = string("NCW")


@irdl_op_definition
class Resize2DOp(Resize):
    name = "relay.image.resize2d"


@irdl_op_definition
class Resize3DOp(Resize):
    name = "relay.image.resize3d"
    SPATIAL: ClassVar[str] = "DHW"
    layout = string("NCDHW")


def _scaled(sig: Signature, extents: Sequence[int], names: Sequence[str], method: str, mode: str) -> list[Resizing]:
    """The resizing of axes of which attributes say how many times as large they get."""
    scales = [sig.get(name) for name in names]
    sizes = scaled_sizes(extents, scales)
    return [Resizing(e, s, quotient(s, e), method, mode) for e, s in zip(extents, sizes, strict=True)]


@irdl_op_definition
class Upsampling3DOp(Resized):
    """`scale_d` x `scale_h` x `scale_w` times as large; `method` nearest_neighbor or trilinear."""

    name = "relay.nn.upsampling3d"
    SPATIAL: ClassVar[str] = "DHW"
    scale_d = real(1.0)
    scale_h = real(1.0)
    scale_w = real(1.0)
    layout = string("NCDHW")
    method = string("nearest_neighbor")
    coordinate_transformation_mode = string("half_pixel")

    @classmethod
    def how(cls, sig: Signature) -> list[Resizing]:
        method, mode = sig.str("method").removeprefix("tri"), sig.str("coordinate_transformation_mode")
        if method not in ("nearest_neighbor", "linear"):
            sig.fail("method nearest_neighbor or trilinear", repr(sig.str("method")))
        if mode not in MODES:
            sig.fail(f"coordinate_transformation_mode among {', '.join(MODES)}", repr(mode))
        extents = [sig.shape(0)[axis] for axis in cls.axes(sig)]
        return _scaled(sig, extents, ("scale_d", "scale_h", "scale_w"), method, mode)


@irdl_op_definition
class UpsamplingOp(Resized):
    """`scale_h` x `scale_w` times as large; `method` nearest_neighbor, bilinear or bicubic."""

    name = "relay.nn.upsampling"
    scale_h = real(1.0)
    scale_w = real(1.0)
    layout = string("NCHW")
    method = string("nearest_neighbor")
    align_corners = boolean(False)

    @classmethod
    def how(cls, sig: Signature) -> list[Resizing]:
        method = sig.str("method").removeprefix("bi")
        if method not in METHODS:
            sig.fail("method nearest_neighbor, bilinear or bicubic", repr(sig.str("method")))
        mode = "align_corners" if sig.get("align_corners") else "asymmetric"
        extents = [sig.shape(0)[axis] for axis in cls.axes(sig)]
        return _scaled(sig, extents, ("scale_h", "scale_w"), method, mode)

"""Images in other sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ..importing.attributes import Flag
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.resizing import resized_image
from .context import Context

ALIGNED, CENTRED = Flag(False, name="AlignCorners"), Flag(False, name="HalfPixelCenters")


def check_size(x: Term, size: Sequence[int]) -> None:
    if len(size) != 2 or min(size) < 1 or len(x.shape) != 4:
        x.ctx.fail("a 4-d input, and a height and width", f"{list(x.shape)} and {list(size)}")


def _resized(method: str) -> Converter[Context]:
    def resized(x: Term, size: Sequence[int], aligned: bool, centred: bool) -> Term:
        check_size(x, size)
        if aligned and centred:
            x.ctx.fail(f"{ALIGNED.name} or {CENTRED.name}", "both")
        return resized_image(x, size, "NHWC", method, aligned=aligned, centred=centred)

    return row(resized, "input size:ints", aligned=ALIGNED, centred=CENTRED)


TABLE = {
    "RESIZE_BILINEAR": _resized("linear"),
    "RESIZE_NEAREST_NEIGHBOR": _resized("nearest_neighbor"),
}

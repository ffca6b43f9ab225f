"""DFT and STFT. Signals have real, or real and imaginary, parts along the last axis."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.relay.logic import LogicalOrOp
from ...dialects.relay.signal import StftOp
from ...dialects.relay.transform import TakeOp
from ...dialects.sizes import proves, same
from ..importing.attributes import Flag, Int
from ..importing.rows import row
from ..importing.terms import Term, axis_of, ones, places, where
from ..meanings.moves import move, stack, swap
from ..meanings.pads import fitted
from ..meanings.signal import parts_of, transformed
from .context import Context


def dft(
    ctx: Context, x: Term, length: int | None, axis: int | None, stated_axis: int, inverse: bool, onesided: bool
) -> Term:
    """dft along the last axis, to which the axis is brought; of one side, the other is that of a real signal.

    The axis is an attribute before opset 20.
    """
    last = len(x.shape) - 1
    axis = axis_of(x, (-2 if axis is None else axis) if ctx.opset >= 20 else stated_axis)
    if axis == last:
        ctx.fail("an axis before the last", str(axis))
    extent = x.shape[axis]
    if length is None:
        length = 2 * (extent - 1) if inverse and onesided else extent
    ctx.require_least(extent, 1, f"whether there is one of {extent} elements")
    if same(extent, 0):
        ctx.fail("a signal of at least one element", str(list(x.shape)))
    half = length // 2 + 1
    parts = [move(part, [axis], [-1]) for part in parts_of(x)]
    if inverse and onesided:
        parts = _two_sided([fitted(part, last - 1, half) for part in parts], length)
    spectrum = transformed(parts, length, inverse)
    if onesided:
        spectrum = spectrum[:1] if inverse else [fitted(part, last - 1, half) for part in spectrum]
    return stack(*(move(part, [-1], [axis]) for part in spectrum), axis=-1)


def _two_sided(parts: Sequence[Term], length: int) -> list[Term]:
    """The other half of a spectrum whose signal is real: conjugates, in reverse order."""
    at = places(parts[0].ctx, length)
    mirrored = at > length // 2
    real, *others = (x.apply(TakeOp, where(mirrored, -at + length, at), axis=len(x.shape) - 1) for x in parts)
    one = real.number(1)
    # What is not conjugated has no imaginary part.
    alone = at.equal(0).apply(LogicalOrOp, (at * 2).equal(length))
    return [real, *(x * where(alone, 0, where(mirrored, -one, one)) for x in others)]


def stft(ctx: Context, x: Term, frame_step: float, window: Term | None, length: int | None, onesided: bool) -> Term:
    """stft of a real signal; of a complex one, dft of its frames."""
    step, samples = int(frame_step), x.shape[1]
    if length is None:
        length = samples if window is None else window.shape[0]
    window = ones(ctx, length, x.dtype) if window is None else window
    if proves(length, "<", 1) or proves(samples, "<", length):
        ctx.fail(f"windows of 1 to {samples} samples", str(length))
    ctx.require(length - 1)
    ctx.require_least(samples, length, f"whether {samples} samples are {length}")
    real, *others = parts_of(x) if len(x.shape) == 3 else [x]
    if not others:
        spectrum = real.apply(
            StftOp, window, n_fft=length, hop_length=step, win_length=window.shape[0], onesided=onesided
        )
        return swap(spectrum, 1, 2)
    at = places(ctx, (samples - length) // step + 1, 2) * step + places(ctx, length, 2, 1)
    spectrum = transformed([part.apply(TakeOp, at, axis=1) * window for part in (real, *others)], length)
    return stack(*(fitted(part, 2, length // 2 + 1) if onesided else part for part in spectrum), axis=-1)


TABLE = {
    "DFT": row(
        dft,
        "input dft_length:size? axis:size?",
        stated_axis=Int(1, name="axis"),
        inverse=Flag(False),
        onesided=Flag(False),
    ),
    "STFT": row(stft, "signal frame_step:number window? frame_length:size?", onesided=Flag(True)),
}

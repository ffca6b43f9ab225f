"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import boolean, integer
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .signature import is_tensor_of
from .traits import FLOATS, OPAQUE


@irdl_op_definition
class DftOp(Operator):
    """The discrete Fourier transform along the last axis, of real and imaginary parts; the inverse divides by n.

    Computed in float64.
    """

    name = "relay.dft"
    re_data = operand_def(TensorType)
    im_data = operand_def(TensorType)
    re = result_def(TensorType)
    im = result_def(TensorType)
    inverse = boolean(False)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(FLOATS)
        if not sig.shape(0) or not is_tensor_of(sig.types[1], sig.types[0].element_type, sig.shape(0)):
            sig.fail("two parts of one type", f"{sig.types[0]} and {sig.types[1]}")
        return sig.types

    @classmethod
    def evaluate(cls, sig: Signature, re: AnyArray, im: AnyArray) -> tuple[AnyArray, ...]:
        signal = re.astype(np.float64) + 1j * im.astype(np.float64)
        spectrum = np.fft.ifft(signal) if sig.get("inverse") else np.fft.fft(signal)
        return spectrum.real, spectrum.imag


@irdl_op_definition
class StftOp(Operator):
    """Transforms of windows of a signal (batch, n): (batch, frequencies, frames, 2), real and imaginary parts last.

    A window starts every `hop_length` samples and is `n_fft` long; `window` (win_length) stands in the middle of it.
    normalized: divided by the root of n_fft. onesided: the first n_fft / 2 + 1 frequencies.
    """

    name = "relay.stft"
    data = operand_def(TensorType)
    window = operand_def(TensorType)
    result = result_def(TensorType)
    n_fft = integer(1)
    hop_length = integer(1)
    win_length = integer(1)
    normalized = boolean(False)
    onesided = boolean(True)
    traits = traits_def(OPAQUE)

    @classmethod
    def frames(cls, sig: Signature) -> int:
        """The number of windows."""
        return (sig.shape(0)[1] - sig.int("n_fft")) // sig.int("hop_length") + 1

    @classmethod
    def frequencies(cls, sig: Signature) -> int:
        """The number of frequencies."""
        return sig.int("n_fft") // 2 + 1 if sig.get("onesided") else sig.int("n_fft")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        batch, length = sig.rank(0, 2)
        sig.of(FLOATS)
        n_fft, win = sig.int("n_fft"), sig.int("win_length")
        expected = f"1 <= win_length <= n_fft <= {length}, and a window of that"
        actual = f"{win}, {n_fft}, {sig.types[1]}"
        if sig.int("hop_length") < 1 or sig.shape(1) != (win,):
            sig.fail(expected, actual)
        for size in (win - 1, n_fft - win, length - n_fft):
            sig.require(size, expected, actual)
        sig.same_element()
        return [tensor_of(sig.types[0].element_type, (batch, cls.frequencies(sig), cls.frames(sig), 2))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, window: AnyArray) -> AnyArray:
        n_fft, hop, win = sig.int("n_fft"), sig.int("hop_length"), sig.int("win_length")
        left = (n_fft - win) // 2
        padded = np.pad(window.astype(np.float64), (left, n_fft - win - left))
        starts = np.arange(int(cls.frames(sig))) * hop
        spectrum = np.fft.fft(data.astype(np.float64)[:, starts[:, None] + np.arange(int(n_fft))] * padded)
        if sig.get("normalized"):
            spectrum = spectrum / np.sqrt(n_fft)
        kept = spectrum[..., : cls.frequencies(sig)].transpose(0, 2, 1)
        return np.stack([kept.real, kept.imag], -1)

"""Operators that have no row on purpose, each with the reason, which errors about it say."""

from __future__ import annotations

from collections.abc import Mapping

_GRADIENTS = "gradients are no part of inference"
_COMPLEX = "complex numbers are no element type here"
_FACTORS = "factors of matrices have no kernel"
_MEMORY = "places in memory are no part of a program: call .contiguous() instead"
_OTHERWISE = "program.run_decompositions() writes it in other operators"

REASONS: Mapping[str, str] = {
    "_adaptive_avg_pool2d_backward": _GRADIENTS,
    "_fft_c2c": _COMPLEX,
    "_fft_c2r": _COMPLEX,
    "_fft_r2c": _COMPLEX,
    "_linalg_eigh": _FACTORS,
    "_linalg_svd": _FACTORS,
    "avg_pool2d_backward": _GRADIENTS,
    "bincount": "the number of bins depends on values: torch.histc and scatter_add have a known one",
    "block_diag": _OTHERWISE,
    "convolution_backward": _GRADIENTS,
    "embedding_dense_backward": _GRADIENTS,
    "fft_fft": _COMPLEX,
    "fft_ifft": _COMPLEX,
    "fft_irfft": _COMPLEX,
    "fft_rfft": _COMPLEX,
    "gru.data": "packed sequences are not supported: aten.gru.input takes padded ones",
    "istft": _COMPLEX,
    "linalg_cholesky": _FACTORS,
    "linalg_cholesky_ex": _FACTORS,
    "linalg_eig": _FACTORS,
    "linalg_eigh": _FACTORS,
    "linalg_qr": _FACTORS,
    "linalg_svd": _FACTORS,
    "lstm.data": "packed sequences are not supported: aten.lstm.input takes padded ones",
    "max_pool2d_with_indices_backward": _GRADIENTS,
    "multi_margin_loss": _OTHERWISE,
    "native_group_norm_backward": _GRADIENTS,
    "native_layer_norm_backward": _GRADIENTS,
    "renorm": _OTHERWISE,
    "resize_": "a tensor keeps its number of elements: reshape and slices make others",
    "rrelu": _GRADIENTS,
    "stft": _COMPLEX,
    "svd": _FACTORS,
    "sym_is_contiguous": _MEMORY,
    "torchvision.ps_roi_align": "pooling by place has no kernel: torchvision.roi_align.default has one",
    "vander": _OTHERWISE,
}
"""Operator of aten, or overload of one -> why it has no row, or what stands for it."""


def reason_of(name: str) -> str:
    """The reason why an overload has no row, or what stands for it; "" where nothing is known."""
    operator, _, overload = name.rpartition(".")
    short = operator.removeprefix("aten.")
    return REASONS.get(f"{short}.{overload}") or REASONS.get(short, "")

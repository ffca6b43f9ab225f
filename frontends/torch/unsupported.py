"""Complaints of operators without a row: all at once, each with its calls and the nearest form that has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from ...support.errors import FrontendError

_SHOWN = 3
"""The largest number of calls of an operator that an error names."""
_GRADIENTS = "gradients are no part of inference"
_RANDOM = "random numbers are made outside of a program: pass them as an input"
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
    "bernoulli": _RANDOM,
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
    "multinomial": _RANDOM,
    "native_group_norm_backward": _GRADIENTS,
    "native_layer_norm_backward": _GRADIENTS,
    "normal": _RANDOM,
    "rand": _RANDOM,
    "rand_like": _RANDOM,
    "randint": _RANDOM,
    "randn": _RANDOM,
    "randn_like": _RANDOM,
    "randperm": _RANDOM,
    "renorm": _OTHERWISE,
    "resize_": "a tensor keeps its number of elements: reshape and slices make others",
    "rrelu": _RANDOM,
    "stft": _COMPLEX,
    "svd": _FACTORS,
    "sym_is_contiguous": _MEMORY,
    "sym_storage_offset": _MEMORY,
    "torchvision.ps_roi_align": "pooling by place has no kernel: torchvision.roi_align.default has one",
    "vander": _OTHERWISE,
}
"""Operator of aten, or overload of one -> why it has no row, or what stands for it."""


def refused(places: Mapping[str, Sequence[str]], supported: Iterable[str]) -> FrontendError:
    """The error about operators without a row.

    places: operator -> the layers and lines of its calls. supported: the operators that have a row.
    """
    parts: list[str] = []
    known = frozenset(supported)
    for name, calls in sorted(places.items()):
        more = f" and {len(calls) - _SHOWN} more" if len(calls) > _SHOWN else ""
        hint = nearest(name, known)
        said = f"{'call' if len(calls) == 1 else 'calls'} {', '.join(calls[:_SHOWN])}{more}"
        parts.append(f"{name} ({said}{'; ' + hint if hint else ''})")
    return FrontendError(f"The following operators are not supported for frontend PyTorch: {', '.join(parts)}")


def nearest(name: str, supported: frozenset[str]) -> str:
    """The nearest form of an operator that has a row, or the reason why there is none; "" where nothing is known."""
    operator, _, overload = name.rpartition(".")
    short = operator.removeprefix("aten.")
    if (reason := REASONS.get(f"{short}.{overload}") or REASONS.get(short)) is not None:
        return reason
    others = sorted(other for other in supported if other.rpartition(".")[0] == operator)
    if others:
        likest = max(others, key=lambda other: SequenceMatcher(None, name, other).ratio())
        return f"{likest} is supported"
    return ""

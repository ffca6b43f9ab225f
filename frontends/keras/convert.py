"""The table of layers: one row for each class, in a file of its family."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..importing.tables import Rows
from .rows import Row

_WRAPPERS = ("SpectralNormalization", "TimeDistributed")
"""Layers around a layer of the table."""
_ALIASES = {
    **{f"Convolution{rank}D": f"Conv{rank}D" for rank in (1, 2, 3)},
    **{f"Convolution{rank}DTranspose": f"Conv{rank}DTranspose" for rank in (1, 2, 3)},
    **{f"SeparableConvolution{rank}D": f"SeparableConv{rank}D" for rank in (1, 2)},
    **{f"AvgPool{rank}D": f"AveragePooling{rank}D" for rank in (1, 2, 3)},
    **{f"MaxPool{rank}D": f"MaxPooling{rank}D" for rank in (1, 2, 3)},
    **{f"GlobalAvgPool{rank}D": f"GlobalAveragePooling{rank}D" for rank in (1, 2, 3)},
    **{f"GlobalMaxPool{rank}D": f"GlobalMaxPooling{rank}D" for rank in (1, 2, 3)},
}


class _Layers(Rows[Row]):
    def other(self, name: str) -> Row | None:
        if name not in _WRAPPERS:
            return None
        from .wrappers import wrapped

        return wrapped(self)[name]

    def others(self, names: Iterable[str]) -> Iterable[str]:
        return _WRAPPERS


LAYERS = _Layers(__name__, only="(?!operations_)")
OPERATIONS: Rows[Row] = Rows(__name__, only="operations_")
"""Operations of `keras.ops` that were called outside of layers."""


def supported() -> Iterator[str]:
    """The names of all classes of layers, and of operations behind `keras.ops.`."""
    yield from (*LAYERS, *_ALIASES, *(f"keras.ops.{name}" for name in OPERATIONS))


def row_of(kind: str, is_layer: bool) -> Row | None:
    """Return the row of a class of layers, or of an operation; None where there is none."""
    return LAYERS.get(_ALIASES.get(kind, kind)) if is_layer else OPERATIONS.get(kind)

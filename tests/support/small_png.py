"""Screenshots as small PNG files: at most 256 colours, which pages of text and flat areas hardly exceed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = 256


def small_png(data: bytes) -> bytes:
    """Return a PNG of 8 bits per channel, without transparency that matters, with a palette instead."""
    pixels = _pixels(data)
    height, width, _ = pixels.shape
    packed = pixels[..., 0].astype(np.uint32) << 16 | pixels[..., 1].astype(np.uint32) << 8 | pixels[..., 2]
    colours, inverse, counts = np.unique(packed, return_inverse=True, return_counts=True)
    channels = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], 1).astype(np.int32)
    # The colour that the palette serves worst comes next: small areas keep their hue.
    kept = [int(np.argmax(counts))]
    nearest = np.zeros(len(colours), np.uint8)
    away = ((channels - channels[kept[0]]) ** 2).sum(1)
    while len(kept) < min(_COLOURS, len(colours)):
        kept.append(int(np.argmax(away * np.sqrt(counts))))
        closer = ((channels - channels[kept[-1]]) ** 2).sum(1)
        nearest[closer < away] = len(kept) - 1
        away = np.minimum(away, closer)
    rows = nearest[inverse].reshape(height, width)
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], 1).tobytes()
    parts = [
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", channels[kept].astype(np.uint8).tobytes()),
        _chunk(b"IDAT", zlib.compress(lines, 9)),
        _chunk(b"IEND", b""),
    ]
    return _SIGNATURE + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size


def _pixels(data: bytes) -> Bytes:
    """The pixels of a PNG of 8 bits per channel, of shape (height, width, 3)."""
    chunks = list(_chunks(data))
    width, height, depth, kind = struct.unpack_from(">IIBB", dict(chunks)[b"IHDR"])
    assert depth == 8
    channels = {2: 3, 6: 4}[kind]
    raw = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    lines = np.frombuffer(raw, np.uint8).reshape(height, 1 + width * channels)
    above = np.zeros(width * channels, np.uint8)
    rows: list[Bytes] = []
    for line in lines:
        above = _unfiltered(int(line[0]), line[1:], above, channels)
        rows.append(above)
    return np.stack(rows).reshape(height, width, channels)[..., :3]


def _unfiltered(kind: int, line: Bytes, above: Bytes, step: int) -> Bytes:
    """A line of a PNG without the filter of a kind; step: bytes of a pixel."""
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    if kind == 1:
        return np.cumsum(line.reshape(-1, step), 0, np.uint8).reshape(-1)
    result, upper, filtered = [0] * (len(line) + step), [0] * step + above.tolist(), line.tolist()
    for at in range(step, len(result)):
        left, up, corner = result[at - step], upper[at], upper[at - step]
        if kind == 3:
            predicted = (left + up) // 2
        else:
            guess = left + up - corner
            predicted = min((left, up, corner), key=lambda candidate: abs(guess - candidate))
        result[at] = (filtered[at - step] + predicted) & 255
    return np.array(result[step:], np.uint8)

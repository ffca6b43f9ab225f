"""Random models of one operator that moves elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from random_tflite_parts import Make, Rng, broadcasting, image, one, pick, sizes


def reshape(rng: Rng) -> bytes:
    shape = sizes(rng, 3)
    wanted = pick(rng, [-1], [shape[0], -1], [int(np.prod(shape))], [shape[0] * shape[1], shape[2]])
    return one("RESHAPE", [("float32", shape), np.array(wanted, np.int32)], options="ReshapeOptions", newShape=wanted)


def transpose(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 6)))
    order = rng.permutation(len(shape)).astype(np.int32)
    return one("TRANSPOSE", [("float32", shape), order], options="TransposeOptions")


def concatenation(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 5)))
    axis = int(rng.integers(-len(shape), len(shape)))
    parts: list[Any] = []
    for _ in range(int(rng.integers(1, 4))):
        own = list(shape)
        own[axis] = int(rng.integers(1, 4))
        parts.append(("float32", own))
    return one("CONCATENATION", parts, options="ConcatenationOptions", axis=axis)


def pack(rng: Rng) -> bytes:
    shape, count = sizes(rng, int(rng.integers(1, 4))), int(rng.integers(1, 4))
    axis = int(rng.integers(-len(shape) - 1, len(shape) + 1))
    return one("PACK", [("float32", shape)] * count, options="PackOptions", axis=axis, valuesCount=count)


def unpack(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)), 3)
    axis = int(rng.integers(-len(shape), len(shape)))
    outputs = ["float32"] * shape[axis]
    return one("UNPACK", [("float32", shape)], outputs, "UnpackOptions", axis=axis, num=shape[axis])


def split(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis, count = int(rng.integers(-len(shape), len(shape))), int(rng.integers(1, 4))
    shape[axis] = count * int(rng.integers(1, 3))
    outputs = ["float32"] * count
    return one("SPLIT", [np.array(axis, np.int32), ("float32", shape)], outputs, "SplitOptions", numSplits=count)


def split_v(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis = int(rng.integers(-len(shape), len(shape)))
    parts = sizes(rng, int(rng.integers(1, 4)), 3)
    shape[axis] = sum(parts)
    stated = list(parts)
    if rng.integers(2):
        stated[int(rng.integers(len(parts)))] = -1
    inputs: list[Any] = [("float32", shape), np.array(stated, np.int32), np.array(axis, np.int32)]
    return one("SPLIT_V", inputs, ["float32"] * len(parts), "SplitVOptions", numSplits=len(parts))


def slice_(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 5)))
    begin = [int(rng.integers(0, n)) for n in shape]
    size = [pick(rng, -1, int(rng.integers(1, n - b + 1))) for n, b in zip(shape, begin, strict=True)]
    return one("SLICE", [("float32", shape), np.array(begin, np.int32), np.array(size, np.int32)])


def strided_slice(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    count = int(rng.integers(1, len(shape) + 1))
    begin, end, strides = (rng.integers(-6, 7, count), rng.integers(-6, 7, count), rng.choice([-2, -1, 1, 2], count))
    shrink = int(rng.integers(0, 1 << count)) if rng.integers(2) else 0
    for axis in range(count):
        if shrink >> axis & 1:
            begin[axis], strides[axis] = int(rng.integers(-shape[axis], shape[axis])), 1
            end[axis] = begin[axis] + 1
    masks: dict[str, Any] = {name: int(rng.integers(0, 1 << count)) for name in ("beginMask", "endMask")}
    masks = {name: mask & ~shrink for name, mask in masks.items()}
    extra: dict[str, int] = {}
    kind = pick(rng, "", "new", "ellipsis")
    # LiteRT's kernel lets an ellipsis stand for an axis where none is left for it.
    if kind == "new" or (kind and count < len(shape)):
        place = int(rng.integers(0, count + 1))
        begin, end, strides = (np.insert(a, place, v) for a, v in ((begin, 0), (end, 1), (strides, 1)))

        def moved(mask: int) -> int:
            return mask & ((1 << place) - 1) | (mask >> place) << place + 1

        masks, shrink = {name: moved(mask) for name, mask in masks.items()}, moved(shrink)
        extra["newAxisMask" if kind == "new" else "ellipsisMask"] = 1 << place
    arrays = [a.astype(np.int32) for a in (begin, end, strides)]
    fields: dict[str, Any] = {**masks, "shrinkAxisMask": shrink, **extra}
    return one("STRIDED_SLICE", [("float32", shape), *arrays], options="StridedSliceOptions", **fields)


def pad(op: str) -> Make:
    def make(rng: Rng) -> bytes:
        shape = sizes(rng, int(rng.integers(1, 5)))
        inputs: list[Any] = [("float32", shape), rng.integers(0, 3, (len(shape), 2)).astype(np.int32)]
        if op == "PADV2":
            inputs.append(np.array(1.5, np.float32))
        return one(op, inputs, options="PadV2Options" if op == "PADV2" else "PadOptions")

    return make


def mirror_pad(rng: Rng) -> bytes:
    shape, mode = [int(n) for n in rng.integers(2, 5, 2)], int(rng.integers(2))
    width = np.array([[int(rng.integers(0, n - (mode == 0) + 1)) for _ in range(2)] for n in shape], np.int32)
    return one("MIRROR_PAD", [("float32", shape), width], options="MirrorPadOptions", mode=mode)


def resize(op: str, options: str) -> Make:
    def make(rng: Rng) -> bytes:
        shape, size = image(rng, 2), np.array(sizes(rng, 2, 12), np.int32)
        mode: dict[str, Any] = pick(rng, {}, {"alignCorners": True}, {"halfPixelCenters": True})
        return one(op, [("float32", shape), size], options=options, version=3, **mode)

    return make


def gather(rng: Rng) -> bytes:
    shape = [int(n) for n in rng.integers(2, 5, int(rng.integers(1, 4)))]
    axis = int(rng.integers(len(shape)))
    batch = int(rng.integers(0, axis + 1))
    own = [*shape[:batch], *sizes(rng, int(rng.integers(0 if batch else 1, 2)), 3)]
    indices = rng.integers(0, shape[axis], own).astype(pick(rng, np.int32, np.int64))
    return one("GATHER", [("float32", shape), indices], options="GatherOptions", version=5, axis=axis, batchDims=batch)


def gather_nd(rng: Rng) -> bytes:
    shape = [int(n) for n in rng.integers(2, 5, int(rng.integers(1, 4)))]
    depth = int(rng.integers(1, len(shape) + 1))
    points = np.stack([rng.integers(0, n, sizes_of) for n in shape[:depth] for sizes_of in [(3, 2)]], -1)
    return one("GATHER_ND", [("float32", shape), points.astype(np.int32)], options="GatherNdOptions")


def one_hot(rng: Rng) -> bytes:
    shape, depth = sizes(rng, int(rng.integers(1, 3))), int(rng.integers(1, 6))
    scalars = [np.array(depth, np.int32), np.array(2.0, np.float32), np.array(-1.0, np.float32)]
    axis = int(rng.integers(-1, len(shape) + 1))
    return one("ONE_HOT", [("int32", shape), *scalars], options="OneHotOptions", axis=axis)


def tile(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    return one("TILE", [("float32", shape), rng.integers(1, 4, len(shape)).astype(np.int32)])


def reverse(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis = np.array([int(rng.integers(len(shape)))], np.int32)
    return one("REVERSE_V2", [("float32", shape), axis])


def reverse_sequence(rng: Rng) -> bytes:
    shape = sizes(rng, 3)
    seq, batch = (0, 1) if rng.integers(2) else (1, 0)
    lengths = rng.integers(1, shape[seq] + 1, shape[batch]).astype(np.int32)
    return one(
        "REVERSE_SEQUENCE", [("float32", shape), lengths], options="ReverseSequenceOptions", seqDim=seq, batchDim=batch
    )


def space_to_batch(rng: Rng) -> bytes:
    blocks, shape = sizes(rng, 2, 2), image(rng, 2)
    width = np.zeros((2, 2), np.int32)
    for k in range(2):
        width[k, 0] = rng.integers(0, 2)
        width[k, 1] = -(shape[1 + k] + width[k, 0]) % blocks[k]
    return one("SPACE_TO_BATCH_ND", [("float32", shape), np.array(blocks, np.int32), width])


def batch_to_space(rng: Rng) -> bytes:
    blocks, shape = sizes(rng, 2, 2), image(rng, 2)
    shape[0] *= blocks[0] * blocks[1]
    crops = rng.integers(0, 2, (2, 2)).astype(np.int32)
    return one("BATCH_TO_SPACE_ND", [("float32", shape), np.array(blocks, np.int32), crops])


def blocks(op: str, options: str) -> Make:
    def make(rng: Rng) -> bytes:
        block = int(rng.integers(1, 4))
        n, h, w, c = sizes(rng, 4, 3)
        shape = [n, h * block, w * block, c] if op == "SPACE_TO_DEPTH" else [n, h, w, c * block * block]
        return one(op, [("float32", shape)], options=options, blockSize=block)

    return make


def select(op: str) -> Make:
    def make(rng: Rng) -> bytes:
        shape = sizes(rng, 3)
        if op == "SELECT":
            return one(op, [("bool", pick(rng, shape, shape[:1])), ("float32", shape), ("float32", shape)])
        other = [pick(rng, n, 1) for n in shape]
        return one(op, [("bool", other), ("float32", shape), ("float32", pick(rng, shape, [1]))])

    return make


def expand_dims(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    axis = np.array(int(rng.integers(-len(shape) - 1, len(shape) + 1)), np.int32)
    return one("EXPAND_DIMS", [("float32", shape), axis], options="ExpandDimsOptions")


def squeeze(rng: Rng) -> bytes:
    shape = [pick(rng, 1, 3) for _ in range(4)]
    ones = [at for at, n in enumerate(shape) if n == 1]
    dims = pick(rng, [], ones[:1], [at - 4 for at in ones[1:]])
    return one("SQUEEZE", [("float32", shape)], options="SqueezeOptions", squeezeDims=dims)


def broadcast_to(rng: Rng) -> bytes:
    a, _ = broadcasting(rng)
    wanted = np.broadcast_shapes(tuple(a), tuple(sizes(rng, 1)) if a[-1] == 1 else (1,))
    return one("BROADCAST_TO", [("float32", a), np.array(wanted, np.int32)], options="BroadcastToOptions", version=2)


def fill(rng: Rng) -> bytes:
    return one("FILL", [np.array(sizes(rng, 3), np.int32), ("float32", [])], options="FillOptions")


def embedding(rng: Rng) -> bytes:
    rows = int(rng.integers(2, 6))
    ids = rng.integers(0, rows, sizes(rng, 1)).astype(np.int32)
    return one("EMBEDDING_LOOKUP", [ids, ("float32", [rows, *sizes(rng, 2)])])


MOVES: dict[str, Make] = {
    "BATCH_TO_SPACE_ND": batch_to_space,
    "BROADCAST_TO": broadcast_to,
    "CONCATENATION": concatenation,
    "DEPTH_TO_SPACE": blocks("DEPTH_TO_SPACE", "DepthToSpaceOptions"),
    "EMBEDDING_LOOKUP": embedding,
    "EXPAND_DIMS": expand_dims,
    "FILL": fill,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "MIRROR_PAD": mirror_pad,
    "ONE_HOT": one_hot,
    "PACK": pack,
    "PAD": pad("PAD"),
    "PADV2": pad("PADV2"),
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize("RESIZE_BILINEAR", "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    "REVERSE_SEQUENCE": reverse_sequence,
    "REVERSE_V2": reverse,
    "SELECT": select("SELECT"),
    "SELECT_V2": select("SELECT_V2"),
    "SLICE": slice_,
    "SPACE_TO_BATCH_ND": space_to_batch,
    "SPACE_TO_DEPTH": blocks("SPACE_TO_DEPTH", "SpaceToDepthOptions"),
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQUEEZE": squeeze,
    "STRIDED_SLICE": strided_slice,
    "TILE": tile,
    "TRANSPOSE": transpose,
    "UNPACK": unpack,
}

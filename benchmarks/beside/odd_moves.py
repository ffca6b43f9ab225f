"""Random operators that move data, by shapes or by indices, that sort, and that sample images."""

from __future__ import annotations

from math import prod

import numpy as np

from .one_node import Case, Dice, Family, listed, text

_ELEMENTS = (5000, 3_000_000)
_INT = np.int64


def _transpose(dice: Dice) -> Case:
    rank = dice.choice((2, 3, 3, 4, 4, 5))
    shape, order = dice.shape(rank, *_ELEMENTS), dice.sample(range(rank), rank)
    return Case(f"transpose {text(shape)} {listed(order)}", f"Y = Transpose<perm={listed(order)}>(X0)", [shape])


def _concat(dice: Dice) -> Case:
    rank, count = dice.choice((2, 3, 4)), dice.choice((2, 2, 3, 4, 8))
    shape, axis = dice.shape(rank, _ELEMENTS[0] // count, _ELEMENTS[1] // count), dice.randrange(rank)
    parts = [(*shape[:axis], max(1, int(shape[axis] * dice.uniform(0.5, 1))), *shape[axis + 1 :]) for _ in range(count)]
    names = ", ".join(f"X{i}" for i in range(count))
    return Case(f"concat {count} of {text(shape)} axis {axis}", f"Y = Concat<axis={axis}>({names})", parts)


def _split(dice: Dice) -> Case:
    rank, count = dice.choice((2, 3, 4)), dice.choice((2, 2, 3, 4, 8))
    shape = dice.shape(rank, *_ELEMENTS)
    axis = max(range(rank), key=shape.__getitem__) if dice.random() < 0.5 else dice.randrange(rank)
    if shape[axis] < 2 * count:
        return _split(dice)
    cuts = sorted(dice.sample(range(1, shape[axis]), count - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, shape[axis]], strict=True)]
    outputs = [f"Y{i}" for i in range(count)]
    nodes = f"{', '.join(outputs)} = Split<axis={axis}>(X0, W0)"
    return Case(f"split {text(shape)} axis {axis} in {count}", nodes, [shape], [np.array(sizes, _INT)], outputs)


def _slice(dice: Dice) -> Case:
    rank = dice.choice((1, 2, 3, 4))
    shape, step = dice.shape(rank, *_ELEMENTS), [dice.choice((1, 1, 1, 2, -1)) for _ in range(rank)]
    starts = [0 if s > 0 else -1 for s in step]
    ends = [n if s > 0 else -n - 1 for n, s in zip(shape, step, strict=True)]
    starts = [a + dice.randrange(min(4, n)) * (1 if a >= 0 else -1) for a, n in zip(starts, shape, strict=True)]
    constants = [np.array(values, _INT) for values in (starts, ends, range(rank), step)]
    name = f"slice {text(shape)} from {listed(starts)} by {listed(step)}"
    return Case(name, "Y = Slice(X0, W0, W1, W2, W3)", [shape], constants)


def _pad(dice: Dice) -> Case:
    rank, mode = dice.choice((2, 3, 4)), dice.choice(("constant", "constant", "edge", "reflect"))
    shape = dice.shape(rank, *_ELEMENTS)
    most = [min(4, n - 1) if mode == "reflect" else 4 for n in shape]
    pads = [dice.randint(0, m) if axis >= rank - 2 else 0 for axis, m in enumerate(most)] * 2
    name = f"pad {mode} {text(shape)} by {listed(pads)}"
    return Case(name, f'Y = Pad<mode="{mode}">(X0, W0)', [shape], [np.array(pads, _INT)])


def _repeat(dice: Dice) -> Case:
    rank = dice.choice((1, 2, 3, 4))
    times = [dice.choice((1, 2, 3, 8)) for _ in range(rank)]
    shape = dice.shape(rank, max(1, _ELEMENTS[0] // prod(times)), _ELEMENTS[1] // prod(times))
    if dice.random() < 0.5:
        return Case(f"tile {text(shape)} by {listed(times)}", "Y = Tile(X0, W0)", [shape], [np.array(times, _INT)])
    wide = dice.shape(rank, *_ELEMENTS)
    shape = tuple(dice.choice((1, extent)) for extent in wide)
    return Case(f"expand {text(shape)} to {text(wide)}", "Y = Expand(X0, W0)", [shape], [np.array(wide, _INT)])


def _blocks(dice: Dice) -> Case:
    block, side, channels = dice.choice((2, 2, 3, 4)), dice.size(4, 130), dice.size(1, 64)
    if not _ELEMENTS[0] <= channels * (block * side) ** 2 <= _ELEMENTS[1]:
        return _blocks(dice)
    if dice.random() < 0.5:
        shape = (1, channels * block * block, side, side)
        mode = dice.choice(("DCR", "CRD"))
        nodes = f'Y = DepthToSpace<blocksize={block}, mode="{mode}">(X0)'
        return Case(f"depth_to_space {mode} {text(shape)} by {block}", nodes, [shape])
    shape = (1, channels, block * side, block * side)
    return Case(f"space_to_depth {text(shape)} by {block}", f"Y = SpaceToDepth<blocksize={block}>(X0)", [shape])


def _gather(dice: Dice) -> Case:
    rank, random = dice.choice((1, 2, 2, 3, 4)), dice.numbers
    shape, axis = dice.shape(rank, *_ELEMENTS), dice.choice((0, 0, dice.randrange(rank)))
    kind = dice.choice(("Gather", "Gather", "GatherElements", "GatherND"))
    if kind == "Gather":
        rest, count = prod(shape) // shape[axis], dice.size(1, 5000)
        count = min(max(count, _ELEMENTS[0] // rest), max(1, _ELEMENTS[1] // rest))
        indices, nodes = random.integers(-shape[axis], shape[axis], count), f"Y = Gather<axis={axis}>(X0, X1)"
        return Case(f"gather {text(shape)} axis {axis} by {count}", nodes, [shape, indices])
    if kind == "GatherElements":
        width = dice.size(1, 2 * shape[axis])
        indices = random.integers(0, shape[axis], (*shape[:axis], width, *shape[axis + 1 :]))
        name = f"gather_elements {text(shape)} axis {axis} by {width}"
        return Case(name, f"Y = GatherElements<axis={axis}>(X0, X1)", [shape, indices])
    depth, count = dice.randint(1, rank), dice.size(100, 5000)
    count = min(count, max(1, _ELEMENTS[1] // prod(shape[depth:])))
    indices = np.stack([random.integers(0, extent, count) for extent in shape[:depth]], axis=-1)
    return Case(f"gather_nd {text(shape)} by {count}x{depth}", "Y = GatherND(X0, X1)", [shape, indices])


def _scatter(dice: Dice) -> Case:
    rank, random = dice.choice((1, 2, 2, 3)), dice.numbers
    shape = dice.shape(rank, *_ELEMENTS)
    if dice.random() < 0.5:
        axis = dice.randrange(rank)
        width = dice.size(1, shape[axis])
        rows = random.permutation(shape[axis])[:width].reshape([-1 if i == axis else 1 for i in range(rank)])
        indices = np.broadcast_to(rows, (*shape[:axis], width, *shape[axis + 1 :])).copy()
        name = f"scatter_elements {text(shape)} axis {axis} by {width}"
        return Case(name, f"Y = ScatterElements<axis={axis}>(X0, X1, X2)", [shape, indices, indices.shape])
    depth = dice.randint(1, rank)
    count = min(dice.size(1, 5000), prod(shape[:depth]))
    flat = random.permutation(prod(shape[:depth]))[:count]
    indices = np.stack(np.unravel_index(flat, shape[:depth]), axis=-1).astype(_INT)
    reduction = dice.choice(("none", "add"))
    name = f"scatter_nd {reduction} {text(shape)} by {count}x{depth}"
    inputs = [shape, indices, (count, *shape[depth:])]
    return Case(name, f'Y = ScatterND<reduction="{reduction}">(X0, X1, X2)', inputs)


def _select(dice: Dice) -> Case:
    kind = dice.choice(("topk", "topk", "topk", "nonzero", "one_hot", "cumsum", "compare"))
    random = dice.numbers
    rows, width = dice.size(1, 1000), dice.size(10, 100000)
    if not _ELEMENTS[0] <= rows * width <= _ELEMENTS[1] // 4:
        return _select(dice)
    shape = (rows, width)
    if kind == "topk":
        k = dice.size(1, min(width, 2000))
        return Case(f"topk {k} of {text(shape)}", "Y, Z = TopK(X0, W0)", [shape], [np.array([k], _INT)], ("Y", "Z"))
    if kind == "nonzero":
        numbers = (random.random(shape, np.float32) < dice.random()).astype(np.float32)
        return Case(f"nonzero {text(shape)}", "Y = NonZero(X0)", [numbers])
    if kind == "one_hot":
        constants = [np.array(width), np.array([0, 1], np.float32)]
        return Case(
            f"one_hot {rows} of {width}", "Y = OneHot(X0, W0, W1)", [random.integers(0, width, rows)], constants
        )
    if kind == "cumsum":
        axis = dice.choice((0, 1))
        return Case(f"cumsum {text(shape)} axis {axis}", "Y = CumSum(X0, W0)", [shape], [np.array(axis)])
    return Case(f"compare {text(shape)}", "A = Greater(X0, X1); Y = Cast<to=1>(A)", [shape, (1, width)])


def _sample(dice: Dice) -> Case:
    channels, side, random = dice.size(1, 300), dice.size(10, 100), dice.numbers
    shape = (1, channels, side, side)
    if dice.random() < 0.4:
        size = dice.size(5, 80)
        grid = random.uniform(-1, 1, (1, size, size, 2)).astype(np.float32)
        if not _ELEMENTS[0] <= channels * size * size <= _ELEMENTS[1]:
            return _sample(dice)
        return Case(f"grid_sample {text(shape)} by {size}", "Y = GridSample(X0, X1)", [shape, grid])
    count, size = dice.size(1, 200), dice.choice((5, 7, 14))
    if not _ELEMENTS[0] <= channels * count * size * size <= _ELEMENTS[1]:
        return _sample(dice)
    corners = np.sort(random.uniform(0, side * 16, (count, 2, 2)), axis=1).reshape(count, 4).astype(np.float32)
    how = f"output_height={size}, output_width={size}, sampling_ratio={dice.choice((0, 2))}, spatial_scale=0.0625"
    inputs = [shape, corners, np.zeros(count, _INT)]
    return Case(f"roi_align {count} of {text(shape)} to {size}", f"Y = RoiAlign<{how}>(X0, X1, X2)", inputs)


def _signal(dice: Dice) -> Case:
    if dice.random() < 0.5:
        rows, length = dice.size(4, 128), 2 ** dice.randint(4, 10)
        return Case(f"dft {rows}x{length}", "Y = DFT(X0)", [(rows, length, 2)])
    length, step, window = dice.size(4000, 40000), dice.size(40, 200), dice.size(100, 500)
    constants = [np.array(step), np.hanning(window).astype(np.float32)]
    return Case(f"stft {length} by {window}/{step}", "Y = STFT(X0, W0, W1)", [(1, length, 1)], constants)


MOVES: dict[str, Family] = {
    "transpose": _transpose,
    "concat": _concat,
    "split": _split,
    "slice": _slice,
    "pad": _pad,
    "repeat": _repeat,
    "blocks": _blocks,
    "gather": _gather,
    "scatter": _scatter,
    "select": _select,
    "sample": _sample,
    "signal": _signal,
}

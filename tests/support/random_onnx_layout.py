"""How nodes of operators that move elements are drawn: shapes, indices, sorting, sequences; and control flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper
from random_onnx import Program, Redraw, Value, is_float
from random_onnx_elementwise import Recipe


def any_tensor(p: Program, op: str, param: str = "T", **more: Any) -> Value:
    return p.tensor(p.dtype(op, param), **more)


def reshape(p: Program) -> None:
    x = any_tensor(p, "Reshape", empty=p.chance(0.2))
    dims = list(x.shape)
    for _ in range(p.dice.randint(0, 3)):
        if len(dims) > 1 and p.chance(0.5):
            at = p.dice.randrange(len(dims) - 1)
            dims[at : at + 2] = [dims[at] * dims[at + 1]]
        else:
            dims.insert(p.dice.randint(0, len(dims)), 1)
    if dims and 0 not in dims and p.chance(0.4):
        dims[p.dice.randrange(len(dims))] = -1
    elif dims and x.shape and dims[0] == x.shape[0] and p.chance(0.3):
        dims[0] = 0
    p.emit("Reshape", x, p.known(dims), exact=True, allowzero=1 if 0 in x.shape and 0 in dims else None)


def flatten(p: Program) -> None:
    x = any_tensor(p, "Flatten")
    p.emit("Flatten", x, axis=p.choice((None, p.dice.randint(-x.rank, x.rank))) if x.rank else 0, exact=True)


def squeeze(p: Program) -> None:
    shape = list(p.shape(0, 2))
    for _ in range(p.dice.randint(1, 2)):
        shape.insert(p.dice.randint(0, len(shape)), 1)
    x = p.fresh(shape, p.dtype("Squeeze"))
    axes = [at - (x.rank if p.chance(0.4) else 0) for at, n in enumerate(shape) if n == 1 and p.chance(0.7)]
    p.emit("Squeeze", x, p.known(axes) if axes else None, exact=True)


def unsqueeze(p: Program) -> None:
    x = any_tensor(p, "Unsqueeze", rank=(0, 3))
    count = p.dice.randint(1, 2)
    axes = p.dice.sample(range(x.rank + count), count)
    p.emit("Unsqueeze", x, p.known([a - x.rank - count if p.chance(0.3) else a for a in axes]), exact=True)


def transpose(p: Program) -> None:
    x = any_tensor(p, "Transpose")
    p.emit("Transpose", x, perm=p.choice((None, p.dice.sample(range(x.rank), x.rank))) or None, exact=True)


def concat(p: Program) -> None:
    x = any_tensor(p, "Concat", rank=(1, 4))
    axis = p.axis(x.rank)
    parts = [x]
    for _ in range(p.dice.randint(0, 3)):
        shape = list(x.shape)
        shape[axis] = p.choice((0, 1, 3, p.size(9)))
        parts.append(x if p.chance(0.2) else p.fresh(shape, x.dtype))
    p.dice.shuffle(parts)
    p.emit("Concat", *parts, axis=axis, exact=True)


def _pieces(p: Program, total: int) -> list[int]:
    cuts = sorted(p.dice.randint(0, total) for _ in range(p.dice.randint(0, 2)))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


def split(p: Program) -> None:
    x = any_tensor(p, "Split", rank=(1, 4))
    axis = p.axis(x.rank)
    if p.chance(0.6):
        parts = _pieces(p, x.shape[axis])
        p.emit("Split", x, p.known(parts), wanted=(True,) * len(parts), axis=axis, exact=True)
        return
    options = [
        n
        for n in (1, 2, 3, 4)
        if x.shape[axis] % n == 0 or (p.opset >= 18 and -(-x.shape[axis] // n) * (n - 1) < x.shape[axis])
    ]
    count: int = p.choice(options)
    p.emit("Split", x, wanted=(True,) * count, axis=axis, num_outputs=count, exact=True)


def slice_(p: Program) -> None:
    x = any_tensor(p, "Slice", rank=(1, 4))
    axes = p.dice.sample(range(x.rank), p.dice.randint(1, x.rank))
    plain = p.chance(0.1)
    axes = list(range(len(axes))) if plain else axes
    starts = [p.dice.randint(-x.shape[a] - 2, x.shape[a] + 2) for a in axes]
    steps = [p.choice((1, 1, 2, 3, -1, -2)) for _ in axes]
    far = {1: 2**63 - 1, -1: -(2**63) + 1}
    ends = [
        far[1 if step > 0 else -1] if p.chance(0.2) else p.dice.randint(-x.shape[a] - 2, x.shape[a] + 2)
        for a, step in zip(axes, steps, strict=True)
    ]
    axes = [a - x.rank if p.chance(0.3) else a for a in axes]
    more = [] if plain and min(steps) > 0 and p.chance(0.5) else [None if plain else p.known(axes), p.known(steps)]
    p.emit("Slice", x, p.known(starts), p.known(ends), *more, exact=True)


def expand(p: Program) -> None:
    x = any_tensor(p, "Expand", rank=(0, 3))
    shape = [p.size(4) if n == 1 and p.chance(0.6) else 1 if p.chance(0.2) else n for n in x.shape]
    p.emit("Expand", x, p.known([*p.shape(0, 1), *shape] if p.chance(0.3) else shape), exact=True)


def tile(p: Program) -> None:
    x = any_tensor(p, "Tile", rank=(0, 3))
    p.emit("Tile", x, p.known([p.choice((0, 1, 1, 2, 3)) for _ in x.shape]), exact=True)


def pad(p: Program) -> None:
    x = any_tensor(p, "Pad", rank=(1, 4), empty=p.chance(0.1))
    mode = p.choice((None, "constant", "edge", "reflect", *(("wrap",) if p.opset >= 19 else ())))
    axes = p.dice.sample(range(x.rank), p.dice.randint(1, x.rank)) if p.opset >= 18 and p.chance(0.4) else None
    dims = [x.shape[a] for a in axes] if axes else list(x.shape)
    most = [min(3, n - 1 if mode in ("reflect", "wrap") else 3) for n in dims] * 2
    least = -1 if mode in (None, "constant") else 0
    pads = [p.dice.randint(min(0, least if n > 2 else 0), max(0, m)) for n, m in zip(dims * 2, most, strict=True)]
    fill = p.fresh((), x.dtype) if mode in (None, "constant") and p.chance(0.6) else None
    p.emit("Pad", x, p.known(pads), fill, p.known(axes) if axes else None, mode=mode, exact=True)


def shape_of(p: Program) -> None:
    x = any_tensor(p, "Shape")
    ends = {name: p.choice((None, p.dice.randint(-x.rank - 1, x.rank + 1))) for name in ("start", "end")}
    p.emit(p.choice(("Shape", "Shape", "Size")), x, **ends)


def size_of(p: Program) -> None:
    p.emit("Size", any_tensor(p, "Size"))


def constant_of_shape(p: Program) -> None:
    dtype = p.dtype("ConstantOfShape", "T2")
    value = helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(dtype), [1], p.array((1,), dtype))
    p.emit("ConstantOfShape", p.known(p.shape(0, 3)), value=p.choice((None, value)), exact=True)


def range_(p: Program) -> None:
    dtype = p.dtype("Range")
    start, count, step = p.dice.randint(-3, 3), p.dice.randint(0, 9), p.choice((1, 2, -1, -3))
    numbers = [p.given(np.asarray(n, dtype), 0.8) for n in (start, start + count * step, step)]
    p.emit("Range", *numbers, exact=True)


def eye_like(p: Program) -> None:
    x = p.tensor(p.dtype("EyeLike", "T1"), rank=(2, 2))
    dtype = p.choice((None, *(helper.np_dtype_to_tensor_dtype(d) for d in p.takes("EyeLike", "T2"))))
    p.emit("EyeLike", x, k=p.choice((None, -1, 0, 2)), dtype=dtype, exact=True)


def trilu(p: Program) -> None:
    x = any_tensor(p, "Trilu", rank=(2, 4))
    k = p.known(p.dice.randint(-4, 4)) if p.chance(0.5) else None
    p.emit("Trilu", x, k, upper=p.choice((None, 0, 1)), exact=True)


def reverse_sequence(p: Program) -> None:
    x = any_tensor(p, "ReverseSequence", rank=(2, 4), empty=False)
    time: int = p.choice((0, 1))
    lengths = [p.dice.randint(1, x.shape[time]) for _ in range(x.shape[1 - time])]
    p.emit(
        "ReverseSequence", x, p.given(np.asarray(lengths, np.int64)), time_axis=time, batch_axis=1 - time, exact=True
    )


def depth_space(p: Program) -> None:
    block = p.choice((1, 2, 3))
    n, c, h, w = p.size(2), p.size(3), p.size(4), p.size(4)
    if p.chance(0.5):
        x = p.fresh((n, c * block * block, h, w), p.dtype("DepthToSpace"))
        p.emit("DepthToSpace", x, blocksize=block, mode=p.choice((None, "DCR", "CRD")), exact=True)
    else:
        x = p.fresh((n, c, h * block, w * block), p.dtype("SpaceToDepth"))
        p.emit("SpaceToDepth", x, blocksize=block, exact=True)


def center_crop_pad(p: Program) -> None:
    x = any_tensor(p, "CenterCropPad", rank=(1, 3), empty=False)
    axes = p.dice.sample(range(x.rank), p.dice.randint(1, x.rank)) if p.chance(0.5) else None
    shape = [p.size(9) for _ in (axes or x.shape)]
    p.emit("CenterCropPad", x, p.known(shape), axes=axes, exact=True)


def _indices(p: Program, shape: Sequence[int], extent: int, dtype: Any = None) -> Value:
    if extent == 0 and 0 not in shape:
        raise Redraw
    return p.fresh(shape, dtype or p.choice((np.int32, np.int64)), -extent, max(extent - 1, -extent))


def gather(p: Program) -> None:
    x = any_tensor(p, "Gather", rank=(1, 4), empty=p.chance(0.2))
    axis = p.axis(x.rank)
    p.emit("Gather", x, _indices(p, p.shape(0, 2), x.shape[axis]), axis=p.choice((axis, axis)), exact=True)


def gather_elements(p: Program) -> None:
    x = any_tensor(p, "GatherElements", rank=(1, 4), empty=False)
    axis = p.axis(x.rank)
    shape = [p.size(6) if at == axis % x.rank else p.dice.randint(1, n) for at, n in enumerate(x.shape)]
    p.emit("GatherElements", x, _indices(p, shape, x.shape[axis]), axis=axis, exact=True)


def _tuples(p: Program, shape: Sequence[int], leading: Sequence[int], depth: int, skip: int) -> Value:
    """Index tuples of `depth` numbers into the dimensions from `skip` on."""
    columns = [p.array(leading, np.int64, -n, n - 1) for n in shape[skip : skip + depth]]
    return p.given(np.stack(columns, -1).astype(np.int64))


def gather_nd(p: Program) -> None:
    x = any_tensor(p, "GatherND", rank=(1, 4), empty=False)
    batch = p.choice((0, 0, 1)) if x.rank > 1 else 0
    depth = p.dice.randint(1, x.rank - batch)
    leading = (*x.shape[:batch], *p.shape(0, 2, False))
    p.emit("GatherND", x, _tuples(p, x.shape, leading, depth, batch), batch_dims=batch or None, exact=True)


def scatter_elements(p: Program) -> None:
    x = any_tensor(p, "ScatterElements", rank=(1, 3), empty=False)
    axis = p.axis(x.rank)
    reduction = (
        p.choice((None, "none", "add", "mul", *(("max", "min") if p.opset >= 18 else ()))) if p.opset >= 16 else None
    )
    if x.dtype == np.bool_:
        reduction = None
    shape = [p.dice.randint(1, n) for n in x.shape]
    if reduction in (None, "none"):
        rows = np.stack(
            [p.numbers.permutation(x.shape[axis]) for _ in range(max(1, int(np.prod(shape)) // shape[axis]))]
        )
        at = axis % x.rank
        rest = [n for d, n in enumerate(shape) if d != at]
        indices = np.moveaxis(rows[:, : shape[axis]].reshape(*rest, shape[axis]), -1, at)
        chosen = p.given(np.ascontiguousarray(indices).astype(p.choice((np.int32, np.int64))))
    else:
        chosen = _indices(p, shape, x.shape[axis])
    updates = p.fresh(shape, x.dtype)
    p.emit(
        "ScatterElements", x, chosen, updates, axis=axis, reduction=reduction, exact=reduction is None, gain=8, steps=50
    )


def scatter_nd(p: Program) -> None:
    x = any_tensor(p, "ScatterND", rank=(1, 4), empty=False)
    depth = p.dice.randint(1, x.rank)
    reduction = (
        p.choice((None, "none", "add", "mul", *(("max", "min") if p.opset >= 18 else ()))) if p.opset >= 16 else None
    )
    if x.dtype == np.bool_:
        reduction = None
    if reduction in (None, "none"):
        places = int(np.prod(x.shape[:depth]))
        chosen = p.numbers.permutation(places)[: p.dice.randint(1, min(places, 5))]
        indices = p.given(np.stack(np.unravel_index(chosen, x.shape[:depth]), -1).astype(np.int64))
    else:
        indices = _tuples(p, x.shape, p.shape(1, 2, False), depth, 0)
    updates = p.fresh((*indices.shape[:-1], *x.shape[depth:]), x.dtype)
    p.emit("ScatterND", x, indices, updates, reduction=reduction, exact=reduction is None, gain=8, steps=50)


def one_hot(p: Program) -> None:
    depth = p.size(6)
    kind = p.choice(p.takes("OneHot", "T1"))
    indices = p.fresh(p.shape(0, 2), kind, 0 if kind.kind == "u" else -depth - 2, depth + 2)
    dtype = p.dtype("OneHot", "T3")
    counted = p.known([depth] if p.chance(0.3) else depth, p.choice((np.int64, np.int32, np.float32)))
    p.emit(
        "OneHot",
        indices if not is_float(kind) else p.given(np.round(indices.array)),
        counted,
        p.fresh((2,), dtype),
        axis=p.choice((None, p.dice.randint(-indices.rank - 1, indices.rank))),
        # References add the difference of the two values, which rounds; we take one of them.
        steps=4,
    )


def compress(p: Program) -> None:
    x = any_tensor(p, "Compress", rank=(1, 3))
    axis: int | None = p.choice((None, p.axis(x.rank)))
    most: int = x.array.size if axis is None else x.shape[axis]
    p.emit("Compress", x, p.fresh((p.dice.randint(0, most),), bool), axis=axis, exact=True)


def non_zero(p: Program) -> None:
    dtype = p.dtype("NonZero")
    x = p.tensor(dtype, rank=(1, 3), exact=True)
    p.emit("NonZero", p.given(np.asarray(x.array * p.array(x.shape, bool), dtype)) if p.chance(0.5) else x)


def unique(p: Program) -> None:
    # Those that onnxruntime has: the reference evaluator always sorts.
    dtype = p.dtype("Unique", among=lambda d: d.name in ("float32", "float64", "int64", "int8"))
    x = p.tensor(dtype, rank=(1, 3), exact=True, empty=False)
    axis = p.choice((None, p.axis(x.rank)))
    wanted = p.choice(((True,), (True, False, True), (True, True, True, True)))
    p.emit("Unique", x, wanted=wanted, axis=axis, sorted=p.choice((None, 0, 1)), exact=True)


def top_k(p: Program) -> None:
    x = any_tensor(p, "TopK", rank=(1, 4), exact=True, empty=False)
    axis = p.axis(x.rank)
    k = p.known([p.dice.randint(0, x.shape[axis])])
    p.emit("TopK", x, k, wanted=(True, True), axis=axis, largest=p.choice((None, 0, 1)), exact=True)


_NARROW = (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2)


def cast(p: Program) -> None:
    source, target = p.dtype("Cast", "T1"), p.dtype("Cast", "T2")
    if is_float(source) and not is_float(target):
        x = p.tensor(source, 0 if target.kind == "u" else -100, 100, exact=True)
    else:
        x = p.tensor(source)
    if p.opset >= 19 and is_float(source) and p.chance(0.15):
        _through(p, source, p.choice(_NARROW))
        return
    if p.chance(0.2):
        p.emit("CastLike", x, p.tensor(target))
    else:
        p.emit("Cast", x, to=helper.np_dtype_to_tensor_dtype(target))


def _through(p: Program, dtype: np.dtype[Any], narrow: int) -> None:
    """To a narrow float and back."""
    x = p.fresh(p.shape(0, 3), dtype)
    between, back = p.name("narrow"), p.name("y")
    nodes = [
        helper.make_node("Cast", [x.name], [between], to=narrow, saturate=p.choice((0, 1))),
        helper.make_node("Cast", [between], [back], to=helper.np_dtype_to_tensor_dtype(dtype)),
    ]
    p.add(nodes, [x], [back], exact=True)


def sequence(p: Program) -> None:
    """A tensor cut in pieces, and put together or taken from."""
    x = p.tensor(p.choice((np.float32, np.int64)), rank=(1, 3), empty=False)
    axis = p.axis(x.rank)
    kept = p.choice((0, 1))
    pieces, out = p.name("pieces"), p.name("y")
    nodes = [helper.make_node("SplitToSequence", [x.name], [pieces], axis=axis, keepdims=kept)]
    reads = [x]
    kind = p.choice(("ConcatFromSequence", "SequenceAt", "SequenceLength", "SequenceInsert", "SequenceErase"))
    at = p.given(np.asarray(p.dice.randint(-x.shape[axis], x.shape[axis] - 1), np.int64), 0.7)
    if kind == "SequenceAt":
        nodes.append(helper.make_node(kind, [pieces, at.name], [out]))
        reads.append(at)
    elif kind == "SequenceLength":
        nodes.append(helper.make_node(kind, [pieces], [out]))
    else:
        if kind == "SequenceErase" and x.shape[axis] == 1:
            raise Redraw
        if kind != "ConcatFromSequence":
            shape = list(x.shape)
            shape[axis] = 1
            inserted = p.array(shape if kept else np.squeeze(np.zeros(shape), axis).shape, x.dtype)
            one = [p.given(inserted)] if kind == "SequenceInsert" else []
            changed = p.name("pieces")
            nodes.append(helper.make_node(kind, [pieces, *(v.name for v in one), at.name], [changed]))
            reads += [*one, at]
            pieces = changed
        nodes.append(helper.make_node("ConcatFromSequence", [pieces], [out], axis=axis, new_axis=1 - kept))
    p.add(nodes, reads, [out], exact=True)


def _body(p: Program, name: str, x: str, out: str) -> list[Any]:
    """One or two nodes that make `out` of `x`, of the same type."""
    ops = [p.choice(("Abs", "Neg", "Relu", "Sigmoid", "Tanh", "Identity")) for _ in range(p.dice.randint(1, 2))]
    names = [x, *(p.name(name) for _ in ops[1:]), out]
    return [helper.make_node(op, [a], [b]) for op, a, b in zip(ops, names[:-1], names[1:], strict=True)]


def if_(p: Program) -> None:
    """Two branches that read a tensor from outside."""
    x = p.tensor(np.float32)
    decides = p.fresh((), bool)
    branches: dict[str, Any] = {}
    for which in ("then_branch", "else_branch"):
        out = p.name(which)
        nodes = _body(p, "inner", x.name, out)
        branches[which] = helper.make_graph(nodes, which, [], [helper.make_tensor_value_info(out, 1, None)])
    y = p.name("y")
    p.add([helper.make_node("If", [decides.name], [y], **branches)], [decides, x], [y])


def loop(p: Program) -> None:
    """A state that each turn changes, and what it was then."""
    x = p.tensor(np.float32, rank=(0, 3))
    turns, goes = p.known(p.dice.randint(0, 4)), p.known(True, bool)
    i, cond, state, nxt, again, seen = (p.name(s) for s in ("i", "cond", "state", "next", "again", "seen"))
    nodes = [
        *_body(p, "inner", state, nxt),
        helper.make_node("Identity", [cond], [again]),
        helper.make_node("Add", [nxt, x.name], [seen]),
    ]
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        nodes,
        "body",
        [info(i, 7, []), info(cond, 9, []), info(state, 1, list(x.shape))],
        [info(again, 9, []), info(nxt, 1, list(x.shape)), info(seen, 1, list(x.shape))],
    )
    last, all_ = p.name("y"), p.name("y")
    node = helper.make_node("Loop", [turns.name, goes.name, x.name], [last, all_], body=body)
    p.add([node], [turns, goes, x], [last, all_], gain=8)


def scan(p: Program) -> None:
    """A sum that runs along an axis."""
    x = p.tensor(np.float32, rank=(1, 3), empty=False)
    axis = p.axis(x.rank)
    shape = [n for d, n in enumerate(x.shape) if d != axis % x.rank]
    start = p.fresh(shape, np.float32)
    total, one, more, seen = (p.name(s) for s in ("total", "one", "more", "seen"))
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Add", [total, one], [more]), helper.make_node("Neg", [more], [seen])]
    body = helper.make_graph(
        nodes, "body", [info(total, 1, shape), info(one, 1, shape)], [info(more, 1, shape), info(seen, 1, shape)]
    )
    last, all_ = p.name("y"), p.name("y")
    more_: dict[str, Any] = {"scan_input_axes": [axis], "scan_input_directions": [p.choice((0, 1))]}
    if p.chance(0.5):
        more_ |= {"scan_output_axes": [p.dice.randint(0, len(shape))], "scan_output_directions": [p.choice((0, 1))]}
    node = helper.make_node("Scan", [start.name, x.name], [last, all_], body=body, num_scan_inputs=1, **more_)
    p.add([node], [start, x], [last, all_], gain=20, steps=50)


RECIPES: dict[str, Recipe] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "Slice": slice_,
    "Expand": expand,
    "Tile": tile,
    "Pad": pad,
    "Shape": shape_of,
    "Size": size_of,
    "ConstantOfShape": constant_of_shape,
    "Range": range_,
    "EyeLike": eye_like,
    "Trilu": trilu,
    "ReverseSequence": reverse_sequence,
    "DepthToSpace": depth_space,
    "CenterCropPad": center_crop_pad,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "OneHot": one_hot,
    "Compress": compress,
    "NonZero": non_zero,
    "Unique": unique,
    "TopK": top_k,
    "Cast": cast,
    "SplitToSequence": sequence,
    "If": if_,
    "Loop": loop,
    "Scan": scan,
}

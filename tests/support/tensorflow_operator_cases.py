# pyright: basic, reportArgumentType=false, reportIndexIssue=false
"""Cases of TensorFlow's operators: name -> inputs and a function of them. Needs TensorFlow to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow_variant_cases
from tensorflow_control_cases import control
from tensorflow_image_cases import cells, images, lists
from tensorflow_image_cases import integers as _integers
from tensorflow_image_cases import reals as _reals

Cases = dict[str, tuple[Callable[..., Any], list[Any]]]


def _elementwise(ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    x, y = _reals(3, 4), _reals(4, seed=1)
    above, unit, small = np.abs(x) + 0.1, _reals(3, 4, low=-0.9, high=0.9), _reals(3, 4, seed=5) * 1e-3
    yield from (
        (name, getattr(ops, name), [x])
        for name in "Abs Neg Sign Square Exp Expm1 Erf Erfc Sin Cos Tan Atan Sinh Cosh Tanh Asinh Ceil Floor Round "
        "Rint Reciprocal Inv IsNan IsInf IsFinite ZerosLike OnesLike".split()
    )
    yield from ((name, getattr(ops, name), [above]) for name in "Sqrt Rsqrt Log Log1p".split())
    yield from ((name, getattr(ops, name), [unit]) for name in "Asin Acos Atanh".split())
    yield "Acosh", ops.Acosh, [above + 1]
    yield "Expm1 near 0", ops.Expm1, [small]
    yield from (
        (name, lambda features, name=name: getattr(ops, name)(features=features), [x])
        for name in "Relu Relu6 Elu Selu Softplus Softsign LeakyRelu".split()
    )
    yield "LeakyRelu 0.3", lambda features: ops.LeakyRelu(features=features, alpha=0.3), [x]
    yield "Softplus far", lambda features: ops.Softplus(features=features), [x * 40]
    yield "Sigmoid", ops.Sigmoid, [x]
    yield "Softmax", lambda logits: ops.Softmax(logits=logits), [_reals(2, 3, 5)]
    yield "LogSoftmax", lambda logits: ops.LogSoftmax(logits=logits), [_reals(2, 3, 5)]
    yield from (
        (name, getattr(ops, name), [x, y])
        for name in "Add AddV2 Sub Mul RealDiv Div FloorDiv FloorMod Maximum Minimum SquaredDifference Less LessEqual "
        "Greater GreaterEqual Equal NotEqual".split()
    )
    zeros = np.float32([[0, 1, 0, 2]])
    yield "Xdivy", ops.Xdivy, [zeros, np.float32([[0, 2, 3, 4]])]
    yield "Xlogy", ops.Xlogy, [zeros, np.float32([[0, 2, 3, 4]])]
    yield "Xlog1py", ops.Xlog1py, [zeros, np.float32([[-1, 2, 3, 4]])]
    yield "DivNoNan", ops.DivNoNan, [np.float32([1, 2, 3]), np.float32([0, 2, 4])]
    yield "MulNoNan", ops.MulNoNan, [np.float32([np.inf, 2, np.nan]), np.float32([0, 2, 0])]
    yield "Atan2", lambda y, x: ops.Atan2(y=y, x=x), [_reals(20), np.float32([*_reals(18, seed=4), 0.0, -0.0])]
    yield "Pow", ops.Pow, [above, y]
    yield "Pow of integers", ops.Pow, [_integers(3, 4), _integers(4, low=0, high=4, seed=1)]
    numbers, others = _integers(40, low=-20, high=20), _integers(40, low=1, high=9, seed=1)
    for name in "Div FloorDiv FloorMod TruncateDiv TruncateMod Mod".split():
        signs = np.where(np.arange(40) % 2, others, -others)
        yield f"{name} of integers", getattr(ops, name), [numbers, signs.astype("int32")]
    yield "AddN", lambda a, b, c: ops.AddN(inputs=[a, b, c]), [x, x + 1, x * 2]
    yield (
        "ClipByValue",
        lambda t, a, b: ops.ClipByValue(t=t, clip_value_min=a, clip_value_max=b),
        [
            x,
            np.float32(-0.5),
            np.float32(0.7),
        ],
    )
    truths = [np.array([[True, False], [True, True]]), np.array([True, False])]
    yield "LogicalAnd", ops.LogicalAnd, truths
    yield "LogicalOr", ops.LogicalOr, truths
    yield "LogicalNot", ops.LogicalNot, truths[:1]
    for name in "BitwiseAnd BitwiseOr BitwiseXor".split():
        yield name, getattr(ops, name), [_integers(10), _integers(10, seed=1)]
    shifts = _integers(10, low=0, high=5, seed=1)
    yield "LeftShift", ops.LeftShift, [_integers(10), shifts]
    yield "RightShift", ops.RightShift, [_integers(10, low=-99, high=99), shifts]
    yield "Invert", ops.Invert, [_integers(10)]
    for source, target in (("float32", "int32"), ("int32", "float32"), ("float32", "bool"), ("bool", "int64")):
        values = (_reals(6) * 9).astype(source)
        yield f"Cast {source} {target}", lambda v, target=target: ops.Cast(x=v, DstT=target), [values]
    yield "Bitcast", lambda input: ops.Bitcast(input=input, type="int32"), [x]
    yield "Select", lambda c, t, e: ops.Select(condition=c, x=t, y=e), [np.array([True, False, True]), x, x * 2]
    yield "SelectV2", lambda c, t, e: ops.SelectV2(condition=c, t=t, e=e), [x > 0, x, np.float32(7)]
    yield "IdentityN", lambda a, b: ops.IdentityN(input=[a, b]), [x, y]
    yield "Round halves", ops.Round, [np.float32([0.5, 1.5, 2.5, -0.5, -1.5])]


def _convolutions(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    for size in (7, 8):
        x, k = _reals(2, size, size + 1, 4), _reals(3, 3, 4, 6, seed=1)
        for padding in ("SAME", "VALID"):
            for stride in (1, 2):
                yield (
                    f"Conv2D {size} {padding} {stride}",
                    lambda x, k=k, p=padding, s=stride: ops.Conv2D(input=x, filter=k, strides=[1, s, s, 1], padding=p),
                    [x],
                )
    x, k = _reals(2, 9, 9, 4), _reals(3, 2, 4, 6, seed=1)
    pads = [0, 0, 1, 2, 0, 3, 0, 0]
    yield (
        "Conv2D explicit",
        lambda x: ops.Conv2D(input=x, filter=k, strides=[1, 2, 1, 1], padding="EXPLICIT", explicit_paddings=pads),
        [x],
    )
    yield (
        "Conv2D dilated",
        lambda x: ops.Conv2D(input=x, filter=k, strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1]),
        [x],
    )
    grouped = _reals(3, 3, 2, 6, seed=1)
    yield "Conv2D groups", lambda x: ops.Conv2D(input=x, filter=grouped, strides=[1, 1, 1, 1], padding="SAME"), [x]
    for multiplier in (1, 2):
        w = _reals(3, 3, 4, multiplier, seed=2)
        yield (
            f"DepthwiseConv2dNative {multiplier}",
            lambda x, w=w: ops.DepthwiseConv2dNative(input=x, filter=w, strides=[1, 2, 2, 1], padding="SAME"),
            [x],
        )
    yield (
        "Conv2D kernel computed",
        lambda x, k: ops.Conv2D(input=x, filter=k * 2, strides=[1, 1, 1, 1], padding="SAME"),
        [x, k],
    )
    for out, padding, stride in ((9, "SAME", 2), (10, "SAME", 2), (11, "VALID", 2), (5, "SAME", 1)):
        size = -(-out // stride) if padding == "SAME" else (out - 3) // stride + 1
        back, weights = _reals(2, size, size, 6), _reals(3, 3, 4, 6, seed=3)
        yield (
            f"Conv2DBackpropInput {out} {padding}",
            lambda b, o=out, p=padding, s=stride, w=weights: ops.Conv2DBackpropInput(
                input_sizes=[2, o, o, 4], filter=w, out_backprop=b, strides=[1, s, s, 1], padding=p
            ),
            [back],
        )
    v, k3 = _reals(1, 5, 6, 7, 3), _reals(2, 3, 3, 3, 4, seed=1)
    yield "Conv3D", lambda x: ops.Conv3D(input=x, filter=k3, strides=[1, 1, 2, 2, 1], padding="SAME"), [v]
    back3 = _reals(1, 3, 3, 4, 4)
    yield (
        "Conv3DBackpropInputV2",
        lambda b: ops.Conv3DBackpropInputV2(
            input_sizes=[1, 5, 6, 7, 3], filter=k3, out_backprop=b, strides=[1, 2, 2, 2, 1], padding="SAME"
        ),
        [back3],
    )
    yield (
        "Dilation2D",
        lambda x: ops.Dilation2D(
            input=x, filter=_reals(3, 3, 4, seed=4), strides=[1, 1, 1, 1], rates=[1, 2, 2, 1], padding="SAME"
        ),
        [x],
    )
    for padding in ("SAME", "VALID"):
        for name in ("MaxPool", "AvgPool"):
            argument = "input" if name == "MaxPool" else "value"
            yield (
                f"{name} {padding}",
                lambda x, n=name, a=argument, p=padding: getattr(ops, n)(
                    **{a: x}, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding=p
                ),
                [x],
            )
            yield (
                f"{name}3D {padding}",
                lambda x, n=name, p=padding: getattr(ops, f"{n}3D")(
                    input=x, ksize=[1, 2, 3, 2, 1], strides=[1, 2, 2, 2, 1], padding=p
                ),
                [v],
            )
    for whole in (False, True):
        yield (
            f"MaxPoolWithArgmax {whole}",
            lambda x, w=whole: ops.MaxPoolWithArgmax(
                input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", include_batch_in_index=w
            ),
            [x],
        )
    yield "BiasAdd", lambda x: ops.BiasAdd(value=x, bias=_reals(4, seed=9)), [x]
    yield "BiasAdd NCHW", lambda x: ops.BiasAdd(value=x, bias=_reals(9, seed=9), data_format="NCHW"), [x]
    scale = [np.abs(_reals(4, seed=s)) + 0.1 for s in range(4)]
    for version in ("", "V2", "V3"):
        for training in (False, True):
            yield (
                f"FusedBatchNorm{version} {training}",
                lambda x, v=version, t=training: getattr(ops, f"FusedBatchNorm{v}")(
                    x=x,
                    scale=scale[0],
                    offset=scale[1],
                    mean=[] if t else scale[2],
                    variance=[] if t else scale[3],
                    is_training=t,
                    epsilon=1e-3,
                )[: 3 if t else 1],
                [x],
            )
    yield "LRN", lambda x: ops.LRN(input=x, depth_radius=1, bias=1.5, alpha=0.3, beta=0.6), [x]
    yield "LRN defaults", lambda x: ops.LRN(input=x), [x]


def _products(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    a, b = _reals(3, 4), _reals(4, 5, seed=1)
    for left in (False, True):
        for right in (False, True):
            yield (
                f"MatMul {left} {right}",
                lambda a, b, x=left, y=right: ops.MatMul(a=a, b=b, transpose_a=x, transpose_b=y),
                [a.T.copy() if left else a, b.T.copy() if right else b],
            )
    yield "MatMul constant", lambda a: ops.MatMul(a=a, b=b), [a]
    c, d = _reals(2, 3, 4), _reals(2, 4, 5, seed=1)
    for name in ("BatchMatMul", "BatchMatMulV2"):
        yield name, lambda x, y, n=name: getattr(ops, n)(x=x, y=y), [c, d]
        yield (
            f"{name} turned",
            lambda x, y, n=name: getattr(ops, n)(x=x, y=y, adj_x=True, adj_y=True),
            [
                c.transpose(0, 2, 1).copy(),
                d.transpose(0, 2, 1).copy(),
            ],
        )
    yield "BatchMatMulV2 broadcast", lambda x, y: ops.BatchMatMulV2(x=x, y=y), [_reals(3, 1, 2, 4), d]
    yield "BatchMatMulV3", lambda x, y: ops.BatchMatMulV3(x=x, y=y, Tout="float32"), [c, d]
    for equation, shapes in {
        "ab,bc->ac": ((3, 4), (4, 5)),
        "...ij,...jk->...ik": ((2, 3, 4), (4, 5)),
        "abc,cde->abde": ((2, 3, 4), (4, 5, 6)),
        "bij,bjk->bi": ((2, 3, 4), (2, 4, 5)),
    }.items():
        operands = [_reals(*shape, seed=s) for s, shape in enumerate(shapes)]
        yield f"Einsum {equation}", lambda *o, e=equation: ops.Einsum(inputs=o, equation=e), operands


def _shaping(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    x = _reals(2, 3, 4)
    yield "Shape", lambda v: ops.Shape(input=v), [x]
    yield "Shape int64", lambda v: ops.Shape(input=v, out_type="int64"), [x]
    yield "ShapeN", lambda v, w: ops.ShapeN(input=[v, w]), [x, x[0]]
    yield "Size", lambda v: ops.Size(input=v), [x]
    yield "Rank", lambda v: ops.Rank(input=v), [x]
    yield "Reshape", lambda v: ops.Reshape(tensor=v, shape=[-1, 6]), [x]
    yield "Squeeze", lambda v: ops.Squeeze(input=v), [x[:, :1]]
    yield "Squeeze axis", lambda v: ops.Squeeze(input=v, axis=[1]), [x[:1, :1]]
    yield "ExpandDims", lambda v: ops.ExpandDims(input=v, axis=-2), [x]
    yield "Transpose", lambda v: ops.Transpose(x=v, perm=[2, 0, 1]), [x]
    yield "Pack", lambda v, w: ops.Pack(values=[v, w], axis=1), [x, x * 2]
    yield "Unpack", lambda v: ops.Unpack(value=v, num=3, axis=1), [x]
    yield "Concat", lambda v, w: ops.Concat(concat_dim=1, values=[v, w]), [x, x[:, :1]]
    yield "ConcatV2", lambda v, w: ops.ConcatV2(values=[v, w], axis=-1), [x, x]
    yield "Split", lambda v: ops.Split(axis=2, value=v, num_split=2), [x]
    yield "SplitV", lambda v: ops.SplitV(value=v, size_splits=[1, -1], axis=1, num_split=2), [x]
    yield "Slice", lambda v: ops.Slice(input=v, begin=[0, 1, 1], size=[-1, 2, 2]), [x]
    y = _reals(5, 6, 7)
    for text, index in {
        "1:4, ::-1, 2": (slice(1, 4), slice(None, None, -1), 2),
        "..., 3": (Ellipsis, 3),
        "-1, None, ..., 1:-1:2": (-1, None, Ellipsis, slice(1, -1, 2)),
        "None, 3:0:-2": (None, slice(3, 0, -2)),
        "2:2": (slice(2, 2),),
        "4:100, None": (slice(4, 100), None),
    }.items():
        yield f"StridedSlice [{text}]", lambda v, i=index: v[i], [y]
    yield "Tile", lambda v: ops.Tile(input=v, multiples=[1, 2, 3]), [x]
    yield "BroadcastTo", lambda v: ops.BroadcastTo(input=v, shape=[5, 2, 3, 4]), [x]
    yield "BroadcastArgs", lambda v: ops.BroadcastArgs(s0=ops.Shape(input=v), s1=[5, 1, 1, 1]), [x]
    yield "Fill", lambda v: ops.Fill(dims=[2, 3], value=v), [np.float32(3)]
    yield "Range", lambda v: v + ops.Range(start=2, limit=12, delta=5), [_integers(2)]
    yield "LinSpace", lambda v: v + ops.LinSpace(start=0.0, stop=1.0, num=4), [x]
    yield "ReverseV2", lambda v: ops.ReverseV2(tensor=v, axis=[0, -1]), [x]
    yield (
        "ReverseSequence",
        lambda v: ops.ReverseSequence(input=v, seq_lengths=np.int32([2, 1]), seq_dim=1, batch_dim=0),
        [x],
    )
    yield "Roll", lambda v: ops.Roll(input=v, shift=[1, -2], axis=[0, 2]), [x]
    yield "Pad", lambda v: ops.Pad(input=v, paddings=[[0, 1], [2, 0], [1, 1]]), [x]
    yield "PadV2", lambda v: ops.PadV2(input=v, paddings=[[0, 1], [2, 0], [1, 1]], constant_values=7.0), [x]
    for mode in ("REFLECT", "SYMMETRIC"):
        yield (
            f"MirrorPad {mode}",
            lambda v, m=mode: ops.MirrorPad(input=v, paddings=[[0, 1], [1, 1], [2, 1]], mode=m),
            [x],
        )
    image = _reals(2, 4, 6, 8)
    yield "SpaceToDepth", lambda v: ops.SpaceToDepth(input=v, block_size=2), [image]
    yield "DepthToSpace", lambda v: ops.DepthToSpace(input=v, block_size=2), [image]
    yield (
        "SpaceToBatchND",
        lambda v: ops.SpaceToBatchND(input=v, block_shape=[2, 3], paddings=[[0, 0], [1, 2]]),
        [image],
    )
    yield "BatchToSpaceND", lambda v: ops.BatchToSpaceND(input=v, block_shape=[2, 1], crops=[[1, 0], [0, 2]]), [image]
    yield "EnsureShape", lambda v: ops.EnsureShape(input=v, shape=[2, None, 4]), [x]
    yield "MatrixDiag", lambda v: ops.MatrixDiag(diagonal=v), [x]
    yield "MatrixDiagV3", lambda v: ops.MatrixDiagV3(diagonal=v, k=0, num_rows=-1, num_cols=-1, padding_value=0.0), [x]
    for low, high in ((0, -1), (1, 2), (-1, 0)):
        yield (
            f"MatrixBandPart {low} {high}",
            lambda v, a=low, b=high: ops.MatrixBandPart(input=v, num_lower=np.int64(a), num_upper=np.int64(b)),
            [_reals(2, 4, 5)],
        )


def _indexing(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    x = _reals(4, 5, 6)
    at = _integers(2, 3, low=0, high=4)
    yield "Gather", lambda p, i: ops.Gather(params=p, indices=i), [x, at]
    yield "GatherV2", lambda p, i: ops.GatherV2(params=p, indices=i, axis=1), [x, at]
    yield "GatherV2 batch", lambda p, i: ops.GatherV2(params=p, indices=i, axis=2, batch_dims=1), [x, at.repeat(2, 0)]
    yield "GatherNd", lambda p, i: ops.GatherNd(params=p, indices=i), [x, _integers(3, 2, low=0, high=4)]
    yield (
        "OneHot",
        lambda i: ops.OneHot(indices=i, depth=4, on_value=2.0, off_value=-1.0),
        [_integers(5, low=-1, high=5)],
    )
    yield "OneHot axis", lambda i: ops.OneHot(indices=i, depth=4, on_value=1.0, off_value=0.0, axis=0), [at]
    points = np.int32([[0], [2], [2]])
    updates = _reals(3, 5, 6, seed=1)
    yield "ScatterNd", lambda i, u: ops.ScatterNd(indices=i, updates=u, shape=[4, 5, 6]), [points, updates]
    for kind in ("Add", "Sub", "Max", "Min"):
        yield (
            f"TensorScatter{kind}",
            lambda t, i, u, k=kind: getattr(ops, f"TensorScatter{k}")(tensor=t, indices=i, updates=u),
            [x, points, updates],
        )
    yield (
        "TensorScatterUpdate",
        lambda t, i, u: ops.TensorScatterUpdate(tensor=t, indices=i, updates=u),
        [
            x,
            points[:2],
            updates[:2],
        ],
    )
    yield "Where", lambda c: ops.Where(condition=c), [_integers(3, 4, low=0, high=2)]
    yield "Unique", lambda v: ops.Unique(x=v), [_integers(9, low=0, high=4)]
    yield "UniqueWithCounts", lambda v: ops.UniqueWithCounts(x=v), [_integers(9, low=0, high=4)]
    yield "UnravelIndex", lambda i: ops.UnravelIndex(indices=i, dims=[3, 4]), [_integers(5, low=0, high=12)]
    yield "InvertPermutation", lambda v: ops.InvertPermutation(x=v), [np.int32([2, 0, 1, 3])]
    yield "TopKV2", lambda v: ops.TopKV2(input=v, k=3), [_reals(3, 7)]
    yield (
        "InTopKV2",
        lambda p, t: ops.InTopKV2(predictions=p, targets=t, k=2),
        [_reals(4, 5), _integers(4, low=0, high=5)],
    )
    yield "SegmentSum", lambda v: ops.SegmentSum(data=v, segment_ids=[0, 0, 1, 3]), [x]
    yield (
        "UnsortedSegmentSum",
        lambda v, i: ops.UnsortedSegmentSum(data=v, segment_ids=i, num_segments=3),
        [
            x,
            _integers(4, low=0, high=3),
        ],
    )
    yield (
        "Bincount",
        lambda v: ops.Bincount(arr=v, size=4, weights=np.zeros(0, "int32")),
        [_integers(12, low=0, high=6)],
    )
    yield (
        "Bincount weights",
        lambda v, w: ops.Bincount(arr=v, size=4, weights=w),
        [
            _integers(12, low=0, high=6),
            _reals(12),
        ],
    )
    yield (
        "DenseBincount",
        lambda v: ops.DenseBincount(input=v, size=4, weights=np.zeros(0, "float32")),
        [_integers(2, 8, low=0, high=6)],
    )
    yield (
        "DenseBincount binary",
        lambda v: ops.DenseBincount(input=v, size=4, weights=np.zeros(0, "float32"), binary_output=True),
        [_integers(8, low=0, high=6)],
    )


def _segments(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    for exclusive in (False, True):
        for reverse in (False, True):
            yield (
                f"CumulativeLogsumexp {exclusive} {reverse}",
                lambda v, e=exclusive, r=reverse: ops.CumulativeLogsumexp(x=v, axis=1, exclusive=e, reverse=r),
                [np.concatenate([_reals(2, 5) * 40, np.float32([[-np.inf], [3]])], 1)],
            )
    special = np.float32([[1, np.inf], [-2, -np.inf], [3, 0.5], [-np.inf, 4]])
    for kind in ("Max", "Min", "Prod", "Mean"):
        for label, x in (("reals", _reals(4, 3)), ("special", special), ("integers", _integers(4, 3, low=-9, high=9))):
            if kind == "Mean" and label == "integers":
                continue
            yield (
                f"Segment{kind} {label}",
                lambda v, k=kind: getattr(ops, f"Segment{k}")(data=v, segment_ids=[0, 0, 2, 3]),
                [x],
            )
            if kind != "Mean":
                yield (
                    f"UnsortedSegment{kind} {label}",
                    lambda v, i, k=kind: getattr(ops, f"UnsortedSegment{k}")(data=v, segment_ids=i, num_segments=4),
                    [x, np.int32([3, -1, 0, 3])],
                )


def _reductions(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    x = _reals(3, 4, 5)
    for name in "Sum Mean Max Min Prod EuclideanNorm".split():
        yield name, lambda v, n=name: getattr(ops, n)(input=v, axis=[0, -1]), [x]
        yield f"{name} kept", lambda v, n=name: getattr(ops, n)(input=v, axis=1, keep_dims=True), [x]
    yield "Sum of nothing", lambda v: ops.Sum(input=v, axis=np.zeros(0, "int32")), [x]
    yield "Mean of integers", lambda v: ops.Mean(input=v, axis=0), [_integers(7, 3)]
    for name in ("All", "Any"):
        yield name, lambda v, n=name: getattr(ops, n)(input=v, axis=1), [x[0] > -1]
    for name in ("ArgMax", "ArgMin"):
        yield name, lambda v, n=name: getattr(ops, n)(input=v, dimension=1), [x]
        yield f"{name} int32", lambda v, n=name: getattr(ops, n)(input=v, dimension=-1, output_type="int32"), [x]
    for name in ("Cumsum", "Cumprod"):
        for exclusive in (False, True):
            for reverse in (False, True):
                yield (
                    f"{name} {exclusive} {reverse}",
                    lambda v, n=name, e=exclusive, r=reverse: getattr(ops, n)(x=v, axis=1, exclusive=e, reverse=r),
                    [x],
                )


def cases(tf: Any) -> dict[str, dict[str, tuple[Any, list[Any]]]]:
    """Family -> name -> function and inputs."""
    ops = tf.raw_ops
    families = {
        "elementwise": _elementwise(_Positional(ops)),
        "convolutions": _convolutions(tf, ops),
        "products": _products(tf, ops),
        "shaping": _shaping(tf, ops),
        "indexing": _indexing(tf, ops),
        "segments": _segments(tf, ops),
        "reductions": _reductions(tf, ops),
        "images": images(tf, ops),
        "cells": cells(tf, ops),
        "lists": lists(tf, ops),
        "control": control(tf, ops),
    }
    families |= {family: rows(tf, ops) for family, rows in tensorflow_variant_cases.FAMILIES.items()}
    return {family: {name: (function, inputs) for name, function, inputs in rows} for family, rows in families.items()}


class _Positional:
    """Operators of the package that take their operands by place."""

    def __init__(self, ops: Any):
        self._ops = ops

    def __getattr__(self, name: str) -> Any:
        op = getattr(self._ops, name)

        def call(*operands: Any, **named: Any) -> Any:
            return op(**dict(zip("xy", operands, strict=False)), **named)

        return call

# pyright: basic, reportArgumentType=false, reportIndexIssue=false
"""Further variants of TensorFlow's operators: attributes, ranks and dtypes that TVM's own tests of its frontend try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tensorflow_image_cases import integers, reals

Case = tuple[str, Any, list[Any]]


def windows(tf: Any, ops: Any) -> Iterator[Case]:
    x = reals(1, 8, 8, 6)
    for kernel, stride, padding in ((1, 1, "SAME"), (1, 2, "VALID"), (5, 3, "SAME"), (8, 1, "VALID")):
        k = reals(kernel, kernel, 6, 4, seed=1)
        yield (
            f"Conv2D kernel {kernel} {stride}",
            lambda x, k=k, s=stride, p=padding: ops.Conv2D(input=x, filter=k, strides=[1, s, s, 1], padding=p),
            [x],
        )
    k = reals(3, 2, 6, 4, seed=1)
    yield (
        "Conv2D dilated unequally",
        lambda x: ops.Conv2D(input=x, filter=k, strides=[1, 1, 1, 1], padding="VALID", dilations=[1, 2, 3, 1]),
        [x],
    )
    w = reals(3, 2, 6, 2, seed=2)
    pads = [0, 0, 2, 1, 0, 3, 0, 0]
    yield (
        "DepthwiseConv2dNative explicit",
        lambda x: ops.DepthwiseConv2dNative(
            input=x, filter=w, strides=[1, 1, 1, 1], padding="EXPLICIT", explicit_paddings=pads
        ),
        [x],
    )
    yield (
        "DepthwiseConv2dNative dilated",
        lambda x: tf.nn.depthwise_conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME", dilations=[2, 2]),
        [x],
    )
    back, b = reals(1, 4, 5, 6), reals(3, 3, 5, 6, seed=3)
    yield (
        "Conv2DBackpropInput unequal strides",
        lambda y: ops.Conv2DBackpropInput(
            input_sizes=[1, 8, 15, 5], filter=b, out_backprop=y, strides=[1, 2, 3, 1], padding="SAME"
        ),
        [back],
    )
    yield (
        "Conv2DBackpropInput explicit",
        lambda y: ops.Conv2DBackpropInput(
            input_sizes=[1, 7, 8, 5],
            filter=b,
            out_backprop=y,
            strides=[1, 2, 2, 1],
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 1, 1, 2, 1, 0, 0],
        ),
        [back],
    )
    v, k3 = reals(1, 5, 6, 7, 3), reals(2, 3, 3, 3, 4, seed=1)
    yield "Conv3D VALID", lambda x: ops.Conv3D(input=x, filter=k3, strides=[1, 2, 1, 1, 1], padding="VALID"), [v]
    back3 = reals(1, 4, 4, 5, 4)
    yield (
        "Conv3DBackpropInputV2 VALID",
        lambda b: ops.Conv3DBackpropInputV2(
            input_sizes=[1, 5, 6, 7, 3], filter=k3, out_backprop=b, strides=[1, 1, 1, 1, 1], padding="VALID"
        ),
        [back3],
    )
    yield (
        "MaxPool explicit",
        lambda x: ops.MaxPool(
            input=x,
            ksize=[1, 3, 3, 1],
            strides=[1, 2, 2, 1],
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 1, 0, 1, 1, 0, 0],
        ),
        [x],
    )
    for name, argument in (("MaxPool", "input"), ("AvgPool", "value")):
        yield (
            f"{name} of one pixel",
            lambda x, n=name, a=argument: getattr(ops, n)(
                **{a: x}, ksize=[1, 1, 1, 1], strides=[1, 2, 1, 1], padding="SAME"
            ),
            [x],
        )
        yield (
            f"{name} of the whole image",
            lambda x, n=name, a=argument: getattr(ops, n)(
                **{a: x}, ksize=[1, 8, 8, 1], strides=[1, 1, 1, 1], padding="VALID"
            ),
            [x],
        )
    yield (
        "Dilation2D VALID",
        lambda x: ops.Dilation2D(
            input=x, filter=reals(3, 2, 6, seed=4), strides=[1, 2, 1, 1], rates=[1, 1, 2, 1], padding="VALID"
        ),
        [x],
    )
    norm = [np.abs(reals(6, seed=s)) + 0.1 for s in range(4)]
    yield (
        "FusedBatchNormV3 averaged",
        lambda x: ops.FusedBatchNormV3(
            x=x,
            scale=np.ones(3, "float32"),
            offset=np.zeros(3, "float32"),
            mean=np.array([1.0, 2.0, -1.0], "float32"),
            variance=np.array([0.5, 2.0, 3.0], "float32"),
            exponential_avg_factor=0.25,
            is_training=True,
        )[:3],
        [reals(2, 4, 5, 3)],
    )
    yield (
        "FusedBatchNormV3 half",
        lambda x: ops.FusedBatchNormV3(
            x=x, scale=norm[0], offset=norm[1], mean=norm[2], variance=norm[3], is_training=False
        )[0],
        [x.astype(np.float16)],
    )


def slices(tf: Any, ops: Any) -> Iterator[Case]:
    y = reals(3, 4, 5, 6)

    def strided(v: Any, begin: Any, end: Any, strides: Any, **masks: int) -> Any:
        return ops.StridedSlice(input=v, begin=begin, end=end, strides=strides, **masks)

    variants: dict[str, tuple[list[int], list[int], list[int], dict[str, int]]] = {
        "begin mask": ([1, 2, 1], [2, 4, 3], [1, 1, 1], {"begin_mask": 5}),
        "end mask": ([1, 0, 1], [2, 1, 3], [1, 1, 1], {"end_mask": 6}),
        "ellipsis in front": ([0, 1], [9, 3], [1, 1], {"ellipsis_mask": 1}),
        "ellipsis in the middle": ([1, 0, 1], [2, 0, 5], [1, 1, 2], {"ellipsis_mask": 2}),
        "ellipsis of nothing": ([0, 0, 0, 0, 1], [1, 2, 3, 0, 2], [1, 1, 1, 1, 1], {"ellipsis_mask": 8}),
        "new axes": ([1, 1, 0, 1], [2, 1, 3, 4], [1, 1, 2, 1], {"new_axis_mask": 5}),
        "new axis and ellipsis": ([1, 0, 0], [2, 0, 0], [1, 1, 1], {"new_axis_mask": 4, "ellipsis_mask": 2}),
        "shrunk": ([1, 0, 2], [2, 2, 3], [1, 1, 1], {"shrink_axis_mask": 5}),
        "shrunk, all masks": (
            [1, 0, 0, 2],
            [9, 0, 0, 3],
            [1, 1, 1, 1],
            dict(begin_mask=1, ellipsis_mask=2, new_axis_mask=4, shrink_axis_mask=8),
        ),
        "shrunk negative": ([-1, 0], [0, 2], [1, 1], {"shrink_axis_mask": 1}),
        "negative strides": ([-1, -1, 4], [-9, -3, 0], [-1, -1, -2], {}),
        "masks and negative strides": ([0, 1], [0, 1], [-1, -2], {"begin_mask": 3, "end_mask": 1}),
        "beyond": ([-9, 2], [9, 90], [1, 1], {}),
    }
    for name, (begin, end, strides, masks) in variants.items():
        yield (
            f"StridedSlice {name}",
            lambda v, b=begin, e=end, s=strides, m=masks: strided(v, b, e, s, **m),
            [y],
        )
    yield "Slice of one", lambda v: ops.Slice(input=v, begin=[1, 0, 2, 3], size=[1, -1, 1, 2]), [y]
    for axis in (0, 1, -1):
        yield f"Unpack {axis}", lambda v, a=axis: ops.Unpack(value=v, num=v.shape[a], axis=a), [y[:, :, 0, 0]]
        yield f"Split {axis}", lambda v, a=axis: ops.Split(axis=a, value=v, num_split=3), [reals(3, 6, 9)]
        yield f"Pack {axis}", lambda v, a=axis: ops.Pack(values=[v, v * 2, v], axis=a), [y[0]]
        yield f"ConcatV2 {axis}", lambda v, a=axis: ops.ConcatV2(values=[v, v, v], axis=a), [y[0]]
    yield "SplitV by sizes", lambda v: ops.SplitV(value=v, size_splits=[1, 2, 0, 3], axis=-1, num_split=4), [y]
    yield "Squeeze several", lambda v: ops.Squeeze(input=v, axis=[-1, 0]), [reals(1, 3, 1, 1)]
    yield "Transpose of a matrix", lambda v: ops.Transpose(x=v, perm=np.int64([1, 0])), [y[0, 0]]
    yield "ExpandDims front", lambda v: ops.ExpandDims(input=v, axis=np.int64(0)), [y]
    yield "Reshape to a scalar", lambda v: ops.Reshape(tensor=v, shape=np.zeros(0, "int32")), [reals(1, 1)]
    yield (
        "Reshape like another",
        lambda v, w: ops.Reshape(tensor=v, shape=ops.Shape(input=w)),
        [reals(2, 6), reals(3, 4)],
    )
    yield (
        "Reshape by a product of sizes",
        lambda v: ops.Reshape(tensor=v, shape=ops.Pack(values=[ops.Shape(input=v)[0] * ops.Shape(input=v)[1], -1])),
        [y],
    )
    yield "Fill like another", lambda v: ops.Fill(dims=ops.Shape(input=v), value=np.float32(4)), [y]
    yield "Fill by a shape", lambda v: ops.Fill(dims=ops.Shape(input=v)[1:3], value=v[0, 0, 0, 0]), [y]
    yield "Range of reals", lambda v: v[:, None] * ops.Range(start=0.5, limit=3.0, delta=0.75), [reals(3)]
    yield (
        "Range down",
        lambda v: v + ops.Range(start=np.int64(9), limit=np.int64(0), delta=np.int64(-4)),
        [integers(3, dtype="int64")],
    )
    yield "Tile of a vector", lambda v: ops.Tile(input=v, multiples=[4]), [reals(3)]
    yield "ReverseV2 of one axis", lambda v: ops.ReverseV2(tensor=v, axis=np.int64([1])), [y]
    yield (
        "ReverseSequence batch behind",
        lambda v: ops.ReverseSequence(input=v, seq_lengths=np.int64([2, 3, 1, 0]), seq_dim=0, batch_dim=1),
        [y],
    )
    yield (
        "SpaceToBatchND of rows",
        lambda v: ops.SpaceToBatchND(input=v, block_shape=[2], paddings=[[1, 1]]),
        [reals(2, 4, 3)],
    )
    yield (
        "BatchToSpaceND of rows",
        lambda v: ops.BatchToSpaceND(input=v, block_shape=[2], crops=[[0, 1]]),
        [reals(4, 3, 2)],
    )
    yield "SpaceToDepth by 3", lambda v: ops.SpaceToDepth(input=v, block_size=3), [reals(1, 6, 3, 2)]
    yield "DepthToSpace by 3", lambda v: ops.DepthToSpace(input=v, block_size=3), [reals(1, 2, 1, 18)]
    yield "Pad int64", lambda v: ops.Pad(input=v, paddings=np.int64([[1, 0], [2, 3]])), [integers(2, 3)]
    yield "BroadcastTo of a scalar", lambda v: ops.BroadcastTo(input=v, shape=np.int64([2, 3])), [np.float32(3)]
    yield "ShapeN int64", lambda v, w: ops.ShapeN(input=[v, w], out_type="int64"), [reals(2, 3), reals(1)]
    yield "Size int64", lambda v: ops.Size(input=v, out_type="int64"), [y]
    yield "MatrixDiagPartV3", lambda v: ops.MatrixDiagPartV3(input=v, k=0, padding_value=0.0), [reals(2, 3, 4)]
    yield (
        "MatrixDiagV3 padded",
        lambda v: ops.MatrixDiagV3(diagonal=v, k=0, num_rows=3, num_cols=3, padding_value=1.5),
        [reals(2, 3)],
    )
    yield "MatrixDiagPart", lambda v: ops.MatrixDiagPart(input=v), [reals(4, 3)]
    for name in ("MatrixSetDiag", "MatrixSetDiagV3"):
        more = {"k": 0} if name.endswith("V3") else {}
        yield (
            name,
            lambda v, d, n=name, m=more: getattr(ops, n)(input=v, diagonal=d, **m),
            [reals(2, 3, 4), reals(2, 3, seed=1)],
        )


def picks(tf: Any, ops: Any) -> Iterator[Case]:
    x = reals(3, 4, 5)
    yield "Gather of a scalar", lambda p, i: ops.GatherV2(params=p, indices=i, axis=0), [x, np.int32(2)]
    yield "Gather behind", lambda p, i: ops.GatherV2(params=p, indices=i, axis=-1), [x, np.int64([[0, 4], [2, 2]])]
    yield (
        "Gather of integers",
        lambda p, i: ops.GatherV2(params=p, indices=i, axis=1),
        [integers(3, 4), np.int32([3, 0])],
    )
    yield (
        "GatherNd of points",
        lambda p, i: ops.GatherNd(params=p, indices=i),
        [x, np.int64([[[1, 2, 3]], [[0, 0, 0]]])],
    )
    yield "GatherNd of rows", lambda p, i: ops.GatherNd(params=p, indices=i), [x, np.int32([[2], [0]])]
    for axis, on, off in ((1, np.int32(5), np.int32(-2)), (-1, np.float64(0.5), np.float64(9))):
        yield (
            f"OneHot {axis} {np.asarray(on).dtype}",
            lambda i, a=axis, on=on, off=off: ops.OneHot(indices=i, depth=6, on_value=on, off_value=off, axis=a),
            [integers(3, 2, low=0, high=5, dtype="int64")],
        )
    for k in (1, 4):
        yield f"TopKV2 {k} of several", lambda v, k=k: ops.TopKV2(input=v, k=k), [reals(2, 3, 4)]
    yield "TopKV2 of integers", lambda v: ops.TopKV2(input=v, k=3), [np.int32([5, 1, 9, 7])]
    for rank in (1, 2, 3):
        shape = (3, 4, 2)[:rank]
        yield f"Where of {rank}", lambda c: ops.Where(condition=c), [reals(*shape) > 0]
    yield "Where of reals", lambda c: ops.Where(condition=c), [np.float32([0, 1.5, 0, -2])]
    yield "Select by a scalar", lambda c, t, e: ops.Select(condition=c, x=t, y=e), [np.array(False), x, x * 2]
    yield (
        "SelectV2 spread",
        lambda c, t, e: ops.SelectV2(condition=c, t=t, e=e),
        [np.array([[True], [False]]), reals(3), reals(2, 1)],
    )
    yield "Unique int64", lambda v: ops.Unique(x=v, out_idx="int64"), [integers(7, low=0, high=3, dtype="int64")]
    yield (
        "UniqueWithCounts int64",
        lambda v: ops.UniqueWithCounts(x=v, out_idx="int64"),
        [np.float32([2, 1, 2, 5, 1, 1])],
    )
    yield "UnravelIndex of a scalar", lambda i: ops.UnravelIndex(indices=i, dims=[3, 4, 5]), [np.int32(37)]
    yield (
        "DenseBincount weights",
        lambda v, w: ops.DenseBincount(input=v, size=4, weights=w),
        [integers(2, 8, low=0, high=6), reals(2, 8)],
    )
    yield "SegmentSum of numbers", lambda v: ops.SegmentSum(data=v, segment_ids=np.int64([0, 1, 1])), [integers(3)]
    dense = reals(3, 4)
    points, values = np.int64([[0, 1], [1, 3], [2, 0]]), reals(3, seed=1)
    yield (
        "SparseToDense",
        lambda v: ops.SparseToDense(
            sparse_indices=points, output_shape=np.int64([3, 4]), sparse_values=v, default_value=-1.0
        ),
        [values],
    )
    yield (
        "SparseToDense scalar",
        lambda v: ops.SparseToDense(
            sparse_indices=np.int32([1, 3]), output_shape=[5], sparse_values=v, default_value=0.0
        ),
        [np.float32(7)],
    )
    for left, right in ((False, False), (True, False), (False, True)):
        yield (
            f"SparseTensorDenseMatMul {left} {right}",
            lambda v, b, x=left, y=right: ops.SparseTensorDenseMatMul(
                a_indices=points, a_values=v, a_shape=np.int64([3, 4]), b=b, adjoint_a=x, adjoint_b=y
            ),
            [values, reals(3 if left else 4, 5) if not right else reals(5, 4)],
        )
    yield (
        "SparseTensorDenseAdd",
        lambda v, b: ops.SparseTensorDenseAdd(a_indices=points, a_values=v, a_shape=np.int64([3, 4]), b=b),
        [values, dense],
    )
    yield (
        "SparseReshape",
        lambda i: ops.SparseReshape(input_indices=i, input_shape=np.int64([3, 4]), new_shape=np.int64([2, -1])),
        [points],
    )
    at, ids = np.int32([3, 0, 2, 2]), np.int32([0, 0, 1, 3])
    for name in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
        yield name, lambda v, n=name: getattr(ops, n)(data=v, indices=at, segment_ids=ids), [reals(4, 3)]
        yield (
            f"{name}WithNumSegments",
            lambda v, n=name: getattr(ops, f"{n}WithNumSegments")(data=v, indices=at, segment_ids=ids, num_segments=6),
            [reals(4, 3)],
        )


def arithmetic(tf: Any, ops: Any) -> Iterator[Case]:
    x = reals(2, 3, 4)
    for name in "Sum Mean Max Min Prod".split():
        yield f"{name} of all", lambda v, n=name: getattr(ops, n)(input=v, axis=[0, 1, 2], keep_dims=True), [x]
    for name in "Sum Max Min Prod".split():
        yield (
            f"{name} of integers",
            lambda v, n=name: getattr(ops, n)(input=v, axis=np.int64([1])),
            [integers(3, 4, low=-3, high=3)],
        )
    for name in ("All", "Any"):
        yield f"{name} kept", lambda v, n=name: getattr(ops, n)(input=v, axis=[0, 1], keep_dims=True), [x[0] > -1]
    yield "ArgMax of ties", lambda v: ops.ArgMax(input=v, dimension=0), [np.float32([[1, 3], [1, 2], [0, 3]])]
    truths = [np.array([[True, False], [False, True]]), np.array([True, False])]
    yield "Equal of truths", lambda a, b: ops.Equal(x=a, y=b), truths
    for name in "Less GreaterEqual NotEqual Maximum Minimum".split():
        yield (
            f"{name} of integers",
            lambda a, b, n=name: getattr(ops, n)(x=a, y=b),
            [integers(3, 4), integers(4, seed=1)],
        )
    for name in ("FloorDiv", "Mod", "TruncateMod", "RealDiv", "SquaredDifference", "Sub"):
        wide = name == "RealDiv"
        pair = [reals(12).astype(np.float64), np.abs(reals(12, seed=3)).astype(np.float64) + 0.25]
        yield (
            f"{name} double",
            lambda a, b, n=name: getattr(ops, n)(x=a, y=b),
            pair if wide else [p.astype("float32") for p in pair],
        )
    for name in "Abs Sign Square Neg".split():
        yield f"{name} of integers", lambda v, n=name: getattr(ops, n)(**{"y" if n == "x" else "x": v}), [integers(9)]
    yield "AddN of one", lambda v: ops.AddN(inputs=[v]), [x]
    yield "AddN of integers", lambda a, b: ops.AddN(inputs=[a, b]), [integers(4), integers(4, seed=1)]
    for source, target in (
        *(("float32", "uint8"), ("uint8", "float32"), ("int8", "int32"), ("int64", "int16"), ("float32", "float64")),
        *(("float32", "float16"), ("float16", "float32"), ("float32", "bfloat16"), ("int32", "bool")),
    ):
        values = np.abs(reals(6) * 9) if "u" in (source + target).replace("double", "") else reals(6) * 9
        yield (
            f"Cast {source} to {target}",
            lambda v, t=target: ops.Cast(x=ops.Cast(x=v, DstT=t), DstT="float32" if t == "bfloat16" else t),
            [values.astype(source)],
        )
    yield "Cast cut", lambda v: ops.Cast(x=v, DstT="int32", Truncate=True), [reals(6)]
    yield "ClipByValue of integers", lambda v: ops.ClipByValue(t=v, clip_value_min=-3, clip_value_max=4), [integers(9)]
    yield (
        "Pow double",
        lambda a, b: ops.Pow(x=a, y=b),
        [np.abs(reals(5)).astype("float64"), reals(5, seed=1).astype("float64")],
    )
    yield "MatMul of integers", lambda a, b: ops.MatMul(a=a, b=b), [integers(2, 3), integers(3, 4, seed=1)]
    yield (
        "MatMul double",
        lambda a, b: ops.MatMul(a=a, b=b),
        [reals(2, 3).astype("float64"), reals(3, 4).astype("float64")],
    )
    for left, right in ((True, False), (False, True)):
        c, d = reals(2, 2, 3, 4), reals(2, 2, 4, 5, seed=1)
        yield (
            f"BatchMatMulV2 {left} {right}",
            lambda x, y, a=left, b=right: ops.BatchMatMulV2(x=x, y=y, adj_x=a, adj_y=b),
            [c.swapaxes(2, 3).copy() if left else c, d.swapaxes(2, 3).copy() if right else d],
        )
    for equation, shapes in {
        "ij->ji": ((2, 3),),
        "ijk->k": ((2, 3, 4),),
        "ij,j->i": ((2, 3), (3,)),
        "i,j->ij": ((2,), (3,)),
        "abcd,cde->abe": ((2, 3, 4, 5), (4, 5, 6)),
        "BTNH,BFNH->BNFT": ((2, 3, 4, 5), (2, 6, 4, 5)),
    }.items():
        operands = [reals(*shape, seed=s) for s, shape in enumerate(shapes)]
        yield f"Einsum {equation}", lambda *o, e=equation: ops.Einsum(inputs=o, equation=e), operands
    yield "Moments", lambda v: tf.nn.moments(v, [0, 1]), [x]
    yield "L2 norm", lambda v: tf.math.l2_normalize(v, -1), [x]
    yield "L2Loss", lambda v: ops.L2Loss(t=v), [x]
    for name, more in (
        ("FakeQuantWithMinMaxArgs", {}),
        ("FakeQuantWithMinMaxArgs narrow", {"narrow_range": True, "num_bits": 4}),
    ):
        yield name, lambda v, m=more: ops.FakeQuantWithMinMaxArgs(inputs=v, min=-1.3, max=1.7, **m), [reals(3, 20)]
    for low, high in ((-1.3, 1.7), (0.3, 1.7), (-1.0, -0.25)):
        yield (
            f"FakeQuantWithMinMaxVars {low}",
            lambda v, a=low, b=high: ops.FakeQuantWithMinMaxVars(inputs=v, min=np.float32(a), max=np.float32(b)),
            [reals(3, 20)],
        )
    yield (
        "FakeQuantWithMinMaxVarsPerChannel",
        lambda v: ops.FakeQuantWithMinMaxVarsPerChannel(
            inputs=v, min=np.float32([-1, -0.7, 0]), max=np.float32([1.5, 0.9, 2])
        ),
        [reals(7, 3)],
    )
    yield (
        "Bucketize",
        lambda v: ops.Bucketize(input=v, boundaries=[-1.0, 0.0, 0.5]),
        [np.float32([-2, -1, -0.5, 0, 0.3, 0.5, 9])],
    )


def array_parts(tf: Any, ops: Any) -> Iterator[Case]:
    x = reals(6, 3)

    def split(x: Any) -> Any:
        handle, flow = ops.TensorArrayV3(size=3, dtype=tf.float32)
        flow = ops.TensorArraySplitV3(handle=handle, value=x, lengths=np.int64([2, 2, 2]), flow_in=flow)
        part = ops.TensorArrayReadV3(handle=handle, index=1, flow_in=flow, dtype=tf.float32)
        return part, ops.TensorArraySizeV3(handle=handle, flow_in=flow)

    yield "TensorArraySplitV3", split, [x]
    yield (
        "TensorListSplit",
        lambda x: ops.TensorListStack(
            input_handle=ops.TensorListSplit(tensor=x, element_shape=[3, 3], lengths=np.int64([3, 3])),
            element_shape=[3, 3],
            element_dtype=tf.float32,
        ),
        [x],
    )


FAMILIES = {
    "windows": windows,
    "slices": slices,
    "picks": picks,
    "arithmetic": arithmetic,
    "array_parts": array_parts,
}

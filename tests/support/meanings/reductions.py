# pyright: basic
"""Reductions, running sums, and what divides by sums: of special numbers, over several axes, of nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from special_numbers import Array, rows

from meanings.formats.torch import DType
from meanings.meaning import Case, Meaning, Spelling

_RNG = np.random.default_rng(3)
_ALL = rows("float32")
ROWS = _ALL[(~np.isfinite(_ALL) | (_ALL == 0) | (np.abs(_ALL) > 1e-18) & (np.abs(_ALL) < 1e18)).all(-1)]
"""Rows of three special numbers of which no sum or product overflows on the way."""
BLOCK = _RNG.uniform(-2, 2, (2, 3, 4)).astype(np.float32)
TIES = np.array([[1, 3, 3, 2], [np.nan, 5, np.nan, 1], [-np.inf] * 4, [0, -0.0, 0, -0.0]], np.float32)
INTEGERS = np.array([[2**31 - 1, 1, -5], [-(2**31), -1, 0], [7, 7, 7]], np.int32)
TRUTHS = _RNG.integers(0, 2, (2, 3, 4)).astype(bool)


def over(x: Array, *axes: int, keepdims: bool = False, name: str = "") -> Case:
    shape = "x".join(map(str, x.shape))
    text = f"{name or shape}, axes {list(axes)}{' kept' if keepdims else ''}"
    return Case(text, [x], {"axes": list(axes), "keepdims": keepdims})


SPECIAL = [over(ROWS, 1, name="special"), over(ROWS, -1, keepdims=True, name="special")]
BLOCKS = [over(BLOCK, 1), over(BLOCK, 0, 2), over(BLOCK, -1, 0, keepdims=True), over(BLOCK, 0, 1, 2)]
EMPTY = [over(np.zeros((2, 0, 3), np.float32), 1), over(np.zeros((0, 3), np.float32), 1)]


def numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reduction by one of numpy's, in float64 where it is of floats."""

    def expected(x: Array, axes: Sequence[int], keepdims: bool) -> Array:
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        result = np.asarray(function(wide, axis=tuple(axes), keepdims=keepdims))
        return result.astype(x.dtype) if x.dtype.kind != "b" else result

    return expected


def log_sum_exp(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    most = np.max(x, axis, keepdims=True, initial=-np.inf)
    most = np.where(np.isfinite(most), most, 0)
    return np.squeeze(most, () if keepdims else axis) + np.log(np.exp(x - most).sum(axis, keepdims=keepdims))


def onnx(op: str, **fixed: Any) -> Spelling:
    return lambda net, x, axes, keepdims: net(op, x, net.const(axes, "int64"), keepdims=int(keepdims), **fixed)


def tflite(op: str) -> Spelling:
    return lambda net, x, axes, keepdims: net(
        op, x, net.const(axes, "int32"), options="ReducerOptions", keepDims=keepdims
    )


def aten(op: str, single: bool = False, **fixed: Any) -> Spelling:
    """Return the spelling by an operator of torch. single: whether it takes one axis."""

    def spelling(net: Any, x: Any, axes: Sequence[int], keepdims: bool) -> Any:
        if single and len(axes) != 1:
            return None
        target = f"aten.{op}" if "." in op else f"aten.{op}.default"
        result = net(target, self=x, **fixed, dim=axes[0] if single else list(axes), keepdim=keepdims)
        return result[0] if isinstance(result, tuple) else result

    return spelling


def keras(op: str, **fixed: Any) -> Spelling:
    return lambda net, x, axes, keepdims: net(op, x, axis=list(axes), keepdims=keepdims, **fixed)


def tensorflow(op: str) -> Spelling:
    return lambda net, x, axes, keepdims: net(op, x, net.const(axes, "int32"), keep_dims=keepdims, Tidx="int32")


def stablehlo(op: str, start: Any) -> Spelling:
    """Return the spelling by a reduction with an op in its body. start: the value of nothing."""

    def spelling(net: Any, x: Any, axes: Sequence[int], keepdims: bool) -> Any:
        if keepdims:
            return None
        first = net.const(start, x.dtype.name)
        listed = ", ".join(str(axis % len(x.shape)) for axis in sorted(a % len(x.shape) for a in axes))
        return net("reduce", x, first, regions=net.region(op, x.dtype), dimensions=f"array<i64: {listed}>")

    return spelling


def reduction(
    name: str, expected: Callable[..., Any], cases: Sequence[Case], ways: Any = None, **fields: Any
) -> Meaning:
    by = {
        key: fields.pop(key) for key in ("onnx", "tflite", "torch", "keras", "tensorflow", "stablehlo") if key in fields
    }
    plain: dict[str, Callable[[str], Spelling]] = {"onnx": onnx, "tflite": tflite, "torch": aten, "keras": keras}
    plain["tensorflow"] = tensorflow
    every = {form: plain[form](way) if isinstance(way, str) else way for form, way in by.items()}
    return Meaning(name, expected, cases, every | (ways or {}), **fields)


def _along(function: Callable[[Array], Array]) -> Callable[..., Array]:
    """Return a function along the last axis, in float64."""
    return lambda x: function(x.astype(np.float64)).astype(x.dtype)


def _softmax(x: Array) -> Array:
    less = x - x.max(-1, keepdims=True)
    return np.exp(less) / np.exp(less).sum(-1, keepdims=True)


def _log_softmax(x: Array) -> Array:
    less = x - x.max(-1, keepdims=True)
    return less - np.log(np.exp(less).sum(-1, keepdims=True))


_LAST = [Case("special", [ROWS]), Case("block", [BLOCK])]


def _arg(function: Callable[..., Any]) -> Callable[..., Array]:
    return lambda x, axes, keepdims: np.asarray(function(x, axes[0], keepdims=keepdims))


_PICKED = [over(TIES, 1, name="ties"), EMPTY[1], over(BLOCK, -2), over(BLOCK, 0, keepdims=True), over(INTEGERS, 1)]


def _picked(name: str, function: Any, onnx_op: str, tflite_op: str, keras_op: str) -> Meaning:
    return Meaning(
        name,
        _arg(function),
        _PICKED,
        {
            "onnx": lambda net, x, axes, keepdims: net(onnx_op, x, axis=axes[0], keepdims=int(keepdims)),
            "tflite": lambda net, x, axes, keepdims: (
                None
                if keepdims
                else net(
                    tflite_op,
                    x,
                    net.const(axes[0], "int32"),
                    dtypes="int64",
                    options=f"{onnx_op}Options",
                    outputType=4,
                )
            ),
            "torch": aten(name, single=True),
            "keras": lambda net, x, axes, keepdims: net(keras_op, x, axis=axes[0], keepdims=keepdims),
            "tensorflow": lambda net, x, axes, keepdims: (
                None if keepdims else net(onnx_op, x, net.const(axes[0], "int32"), Tidx="int32", output_type="int64")
            ),
        },
        dtypes={"keras": "int32"},
        note="the first of equal ones; NaN is the greatest and the least",
    )


def _running(function: Any) -> Callable[..., Array]:
    def expected(x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        wide = np.flip(wide, axis) if reverse else wide
        result = function(wide, axis, dtype=wide.dtype)
        if exclusive:
            nothing = np.full_like(np.take(result, [0], axis), 0 if function is np.cumsum else 1)
            result = np.concatenate([nothing, np.take(result, range(x.shape[axis] - 1), axis)], axis)
        return (np.flip(result, axis) if reverse else result).astype(x.dtype)

    return expected


_RUNS = [
    Case(f"{label}, axis {axis}{' exclusive' * exclusive}{' reverse' * reverse}", [x],
         {"axis": axis, "exclusive": exclusive, "reverse": reverse})
    for label, x, axis in (("special", ROWS, 1), ("block", BLOCK, -2))
    for exclusive in (False, True)
    for reverse in (False, True)
]  # fmt: skip


def _scanned(name: str, function: Any, torch_op: str, keras_op: str, tensorflow_op: str, **more: Spelling) -> Meaning:
    return Meaning(
        name,
        _running(function),
        _RUNS,
        {
            "torch": lambda net, x, axis, exclusive, reverse: (
                None if exclusive or reverse else net(torch_op, self=x, dim=axis)
            ),
            "keras": lambda net, x, axis, exclusive, reverse: (
                None if exclusive or reverse else net(keras_op, x, axis=axis)
            ),
            "tensorflow": lambda net, x, axis, exclusive, reverse: net(
                tensorflow_op, x, net.const(axis, "int32"), exclusive=exclusive, reverse=reverse
            ),
            **more,
        },
        unsigned=True,
    )


TABLE = [
    reduction("sum", numpy(np.sum), [*SPECIAL, *BLOCKS, *EMPTY], unsigned=True, onnx="ReduceSum", tflite="SUM",
              torch="sum.dim_IntList", keras="Sum", tensorflow="Sum", stablehlo=stablehlo("add", 0)),
    reduction("prod", numpy(np.prod), [*SPECIAL, *BLOCKS, *EMPTY], onnx="ReduceProd", tflite="REDUCE_PROD",
              torch=aten("prod.dim_int", True), keras="Prod", tensorflow="Prod", stablehlo=stablehlo("multiply", 1)),
    reduction("mean", numpy(np.mean), [*SPECIAL, *BLOCKS], unsigned=True, onnx="ReduceMean", tflite="MEAN",
              torch="mean.dim", keras="Mean", tensorflow="Mean"),
    Meaning("mean_in_halves", lambda x: np.mean(x.astype(np.float64), 0).astype(np.float16),
            [Case("wider than halves", [np.array([70000, -69000], np.float32)])], {
        "torch": lambda net, x: net("aten.mean.default", self=x, dtype=DType("float16")),
    }, note="no element is rounded before the sum"),
    reduction("max", numpy(np.max), [*SPECIAL, *BLOCKS, EMPTY[1], over(INTEGERS, 1)], unsigned=True, onnx="ReduceMax",
              tflite="REDUCE_MAX", torch="amax", keras="Max", tensorflow="Max",
              ways={"keras amax": keras("Amax"), "torch with places": aten("max.dim", True, results=2)},
              stablehlo=lambda net, x, axes, keepdims: stablehlo(
                  "maximum", -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min)(net, x, axes, keepdims),
              note="NaN wins"),
    reduction("min", numpy(np.min), [*SPECIAL, *BLOCKS, EMPTY[1], over(INTEGERS, 1)], unsigned=True, onnx="ReduceMin",
              tflite="REDUCE_MIN", torch="amin", keras="Min", tensorflow="Min",
              ways={"keras amin": keras("Amin"), "torch with places": aten("min.dim", True, results=2)},
              stablehlo=lambda net, x, axes, keepdims: stablehlo(
                  "minimum", np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max)(net, x, axes, keepdims),
              note="NaN wins"),
    reduction("sum_of_integers", lambda x, axes, keepdims: x.sum(tuple(axes), x.dtype, keepdims=keepdims),
              [over(INTEGERS, 1), over(INTEGERS, 0, 1)], onnx="ReduceSum", tflite="SUM", keras="Sum", tensorflow="Sum",
              stablehlo=stablehlo("add", 0), note="wraps around"),
    reduction("sum_widened", lambda x, axes, keepdims: x.sum(tuple(axes), np.int64, keepdims=keepdims),
              [over(INTEGERS, 1), over(INTEGERS, 0, 1)], torch="sum.dim_IntList", note="in 64 bits"),
    reduction("sum_of_squares", numpy(lambda x, **kw: (x * x).sum(**kw)), [*SPECIAL, *BLOCKS], onnx="ReduceSumSquare"),
    reduction("norm_1", numpy(lambda x, **kw: np.abs(x).sum(**kw)), [*SPECIAL, *BLOCKS], onnx="ReduceL1",
              torch=aten("linalg_vector_norm", ord=1.0),
              keras=lambda net, x, axes, keepdims: keras("Norm", ord=1)(net, x, axes, keepdims)
              if len(axes) == 1 else None),
    reduction("norm_2", numpy(lambda x, **kw: np.sqrt((x * x).sum(**kw))), [*SPECIAL, *BLOCKS], onnx="ReduceL2",
              torch=aten("linalg_vector_norm", ord=2.0), tensorflow="EuclideanNorm",
              keras=lambda net, x, axes, keepdims: keras("Norm")(net, x, axes, keepdims) if len(axes) < 3 else None),
    reduction("log_of_sum", numpy(lambda x, **kw: np.log(x.sum(**kw))), [*SPECIAL, *BLOCKS], onnx="ReduceLogSum",
              lost=1.0),
    reduction("logsumexp", numpy(log_sum_exp), [*SPECIAL, *BLOCKS, *EMPTY], lost=1.0, onnx="ReduceLogSumExp",
              torch="logsumexp", keras="Logsumexp"),
    reduction("var", numpy(np.var), [*SPECIAL, *BLOCKS], torch=aten("var.correction", correction=0), keras="Var"),
    reduction("var_corrected", numpy(lambda x, **kw: np.var(x, ddof=1, **kw)), [*SPECIAL, *BLOCKS],
              torch=aten("var.correction", correction=1)),
    reduction("std", numpy(np.std), [*SPECIAL, *BLOCKS], torch=aten("std.correction", correction=0), keras="Std"),
    reduction("sum_of_numbers", numpy(np.nansum), [*SPECIAL, *BLOCKS], unsigned=True, torch="nansum", keras="Nansum",
              note="NaN counts nothing"),
    reduction("any", lambda x, axes, keepdims: x.any(tuple(axes), keepdims=keepdims), [over(TRUTHS, 1),
              over(TRUTHS, 0, -1, keepdims=True), over(np.zeros((2, 0), bool), 1)], tflite="REDUCE_ANY",
              torch="any.dims", keras="Any", tensorflow="Any", stablehlo=stablehlo("or", False)),
    reduction("all", lambda x, axes, keepdims: x.all(tuple(axes), keepdims=keepdims), [over(TRUTHS, 1),
              over(TRUTHS, 0, -1, keepdims=True), over(np.zeros((2, 0), bool), 1)], tflite="REDUCE_ALL",
              torch="all.dims", keras="All", tensorflow="All", stablehlo=stablehlo("and", True)),
    reduction("any_of_floats", lambda x, axes, keepdims: (x != 0).any(tuple(axes), keepdims=keepdims), SPECIAL,
              torch="any.dims", keras="Any", note="NaN is true"),
    reduction("count_nonzero", lambda x, axes, keepdims: np.count_nonzero(x, tuple(axes)), [over(TIES, 1)],
              torch=lambda net, x, axes, keepdims: net("aten.count_nonzero.dim_IntList", self=x, dim=list(axes)),
              keras=lambda net, x, axes, keepdims: net("CountNonzero", x, axis=list(axes)), dtypes={"keras": "int32"}),
    # Empty lists of axes.
    reduction("sum_over_no_axis", lambda x, axes, keepdims: x, [over(BLOCK)], tflite="SUM", tensorflow="Sum",
              onnx=onnx("ReduceSum", noop_with_empty_axes=1), note="an empty list of axes is none of them"),
    reduction("sum_over_every_axis", lambda x, axes, keepdims: np.asarray(x.sum(keepdims=keepdims)),
              [over(BLOCK), over(BLOCK, keepdims=True)], onnx="ReduceSum", torch="sum.dim_IntList",
              note="an empty list of axes is all of them"),
    _picked("argmax", np.argmax, "ArgMax", "ARG_MAX", "Argmax"),
    _picked("argmin", np.argmin, "ArgMin", "ARG_MIN", "Argmin"),
    Meaning("argmax_of_all", lambda x, keepdims: np.argmax(x, keepdims=keepdims),
            [Case(f"block{' kept' * keepdims}", [BLOCK], {"keepdims": keepdims}) for keepdims in (False, True)], {
            "torch": lambda net, x, keepdims: net("aten.argmax.default", self=x, keepdim=keepdims),
            "keras": lambda net, x, keepdims: net("Argmax", x, axis=None, keepdims=keepdims)},
            dtypes={"keras": "int32"}),
    Meaning("argmax_last", lambda x: 3 - np.argmax(x[:, ::-1], 1), [Case("ties", [TIES[[0, 2, 3]]])],
            {"onnx": lambda net, x: net("ArgMax", x, axis=1, keepdims=0, select_last_index=1)}),
    _scanned("cumsum", np.cumsum, "aten.cumsum.default", "Cumsum", "Cumsum",
             onnx=lambda net, x, axis, exclusive, reverse: net("CumSum", x, net.const(axis, "int64"),
                                                              exclusive=int(exclusive), reverse=int(reverse)),
             tflite=lambda net, x, axis, exclusive, reverse: net("CUMSUM", x, net.const(axis, "int32"),
                                                                exclusive=exclusive, reverse=reverse)),
    _scanned("cumprod", np.cumprod, "aten.cumprod.default", "Cumprod", "Cumprod"),
    Meaning("logcumsumexp", _along(lambda x: np.logaddexp.accumulate(x, -1)), _LAST, {
        "torch": lambda net, x: net("aten.logcumsumexp.default", self=x, dim=-1),
        "tensorflow": lambda net, x: net("CumulativeLogsumexp", x, net.const(-1, "int32"), Tidx="int32")}, lost=1.0),
    Meaning("softmax", _along(_softmax), _LAST, {
        "onnx": lambda net, x: net("Softmax", x, axis=-1), "tflite": lambda net, x: net("SOFTMAX", x, beta=1.0),
        "torch": lambda net, x: net("aten.softmax.int", self=x, dim=-1),
        "torch core": lambda net, x: net("aten._softmax.default", self=x, dim=-1, half_to_float=False),
        "keras layer": lambda net, x: net.layer("Softmax", x, axis=-1),
        "keras word": lambda net, x: net.layer("Activation", x, activation="softmax"),
        "keras": lambda net, x: net("Softmax", x, axis=-1), "tensorflow": lambda net, x: net("Softmax", x)}),
    Meaning("log_softmax", _along(_log_softmax), _LAST, {
        "onnx": lambda net, x: net("LogSoftmax", x, axis=-1),
        "tflite": lambda net, x: net("LOG_SOFTMAX", x, options="LogSoftmaxOptions"),
        "torch": lambda net, x: net("aten.log_softmax.int", self=x, dim=-1),
        "torch core": lambda net, x: net("aten._log_softmax.default", self=x, dim=-1, half_to_float=False),
        "keras word": lambda net, x: net.layer("Activation", x, activation="log_softmax"),
        "keras": lambda net, x: net("LogSoftmax", x, axis=-1), "tensorflow": lambda net, x: net("LogSoftmax", x)},
        lost=1.0, unsigned=True),
    Meaning("median_lower", lambda x: np.sort(x, -1)[..., (x.shape[-1] - 1) // 2], [Case("block", [BLOCK])], {
        "torch": lambda net, x: net("aten.median.dim", results=2, self=x, dim=-1, keepdim=False)[0]}),
    Meaning("median_mean", lambda x: np.median(x, -1), [Case("block", [BLOCK])], {
        "keras": lambda net, x: net("Median", x, axis=[-1], keepdims=False)}),
]  # fmt: skip

"""Feature operators of `ai.onnx.ml`: they scale, fill in, choose, join and count."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.reduce import MaxOp
from ...dialects.relay.sorting import SearchSortedOp
from ...dialects.relay.transform import ConcatenateOp, TakeOp
from ...dialects.sizes import proves
from ...support.dtypes import Array
from ..importing.attributes import Float, Floats, Ints, Word
from ..importing.rows import row
from ..importing.terms import Term, absolute, constant, is_nan, minimum, sqrt, where
from ..meanings.pads import fitted
from .context import Context


def _per_feature(x: Term, numbers: Sequence[float] | None, name: str) -> Array:
    """One number, or one for each feature."""
    array = np.asarray(numbers or ())
    width = x.shape[-1] if x.shape else 1
    if len(array) != 1 and not (len(array) and not proves(width, "!=", len(array))):
        x.ctx.fail(f"{name} of 1 number or one for each of {width} features", str(len(array)))
    if len(array) > 1:
        x.ctx.require_equal(width, len(array))
    return array


def _check_features(x: Term) -> None:
    if not x.shape:
        x.ctx.fail("features", "a scalar")


def _scaler(x: Term, offset: tuple[float, ...] | None, scale: tuple[float, ...] | None) -> Term:
    """`(x - offset) * scale`, in float32."""
    _check_features(x)
    numbers = [_per_feature(x, each, name).astype(np.float32) for each, name in ((offset, "offset"), (scale, "scale"))]
    return (x.to("float32") - constant(x.ctx, numbers[0], "offset")) * constant(x.ctx, numbers[1], "scale")


def _normalizer(x: Term, norm: str) -> Term:
    """Rows by their greatest number, sum of sizes or length; what is 0 leaves a row as it is."""
    _check_features(x)
    x = x.to("float32")
    match norm:
        case "MAX":
            size = x.apply(MaxOp, axis=(-1,), keepdims=True)
        case "L1":
            size = absolute(x).sum(-1)
        case _:
            size = sqrt((x * x).sum(-1))
    return x / where(size.equal(0.0), 1.0, size)


def _binarizer(x: Term, threshold: float) -> Term:
    return (x > threshold).to(x.dtype)


def _imputer(ctx: Context, x: Term) -> Term:
    """Numbers in the place of one that stands for none, which may be NaN."""
    _check_features(x)
    if x.dtype.kind == "f":
        sought, values = ctx.float("replaced_value_float", 0.0), ctx.floats("imputed_value_floats", None)
    else:
        sought, values = ctx.int("replaced_value_int64", 0), ctx.ints("imputed_value_int64s", None)
    imputed = _per_feature(x, values, "imputed values")
    lacking = is_nan(x) if np.isnan(sought) else x.equal(sought)
    return where(lacking, constant(ctx, imputed.astype(x.dtype), "imputed"), x)


def _array_feature_extractor(ctx: Context, x: Term, places: Term) -> Term:
    """Elements of the last axis, in the order of all indices; of a vector they are a row."""
    _check_features(x)
    extent, count = x.shape[-1], prod(places.shape)
    known = ctx.known(1)
    if known is not None and known.size:
        if known.min() < 0 or proves(extent, "<=", int(known.max())):
            ctx.fail(f"indices in [0, {extent})", f"{known.min()} to {known.max()}")
        ctx.require_least(extent, int(known.max()) + 1, f"whether there are {int(known.max()) + 1} features")
    chosen = x.apply(TakeOp, places.reshape(count), axis=len(x.shape) - 1)
    return chosen.reshape(1, count) if len(x.shape) == 1 else chosen


def _feature_vectorizer(ctx: Context, *inputs: Term, widths: tuple[int, ...] | None) -> SSAValue:
    """Inputs beside one another as float32, each cut or filled with zeros to as many features as are said of it."""
    if len(widths or ()) != len(inputs):
        ctx.fail(f"inputdimensions of {len(inputs)} inputs", str(len(widths or ())))
    parts: list[SSAValue] = []
    for x, count in zip(inputs, widths or (), strict=True):
        shape = x.shape
        if not shape or count < 0:
            ctx.fail("features, at least 0 of each input", f"{count} of a tensor {list(shape)}")
        x = x.to("float32")
        x = x.reshape(1, *shape) if len(shape) == 1 else x.reshape(shape[0], prod(shape[1:]))
        parts.append(fitted(x, 1, count).value)
    return ctx.emit(ConcatenateOp, *parts, axis=1)


def _one_hot_encoder(x: Term, categories: tuple[int, ...] | None) -> Term:
    """1 for the category that an element is, in float32. With `zeros` of 0 the program itself complains of others."""
    if not categories:
        x.ctx.fail("categories", "none")
    numbers = constant(x.ctx, np.asarray(categories, np.int64), "categories")
    return x.to("int64").reshape(*x.shape, 1).equal(numbers).to("float32")


class _Pairs:
    """Keys and values of a LabelEncoder: of equal keys the first counts."""

    def __init__(self, ctx: Context, dtype: np.dtype[np.generic]):
        keys = _column(ctx, "keys")
        values = _column(ctx, "values")
        if keys is None or values is None or len(keys) != len(values):
            found = " and ".join("none" if column is None else str(len(column)) for column in (keys, values))
            ctx.fail("as many keys as values, of numbers", found)
        keys = keys.astype(dtype)
        self.default = _default(ctx, values.dtype)
        undefined = np.flatnonzero(keys != keys)
        self.of_nan = values[undefined[0]] if len(undefined) else None
        _, first = np.unique(keys, return_index=True)
        first = first[keys[first] == keys[first]]
        self.keys, self.values = keys[first], values[first]


def _column(ctx: Context, what: str) -> Array | None:
    """The keys or values of an encoder."""
    if (tensor := ctx.tensor_attribute(f"{what}_tensor")) is not None:
        return tensor.reshape(-1)
    if (floats := ctx.floats(f"{what}_floats", None)) is not None:
        return np.asarray(floats, np.float32)
    ints = ctx.ints(f"{what}_int64s", None)
    return None if ints is None else np.asarray(ints, np.int64)


def _default(ctx: Context, dtype: np.dtype[np.generic]) -> Array:
    """Return the value for inputs that are not keys."""
    if (tensor := ctx.tensor_attribute("default_tensor")) is not None:
        if tensor.size != 1:
            ctx.fail("a default_tensor of one element", str(tensor.size))
        return tensor.reshape(()).astype(dtype)
    default = ctx.float("default_float", -0.0) if dtype.kind == "f" else ctx.int("default_int64", -1)
    return np.asarray(default, dtype)


def _label_encoder(ctx: Context, x: Term) -> Term:
    """Keys are sorted at import; each element is looked for by halves."""
    pairs = _Pairs(ctx, x.dtype)
    default = constant(ctx, pairs.default, "default")
    if len(pairs.keys):
        keys, values = constant(ctx, pairs.keys, "keys"), constant(ctx, pairs.values, "values")
        position = minimum(keys.apply(SearchSortedOp, x, dtype="int64"), len(pairs.keys) - 1)
        result = where(keys.apply(TakeOp, position, axis=0).equal(x), values.apply(TakeOp, position, axis=0), default)
    else:
        result = where(x.equal(x), default, default)
    if pairs.of_nan is not None:
        result = where(is_nan(x), constant(ctx, np.asarray(pairs.of_nan), "value"), result)
    return result


MACHINE_LEARNING = {
    "ArrayFeatureExtractor": row(_array_feature_extractor, "X Y"),
    "Binarizer": row(_binarizer, "X", threshold=Float(0.0)),
    "FeatureVectorizer": row(_feature_vectorizer, "X*", widths=Ints(None, name="inputdimensions")),
    "Imputer": row(_imputer, "X"),
    "LabelEncoder": row(_label_encoder, "X"),
    "Normalizer": row(_normalizer, "X", norm=Word("MAX", among=("MAX", "L1", "L2"))),
    "OneHotEncoder": row(_one_hot_encoder, "X", categories=Ints(None, name="cats_int64s")),
    "Scaler": row(_scaler, "X", offset=Floats(None), scale=Floats(None)),
}

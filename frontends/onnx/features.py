"""Feature operators of `ai.onnx.ml`: they scale, fill in, choose, join and count."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.reduce import MaxOp, SumOp
from ...dialects.relay.sorting import SearchSortedOp
from ...dialects.relay.transform import ConcatenateOp, PadOp, StridedSliceOp, TakeOp
from ...dialects.sizes import proves
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.terms import Term, absolute, constant, sqrt, term, where
from .context import Context


def _per_feature(ctx: Context, name: str, width: int) -> Array:
    """An attribute of one number, or one for each feature."""
    numbers = np.asarray(ctx.floats(name, None) or (), np.float32)
    if len(numbers) != 1 and not (len(numbers) and not proves(width, "!=", len(numbers))):
        ctx.fail(f"{name} of 1 number or one for each of {width} features", str(len(numbers)))
    if len(numbers) > 1:
        ctx.require_equal(width, len(numbers))
    return numbers


def _last(ctx: Context) -> int:
    shape = ctx.shape(0)
    if not shape:
        ctx.fail("features", "a scalar")
    return shape[-1]


def scaler(ctx: Context) -> SSAValue:
    """`(x - offset) * scale`, in float32."""
    data, width = term(ctx, 0), _last(ctx)
    offset, scale = (constant(ctx, _per_feature(ctx, name, width), name) for name in ("offset", "scale"))
    return ((data.to("float32") - offset) * scale).value


def normalizer(ctx: Context) -> SSAValue:
    """Rows by their greatest number, sum of sizes or length; what is 0 leaves a row as it is."""
    data, norm = term(ctx, 0).to("float32"), ctx.word("norm", "MAX")
    _last(ctx)
    match norm:
        case "MAX":
            size = data.apply(MaxOp, axis=(-1,), keepdims=True)
        case "L1":
            size = absolute(data).apply(SumOp, axis=(-1,), keepdims=True)
        case "L2":
            size = sqrt((data * data).apply(SumOp, axis=(-1,), keepdims=True))
        case _:
            ctx.fail("a norm among MAX, L1, L2", repr(norm))
    return (data / where(size.equal(0.0), size.number(1.0), size)).value


def binarizer(ctx: Context) -> SSAValue:
    data = term(ctx, 0)
    above = (data > ctx.float("threshold", 0.0)).to(data.dtype)
    return above.value


def imputer(ctx: Context) -> SSAValue:
    """Numbers in the place of one that stands for none, which may be NaN."""
    data, width = term(ctx, 0), _last(ctx)
    if data.dtype.kind == "f":
        sought, values = ctx.float("replaced_value_float", 0.0), np.asarray(ctx.floats("imputed_value_floats", ()))
    else:
        sought, values = ctx.int("replaced_value_int64", 0), np.asarray(ctx.ints("imputed_value_int64s", None) or ())
    if len(values) != 1 and not (len(values) and not proves(width, "!=", len(values))):
        ctx.fail(f"imputed values: 1 or one for each of {width} features", str(len(values)))
    if len(values) > 1:
        ctx.require_equal(width, len(values))
    lacking = data.apply(ew.IsNanOp) if np.isnan(sought) else data.equal(sought)
    return where(lacking, constant(ctx, values.astype(data.dtype), "imputed"), data).value


def array_feature_extractor(ctx: Context) -> SSAValue:
    """Elements of the last axis, in the order of all indices; of a vector they are a row."""
    extent, data = _last(ctx), term(ctx, 0)
    count = prod(ctx.shape(1))
    known = ctx.known(1)
    if known is not None and known.size:
        if known.min() < 0 or proves(extent, "<=", int(known.max())):
            ctx.fail(f"indices in [0, {extent})", f"{known.min()} to {known.max()}")
        ctx.require_least(extent, int(known.max()) + 1, f"whether there are {int(known.max()) + 1} features")
    places = term(ctx, 1).reshape(count)
    chosen = Term(ctx, ctx.emit(TakeOp, data.value, places.value, axis=len(data.shape) - 1))
    return (chosen.reshape(1, count) if len(data.shape) == 1 else chosen).value


def feature_vectorizer(ctx: Context) -> SSAValue:
    """Inputs beside one another as float32, each cut or filled with zeros to as many features as are said of it."""
    wanted = ctx.ints("inputdimensions", None) or ()
    if len(wanted) != len(ctx.inputs):
        ctx.fail(f"inputdimensions of {len(ctx.inputs)} inputs", str(len(wanted)))
    parts: list[SSAValue] = []
    for index, count in enumerate(wanted):
        data = term(ctx, index).to("float32")
        shape = data.shape
        if not shape or count < 0:
            ctx.fail("features, at least 0 of each input", f"{count} of a tensor {list(shape)}")
        data = data.reshape(1, *shape) if len(shape) == 1 else data.reshape(shape[0], prod(shape[1:]))
        have = data.shape[1]
        if proves(have, ">", count):
            data = data.apply(StridedSliceOp, begin=(0,), end=(count,), strides=(1,), axes=(1,))
        elif not proves(have, "==", count):
            data = data.apply(PadOp, 0.0, pad_width=(0, 0, 0, count - have))
        parts.append(data.value)
    return ctx.emit(ConcatenateOp, *parts, axis=1)


def one_hot_encoder(ctx: Context) -> SSAValue:
    """1 for the category that an element is, in float32. With `zeros` of 0 the program itself complains of others."""
    categories = np.asarray(ctx.ints("cats_int64s", None) or (), np.int64)
    if not len(categories):
        ctx.fail("categories", "none")
    data = term(ctx, 0).to("int64")
    same = data.reshape(*data.shape, 1).equal(constant(ctx, categories, "categories"))
    return same.to("float32").value


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


def label_encoder(ctx: Context) -> SSAValue:
    """Keys are sorted at import; each element is looked for by halves."""
    data = term(ctx, 0)
    pairs = _Pairs(ctx, data.dtype)
    default = constant(ctx, pairs.default, "default")
    if len(pairs.keys):
        keys, values = constant(ctx, pairs.keys, "keys"), constant(ctx, pairs.values, "values")
        position = Term(ctx, ctx.emit(SearchSortedOp, keys.value, data.value, dtype="int64"))
        position = position.apply(ew.MinimumOp, len(pairs.keys) - 1)
        hit = Term(ctx, ctx.emit(TakeOp, keys.value, position.value, axis=0)).equal(data)
        result = where(hit, Term(ctx, ctx.emit(TakeOp, values.value, position.value, axis=0)), default)
    else:
        result = where(data.apply(ew.EqualOp, data), default, default)
    if pairs.of_nan is not None:
        result = where(data.apply(ew.IsNanOp), constant(ctx, np.asarray(pairs.of_nan), "value"), result)
    return result.value


MACHINE_LEARNING = {
    "ArrayFeatureExtractor": Converter(array_feature_extractor),
    "Binarizer": Converter(binarizer),
    "FeatureVectorizer": Converter(feature_vectorizer),
    "Imputer": Converter(imputer),
    "LabelEncoder": Converter(label_encoder),
    "Normalizer": Converter(normalizer),
    "OneHotEncoder": Converter(one_hot_encoder),
    "Scaler": Converter(scaler),
}

"""Operators of `ai.onnx.ml` on maps and on texts that stand for classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .host_tensors import Attributes, Inputs, Texts, texts


def _zip_map(attributes: Attributes, inputs: Inputs) -> list[dict[Any, float]]:
    """Return a map from class to score for each row."""
    scores, labels = inputs[0], attributes["labels"]
    rows = scores.reshape(1, -1) if scores.ndim == 1 else scores
    if rows.ndim != 2 or rows.shape[1] != len(labels):
        raise ValueError(f"expected scores of {len(labels)} classes, got {list(scores.shape)}")
    return [dict(zip(labels, row, strict=True)) for row in rows.tolist()]


def _cast_map(attributes: Attributes, inputs: Inputs) -> Any:
    """Return the values in the order of their keys; with `SPARSE`, at the positions that the keys are."""
    items: dict[int, Any] = inputs[0]
    if attributes.get("map_form", "DENSE") == "DENSE":
        values = [items[key] for key in sorted(items)]
    else:
        length = attributes.get("max_map", 1)
        if length < 1:
            raise ValueError(f"expected a max_map of at least 1, got {length}")
        missing = "" if attributes.get("cast_to") == "TO_STRING" else 0
        values = [items.get(key, missing) for key in range(length)]
        if items and not 0 <= min(items) <= max(items) < length:
            raise ValueError(f"expected keys in [0, {length}), got {min(items)} to {max(items)}")
    match attributes.get("cast_to", "TO_FLOAT"):
        case "TO_FLOAT":
            return np.asarray([float(value) for value in values], np.float32).reshape(1, -1)
        case "TO_INT64":
            return np.asarray([int(value) for value in values], np.int64).reshape(1, -1)
        case "TO_STRING":
            return texts([value if isinstance(value, str) else f"{value:f}" for value in values]).reshape(1, -1)
        case other:
            raise ValueError(f"expected cast_to among TO_FLOAT, TO_INT64, TO_STRING, got {other!r}")


def _dict_vectorizer(attributes: Attributes, inputs: Inputs) -> Any:
    """Return the values for the keys of a vocabulary, 0 or an empty text for those that the map lacks."""
    items: Mapping[Any, Any] = inputs[0]
    words: list[Any] = attributes.get("string_vocabulary") or attributes.get("int64_vocabulary") or []
    if any(isinstance(value, str) for value in items.values()):
        return texts([items.get(word, "") for word in words]).reshape(1, -1)
    whole = bool(items) and all(isinstance(value, int | np.integer) for value in items.values())
    dtype: Any = np.int64 if whole else attributes.get("dtype", np.float32)
    return np.asarray([items.get(word, 0) for word in words], dtype).reshape(1, -1)


def _category_mapper(attributes: Attributes, inputs: Inputs) -> Any:
    x = inputs[0]
    names, numbers = attributes["cats_strings"], attributes["cats_int64s"]
    if len(names) != len(numbers):
        raise ValueError(f"expected as many cats_strings as cats_int64s, got {len(names)} and {len(numbers)}")
    if x.dtype.hasobject:
        by_name, default = dict(zip(names, numbers, strict=True)), attributes.get("default_int64", -1)
        return np.asarray([by_name.get(text, default) for text in x.reshape(-1)], np.int64).reshape(x.shape)
    by_number, unknown = dict(zip(numbers, names, strict=True)), attributes.get("default_string", "_Unused")
    return texts([by_number.get(number, unknown) for number in x.reshape(-1).tolist()]).reshape(x.shape)


def _label_encoder(attributes: Attributes, inputs: Inputs) -> Any:
    """Replace elements by the values of their keys, which may be NaN; the first of equal keys counts (onnxruntime)."""
    x, keys, values, default = inputs[0], attributes["keys"], attributes["values"], attributes["default"]
    mapping: dict[Any, Any] = {}
    for key, value in zip(keys, values, strict=True):
        mapping.setdefault(_key(key), value)
    labels = [mapping.get(_key(item), default) for item in x.reshape(-1).tolist()]
    dtype = attributes["dtype"]
    return (texts(labels) if dtype is None else np.asarray(labels, dtype)).reshape(x.shape)


def _key(item: Any) -> Any:
    return "NaN" if isinstance(item, float) and np.isnan(item) else (item,)


def _old_label_encoder(attributes: Attributes, inputs: Inputs) -> Any:
    """Convert texts to their positions in a list, or positions to texts."""
    x, classes = inputs[0], attributes["classes_strings"]
    if x.dtype.hasobject:
        indices, default = {text: index for index, text in enumerate(classes)}, attributes.get("default_int64", -1)
        return np.asarray([indices.get(text, default) for text in x.reshape(-1)], np.int64).reshape(x.shape)
    unknown = attributes.get("default_string", "_Unused")
    labels = [classes[at] if 0 <= at < len(classes) else unknown for at in x.reshape(-1).tolist()]
    return texts(labels).reshape(x.shape)


def _one_hot(attributes: Attributes, inputs: Inputs) -> Any:
    """Return one-hot vectors of categories; raises ValueError for unknown ones, unless `zeros` allows them."""
    x, categories = inputs[0], attributes["categories"]
    items: list[Any] = x.reshape(-1).tolist()
    if not x.dtype.hasobject:
        items = [int(item) if np.isfinite(item) else None for item in items]
    indices = {category: index for index, category in enumerate(categories)}
    out = np.zeros((len(items), len(categories)), np.float32)
    for row, item in enumerate(items):
        index = indices.get(item)
        if index is not None:
            out[row, index] = 1
        elif not attributes.get("zeros", 1):
            raise ValueError(f"expected a category among {len(categories)}, as zeros is 0, got {item!r}")
    return out.reshape(*x.shape, len(categories))


def _labels(attributes: Attributes, inputs: Inputs) -> Texts:
    """Return the names of classes, by number."""
    return texts(np.asarray(attributes["names"], np.object_)[inputs[0]])


TABLE = {
    "ai.onnx.ml.CastMap": _cast_map,
    "ai.onnx.ml.CategoryMapper": _category_mapper,
    "ai.onnx.ml.DictVectorizer": _dict_vectorizer,
    "ai.onnx.ml.LabelEncoder": _label_encoder,
    "ai.onnx.ml.LabelEncoder_1": _old_label_encoder,
    "ai.onnx.ml.OneHotEncoder": _one_hot,
    "ai.onnx.ml.ZipMap": _zip_map,
    "labels": _labels,
}

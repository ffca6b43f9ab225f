"""Operators on texts: joined, split, matched, normalised, and counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from .host_tensors import Attributes, Inputs, Texts, texts
from .regex import Pattern

_Counts: TypeAlias = "dict[Any, _Counts | int]"


def _flat(x: Texts) -> list[str]:
    return x.reshape(-1).tolist()


def _concat(attributes: Attributes, inputs: Inputs) -> Texts:
    return texts(inputs[0] + inputs[1])


def _split(attributes: Attributes, inputs: Inputs) -> tuple[Texts, Any]:
    """Return the parts along a new axis, padded with empty texts, and their number."""
    x, maxsplit = inputs[0], attributes.get("maxsplit", -1)
    delimiter = attributes.get("delimiter") or None
    if delimiter is None:
        # With a maxsplit, Python would leave white space at the end of the last part.
        rows = [text.strip().split(None, maxsplit) for text in _flat(x)]
    else:
        rows = [text.split(delimiter, maxsplit) for text in _flat(x)]
    rows = [[] if delimiter is not None and row == [""] else row for row in rows]
    counts = np.asarray([len(row) for row in rows], np.int64)
    return _padded(rows, "", x.shape), counts.reshape(x.shape)


def _padded(rows: Sequence[Sequence[str]], pad: str, shape: tuple[int, ...]) -> Texts:
    """Return a row for each element of a shape along a new last axis, padded to the longest."""
    longest = max(map(len, rows), default=0)
    padded = np.full((len(rows), longest), pad, np.object_)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return padded.reshape(*shape, longest)


def _matches(attributes: Attributes, inputs: Inputs) -> Any:
    pattern = Pattern.of(attributes["pattern"])
    matches = [pattern.matches(text) for text in _flat(inputs[0])]
    return np.asarray(matches, np.bool_).reshape(inputs[0].shape)


def _normalized(attributes: Attributes, inputs: Inputs) -> Texts:
    """Return the texts that are no stop words, in the case of the attribute; one empty text if none is left."""
    x, action = inputs[0], attributes.get("case_change_action", "NONE")
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise ValueError(f"expected texts [C] or [1, C], got {list(x.shape)}")
    if action not in ("NONE", "LOWER", "UPPER"):
        raise ValueError(f"expected a case_change_action among NONE, LOWER, UPPER, got {action!r}")
    words: list[str] = attributes.get("stopwords") or []
    if attributes.get("is_case_sensitive", 0):
        stopwords = set(words)
        kept = [text for text in _flat(x) if text not in stopwords]
    else:
        stopwords = {word.lower() for word in words}
        kept = [text for text in _flat(x) if text.lower() not in stopwords]
    change = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}[action]
    normalized = texts([_in_case(text, change) for text in kept] or [""])
    return normalized if x.ndim == 1 else normalized.reshape(1, -1)


def _in_case(text: str, change: Callable[[str], str]) -> str:
    """Return a text with the case of each character changed, except those that would become several."""
    return "".join(changed if len(changed := change(character)) == 1 else character for character in text)


def _pool(attributes: Attributes) -> _Counts:
    """Return the n-grams to count as a tree: word after word, and at the end the position of the n-gram in the pool."""
    pool: list[Any] = attributes.get("pool_strings") or attributes.get("pool_int64s") or []
    starts = [*attributes["ngram_counts"], len(pool)]
    if any(not 0 <= a <= b for a, b in pairwise(starts)):
        raise ValueError(f"expected ngram_counts that rise to {len(pool)}, got {starts[:-1]}")
    tree: _Counts = {}
    position = 0
    for size, (start, end) in enumerate(pairwise(starts), 1):
        if (end - start) % size:
            raise ValueError(f"expected whole {size}-grams in the pool, got {end - start} words of them")
        for at in range(start, end, size):
            if attributes["min_gram_length"] <= size <= attributes["max_gram_length"]:
                node = tree
                for word in pool[at : at + size]:
                    node = node.setdefault((word,), {})
                    assert isinstance(node, dict)
                node.setdefault(size, position)
            position += 1
    if position != len(attributes["ngram_indexes"]):
        raise ValueError(f"expected ngram_indexes of {position} n-grams, got {len(attributes['ngram_indexes'])}")
    return tree


def _tf_idf(attributes: Attributes, inputs: Inputs) -> Any:
    """Count each n-gram of the pool in each row, with up to `max_skip_count` words skipped between its words."""
    x, indexes = inputs[0], attributes["ngram_indexes"]
    if x.ndim not in (1, 2):
        raise ValueError(f"expected words [C] or [N, C], got {list(x.shape)}")
    tree, longest = _pool(attributes), attributes["max_gram_length"]
    if min(indexes, default=0) < 0:
        raise ValueError(f"expected ngram_indexes of at least 0, got {min(indexes)}")
    mode, weights = attributes["mode"], attributes.get("weights") or [1.0] * len(indexes)
    if mode not in ("TF", "IDF", "TFIDF") or len(weights) != len(indexes):
        raise ValueError(f"expected mode TF, IDF or TFIDF and {len(indexes)} weights, got {mode} and {len(weights)}")
    rows: list[list[Any]] = x.reshape(1 if x.ndim == 1 else x.shape[0], -1).tolist()
    out = np.zeros((len(rows), max(indexes, default=-1) + 1), np.float32)
    for at, row in enumerate(rows):
        for gram, count in _counts(tree, row, attributes["max_skip_count"] + 1, longest).items():
            amount = count if mode == "TF" else weights[gram] * (1 if mode == "IDF" else count)
            out[at, indexes[gram]] += amount
    return out[0] if x.ndim == 1 else out


def _counts(tree: _Counts, row: Sequence[Any], strides: int, longest: int) -> Mapping[int, int]:
    """Return position in the pool -> count. Single words count once, not at every stride."""
    counts: dict[int, int] = {}
    for stride in range(1, min(strides, max(len(row), 1)) + 1):
        for start in range(len(row)):
            node: Any = tree
            for size, at in enumerate(range(start, min(len(row), start + stride * longest), stride), 1):
                node = node.get((row[at],))
                if node is None:
                    break
                if size in node and (size > 1 or stride == 1):
                    counts[node[size]] = counts.get(node[size], 0) + 1
    return counts


def _tokenized(attributes: Attributes, inputs: Inputs) -> Texts:
    """Split texts [C] or [N, C] at separators, or into the matches of an expression, padded along a new axis."""
    x, pad = inputs[0], attributes.get("pad_value", "")
    shortest, mark = attributes.get("mincharnum", 1), attributes.get("mark", 0)
    separators, expression = attributes.get("separators"), attributes.get("tokenexp")
    if x.ndim not in (1, 2):
        raise ValueError(f"expected texts [C] or [N, C], got {list(x.shape)}")
    rows: list[list[str]] = []
    if expression is not None:
        pattern = Pattern.of(expression)
        rows = [pattern.found_in(text) for text in _flat(x)]
    elif separators == [""]:
        rows = [list(text) for text in _flat(x)]
    elif separators:
        for text in _flat(x):
            parts = [text]
            for separator in map(Pattern.of, separators):
                parts = [part for whole in parts for part in separator.split(whole)]
            rows.append(parts)
    else:
        raise ValueError("expected separators or a tokenexp, got neither")
    rows = [[part for part in row if len(part) >= max(shortest, 1)] for row in rows]
    if mark:
        rows = [["\x02", *row, "\x03"] for row in rows]
    return _padded(rows, pad, x.shape)


TABLE = {
    "RegexFullMatch": _matches,
    "StringConcat": _concat,
    "StringNormalizer": _normalized,
    "StringSplit": _split,
    "TfIdfVectorizer": _tf_idf,
    "com.microsoft.Tokenizer": _tokenized,
}

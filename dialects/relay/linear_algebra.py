"""Sums of products by index letters, determinants, triangles of matrices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def

from ..element_types import DTYPES
from ..sizes import same
from ..sizes.types import tensor_of
from .attributes import boolean, required_string
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import FLOATS, INJECTIVE, INTEGERS, OPAQUE, OUT_ELEMWISE_FUSABLE

_TERM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")
Letters = tuple[str, ...]


@dataclass(frozen=True)
class Equation:
    """An einsum for operands of known shapes: each axis has a letter, those of an ellipsis the names ".0", ".1", ..

    Letters of extent 1 broadcast.
    """

    operands: tuple[Letters, ...]
    result: Letters
    extents: dict[str, int]

    @staticmethod
    def of(text: str, shapes: Sequence[Sequence[int]]) -> Equation:
        """Raises ValueError, with what was expected and what was found, where text and shapes do not fit."""
        spelled = text.replace(" ", "")
        left, arrow, right = spelled.partition("->")
        terms = left.split(",")
        if len(terms) != len(shapes) or not all(_TERM.fullmatch(term) for term in [*terms, right]):
            raise ValueError(f"an equation of {len(shapes)} operands", repr(text))
        operands = tuple(_letters(term, len(shape)) for term, shape in zip(terms, shapes, strict=True))
        extents: dict[str, int] = {}
        for names, shape, term in zip(operands, shapes, terms, strict=True):
            if len(names) != len(shape):
                raise ValueError(f"an operand of {len(names)} dimensions for '{term}'", f"shape {list(shape)}")
            for name, extent in zip(names, shape, strict=True):
                earlier = extents.setdefault(name, extent)
                if same(earlier, extent) or same(extent, 1):
                    continue
                if not same(earlier, 1) and earlier != extent:
                    raise ValueError(f"one extent of '{name}' in '{text}'", f"{earlier} and {extent}")
                extents[name] = extent if same(earlier, 1) else earlier
        dots = sorted({name for names in operands for name in names if name.startswith(".")}, reverse=True)
        if arrow:
            before, ellipsis, after = right.partition("...")
            result = (*before, *(dots if ellipsis else ()), *after)
        else:
            flat = [name for names in operands for name in names]
            result = (*dots, *sorted(name for name in set(flat) - set(dots) if flat.count(name) == 1))
        if len(set(result)) != len(result) or not set(result) <= set(extents):
            raise ValueError("a result of letters of the operands, each once", repr(text))
        return Equation(operands, result, extents)

    @property
    def summed(self) -> Letters:
        """The letters that the result lacks."""
        return tuple(name for name in self.extents if name not in self.result)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.extents[name] for name in self.result)


def _letters(term: str, rank: int) -> Letters:
    """A name for each axis. Those of an ellipsis are counted from its end, as shapes broadcast from the last axis."""
    before, ellipsis, after = term.partition("...")
    count = rank - len(before) - len(after) if ellipsis else 0
    return (*before, *(f".{number}" for number in reversed(range(count))), *after)


@irdl_op_definition
class EinsumOp(Operator):
    """numpy's einsum: `equation` names the axes of the operands and, after `->`, of the result.

    An ellipsis stands for axes that broadcast, a letter that one operand has twice for its diagonal.
    """

    name = "relay.einsum"
    data = var_operand_def(TensorType)
    result = result_def(TensorType)
    equation = required_string()
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def parsed(cls, sig: Signature) -> Equation:
        try:
            return Equation.of(sig.str("equation"), [sig.shape(i) for i in range(len(sig.types))])
        except ValueError as error:
            sig.fail(*error.args)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [tensor_of(sig.same_element(), cls.parsed(sig).shape)]

    @classmethod
    def evaluate(cls, sig: Signature, data: tuple[AnyArray, ...]) -> AnyArray:
        return np.einsum(sig.str("equation"), *map(widened, data), optimize=len(data) > 2)


def _square(sig: Signature) -> list[int]:
    """The axes before those of the square matrices of operand 0."""
    sig.of(FLOATS)
    *batch, rows, columns = sig.shape(0) if len(sig.shape(0)) > 1 else (0, 1)
    if rows != columns:
        sig.fail("square matrices", str(sig.types[0]))
    return batch


@irdl_op_definition
class InverseOp(Operator):
    """The inverses of the square matrices in the last two axes; of one that has none, numbers without a meaning."""

    name = "relay.inverse"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        _square(sig)
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        wide = widened(data)
        singular = np.linalg.det(wide) == 0
        wide = np.where(singular[..., None, None], np.eye(wide.shape[-1], dtype=wide.dtype), wide)
        return np.where(singular[..., None, None], np.nan, np.linalg.inv(wide))


@irdl_op_definition
class DynamicTimeWarpingOp(Operator):
    """The path of least cost from the first element of a matrix (m, n) to the last, by steps to the next row, the next
    column or both.

    Results: the rows and columns of its points, int32 (2, m + n - 1), of which those past its end are 0; how many
    points it has, an int64. Of steps that cost the same one to the next column is taken.
    """

    name = "relay.dynamic_time_warping"
    data = operand_def(TensorType)
    path = result_def(TensorType)
    number = result_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(FLOATS)
        rows, columns = sig.rank(0, 2)
        sig.require_source(0, [rows, columns], [1])
        return [tensor_of(DTYPES["int32"], (2, rows + columns - 1)), tensor_of(DTYPES["int64"], ())]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> tuple[AnyArray, ...]:
        rows, columns = data.shape
        costs, wide = np.full((rows + 1, columns + 1), np.inf, widened(data).dtype), widened(data)
        costs[0, 0] = 0
        moves = np.zeros((rows + 1, columns + 1), np.int64)
        moves[0], moves[:, 0] = 2, 1
        for i in range(1, rows + 1):
            for j in range(1, columns + 1):
                both, down, right = costs[i - 1, j - 1], costs[i - 1, j], costs[i, j - 1]
                moves[i, j] = 0 if both < min(down, right) else 1 if down < min(both, right) else 2
                costs[i, j] = wide[i - 1, j - 1] + (both, down, right)[moves[i, j]]
        points: list[tuple[int, int]] = []
        i, j = rows, columns
        while i > 0 or j > 0:
            points.append((i - 1, j - 1))
            move = moves[i, j]
            i, j = i - (move != 2), j - (move != 1)
        path = np.zeros((2, rows + columns - 1), np.int32)
        path[:, : len(points)] = np.array(points[::-1]).T
        return path, np.asarray(len(points))


@irdl_op_definition
class DetOp(Operator):
    """The determinants of the square matrices in the last two axes."""

    name = "relay.det"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [tensor_of(sig.types[0].element_type, _square(sig))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        return np.asarray(np.linalg.det(widened(data)))


@irdl_op_definition
class TriluOp(Operator):
    """The upper or lower triangle of matrices in the last two axes; the others are 0.

    `k`, one integer, says which diagonal is the triangle's last one: 0 the main one, above it those greater than 0.
    """

    name = "relay.trilu"
    data = operand_def(TensorType)
    k = operand_def(TensorType)
    result = result_def(TensorType)
    upper = boolean(True)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if len(sig.shape(0)) < 2:
            sig.fail("an operand of at least 2 dimensions", str(sig.types[0]))
        sig.of(INTEGERS, 1)
        if prod(sig.shape(1)) != 1:
            sig.fail("one integer as k", str(sig.types[1]))
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, k: AnyArray) -> AnyArray:
        # numpy's triangles know no bfloat16.
        places: list[AnyArray] = [np.arange(extent) for extent in data.shape[-2:]]
        above = places[1] - places[0][:, None] - int(k.item())
        return np.where(above >= 0 if sig.get("upper") else above <= 0, data, np.zeros((), data.dtype))

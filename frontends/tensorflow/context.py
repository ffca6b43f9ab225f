"""The context of a TensorFlow converter: one node, its tensors, its attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ..importing import context
from .scopes import Node
from .values import DTYPES, type_name, value_type


@dataclass(frozen=True)
class Conversion:
    """The user's choices among forms of what is computed."""

    layout: str = "NHWC"
    """The layout that images are computed in: NCHW turns those of NHWC."""
    dense: bool = True
    """True if matrix products are nn.dense, which takes the right matrix transposed; else nn.matmul."""


DEFAULT = Conversion()


@dataclass(eq=False, kw_only=True)
class Context(context.Context):
    """One node under conversion. Inputs and outputs are counted from 0."""

    node: Node
    conversion: Conversion = DEFAULT

    @property
    def attributes(self) -> Mapping[str, Any]:
        return self.node.attributes

    # Attributes: files may leave out those that have their defaults.

    def integer(self, name: str, default: int = 0) -> int:
        return self.attributes[name].i if name in self.attributes else default

    def real(self, name: str, default: float) -> float:
        return self.attributes[name].f if name in self.attributes else default

    def flag(self, name: str, default: bool = False) -> bool:
        return self.attributes[name].b if name in self.attributes else default

    def text(self, name: str, default: str = "") -> str:
        return self.attributes[name].s.decode(errors="replace") if name in self.attributes else default

    def integers(self, name: str) -> tuple[int, ...]:
        return tuple(self.attributes[name].list.i) if name in self.attributes else ()

    def element(self, name: str, default: str = "") -> np.dtype[Any]:
        """The dtype that an attribute says."""
        if name not in self.attributes and default:
            return np.dtype(default)
        number = value_type(self.attributes[name].type) if name in self.attributes else 0
        if number not in DTYPES:
            self.fail(f"a type of numbers as '{name}'", type_name(number))
        return DTYPES[number]

    # Values.

    def number(self, value: float, dtype: str) -> SSAValue:
        """Add a scalar constant."""
        return self.constant(np.asarray(value, dtype), "scalar")

    def axes(self, index: int, rank: int) -> tuple[int, ...]:
        """The axes in input `index`, counted from 0, each once."""
        return tuple(dict.fromkeys(self.axis(axis, rank) for axis in self.known_ints(index, "axes")))

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from 0."""
        if not -rank <= axis < rank:
            self.fail(f"an axis in [{-rank}, {rank})", str(axis))
        return axis % rank

    def one(self, index: int, what: str) -> int:
        """The one integer, or size, in input `index`, called `what`, which must be known at import."""
        values = self.known_ints(index, what)
        if len(values) != 1:
            self.fail(f"{what} that is one integer", str(list(values)))
        return values[0]

"""The rule of each operator that has one."""

from __future__ import annotations

from ....dialects.relay.operator import Operator
from . import elementwise, norms, pooling, products, reductions, shapes
from .site import Rule

RULES: dict[type[Operator], Rule] = {
    **elementwise.RULES,
    **shapes.RULES,
    **reductions.RULES,
    **products.RULES,
    **pooling.RULES,
    **norms.RULES,
}
"""Operator -> how gradients go through it. A rule of one's own is an entry."""

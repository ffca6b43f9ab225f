"""The effects of calls on references and other state, as far as they are known."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind

_NOTHING: frozenset[EffectInstance] = frozenset()
_ANYTHING = frozenset({EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)})


class EffectsOfCall(MemoryEffect):
    """A call marked `impure` may read and write references; another only computes its result."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return _ANYTHING if isinstance(op.properties.get("impure"), UnitAttr) else _NOTHING

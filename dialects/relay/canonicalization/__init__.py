"""The patterns of `canonicalize` for relay operators: they change no number, and relay's passes share them.

`relay-simplify-expr` and `relay-fold-constant` do more: they reassociate arithmetic, and look through let-blocks.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait

from ....provenance.rewrite import Located
from .casts import MergeCasts
from .concretize import Concretize
from .empty import DropEmptyParts, EvaluateEmpty
from .fold import FoldOperator
from .identities import DropNeutralOperand, DropNoOp
from .moves import MergeReshapes, MergeTransposes

PATTERNS = Located(
    (
        EvaluateEmpty(),
        DropEmptyParts(),
        FoldOperator(),
        DropNoOp(),
        Concretize(),
        DropNeutralOperand(),
        MergeReshapes(),
        MergeTransposes(),
        MergeCasts(),
    )
)
"""The patterns, the first that matches winning; each new op is located at what it stands for."""


class Canonicalized(HasCanonicalizationPatternsTrait):
    """Trait of operators that `canonicalize` folds and simplifies."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (PATTERNS,)


def canonicalize_operators(*operators: type[Operation]) -> None:
    """Give these operators the trait."""
    for operator in operators:
        operator.traits.add_trait(Canonicalized())

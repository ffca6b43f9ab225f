"""Patterns on relay that raise JAX's decompositions to the original operators after the import.

Each new op is located at all layers whose ops it replaces.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ....provenance.rewrite import rewrite
from .activations import KnownChoice, LogSoftmaxOfParts, ReluOfMaximum, SigmoidOfParts, SoftmaxOfParts, WithLowest
from .broadcasts import ImplicitBinary, ImplicitWhere
from .means import KeptAxes, MeanOfPool, MeanOfSum
from .norms import BatchNormOfParts, LayerNormOfParts, ScaledLayerNorm, ShiftedLayerNorm


def raise_operators(module: ModuleOp) -> None:
    """Rewrite an imported module in place."""
    rewrite(module, (ImplicitBinary(), ImplicitWhere()))
    rewrite(
        module,
        (
            WithLowest(module),
            KnownChoice(module),
            KeptAxes(),
            MeanOfSum(module),
            MeanOfPool(module),
            SigmoidOfParts(module),
            ReluOfMaximum(module),
            SoftmaxOfParts(),
            LogSoftmaxOfParts(),
            BatchNormOfParts(module),
            LayerNormOfParts(module),
            ScaledLayerNorm(module),
            ShiftedLayerNorm(module),
        ),
    )

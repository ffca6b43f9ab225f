"""The rule of each operator that has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....dialects.relay.core import ConstantOp
from ....dialects.relay.elementwise import ZerosLikeOp
from ....dialects.relay.operator import Operator
from ....dialects.relay.traits import Flat
from ....provenance.builder import LocatedBuilder
from ....provenance.diagnostics import fail
from . import elementwise, norms, pooling, products, reductions, shapes
from .site import Rule, Site, is_smooth

RULES: dict[type[Operator], Rule] = {
    **elementwise.RULES,
    **shapes.RULES,
    **reductions.RULES,
    **products.RULES,
    **pooling.RULES,
    **norms.RULES,
}
"""Operator -> how gradients go through it. A rule of one's own is an entry."""


def operand_gradients(
    op: Operator, gradients: Sequence[SSAValue | None], module: ModuleOp, builder: LocatedBuilder
) -> Iterator[tuple[int, SSAValue]]:
    """Yield the number and the gradient of each operand of floats, constants apart, on which the results depend.

    gradients: those of the results, None for zeros. Raises VerifyException for an operator without a rule.
    """
    rule = RULES.get(type(op))
    if rule is None and op.has_trait(Flat):
        return
    if rule is None:
        fail(op, "an operator with a gradient", op.name.removeprefix("relay."))
    filled = [
        gradient if gradient is not None else builder.add(ZerosLikeOp(result)).result
        for result, gradient in zip(op.results, gradients, strict=True)
    ]
    for index, gradient in enumerate(rule(Site(op, module, builder), filled)):
        operand = op.operands[index]
        if gradient is not None and not isinstance(operand.owner, ConstantOp) and is_smooth(operand):
            yield index, gradient

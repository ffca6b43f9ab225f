"""Operators from outside the tree: one call makes a class an operator of relay, as those of the tree are.

@whence.operator(lower=lambda op, x: te.compute(x.shape, lambda *i: x(*i) * x(*i)))
@irdl_op_definition
class SquareplusOp(Unary): ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

from ...dialects.relay.dialect import OUTSIDE, add_operator, remove_operator
from ...dialects.relay.operator import Operator
from ...passes.relay.gradients.site import Rule
from ...passes.relay.gradients.table import RULES
from ...support.errors import FrontendError, expectation
from .lower import TABLE as LOWERINGS
from .lower import Lowering
from .strategies import note_lowering

OperatorT = TypeVar("OperatorT", bound=type[Operator])


def operator(*, lower: Lowering, gradient: Rule | None = None) -> Callable[[OperatorT], OperatorT]:
    """Return a decorator that registers a class of an operator; see `register_operator`."""

    def registered(cls: OperatorT) -> OperatorT:
        register_operator(cls, lower, gradient)
        return cls

    return registered


def register_operator(cls: type[Operator], lower: Lowering, gradient: Rule | None = None) -> None:
    """Make a class an operator of relay: in Python (`relay.nn.name`), in texts, as an op, and in kernels.

    lower: (op, te tensor of each operand) -> tensor of the result, or of each. gradient: (site, gradients of the
    results) -> gradient of each operand. A class replaces one of its name that was registered before.

    Raises FrontendError for a class that is no operator, has no name of its own that begins with `relay.`, or has no
    meaning in numpy, and for a lowering that cannot be called with the operands.
    """
    if not (isinstance(cls, type) and issubclass(cls, Operator)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise FrontendError(expectation("operator", "a class whose base is Operator", repr(cls)))
    if missing := sorted(cls.__abstractmethods__):
        raise FrontendError(expectation("operator", f"{', '.join(missing)} of {cls.__name__}", "none"))
    try:
        inspect.signature(lower).bind(None, *cls.operand_groups())
    except TypeError as error:
        operands = ", ".join(group.name for group in cls.operand_groups())
        raise FrontendError(
            expectation("operator", f"a lowering (op, {operands}) of {cls.name}", str(error))
        ) from error
    unregister_operator(cls.name.removeprefix("relay."))
    add_operator(cls)
    LOWERINGS[cls] = lower
    if gradient is not None:
        RULES[cls] = gradient
    note_lowering(cls.name, lower)


def unregister_operator(name: str) -> None:
    """Remove a registered operator by TVM's name, `nn.hard_shrink`, if there is one."""
    if (cls := OUTSIDE.get(name)) is not None:
        remove_operator(name)
        del LOWERINGS[cls]
        RULES.pop(cls, None)
        note_lowering(cls.name, None)

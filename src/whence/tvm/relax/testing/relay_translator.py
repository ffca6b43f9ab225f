"""Relay functions as modules of Relax, which are modules of relay."""

from __future__ import annotations

from collections.abc import Mapping

from whence.relay.module import IRModule
from whence.support.dtypes import Array
from whence.support.errors import FrontendError
from whence.syntax.relay.bind import bind_params
from whence.syntax.relay.expr import Function
from whence.target import TargetLike


def from_relay(
    func: Function,
    target: TargetLike = "llvm",
    relay_params: Mapping[str, Array] | None = None,
    *,
    translate_op_with_tir: object = None,
    append_op_attrs: bool = False,
) -> IRModule:
    """Return the module of a function, whose operators stay operators; `script` shows it as Relax.

    relay_params: values for parameters by name. target: has no effect before the module is built. Raises FrontendError
    for kernels in the place of operators, `translate_op_with_tir` and `append_op_attrs`.
    """
    del target
    if translate_op_with_tir or append_op_attrs:
        raise FrontendError("from_relay: expected operators as they are, got kernels for them")
    return IRModule.from_expr(bind_params(func, relay_params) if relay_params else func)

"""Makes chosen operators compute in another dtype, between casts: an experiment rather than an optimisation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from whence.relay.counting import count_layers
from whence.relay.expr_functor import ExprMutator
from whence.relay.module import IRModule
from whence.support.errors import FrontendError
from whence.syntax.relay.attrs import operators
from whence.syntax.relay.expr import Call, Expr, Op, Tuple
from whence.syntax.relay.nodes import children


class _Recast(ExprMutator):
    def __init__(self, dtype: str, out_dtype: str, chosen: Collection[Expr]):
        super().__init__()
        self.dtype, self.out_dtype, self.chosen = dtype, out_dtype, chosen

    def visit_call(self, call: Call) -> Any:
        if call not in self.chosen or not isinstance(call.op, Op):
            return super().visit_call(call)
        args = [self.visit(arg) for arg in call.args]
        attrs = dict(call.attrs)
        if "out_dtype" in operators()[call.op.name].declared_attributes():
            attrs["out_dtype"] = self.out_dtype
        recast_call = Call(call.op, [self._cast(arg) for arg in args], attrs, span=call.span)
        return Call(Op("cast"), [recast_call], {"dtype": call.checked_type.dtype}, span=call.span)

    def _cast(self, arg: Expr) -> Expr:
        if isinstance(arg, Tuple):
            return Tuple([self._cast(field) for field in arg.fields], span=arg.span)
        return Call(Op("cast"), [arg], {"dtype": self.dtype}, span=arg.span)


def _layers(root: Expr, ops: Collection[str]) -> list[Expr]:
    """Calls of operators, in the order in which a walk from the result meets them."""
    found: list[Expr] = []
    seen: set[Expr] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in ops:
            found.append(node)
        stack += reversed(children(node))
    return found


def recast(
    expr: Any,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str] | None = None,
    skip_layers: Sequence[int] | None = None,
) -> Any:
    """Return a function, or its module, in which operators take `dtype` and return `out_dtype`, which is cast back.

    ops: by default `nn.conv2d`. skip_layers: the numbers of those that stay, from the input, or negative from the
    output. Raises FrontendError for a name that no operator has.
    """
    chosen = list(ops or ["nn.conv2d"])
    if unknown := [name for name in chosen if name not in operators()]:
        raise FrontendError(f"recast: expected names of operators, got {', '.join(unknown)}")
    module = expr if isinstance(expr, IRModule) else IRModule.from_expr(expr)
    main = IRModule.of(module.typed())["main"]
    count = count_layers(main, chosen)
    skipped = {count + layer if layer < 0 else layer for layer in skip_layers or ()}
    layers = _layers(main, chosen)
    rewritten = _Recast(
        dtype, out_dtype, {layer for number, layer in enumerate(layers, 1) if count - number not in skipped}
    ).visit(main)
    return IRModule.from_expr(rewritten) if isinstance(expr, IRModule) else rewritten

"""`SpanCheck`: a pass that lists expressions without an origin."""

from __future__ import annotations

import sys
from typing import Any

from whence import transform
from whence.relay.module import IRModule
from whence.syntax.relay.expr import Constructor, GlobalVar, Op
from whence.syntax.relay.nodes import post_order

_NAMES = (Op, GlobalVar, Constructor)


def SpanCheck() -> transform.Pass:
    """A pass that changes nothing, and writes to stderr how many expressions of each function have no span."""

    def check(mod: Any, context: object) -> Any:
        held = mod if isinstance(mod, IRModule) else IRModule.of(mod)
        for name, function in held.program.functions.items():
            nodes = [node for node in post_order(function) if not isinstance(node, _NAMES)]
            if bare := sum(node.span is None for node in nodes):
                print(f"SpanCheck: @{name}: {bare} of {len(nodes)} expressions have no span", file=sys.stderr)
        return mod

    return transform.ModulePass(check, transform.PassInfo("SpanCheck"))

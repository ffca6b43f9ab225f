"""What TVM's tests of Relay use of `relay.testing`."""

from __future__ import annotations

from typing import Any

from whence import transform
from whence.frontends.relay.expr import Expr, Function
from whence.relay.module import IRModule
from whence.relay.testing import init as init
from whence.relay.testing import mlp as mlp
from whence.relay.testing import synthetic as synthetic
from whence.relay.testing.init import create_workload as create_workload


def run_opt_pass(expr: Expr, opt_pass: transform.Pass | list[transform.Pass], import_prelude: bool = False) -> Any:
    """What a pass, or several in a row, make of a function, or of an expression, whatever the opt level is."""
    mod = IRModule.from_expr(expr)
    if import_prelude:
        mod.import_from_std("prelude.rly")
    mod = transform.InferType()(mod)
    for one in opt_pass if isinstance(opt_pass, list) else [opt_pass]:
        mod = one(mod)
    main = mod["main"]
    return main if isinstance(expr, Function) else main.body


def run_infer_type(expr: Expr) -> Any:
    """A function, or an expression, with its types."""
    return run_opt_pass(expr, transform.InferType())

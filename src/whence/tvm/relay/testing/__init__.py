"""The parts of `relay.testing` that TVM's tests of Relay use."""

from __future__ import annotations

from typing import Any

from whence import transform
from whence.nd import cpu
from whence.relay.module import IRModule
from whence.relay.testing import dcgan as dcgan
from whence.relay.testing import densenet as densenet
from whence.relay.testing import dqn as dqn
from whence.relay.testing import inception_v3 as inception_v3
from whence.relay.testing import init as init
from whence.relay.testing import layers as layers
from whence.relay.testing import lstm as lstm
from whence.relay.testing import mlp as mlp
from whence.relay.testing import mobilenet as mobilenet
from whence.relay.testing import resnet as resnet
from whence.relay.testing import squeezenet as squeezenet
from whence.relay.testing import synthetic as synthetic
from whence.relay.testing import vgg as vgg
from whence.relay.testing.gradients import check_grad as check_grad
from whence.relay.testing.gradients import rand as rand
from whence.relay.testing.init import create_workload as create_workload
from whence.relay.testing.nat import count as count
from whence.relay.testing.nat import make_nat_expr as make_nat_expr
from whence.relay.testing.nat import make_nat_value as make_nat_value
from whence.relay.testing.py_converter import run_as_python as run_as_python
from whence.relay.testing.py_converter import to_python as to_python
from whence.syntax.relay.expr import Call, Expr, Function, Op
from whence.syntax.relay.nodes import post_order


def run_opt_pass(expr: Expr, opt_pass: transform.Pass | list[transform.Pass], import_prelude: bool = False) -> Any:
    """Return the result of one or several passes on a function or an expression, at any opt level."""
    mod = IRModule.from_expr(expr)
    if import_prelude:
        mod.import_from_std("prelude.rly")
    mod = transform.InferType()(mod)
    for pass_ in opt_pass if isinstance(opt_pass, list) else [opt_pass]:
        mod = pass_(mod)
    main = mod["main"]
    return main if isinstance(expr, Function) else main.body


def run_infer_type(expr: Expr) -> Any:
    """A function, or an expression, with its types."""
    return run_opt_pass(expr, transform.InferType())


def count_ops(expr: Expr) -> int:
    """Return the number of calls of operators below an expression, each counted once."""
    return sum(isinstance(node, Call) and isinstance(node.op, Op) for node in post_order(expr))


def ctx_list() -> list[tuple[str, Any]]:
    """Return the available targets and devices."""
    return [("llvm", cpu(0))]

"""`relay.build`: a module compiled for a graph executor, with the methods of TVM's result.

>>> lib = relay.build(mod, target="llvm", params=params)
>>> module = graph_executor.GraphModule(lib["default"](whence.cpu()))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import SSAValue

from whence.compiler.compile import compile as compile_model
from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.relay.tuples import TupleGetItemOp
from whence.dialects.relay.types import fields_of
from whence.executables.graph_factory import GraphExecutorFactoryModule as GraphExecutorFactoryModule
from whence.provenance.numbers import same_module
from whence.relay.binding import bind as bind
from whence.relay.binding import bind_params_by_name as bind_params_by_name
from whence.relay.execution import create_executor as create_executor
from whence.relay.executors import bound_params, check_static
from whence.relay.module import IRModule
from whence.support.context import PassContext
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.syntax.relay.expr import Function
from whence.target import TargetLike, params_beside, target_of


def build_config(
    opt_level: int = 2,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    trace: object = None,
) -> PassContext:
    """A PassContext, by an older name."""
    return PassContext(opt_level, required_pass=required_pass or (), disabled_pass=disabled_pass or ())


@door()
def build(
    ir_mod: ModuleOp | IRModule | Function,
    target: TargetLike = "llvm",
    target_host: TargetLike = None,
    executor: object = None,
    runtime: object = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: object = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> GraphExecutorFactoryModule:
    """Compile a module for a graph executor, at the opt level of the current PassContext.

    params: values of arguments of `@main` by name; a mapping as `target_host` counts as params. Those of other names,
    such as weights that are constants by now, are left out with a FrontendWarning.
    Outputs in tuples of a tuple are outputs of their own, in order.
    target: "llvm", "native" and None are this machine. target_host: the same as the target, as there is no other.
    executor: None, "graph" or "aot". The other arguments exist for programs written for TVM.
    Raises PipelineError, which names the layer, for a program with control flow or open shapes, which the virtual
    machine runs, and for misplaced arguments, and the errors of `whence.compile`.
    """
    params = params_beside("relay.build", target, target_host, params)
    if executor is not None and str(executor) not in ("graph", "aot"):
        actual = "params, which go by name" if isinstance(executor, Mapping) else str(executor)
        raise PipelineError(expectation("relay.build", "executor graph or aot", actual))
    if isinstance(ir_mod, Function):
        ir_mod = IRModule.from_expr(ir_mod)
    module = ir_mod.module if isinstance(ir_mod, IRModule) else ir_mod
    check_static(module, "graph")
    bound = (
        bound_params(module, {name: _array(value) for name, value in params.items()}, others=True) if params else module
    )
    executable = compile_model(
        _flat(bound),
        target=target_of(target),
        opt_level=PassContext.current().opt_level,
        workspace_memory_pools=workspace_memory_pools or (),
    )
    return GraphExecutorFactoryModule(executable, module, mod_name)


def _flat(module: ModuleOp) -> ModuleOp:
    """Return the module, or a copy whose `@main` returns the fields of nested tuples one by one."""
    if not any(isinstance(value.type, TupleType) for value in _main(module).return_op.values):
        return module
    copied = same_module(module)
    main = _main(copied)
    end = main.return_op
    stack, values = list(reversed(end.values)), list[SSAValue]()
    while stack:
        value = stack.pop()
        if (fields := fields_of(value.type)) is None:
            values.append(value)
            continue
        parts = [TupleGetItemOp(value, index) for index in range(len(fields))]
        for part in parts:
            part.location = end.location
        main.block.insert_ops_before(parts, end)
        stack.extend(part.result for part in reversed(parts))
    last = ReturnOp(*values)
    last.location = end.location
    end.detach()
    end.erase()
    main.block.add_op(last)
    main.attributes.pop("output_names", None)
    main.update_type()
    return copied


def _main(module: ModuleOp) -> FuncOp:
    main = next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"), None)
    if main is None:
        raise PipelineError(expectation("relay.build", "a function @main", "none"))
    return main


def _array(value: Any) -> Array:
    return value.numpy() if hasattr(value, "numpy") else value

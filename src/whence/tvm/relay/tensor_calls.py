"""Calls of operators on te tensors: the compiler's own stages for them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import LocationAttr

from whence.dialects.relay.core import FuncOp
from whence.dialects.sizes.kernel import is_kernel_size
from whence.dialects.sizes.types import extents_of
from whence.lowering.relay_to_te.lower import lower_ops
from whence.passes.pipelines import run_passes
from whence.passes.relay.simplify_inference import SimplifyInferencePass
from whence.relay.builders import as_expr
from whence.support.dtypes import fail
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.relay.expr import Function, Program, Var
from whence.syntax.relay.type_view import SPELLINGS, tensor_type
from whence.te import Tensor
from whence.te.language.expr import Var as TeVar


def lowered(location: LocationAttr, build: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return the te tensors of an operator's call; one alone if there is one result."""
    variables: dict[Tensor, Var] = {}
    expr = as_expr(build(*_over(args, variables), **_over(kwargs, variables)))
    module = elaborate(Program({"main": Function(list(variables.values()), expr)}))
    for op in module.walk():
        op.location = location
    run_passes(module, [SimplifyInferencePass()])
    main = module.body.block.first_op
    assert isinstance(main, FuncOp)
    with _in_sizes(variables):
        results = lower_ops(main, dict(zip(main.block.args, variables, strict=True)), ours=True)
    return results[0] if len(results) == 1 else results


@contextmanager
def _in_sizes(tensors: Iterable[Tensor]) -> Generator[None]:
    """A scope in which extents of tensors are sizes, with which operators compute, in place of variables."""
    shapes = {tensor: tensor.shape for tensor in tensors}
    try:
        for tensor, shape in shapes.items():
            tensor.shape = extents_of(tensor_type(shape, tensor.dtype))
        yield
    finally:
        for tensor, shape in shapes.items():
            tensor.shape = shape


def _over(value: Any, variables: dict[Tensor, Var]) -> Any:
    """Return `value` with a relay variable for each te tensor."""
    match value:
        case Tensor():
            taken = [size for size in value.shape if isinstance(size, TeVar) and is_kernel_size(size.name)]
            if taken:
                fail(f"topi: expected another name of a size than {taken[0].name}, which sizes of kernels have")
            if value not in variables:
                variables[value] = Var(value.name, tensor_type(value.shape, value.dtype))
            return variables[value]
        case list() | tuple():
            items = (_over(item, variables) for item in cast("list[Any]", value))
            return type(cast("list[Any]", value))(items)
        case dict():
            return {key: _over(item, variables) for key, item in cast("dict[str, Any]", value).items()}
        case _:
            return next((size for read in SPELLINGS if (size := read(value)) is not None), value)

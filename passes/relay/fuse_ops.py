"""Operator fusion: every group of operators that run as one kernel becomes a primitive function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.element_types import DTYPES
from ...dialects.relay.annotation import StopFusionOp
from ...dialects.relay.call_tir import CallTirOp
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.match_cast import MatchCastOp
from ...dialects.relay.operator import Operator, as_tensor
from ...provenance.diagnostics import message
from ...provenance.ledger import clone_of, current_ledger
from ...provenance.numbers import moves_of
from ...provenance.span import fuse
from ...support.context import PassContext
from ...support.errors import PipelineError
from ..functions import is_closed
from .fusion_graph import STOP_FUSION, FusionGraph, post_order, producers
from .fusion_groups import FusionGroups
from .infer_type import infer_types
from .match_casts import resolve_casts
from .symbol_names import SymbolNames

NAME_LIMIT = 80
"""Longer kernel names are cut to this many characters and a hash."""

_ABSORBED = frozenset(DTYPES[name] for name in ("int32", "int64", "float32", "float64", "bool"))


def kernel_name(ops: Sequence[Operator]) -> str:
    """TVM's name of a fused group, `fused_nn_conv2d_add_nn_relu` for example; `ops` in post-order."""
    name = "_".join(["fused", *map(_own_name, ops)])
    if len(name) <= NAME_LIMIT:
        return name
    return f"{name[:NAME_LIMIT]}_{blake2b(name.encode(), digest_size=8).hexdigest()}_"


def _own_name(op: Operator) -> str:
    """The part of a fused group's name that stands for an operator, or for the kernel that it calls."""
    if isinstance(op, CallTirOp):
        return op.callee.data.removeprefix("fused_")
    return op.name.removeprefix("relay.").replace(".", "_")


def is_scalar_constant(constant: ConstantOp) -> bool:
    """Return whether a kernel takes this constant in, rather than as a parameter: one element of a common type."""
    type_ = as_tensor(constant.result)
    return type_.element_type in _ABSORBED and all(extent <= 1 for extent in type_.get_shape())


def _pre_order(root: Operator, inside: Callable[[Operator], list[Operator]]) -> list[Operator]:
    """`root`, then what it consumes, each once."""
    visited: dict[Operator, None] = {}
    stack = [root]
    while stack:
        op = stack.pop()
        if op not in visited:
            visited[op] = None
            stack.extend(reversed(inside(op)))
    return list(visited)


class _Outliner:
    """Moves the groups of one block out, in program order."""

    def __init__(self, names: SymbolNames):
        self._names = names
        self._made_by: dict[SSAValue, LocationAttr] = {}
        """Per result of a call the location of the operator that computed it."""
        self.functions: list[FuncOp] = []
        self.absorbed: dict[ConstantOp, None] = {}
        """Constants that were cloned into kernels."""

    def _location(self, value: SSAValue) -> LocationAttr:
        if isinstance(value, BlockArgument):
            return value.location
        assert isinstance(value.owner, Operation)
        return self._made_by.get(value, value.owner.location)

    def outline(self, root: Operator, members: set[Operator]) -> None:
        """Replace the group of `root` by a call of a new primitive function."""

        def inside(op: Operator) -> list[Operator]:
            return [producer for producer in producers(op) if producer in members]

        body = list(post_order([root], inside))
        location = fuse(op.location for op in _pre_order(root, inside))
        arguments: dict[SSAValue, None] = {}
        for op in body:
            for value in op.operands:
                if isinstance(value.owner, ConstantOp) and is_scalar_constant(value.owner):
                    self.absorbed[value.owner] = None
                elif value.owner not in members:
                    arguments[value] = None

        name = self._names.take(kernel_name(body))
        types = [value.type for value in arguments]
        func = FuncOp(name, types, root.result_types, primitive=True, location=location)
        call = CallOp(name, list(arguments), root.result_types)
        call.location = location
        block = root.parent
        assert block is not None
        block.insert_op_before(call, root)
        for old, new in zip(root.results, call.results, strict=True):
            old.replace_all_uses_with(new)
            new.name_hint = old.name_hint
            self._made_by[new] = root.location

        parameters: dict[SSAValue, SSAValue] = {}
        for parameter, value in zip(func.block.args, arguments, strict=True):
            parameter.location = self._location(value)
            parameter.name_hint = f"p{parameter.index}"
            parameters[value] = parameter
        _fill(func.block, body, parameters)
        self.functions.append(func)

        if (ledger := current_ledger()) is not None:
            ledger.record(
                "FuseGroup",
                created=[func, call],
                before=[op.location for op in body],
                reason=f"one kernel: @{name}",
            )


def _fill(block: Block, body: Sequence[Operator], inner: dict[SSAValue, SSAValue]) -> None:
    """Move `body` into `block`, reading `inner` instead of what was outside; the last op is returned."""
    for op in body:
        for index, value in enumerate(op.operands):
            if value not in inner and isinstance(value.owner, ConstantOp):
                constant = clone_of(value.owner)
                block.add_op(constant)
                inner[value] = constant.result
            if value in inner:
                op.operands[index] = inner[value]
        op.detach()
        op.attributes.pop(STOP_FUSION, None)
        block.add_op(op)
    last = ReturnOp(*body[-1].results)
    last.location = body[-1].location
    block.add_op(last)


@dataclass(frozen=True)
class FuseOpsPass(ModulePass):
    """Groups operators into primitive functions, as TVM does; each becomes one kernel.

    Before: any relay module.
    After: sizes that casts bind, where they follow from those of inputs, are these: a size that a cast inside of a
    primitive function bound would be unknown around it. No operator is outside primitive functions. Those follow the
    function whose operators they have, one per group, named after their operators in post-order; groups end where
    blocks do, be it of a closure, a branch, a clause or a let-block, and where `annotation.stop_fusion` was. A scalar
    constant is inside the kernel; other values from outside are parameters in the order they are read. Equal functions
    are not merged. Other than in TVM, two products with a softmax of long rows between them are one group.
    Locations: operators keep theirs; a primitive function and its call get those of the group, output first; a
    parameter that of the operator that computes its value.

    max_depth: the most operators in a group; -1 stands for the option relay.FuseOps.max_depth of the PassContext.
    opt_level: 0 makes every operator a group of its own; -1 stands for the level of the current PassContext.

    ```mlir
    relay.func @main(%x: tensor<1x4xf32> loc("x"), %w: tensor<2x4xf32> loc("w")) -> (tensor<1x2xf32>) {
      %0 = relay.nn.dense %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> loc("dense")
      %1 = relay.nn.relu %0 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("act")
      relay.return %1 : tensor<1x2xf32> loc("return")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<1x4xf32> loc("x"), %w: tensor<2x4xf32> loc("w")) -> (tensor<1x2xf32>) {
      %0 = relay.call @fused_nn_dense_nn_relu(%x, %w)
          : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> loc(fused["act", "dense"])
      relay.return %0 : tensor<1x2xf32> loc("return")
    } loc("main")
    relay.func primitive @fused_nn_dense_nn_relu(%p0: tensor<1x4xf32> loc("x"), %p1: tensor<2x4xf32> loc("w")) ->
          (tensor<1x2xf32>) {
      %0 = relay.nn.dense %p0, %p1 : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> loc("dense")
      %1 = relay.nn.relu %0 : (tensor<1x2xf32>) -> tensor<1x2xf32> loc("act")
      relay.return %1 : tensor<1x2xf32> loc("act")
    } loc(fused["act", "dense"])
    ```
    """

    name = "relay-fuse-ops"
    max_depth: int = -1
    opt_level: int = -1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        around = PassContext.current()
        limit = cast(int, around.option("relay.FuseOps.max_depth")) if self.max_depth == -1 else self.max_depth
        if limit < 1:
            raise PipelineError(message(self.name, "max-depth of at least 1", str(limit)))
        level = around.opt_level if self.opt_level == -1 else self.opt_level
        if any(isinstance(inner, MatchCastOp) for inner in op.walk()):
            resolve_casts(op)
            infer_types(op)
        names = SymbolNames(op)
        for func in [f for f in op.ops if isinstance(f, FuncOp) and f.primitive is None and not is_closed(f)]:
            anchor: Operation = func
            for block in _blocks(func):
                kernels = self._fuse(block, names, limit if level > 0 else 0)
                op.body.block.insert_ops_after(kernels, anchor)
                anchor = kernels[-1] if kernels else anchor

    def _fuse(self, block: Block, names: SymbolNames, limit: int) -> list[FuncOp]:
        """Fuse groups of at most `limit` operators, with 0 none; returns the primitive functions."""
        _mark_ends(block)
        graph = FusionGraph.of(block)
        groups = FusionGroups(graph, limit, limit > 0)
        members: dict[Operator, set[Operator]] = {}
        for node, operator in enumerate(graph.ops):
            root = graph.ops[groups.find(node)]
            # A tuple on its own is no group: its operator reads the fields.
            if operator is not None and root is not None:
                members.setdefault(root, set()).add(operator)
        outliner = _Outliner(names)
        for root in list(block.ops):
            if isinstance(root, Operator) and root in members:
                outliner.outline(root, members[root])
        for constant in outliner.absorbed:
            # A constant that only kernels read remains in them.
            if constant.result.first_use is None:
                constant.detach()
                constant.erase()
        return outliner.functions


def _mark_ends(block: Block) -> None:
    """Take `annotation.stop_fusion` away: what it reads is marked instead."""
    for op in [op for op in block.ops if isinstance(op, StopFusionOp)]:
        if isinstance(op.data.owner, Operator):
            op.data.owner.attributes[STOP_FUSION] = UnitAttr()
        op.result.replace_all_uses_with(op.data)
        if (ledger := current_ledger()) is not None:
            ledger.record(
                "StopFusion", removed=[op], moves=moves_of([op.result], [op.data]), reason="a group ends here"
            )
        op.detach()
        op.erase()


def _blocks(func: FuncOp) -> list[Block]:
    """The blocks of a function and of all in it, closures apart that are kernels already."""
    blocks: list[Block] = []
    stack: list[Operation] = [func]
    while stack:
        op = stack.pop()
        if "Primitive" in op.attributes:
            continue
        for region in op.regions:
            for block in region.blocks:
                blocks.append(block)
                stack.extend(inner for inner in block.ops if inner.regions)
    return blocks

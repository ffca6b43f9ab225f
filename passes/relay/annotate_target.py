"""relay-annotate-target: operators get marks that say which external compiler takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from ...dialects.relay.annotation import CompilerBeginOp, CompilerEndOp
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.functions import YieldOp
from ...dialects.relay.operator import Operator
from ...provenance.rewrite import rewrite
from ..functions import is_closed
from .compiler_regions import DEFAULT, blocks_of, find_regions
from .pattern_table import takes


@dataclass
class MarkTarget(RewritePattern):
    """op -> end(op(begin(..), ..)), for ops of which it is known who takes them."""

    compilers: dict[Operation, str]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        compiler = self.compilers.get(op)
        if compiler is None:
            return
        self.reason = f"for compiler '{compiler}'"
        for index, value in enumerate(op.operands):
            begin = CompilerBeginOp(value, compiler=compiler)
            rewriter.insert(begin, InsertPoint.before(op))
            op.operands[index] = begin.result
        for result in op.results:
            if result.first_use is not None:
                end = CompilerEndOp(result, compiler=compiler)
                rewriter.insert(end, InsertPoint.after(op))
                _redirect(result, end)
        rewriter.handle_operation_modification(op)


@dataclass
class DropDefault(RewritePattern):
    """Marks of what no compiler took go, as another may take it now."""

    reason = "no compiler took it so far"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, CompilerBeginOp | CompilerEndOp) and op.compiler.data == DEFAULT:
            rewriter.replace(op, [], [op.data])


def _redirect(value: SSAValue, end: CompilerEndOp) -> None:
    """Have everybody but `end` read that instead of the value."""
    value.replace_uses_with_if(end.result, lambda use: use.operation is not end)


@dataclass(frozen=True)
class AnnotateTargetPass(ModulePass):
    """Puts marks around every op: which of `targets` takes it, or `default` when none does, as TVM's AnnotateTarget.

    targets: external compilers; the first one that takes an op gets it. One takes the operators that it registered, and
    calls of composite functions whose name begins with its own.
    include_non_call_ops: what is neither operator nor call goes with what it reads, if that is for one compiler.

    Before: relay functions; what has the mark of another compiler already keeps it. Ops that have regions, or read or
    give something else than tensors, get no marks; those in branches, closures and let-blocks do.
    After: what an op reads are `relay.annotation.compiler_begin`, and what others read of it `compiler_end`.
    Locations: a mark has that of the op that it is for.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      // with targets=onnxruntime
      %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("act")
      relay.return %0 : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.annotation.compiler_begin %x {compiler = "onnxruntime"} : (tensor<4xf32>) -> tensor<4xf32> loc("act")
      %1 = relay.nn.relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("act")
      %2 = relay.annotation.compiler_end %1 {compiler = "onnxruntime"} : (tensor<4xf32>) -> tensor<4xf32> loc("act")
      relay.return %2 : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-annotate-target"
    targets: tuple[str, ...]
    include_non_call_ops: bool = True

    def __post_init__(self) -> None:
        # One target may be given by its name.
        if isinstance(cast(object, self.targets), str):
            object.__setattr__(self, "targets", (self.targets,))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {func.sym_name.data: func for func in op.ops if isinstance(func, FuncOp)}
        for func in functions.values():
            if func.primitive is None and not is_closed(func):
                rewrite(func.body, [DropDefault()], recursive=False)
                rewrite(func.body, [MarkTarget(self._compilers(func, functions))], recursive=False)

    def _compilers(self, func: FuncOp, functions: dict[str, FuncOp]) -> dict[Operation, str]:
        """Op without marks -> who takes it."""
        compilers: dict[Operation, str] = {}
        for block in blocks_of(func):
            self._block(block, functions, compilers)
        return compilers

    def _block(self, block: Block, functions: dict[str, FuncOp], compilers: dict[Operation, str]) -> None:
        marked = {op for region in find_regions(block) for op in region.members}
        for op in block.ops:
            if op in marked or isinstance(op, ConstantOp | ReturnOp | YieldOp) or op.regions:
                continue
            if not all(isinstance(value.type, TensorType) for value in (*op.operands, *op.results)):
                continue
            if isinstance(op, Operator | CallOp):
                callee = functions.get(op.callee.string_value()) if isinstance(op, CallOp) else None
                compilers[op] = next((target for target in self.targets if takes(target, op, callee)), DEFAULT)
            else:
                around = {compilers.get(value.owner, "") for value in op.operands if isinstance(value.owner, Operation)}
                alone = around.pop() if self.include_non_call_ops and len(around) == 1 else ""
                compilers[op] = alone or DEFAULT

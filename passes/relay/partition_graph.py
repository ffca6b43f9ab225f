"""relay-partition-graph: what is marked for an external compiler becomes functions for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.relay.annotation import CompilerBeginOp, CompilerEndOp
from ...dialects.relay.core import ConstantOp, FuncOp
from ...provenance.rewrite import rewrite
from ..functions import COMPILER, is_closed
from .compiler_regions import DEFAULT, Parts, Region, blocks_of, find_regions
from .outline import Outliner
from .symbol_names import SymbolNames


@dataclass
class DropMarks(RewritePattern):
    """begin(x) -> x, end(x) -> x"""

    reason = "it is known who takes what"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, CompilerBeginOp | CompilerEndOp):
            rewriter.replace(op, [], [op.data])


@dataclass(frozen=True)
class _Part:
    """A region as it is without marks."""

    compiler: str
    ops: tuple[Operation, ...]
    arguments: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]


@dataclass(frozen=True)
class PartitionGraphPass(ModulePass):
    """Makes a function of each region that is marked for an external compiler, as TVM's PartitionGraph does.

    mod_name: the second part of the names of functions, `tvmgen_<mod_name>_<compiler>_main_<k>`.
    bind_constants: constants that a region reads are copied into its function; else they are arguments of it.

    Before: relay functions with marks.
    After: none has marks; what was marked are calls of functions, which are primitive and have the attributes
    `Compiler`, `global_symbol` and `Inline`. Ops may have changed places, as far as nobody could tell.
    Locations: operators keep theirs; a function and its call get those of the region, its last operator first.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.annotation.compiler_begin %x {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.nn.relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %2 = relay.annotation.compiler_end %1 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %2 : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.call @tvmgen_default_test_main_0(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("main")
    } loc("main")
    relay.func primitive @tvmgen_default_test_main_0(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) attributes {Inline = 1 : i64, Compiler = "test", global_symbol = "tvmgen_default_test_main_0"} {
      %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("a")
    } loc("a")
    ```
    """  # noqa: E501 - what is printed is as long as it is

    name = "relay-partition-graph"
    mod_name: str = "default"
    bind_constants: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = SymbolNames(op)
        for func in [f for f in op.ops if isinstance(f, FuncOp) and f.primitive is None and not is_closed(f)]:
            self._partition(func, names)

    def _partition(self, func: FuncOp, names: SymbolNames) -> None:
        parts: list[_Part] = []
        marked = False
        for block in blocks_of(func):
            regions = find_regions(block)
            marked |= bool(regions)
            wanted = [region for region in regions if region.compiler != DEFAULT and region.ops]
            parts += [_part(region, self.bind_constants) for region in (_in_order(block, wanted) if wanted else ())]
        if not marked:
            return
        # A part that nobody reads would be a function of no results.
        parts = [part for part in parts if part.results]
        rewrite(func.body, [DropMarks()], recursive=False)
        outliner = Outliner()
        functions: list[FuncOp] = []
        moved: dict[SSAValue, SSAValue] = {}
        for number, part in enumerate(parts):
            name = names.take(f"tvmgen_{self.mod_name}_{part.compiler}_{func.sym_name.data}_{number}")
            attributes = {"Inline": 1, COMPILER: part.compiler, "global_symbol": name}
            arguments = [moved.get(value, value) for value in part.arguments]
            new, call = outliner.outline(
                name, part.ops, arguments, part.results, attributes, "CompilerRegion", primitive=True
            )
            moved.update(zip(part.results, call.results, strict=True))
            functions.append(new)
        outliner.tidy()
        assert func.parent is not None
        func.parent.insert_ops_after(functions, func)


def _in_order(block: Block, regions: Sequence[Region]) -> list[Region]:
    """The regions in an order in which they can be computed; in the block, too, each is in one piece then."""
    parts = Parts(block, regions)
    order = parts.order()
    last = block.last_op
    assert last is not None
    moving = [op for part in order for op in _sorted(parts.members[part], regions, part) if op is not last]
    # Only where a region is in pieces, ops change places.
    if moving != list(block.ops)[:-1]:
        for op in moving:
            op.detach()
            block.insert_op_before(op, last)
    return [regions[part] for part in order if part < len(regions)]


def _sorted(members: list[Operation], regions: Sequence[Region], part: int) -> list[Operation]:
    return regions[part].members if part < len(regions) else members


def _through_marks(value: SSAValue) -> SSAValue:
    """The value that one is without marks."""
    while isinstance(value.owner, CompilerBeginOp | CompilerEndOp):
        value = value.owner.data
    return value


def _part(region: Region, bind_constants: bool) -> _Part:
    members = set(region.members)
    read = [value for op in region.ops for value in op.operands if value.owner not in members]
    arguments = dict.fromkeys(_through_marks(value) for value in [*(begin.data for begin in region.begins), *read])
    if bind_constants:
        arguments = {value: None for value in arguments if not isinstance(value.owner, ConstantOp)}
    values = [result for op in region.ops for result in op.results]
    used = [value for value in values if any(use.operation not in members for use in value.uses)]
    results = dict.fromkeys([*(_through_marks(end.data) for end in region.ends), *used])
    return _Part(region.compiler, tuple(region.ops), tuple(arguments), tuple(results))

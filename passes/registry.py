"""The table of passes: what `--list-passes`, plain xdsl-opt and the switches of a PassContext know of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from xdsl.passes import ModulePass

from ..support.context import PassContext
from ..support.instrument import PassInfo


def _words(name: str) -> str:
    """`FuseOps` -> `fuse_ops`, `CombineParallelConv2D` -> `combine_parallel_conv2d`."""
    return re.sub(r"(?<!^)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", name).lower()


@dataclass(frozen=True)
class Row:
    """A pass; `classes.pass_class` returns its class."""

    name: str
    """In the text form of pipelines."""
    home: str
    """`module:class`, the module below the package."""
    help: str
    tvm: str = ""
    """TVM's name of it, "" where it has none; `disabled_pass` and `required_pass` take it, too."""
    level: int = 0
    """The opt level from which on it runs."""
    required: tuple[str, ...] = ()
    """The passes that a `Sequential` runs before it, by either name."""
    whole: bool = False
    """True when it looks at functions together. Else it works function by function, and those that are closed (see
    `functions.py`) are left out."""

    @property
    def info(self) -> PassInfo:
        """The description of the pass that instruments receive."""
        return PassInfo(self.name, self.tvm, self.level, required=self.required)


def _relay(tvm: str, level: int, text: str, *required: str, whole: bool = False) -> Row:
    words = _words(tvm)
    home = f"passes.relay.{words}:{tvm}Pass"
    return Row(
        name=f"relay-{words.replace('_', '-')}",
        home=home,
        help=text,
        tvm=tvm,
        level=level,
        required=required,
        whole=whole,
    )


def _tir(own: str, tvm: str, text: str) -> Row:
    words = _words(own)
    return Row(
        f"tir-{words.replace('_', '-')}", f"passes.tir.{words}:Tir{own}Pass", text, tvm and f"tir.{tvm}", whole=True
    )


PASSES: tuple[Row, ...] = (
    _relay("AlterOpLayout", 3, "convolutions on blocks of channels, dense layers on packed weights"),
    _relay("AnnotateSpans", 0, "locations include the position of an op in the module's text", whole=True),
    _relay("AnnotateTarget", 0, "marks say which external compiler takes an operator", whole=True),
    _relay("BindSizes", 0, "symbolic sizes become numbers", whole=True),
    _relay("CanonicalizeCast", 3, "operators that read a widened tensor widen it themselves"),
    _relay("CanonicalizeOps", 3, "bias_add becomes a plain addition"),
    Row(
        "relay-capture-postdfsindex-in-spans",
        "passes.relay.capture_postdfsindex_in_spans:CapturePostDfsIndexInSpansPass",
        "locations include the index of an operator in the data flow",
        "CapturePostDfsIndexInSpans",
    ),
    _relay("CombineParallelBatchMatmul", 4, "batched products with the same left operand become one"),
    _relay("CombineParallelConv2D", 4, "convolutions of the same data become one"),
    _relay("CombineParallelDense", 4, "dense layers of the same data become one"),
    Row(
        "relay-concretize",
        "passes.relay.concretize:ConcretizePass",
        "no operator reads a tensor for its shape or dtype alone",
    ),
    _relay("ConvertLayout", 0, "operators compute in the requested layouts"),
    _relay("DeadCodeElimination", 1, "unused values are removed"),
    _relay("Defunctionalization", 1, "function values become data types and first-order functions", whole=True),
    _relay("DefuseOps", 0, "calls of primitive functions become their operators again", whole=True),
    _relay("DivToMul", 0, "divisions by a constant become multiplications by its reciprocal"),
    _relay("DynamicToStatic", 2, "operators with known shapes have them as attributes", whole=True),
    _relay("EliminateCommonSubexpr", 3, "equal operators become one"),
    _relay("EtaExpand", 1, "functions of the module that are values become closures"),
    _relay("FakeQuantizationToInteger", 2, "operators on dequantised tensors compute on the integers"),
    _relay("FastMath", 4, "elementary functions become the operators that may approximate them"),
    _relay("FirstOrderGradient", 0, "functions return their value and its gradients", whole=True),
    _relay("FlattenAtrousConv", 0, "convolutions of every n-th pixel become dilated ones"),
    _relay("FoldConstant", 2, "operators on constants become constants"),
    _relay("FoldExplicitPadding", 0, "convolutions and poolings pad by themselves"),
    _relay(
        "FoldScaleAxis",
        3,
        "constant factors per channel move into the weights beside them",
        *("SimplifyInference", "FoldConstant"),
    ),
    Row("relay-fold-tuples", "passes.relay.fold_tuples:FoldTuplesPass", "fields of tuples at hand are the fields"),
    _relay("FuseOps", 0, "operators that make one kernel become a primitive function", whole=True),
    Row("relay-infer-purity", "passes.relay.infer_purity:InferPurityPass", "calls say whether they touch references"),
    _relay("InferType", 0, "types are inferred"),
    _relay("Inline", 1, "functions marked Inline become part of their callers", whole=True),
    _relay("LabelOps", 1, "primitive functions carry a hash of what they compute", whole=True),
    _relay("LambdaLift", 1, "closures become functions of the module", whole=True),
    _relay("LazyGradientInit", 0, "arithmetic with the zeros and ones of gradients is removed"),
    _relay("Legalize", 1, "transposed convolutions become convolutions"),
    _relay("MergeCompilerRegions", 0, "neighbours for one external compiler become one region", whole=True),
    _relay("MergeComposite", 0, "operators that an external compiler takes together become a function", whole=True),
    Row(
        "relay-monomorphize",
        "passes.relay.monomorphize:MonomorphizePass",
        "polymorphic functions become copies for the types that they are called with",
        whole=True,
    ),
    _relay(
        "PartialEvaluate",
        1,
        "calls, branches and references with a known outcome are evaluated",
        whole=True,
    ),
    _relay("PartitionGraph", 0, "regions marked for an external compiler become functions for it", whole=True),
    Row(
        "relay-qnn-canonicalize",
        "passes.relay.qnn_canonicalize:QnnCanonicalizePass",
        "operators on quantised tensors become arithmetic",
        "qnn.Canonicalize",
    ),
    _relay("RemoveStandaloneReshapes", 0, "kernels that only reshape become part of those that read them", whole=True),
    _relay("RemoveUnusedFunctions", 1, "uncalled functions are removed", whole=True),
    Row(
        "relay-share-kernels",
        "passes.relay.share_kernels:ShareKernelsPass",
        "kernels that differ only in numbers become one",
        level=1,
        whole=True,
    ),
    _relay("SimplifyExpr", 0, "operators that change nothing are removed, several in a row become one"),
    _relay("SimplifyExprPostAlterOp", 0, "leftovers of a change of layouts are removed"),
    _relay("SimplifyFCTranspose", 0, "transposed weights of dense layers are transposed at compile time"),
    _relay("SimplifyInference", 0, "batch norms become arithmetic, dropouts are removed"),
    _relay("SplitArgs", 0, "concatenations of very many parts become trees"),
    _relay("ToANormalForm", 1, "every value is named, and bound in a let-block"),
    _relay("ToBasicBlockNormalForm", 1, "values that several scopes read are bound in a scope around all of them"),
    _relay("ToGraphNormalForm", 1, "let-blocks become plain values"),
    _relay("ToMixedPrecision", 0, "operators that gain by it compute on halves", whole=True),
    Row(
        "relay-widen-halves",
        "passes.relay.widen_halves:WidenHalvesPass",
        "halves without arithmetic on the machine are computed in float32",
        level=1,
    ),
    _tir("CommonSubexprElimination", "CommonSubexprElimTIR", "equal expressions are computed once"),
    _tir("CompactBuffers", "CompactBufferAllocation", "buffers of blocks are as large as what is in use at a time"),
    _tir("FlattenBuffer", "FlattenBuffer", "buffers get one dimension"),
    _tir("HoistIfThenElse", "HoistIfThenElse", "guards leave loops that they do not depend on"),
    _tir(
        "InjectDoubleBuffer",
        "InjectDoubleBuffer",
        "the data of a loop's next step are computed before this step uses its own",
    ),
    _tir("InjectPrefetch", "InjectPrefetch", "loops with the mark prefetch the data of later steps"),
    _tir(
        "InstrumentBoundCheckers",
        "InstrumentBoundCheckers",
        "accesses that may leave their buffer are tested as they run",
    ),
    _tir("InterleaveStores", "", "vectors whose lanes lie between those of others are stored together, in order"),
    _tir("LoopPartition", "LoopPartition", "iterations that a guard never stops run without it"),
    _tir("LowerBlock", "LowerOpaqueBlock", "blocks become the ops that they hold"),
    _tir("LowerIntrin", "LowerIntrin", "elementary functions become arithmetic"),
    _tir("LowerMatchBuffer", "LowerMatchBuffer", "accesses of a view become accesses of its buffer"),
    _tir("LowerTiles", "", "products of tiles become products of vectors"),
    _tir("NarrowDatatype", "NarrowDataType", "64-bit arithmetic on small numbers is done with 32 bits"),
    _tir("Pipeline", "", "all passes from loops to machine code, in order"),
    _tir("RemoveNoOp", "RemoveNoOp", "ops without effect are removed"),
    _tir("RewriteUnsafeSelect", "RewriteUnsafeSelect", "the operand that a select does not choose cannot fail"),
    _tir("Simplify", "Simplify", "index arithmetic, guards and trivial loops are simplified"),
    _tir("StorageRewrite", "StorageRewrite", "buffers that do not live at the same time share memory"),
    _tir("TileProducts", "", "sums of products of words in registers that hold tiles"),
    _tir("TransposeLoads", "", "vectors across memory are loaded along it, and transposed in registers"),
    _tir("Unroll", "UnrollLoop", "loops are unrolled, by LLVM or here"),
    _tir("Vectorize", "VectorizeLoop", "vectorized loops become vector ops"),
    _tir("VerifyMemory", "VerifyMemory", "fails if a buffer is read before it is written, or out of its bounds"),
)
"""The passes of this folder, by name."""

_BY_NAME = {row.name: row for row in PASSES}
TVM_NAMES: dict[str, str] = {row.name: row.tvm for row in PASSES if row.tvm}
"""Our name -> TVM's."""


def row_of(name: str) -> Row:
    """The row of a pass; raises KeyError for an unknown name."""
    return _BY_NAME[name]


def info_of(pass_: ModulePass) -> PassInfo:
    """Return the description of a pass that instruments receive, also for a pass that is not registered here."""
    row = _BY_NAME.get(pass_.name)
    return replace(row.info if row is not None else PassInfo(pass_.name), write=pass_.pipeline_pass_spec)


_OWN_NAMES = {tvm: name for name, tvm in TVM_NAMES.items()}


def own_name(name: str) -> str:
    """Our name for a name of either kind; a name that no row has stays as it is."""
    return _OWN_NAMES.get(name, name)


def own_names(names: Iterable[str]) -> tuple[str, ...]:
    """Our names for names of either kind."""
    return tuple(map(own_name, names))


def find_row(name: str) -> Row | None:
    """The row of a pass by either name."""
    return _BY_NAME.get(own_name(name))


def enabled(info: PassInfo, context: PassContext) -> bool:
    """Return whether a `Sequential` runs a pass: by its level, and the names that a context requires or disables."""
    name = own_name(info.name)
    if name in own_names(context.disabled_pass):
        return False
    return name in own_names(context.required_pass) or context.opt_level >= info.opt_level

"""The table of passes: what `--list-passes`, plain xdsl-opt and the switches of a PassContext know of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from xdsl.passes import ModulePass

from ..support.instrument import PassInfo


def _words(name: str) -> str:
    """`FuseOps` -> `fuse_ops`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


@dataclass(frozen=True)
class Row:
    """One pass. It is loaded when it is first asked for."""

    name: str
    """In the text form of pipelines."""
    home: str
    """`module:class`, the module below the package."""
    help: str
    tvm: str = ""
    """TVM's name of it, "" where it has none; `disabled_pass` and `required_pass` take it, too."""
    level: int = 0
    """The opt level from which on it runs."""

    @property
    def info(self) -> PassInfo:
        """What instruments are told."""
        return PassInfo(self.name, self.tvm, self.level)

    def load(self) -> type[ModulePass]:
        """The pass class."""
        module, _, name = self.home.partition(":")
        return cast(type[ModulePass], getattr(import_module(f"whence.{module}"), name))


def _relay(tvm: str, level: int, text: str) -> Row:
    words = _words(tvm)
    return Row(f"relay-{words.replace('_', '-')}", f"passes.relay.{words}:{tvm}Pass", text, tvm, level)


def _tir(own: str, tvm: str, text: str) -> Row:
    words = _words(own)
    return Row(f"tir-{words.replace('_', '-')}", f"passes.tir.{words}:Tir{own}Pass", text, tvm and f"tir.{tvm}")


PASSES: tuple[Row, ...] = (
    _relay("AlterOpLayout", 3, "convolutions on blocks of channels, dense layers on packed weights"),
    _relay("CanonicalizeOps", 3, "bias_add becomes a plain addition"),
    _relay("DeadCodeElimination", 1, "what nobody reads goes"),
    _relay("Defunctionalization", 1, "functions are no values any more"),
    _relay("EliminateCommonSubexpr", 3, "equal operators become one"),
    _relay("EtaExpand", 1, "functions of the module that are values become closures"),
    _relay("FakeQuantizationToInteger", 2, "what is computed on dequantised tensors is computed on the integers"),
    _relay("FirstOrderGradient", 0, "functions give their value and its gradients"),
    _relay("FoldConstant", 2, "what depends on constants only is computed now"),
    _relay("FoldScaleAxis", 3, "constant factors per channel move into the weights beside them"),
    _relay("FuseOps", 0, "operators that make one kernel become a primitive function"),
    _relay("Inline", 1, "functions that are marked so become part of their callers"),
    Row("relay-infer-purity", "passes.relay.infer_purity:InferPurityPass", "calls say whether they touch references"),
    _relay("InferType", 0, "types follow from the types that they are made of"),
    _relay("LambdaLift", 1, "what closures do stands in functions of the module"),
    _relay("Legalize", 1, "transposed convolutions become convolutions"),
    _relay("PartialEvaluate", 1, "calls, branches and references whose outcome the program tells are worked out"),
    Row(
        "relay-qnn-canonicalize",
        "passes.relay.qnn_canonicalize:QnnCanonicalizePass",
        "operators on quantised tensors become arithmetic",
        "qnn.Canonicalize",
    ),
    _relay("RemoveUnusedFunctions", 1, "functions that nobody calls go"),
    _relay("SimplifyExpr", 0, "operators that change nothing go, reshapes in a row become one"),
    _relay("SimplifyInference", 0, "batch norms become arithmetic, dropouts go"),
    _relay("SplitArgs", 0, "concatenations of very many parts become trees"),
    _relay("ToANormalForm", 1, "every value is named, and bound in a let-block"),
    _relay("ToBasicBlockNormalForm", 1, "what several scopes read is bound where all of them see it"),
    _relay("ToGraphNormalForm", 1, "let-blocks become plain values"),
    _tir("CommonSubexprElimination", "CommonSubexprElimTIR", "equal expressions are computed once"),
    _tir("FlattenBuffer", "FlattenBuffer", "buffers get one dimension"),
    _tir("HoistIfThenElse", "HoistIfThenElse", "guards leave loops that they do not depend on"),
    _tir(
        "InjectDoubleBuffer",
        "InjectDoubleBuffer",
        "what the next step of a loop needs is computed before this one uses its own",
    ),
    _tir("InjectPrefetch", "InjectPrefetch", "loops that ask for it fetch what later steps read"),
    _tir(
        "InstrumentBoundCheckers",
        "InstrumentBoundCheckers",
        "accesses that may leave their buffer are tested as they run",
    ),
    _tir("LoopPartition", "LoopPartition", "steps of a loop that a guard never stops run without it"),
    _tir("LowerBlock", "LowerOpaqueBlock", "blocks become the ops that they hold"),
    _tir("LowerIntrin", "LowerIntrin", "elementary functions become arithmetic"),
    _tir("LowerMatchBuffer", "LowerMatchBuffer", "accesses of a view become accesses of its buffer"),
    _tir("NarrowDatatype", "NarrowDataType", "64-bit arithmetic on small numbers is done with 32 bits"),
    _tir("Pipeline", "", "all that a kernel meets on its way to machine code, in order"),
    _tir("RemoveNoOp", "RemoveNoOp", "what has no effect goes"),
    _tir("RewriteUnsafeSelect", "RewriteUnsafeSelect", "what a select does not choose cannot fail"),
    _tir("Simplify", "Simplify", "index arithmetic, guards and trivial loops are simplified"),
    _tir("StorageRewrite", "StorageRewrite", "buffers that do not live at the same time share memory"),
    _tir("TransposeLoads", "", "vectors across memory are loaded along it, and transposed in registers"),
    _tir("Unroll", "UnrollLoop", "loops are written out, by LLVM or here"),
    _tir("Vectorize", "VectorizeLoop", "vectorized loops become vector ops"),
    _tir("VerifyMemory", "VerifyMemory", "fails where a buffer is read before it is written, or out of its bounds"),
)
"""The passes of this folder, by name."""

_BY_NAME = {row.name: row for row in PASSES}
TVM_NAMES: dict[str, str] = {row.name: row.tvm for row in PASSES if row.tvm}
"""Our name -> TVM's."""


def row_of(name: str) -> Row:
    """The row of a pass; raises KeyError for an unknown name."""
    return _BY_NAME[name]


def info_of(one: ModulePass) -> PassInfo:
    """What instruments are told of a pass, one of somebody else's included."""
    row = _BY_NAME.get(one.name)
    return row.info if row is not None else PassInfo(one.name)


def own_names(names: Iterable[str]) -> tuple[str, ...]:
    """Our names for names of either kind."""
    ours = {tvm: name for name, tvm in TVM_NAMES.items()}
    return tuple(ours.get(name, name) for name in names)

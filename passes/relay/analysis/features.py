"""The features that a program makes use of."""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto

from xdsl.ir import Operation, SSAValue

from ....dialects.relay.binding import Flavour, IfOp, LetOp
from ....dialects.relay.core import CallOp, ConstantOp, FuncOp
from ....dialects.relay.data_types import ConstructOp, MatchOp
from ....dialects.relay.functions import FnOp, GlobalOp, InvokeOp
from ....dialects.relay.operator import Operator
from ....dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from ....dialects.relay.tuples import TupleGetItemOp, TupleOp
from .traversal import is_binding, pre_order


class Feature(Enum):
    """The kinds of expressions (TVM's Feature)."""

    fVar = auto()
    fGlobalVar = auto()
    fConstant = auto()
    fTuple = auto()
    fTupleGetItem = auto()
    fFunction = auto()
    fOp = auto()
    fCall = auto()
    fLet = auto()
    fIf = auto()
    fRefCreate = auto()
    fRefRead = auto()
    fRefWrite = auto()
    fConstructor = auto()
    fMatch = auto()
    fGraph = auto()
    """A value that no let-block names is read more than once."""
    fLetRec = auto()


_OF: dict[type[Operation], tuple[Feature, ...]] = {
    ConstantOp: (Feature.fConstant,),
    TupleOp: (Feature.fTuple,),
    TupleGetItemOp: (Feature.fTupleGetItem,),
    FuncOp: (Feature.fFunction,),
    FnOp: (Feature.fFunction,),
    CallOp: (Feature.fCall, Feature.fGlobalVar),
    InvokeOp: (Feature.fCall,),
    GlobalOp: (Feature.fGlobalVar,),
    IfOp: (Feature.fIf,),
    RefCreateOp: (Feature.fRefCreate,),
    RefReadOp: (Feature.fRefRead,),
    RefWriteOp: (Feature.fRefWrite,),
    ConstructOp: (Feature.fConstructor, Feature.fCall),
    MatchOp: (Feature.fMatch,),
}


def detect_feature(root: Operation) -> frozenset[Feature]:
    """The features of `root`, a module, function or op, with all that is in it."""
    features: set[Feature] = set()
    for op in pre_order(root):
        if isinstance(op, Operator):
            features |= {Feature.fOp, Feature.fCall}
        elif isinstance(op, LetOp):
            features |= {Feature.fLet, Feature.fLetRec} if op.kind is Flavour.REC else {Feature.fLet}
        else:
            features.update(_OF.get(type(op), ()))
        if is_binding(op) or any(block.args for region in op.regions for block in region.blocks):
            features.add(Feature.fVar)
        if not isinstance(op, ConstantOp | GlobalOp | LetOp) and not is_binding(op):
            if any(map(_is_shared, op.results)):
                features.add(Feature.fGraph)
    return frozenset(features)


def _is_shared(value: SSAValue) -> bool:
    return value.first_use is not None and not value.has_one_use()


def list_op_freqs(root: Operation) -> dict[str, int]:
    """Count the calls of each operator, by TVM's names: `{"nn.conv2d": 3, "add": 1}`."""
    return dict(Counter(op.name.removeprefix("relay.") for op in pre_order(root) if isinstance(op, Operator)))

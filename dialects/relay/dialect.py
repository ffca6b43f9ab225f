"""All operators of the relay dialect, and the dialect itself."""

from xdsl.ir import Dialect, Operation

from ...support.errors import FrontendError, expectation
from ...support.tables import modules_in
from ..sizes.types import SizesAttr
from . import activation as activation
from . import annotation as annotation
from . import bitpacking as bitpacking
from . import bits as bits
from . import call_tir as call_tir
from . import collapse as collapse
from . import convolution as convolution
from . import convolution_transpose as convolution_transpose
from . import couplings as couplings
from . import creation as creation
from . import cumulative as cumulative
from . import detection as detection
from . import dilation as dilation
from . import division as division
from . import dynamic as dynamic
from . import dynamic_sizes as dynamic_sizes
from . import elementwise as elementwise
from . import fast_math as fast_math
from . import indexing as indexing
from . import layout as layout
from . import linear_algebra as linear_algebra
from . import logic as logic
from . import loss as loss
from . import match_cast as match_cast
from . import matmul as matmul
from . import normalization as normalization
from . import norms as norms
from . import packed_call as packed_call
from . import pairs as pairs
from . import pooling as pooling
from . import qnn as qnn
from . import qnn_elementwise as qnn_elementwise
from . import qnn_products as qnn_products
from . import random as random
from . import rearrange as rearrange
from . import recurrent as recurrent
from . import reduce as reduce
from . import resize as resize
from . import sampling as sampling
from . import scatter as scatter
from . import shapes as shapes
from . import signal as signal
from . import sorting as sorting
from . import sparse as sparse
from . import threefry as threefry
from . import transform as transform
from . import trees as trees
from . import vision as vision
from . import window_indices as window_indices
from . import windows as windows
from . import winograd as winograd
from .binding import IfOp, LetOp
from .call_tir import KernelAttr
from .canonicalization import canonicalize_operators
from .constants import PoolAttr
from .core import CallOp, ConstantOp, FuncOp, ReturnOp
from .data_types import PATTERNS, ConstructOp, MatchOp, TypeDataOp
from .functions import FnOp, GlobalOp, InvokeOp, YieldOp
from .operator import Operator, operators_of
from .python_call import PythonCallOp, PythonFunctionAttr
from .references import RefCreateOp, RefReadOp, RefWriteOp
from .tuples import TupleGetItemOp, TupleOp
from .types import AdtType, Forall, RefType, TypeVar

_ALL = operators_of(*modules_in(__name__.rpartition(".")[0], globals()))
OPERATORS = [op for op in _ALL if not issubclass(op, dynamic.Dynamic)]
"""All operators that have kernels: the classes of these modules."""

DYNAMIC = [op for op in _ALL if issubclass(op, dynamic.Dynamic)]
"""Operators of which operands decide the result's shape; none has a kernel of its own."""

LANGUAGE = (
    TupleOp,
    TupleGetItemOp,
    LetOp,
    IfOp,
    FnOp,
    GlobalOp,
    InvokeOp,
    YieldOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
    TypeDataOp,
    ConstructOp,
    MatchOp,
)
"""The ops of Relay as a programming language."""

_OPERATIONS: list[type[Operation]] = [
    FuncOp,
    ReturnOp,
    ConstantOp,
    CallOp,
    PythonCallOp,
    *LANGUAGE,
    *OPERATORS,
    *DYNAMIC,
]
Relay = Dialect(
    "relay",
    _OPERATIONS,
    [PoolAttr, KernelAttr, PythonFunctionAttr, SizesAttr, RefType, TypeVar, AdtType, Forall, *PATTERNS],
)

canonicalize_operators(*OPERATORS, *DYNAMIC)

OUTSIDE: dict[str, type[Operator]] = {}
"""Operators that users registered, by TVM's names, which have no prefix `relay.`."""


def add_operator(cls: type[Operator]) -> None:
    """Make an operator a part of the dialect; it replaces one of its name that was added before.

    Raises FrontendError for another prefix than `relay.` and for the name of an operator of the dialect itself.
    """
    prefix, _, name = cls.name.partition(".")
    if prefix != Relay.name or not name or cls.name in {op.name for op in _ALL}:
        expected = f"a new name that begins with {Relay.name}."
        raise FrontendError(expectation("operator", expected, cls.name))
    remove_operator(name)
    OUTSIDE[name] = cls
    _OPERATIONS.append(cls)
    canonicalize_operators(cls)


def remove_operator(name: str) -> None:
    """Take an added operator, by TVM's name, out of the dialect, if it is in it."""
    if (cls := OUTSIDE.pop(name, None)) is not None:
        _OPERATIONS.remove(cls)

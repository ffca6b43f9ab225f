"""TVM's analyses that count and extract parts of expressions: layers, fused and fake-quantised operators, dtypes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from whence.dialects.element_types import dtype_name
from whence.dialects.relay.types import fields_of
from whence.relay.module import IRModule
from whence.support.errors import FrontendError, expectation
from whence.syntax.relay.equal import structural_digest
from whence.syntax.relay.expr import Call, Constant, Expr, Function, GlobalVar, Let, Op, Tuple, TupleGetItem, Var
from whence.syntax.relay.infer import infer_expr
from whence.syntax.relay.nodes import children, post_order
from whence.transform import FuseOps, InferType


def _roots(what: Expr | IRModule) -> list[Expr]:
    return list(what.program.functions.values()) if isinstance(what, IRModule) else [what]


def _main(what: Expr | IRModule) -> Expr:
    return what["main"] if isinstance(what, IRModule) else what


def _below(roots: Sequence[Expr]) -> Iterator[Expr]:
    for root in roots:
        yield from post_order(root)


def check_constant(expr: Expr) -> bool:
    """Return True if an expression is a constant, or a tuple of constants only."""
    return all(isinstance(node, Constant | Tuple) for node in post_order(expr))


def all_dtypes(expr: Expr) -> set[str]:
    """Return the dtypes of all tensors below an expression; infers its types for that."""
    if expr.type is None:
        infer_expr(expr)
    dtypes: set[str] = set()
    for node in post_order(expr):
        types: list[Attribute] = [] if node.type is None else [node.type]
        while types:
            type_ = types.pop()
            types += fields_of(type_) or ()
            if isinstance(type_, TensorType):
                dtypes.add(dtype_name(cast("TensorType[Attribute]", type_).element_type))
    return dtypes


def count_layers(expr: Expr | IRModule, valid_ops: Sequence[str]) -> int:
    """Return the number of these operators on the longest path from an input to the result."""
    deepest: dict[Expr, int] = {}
    root = _main(expr)
    for node in post_order(root):
        below = max((deepest[child] for child in children(node)), default=0)
        counts = isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in valid_ops
        deepest[node] = below + counts
    return deepest[root]


def extract_fused_functions(mod: IRModule) -> dict[str, Function]:
    """Return the primitive functions of a module, fused first if it has none, by their digests."""
    if not any(isinstance(node, Function) and node.attrs.get("Primitive") for node in _below(_roots(mod))):
        mod = FuseOps()(InferType()(mod))
    primitives = (node for node in _below(_roots(mod)) if isinstance(node, Function) and node.attrs.get("Primitive"))
    return {structural_digest(function): function for function in primitives}


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """Return the module of expression `expr_id` of `@main`, counting operators, tuples and tuple fields in order.

    The name is TVM's. Raises FrontendError for a number beyond the last.
    """
    typed = InferType()(mod)
    nodes = [
        node
        for node in post_order(typed["main"].body)
        if isinstance(node, TupleGetItem | Tuple) or (isinstance(node, Call) and isinstance(node.op, Op))
    ]
    if not 0 <= expr_id < len(nodes):
        raise FrontendError(expectation("extract_intermdeiate_expr", f"a number below {len(nodes)}", str(expr_id)))
    return InferType()(IRModule.from_expr(nodes[expr_id]))


def list_fake_quantized_op_freqs(mod: Expr | IRModule) -> dict[str, int]:
    """Count the operators between `qnn.dequantize` and `qnn.quantize`, with nothing else there."""
    counts: Counter[str] = Counter()
    counted: set[Expr] = set()
    for node in _below(_roots(mod)):
        if isinstance(node, Call) and node.op == Op("qnn.quantize"):
            for call in _fake_quantized(node.args[0]):
                if call not in counted:
                    counted.add(call)
                    assert isinstance(call.op, Op)
                    counts[call.op.name] += 1
    return dict(counts)


extract_fake_quantized_ops = list_fake_quantized_op_freqs


def _fake_quantized(root: Expr) -> list[Call]:
    """Return the operators before a `qnn.quantize`; none unless every path ends at a `qnn.dequantize` or a constant."""
    stack, seen, calls = [root], {root}, list[Call]()
    quantized = False
    while stack:
        node = stack.pop()
        if isinstance(node, Call) and node.op == Op("qnn.dequantize"):
            quantized = True
            continue
        if isinstance(node, Var) or (isinstance(node, Call) and not isinstance(node.op, Op)):
            return []
        if not isinstance(node, Call | Tuple | TupleGetItem | Constant | Op):
            return []
        if isinstance(node, Call):
            calls.append(node)
        for child in children(node):
            if child not in seen:
                seen.add(child)
                stack.append(child)
    return calls if quantized else []


def search_fc_transpose(expr: Expr) -> list[str]:
    """Return the names of variables that `nn.dense` reads transposed."""
    names: list[str] = []
    for node in post_order(expr):
        if isinstance(node, Call) and node.op == Op("nn.dense"):
            weight = node.args[1]
            if isinstance(weight, Call) and weight.op == Op("transpose") and isinstance(weight.args[0], Var):
                names.append(weight.args[0].name_hint)
    return list(dict.fromkeys(names))


def features_of(root: Expr) -> set[str]:
    """Return the names of the features that an expression uses."""
    features: set[str] = set()
    read: set[Expr] = set()
    for node in post_order(root):
        features.add(f"f{type(node).__name__}")
        for child in children(node):
            if child in read and not isinstance(child, Var | GlobalVar | Constant | Op):
                features.add("fGraph")
            read.add(child)
        if isinstance(node, Function) and node.params:
            features.add("fVar")
        if isinstance(node, Let):
            features.add("fVar")
            if isinstance(node.value, Function) and any(inner is node.var for inner in post_order(node.value)):
                features.add("fLetRec")
    return features

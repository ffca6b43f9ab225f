"""Sums over decision trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, f64, i32
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def

from ..sizes.types import tensor_of
from .attributes import boolean, required_integer, string
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .signature import is_tensor_of
from .traits import OPAQUE

AGGREGATES = {"sum": (np.add, 0.0), "min": (np.fmin, np.inf), "max": (np.fmax, -np.inf)}
"""The combination of the weights that a row meets: the function, and the number it begins with."""


@irdl_op_definition
class TreeEnsembleOp(Operator):
    """The weights of leaves of decision trees, aggregated for each row of `data`: (rows, width) -> (rows, targets).

    Trees are in groups: `roots` (groups, trees of one), and `depths` (groups,), the steps after which every row is at a
    leaf. From node `k` a row goes on to `children[k, 0]` where its number `features[k]` is at most `values[k]`, to
    `children[k, 1]` where it is greater or NaN; with `missing`, a feature of `-1 - f` is `f`, and NaN goes to
    `children[k, 0]`. A leaf has itself as children. With one target `values` of a leaf is its weight. Else `leaves` are
    `begins` (nodes + 1,), `targets` and `weights`, of which those from `begins[k]` to before `begins[k + 1]` are leaf
    `k`'s. `aggregate` says what is done with weights: `sum`, `min` or `max`.

    The number of nodes is a power of two: numbers of nodes count modulo it, features are clipped.
    """

    name = "relay.ml.tree_ensemble"
    data = operand_def(TensorType)
    roots = operand_def(TensorType)
    depths = operand_def(TensorType)
    features = operand_def(TensorType)
    values = operand_def(TensorType)
    children = operand_def(TensorType)
    leaves = var_operand_def(TensorType)
    result = result_def(TensorType)
    targets = required_integer()
    aggregate = string("sum")
    missing = boolean(False)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        rows, width = sig.rank(0, 2)
        groups, _ = sig.rank(1, 2)
        (count,) = sig.rank(3, 1)
        number = sig.types[0].element_type
        if number not in (f32, f64):
            sig.fail("rows of float32 or float64", str(sig.types[0]))
        sig.require(width - 1, "rows of at least one number", str(sig.types[0]))
        if count < 1 or count & (count - 1):
            sig.fail("a power of two as number of nodes", str(count))
        wanted = [(i32, sig.shape(1)), (i32, (groups,)), (i32, (count,)), (number, (count,)), (i32, (count, 2))]
        names = ["roots", "depths", "features", "values", "children"]
        if leaves := sig.operand("leaves"):
            if len(leaves) != 3:
                sig.fail("begins, targets and weights of leaves", f"{len(leaves)} tensors")
            extent = sig.shape(7)
            wanted += [(i32, (count + 1,)), (i32, extent), (number, extent)]
            names += ["begins", "targets", "weights"]
            if len(extent) != 1 or extent[0] < 1:
                sig.fail("at least one weight", str(sig.types[7]))
        elif sig.int("targets") != 1:
            sig.fail("begins, targets and weights of leaves", f"{sig.int('targets')} targets without")
        for name, type_, got in zip(names, wanted, sig.types[1:], strict=True):
            if not is_tensor_of(got, *type_):
                sig.fail(f"{name} of type {tensor_of(*type_)}", str(got))
        if sig.int("targets") < 1:
            sig.fail("at least one target", str(sig.int("targets")))
        if sig.str("aggregate") not in AGGREGATES:
            sig.fail(f"an aggregate among {', '.join(AGGREGATES)}", repr(sig.str("aggregate")))
        return [tensor_of(number, (rows, sig.int("targets")))]

    @classmethod
    def evaluate(
        cls,
        sig: Signature,
        x: AnyArray,
        roots: AnyArray,
        depths: AnyArray,
        features: AnyArray,
        values: AnyArray,
        children: AnyArray,
        leaves: tuple[AnyArray, ...],
    ) -> AnyArray:
        combine, start = AGGREGATES[sig.str("aggregate")]
        mask, rows, missing = len(features) - 1, np.arange(len(x)), bool(sig.get("missing"))
        out = np.full((len(x), sig.int("targets")), start, x.dtype)
        for root, depth in zip(roots.reshape(-1), np.repeat(depths, roots.shape[1]), strict=True):
            node = np.full(len(x), int(root) & mask)
            for _ in range(int(depth)):
                feature = features[node]
                turned = (feature < 0) & missing
                number = x[rows, np.clip(np.where(turned, -1 - feature, feature), 0, x.shape[1] - 1)]
                left = (number <= values[node]) | (turned & np.isnan(number))
                node = children[node, np.where(left, 0, 1)].astype(np.int64) & mask
            if not leaves:
                out[:, 0] = combine(out[:, 0], values[node])
                continue
            begins, targets, weights = leaves
            for row, at in enumerate(node):
                for k in range(max(int(begins[at]), 0), min(int(begins[at + 1]), len(targets))):
                    target = min(max(int(targets[k]), 0), out.shape[1] - 1)
                    out[row, target] = combine(out[row, target], weights[k])
        return out

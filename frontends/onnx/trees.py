"""Ensembles of decision trees of `ai.onnx.ml`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.transform import StridedSliceOp
from ...dialects.relay.trees import AGGREGATES, TreeEnsembleOp
from ...dialects.sizes import proves
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.terms import Term, constant, where
from . import forest as trees
from .context import Context
from .forest import Floats, Forest, Ints
from .scores import best, chosen, labelled, labels_of, pair, probit, rows_of, side_by_side, transform_of, transformed

_LAST_MODE = 6


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of leaves: entry `k` belongs to node `nodes[k]` and adds `values[k]` to target `targets[k]`."""

    nodes: Ints
    targets: Ints
    values: Floats


def _ints(ctx: Context, name: str) -> Ints:
    return np.asarray(ctx.ints(name, None) or (), np.int64)


def _floats(ctx: Context, name: str, dtype: np.dtype[np.generic]) -> Floats:
    """Numbers in an attribute of floats, or in a tensor that is called `<name>_as_tensor`."""
    tensor = ctx.tensor_attribute(f"{name}_as_tensor")
    found = np.asarray(ctx.floats(name, None) or (), np.float32) if tensor is None else tensor.reshape(-1)
    return found.astype(dtype)


def _same_length(ctx: Context, count: int, what: str, **arrays: Array) -> None:
    for name, array in arrays.items():
        if len(array) != count:
            ctx.fail(f"{name} of {count} elements, as {what}", str(len(array)))


def _nodes(ctx: Context, dtype: np.dtype[np.generic], target: str) -> tuple[Forest, Weights]:
    """The nodes of TreeEnsembleClassifier and TreeEnsembleRegressor, which are known by a tree's and a node's number.

    target: `class` or `target`, what attributes of leaves begin with.
    """
    tree, node = _ints(ctx, "nodes_treeids"), _ints(ctx, "nodes_nodeids")
    names = np.asarray(ctx.words("nodes_modes", None) or (), np.str_)
    values = _floats(ctx, "nodes_values", dtype)
    features, yes, no = (_ints(ctx, f"nodes_{name}") for name in ("featureids", "truenodeids", "falsenodeids"))
    _same_length(ctx, len(tree), "nodes_treeids", nodes_nodeids=node, nodes_modes=names, nodes_values=values)
    _same_length(ctx, len(tree), "nodes_treeids", nodes_featureids=features)
    _same_length(ctx, len(tree), "nodes_treeids", nodes_truenodeids=yes, nodes_falsenodeids=no)
    missing = _ints(ctx, "nodes_missing_value_tracks_true")
    if len(missing):
        _same_length(ctx, len(tree), "nodes_treeids", nodes_missing_value_tracks_true=missing)
    missing = missing == 1 if len(missing) else np.zeros(len(tree), np.bool_)
    if not len(tree):
        ctx.fail("at least one node", "none")
    modes = np.full(len(tree), -1, np.int8)
    for number, name in enumerate(trees.MODES):
        if number != trees.MEMBER:
            modes[names == name] = number
    if len(unknown := names[modes < 0]):
        ctx.fail(f"modes among {', '.join(trees.MODES)}", repr(str(unknown[0])))

    order = np.lexsort((node, tree))
    twice = (tree[order][1:] == tree[order][:-1]) & (node[order][1:] == node[order][:-1])
    if twice.any():
        at = order[1:][twice][0]
        ctx.fail("nodes of different numbers", f"node {node[at]} of tree {tree[at]} twice")
    keys = _keys(tree[order], node[order])

    def place(trees_: Ints, nodes: Ints, what: str) -> Ints:
        wanted = _keys(trees_, nodes)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        if len(bad := np.flatnonzero(keys[at] != wanted)):
            ctx.fail(f"{what} that exists", f"node {nodes[bad[0]]} of tree {trees_[bad[0]]}")
        return order[at]

    inner = modes != trees.LEAF
    for what, child in (("a true node", yes), ("a false node", no)):
        child[inner] = place(tree[inner], child[inner], what)
    _, first = np.unique(tree, return_index=True)
    roots = np.sort(first)
    ids = {name: _ints(ctx, f"{target}_{name}") for name in ("treeids", "nodeids", "ids")}
    weights = _floats(ctx, f"{target}_weights", dtype)
    _same_length(ctx, len(weights), f"{target}_weights", **{f"{target}_{name}": x for name, x in ids.items()})
    leaves = place(ids["treeids"], ids["nodeids"], "a leaf")
    forest = Forest(modes, features, values, yes, no, missing, roots)
    return forest, _of_leaves(forest, Weights(leaves, ids["ids"], weights))


def _keys(tree: Ints, node: Ints) -> Array:
    keys = np.empty(len(tree), [("tree", np.int64), ("node", np.int64)])
    keys["tree"], keys["node"] = tree, node
    return keys


def _of_leaves(forest: Forest, weights: Weights) -> Weights:
    """Weights of leaves, in their order; those of nodes that are none say nothing."""
    kept = np.flatnonzero(forest.modes[weights.nodes] == trees.LEAF)
    kept = kept[np.argsort(weights.nodes[kept], kind="stable")]
    return Weights(weights.nodes[kept], weights.targets[kept], weights.values[kept])


def _nodes_and_leaves(ctx: Context, dtype: np.dtype[np.generic]) -> tuple[Forest, Weights]:
    """The nodes of TreeEnsemble, with its leaves behind them."""
    features, yes, no = (_ints(ctx, f"nodes_{name}") for name in ("featureids", "truenodeids", "falsenodeids"))
    yes_leaf, no_leaf = _ints(ctx, "nodes_trueleafs"), _ints(ctx, "nodes_falseleafs")
    splits, modes = ctx.tensor_attribute("nodes_splits"), ctx.tensor_attribute("nodes_modes")
    leaf_weights, roots = ctx.tensor_attribute("leaf_weights"), _ints(ctx, "tree_roots")
    targets = _ints(ctx, "leaf_targetids")
    if splits is None or modes is None or leaf_weights is None:
        ctx.fail("nodes_splits, nodes_modes and leaf_weights", "not all of them")
    count, leaves = len(features), leaf_weights.size
    _same_length(ctx, count, "nodes_featureids", nodes_splits=splits.reshape(-1), nodes_modes=modes.reshape(-1))
    _same_length(ctx, count, "nodes_featureids", nodes_truenodeids=yes, nodes_falsenodeids=no)
    _same_length(ctx, count, "nodes_featureids", nodes_trueleafs=yes_leaf, nodes_falseleafs=no_leaf)
    _same_length(ctx, leaves, "leaf_weights", leaf_targetids=targets)
    missing = _ints(ctx, "nodes_missing_value_tracks_true")
    if len(missing):
        _same_length(ctx, count, "nodes_featureids", nodes_missing_value_tracks_true=missing)
    modes = modes.reshape(-1).astype(np.int64)
    if not count or not leaves or not len(roots):
        ctx.fail("nodes, leaves and roots", f"{count}, {leaves} and {len(roots)}")
    if modes.min() < 0 or modes.max() > _LAST_MODE:
        ctx.fail(f"modes from 0 to {_LAST_MODE}", f"{modes.min()} to {modes.max()}")
    for what, child, of_leaf in (("true", yes, yes_leaf), ("false", no, no_leaf)):
        limit = np.where(of_leaf != 0, leaves, count)
        if len(bad := np.flatnonzero((child < 0) | (child >= limit))):
            kind = "leaf" if of_leaf[bad[0]] else "node"
            ctx.fail(f"a {what} {kind} below {limit[bad[0]]}", str(child[bad[0]]))
        child += np.where(of_leaf != 0, count, 0)
    if roots.min() < 0 or roots.max() >= count:
        ctx.fail(f"roots below {count}", f"{roots.min()} to {roots.max()}")
    rest = np.zeros(leaves, np.int64)
    return Forest(
        np.concatenate([modes, rest + trees.LEAF]).astype(np.int8),
        np.concatenate([features, rest]),
        np.concatenate([splits.reshape(-1).astype(dtype), rest.astype(dtype)]),
        np.concatenate([yes, rest]),
        np.concatenate([no, rest]),
        np.concatenate([missing == 1 if len(missing) else np.zeros(count, np.bool_), rest.astype(np.bool_)]),
        roots,
        _member_values(ctx, int((modes == trees.MEMBER).sum()), dtype),
    ), Weights(np.arange(count, count + leaves), targets, leaf_weights.reshape(-1).astype(dtype))


def _member_values(ctx: Context, count: int, dtype: np.dtype[np.generic]) -> list[Floats]:
    """The values that each node of sets looks for: NaN ends each list."""
    given = ctx.tensor_attribute("membership_values")
    if given is None or not count:
        if count:
            ctx.fail("membership_values", "none")
        return []
    values = given.reshape(-1).astype(dtype)
    ends = np.flatnonzero(np.isnan(values))
    if len(ends) < count:
        ctx.fail(f"membership_values of {count} nodes, each ended by NaN", f"{len(ends)}")
    return np.split(values, ends + 1)[:count]


@dataclass(frozen=True, eq=False)
class _Ensemble:
    """Trees laid out for the kernel, and the rows that go through them."""

    ctx: Context
    data: Term
    laid: trees.Laid
    weights: Weights
    """Of leaves by the places at which they are laid, in that order."""
    targets: int
    number: int
    """Of trees."""

    @classmethod
    def of(cls, ctx: Context, data: Term, forest: Forest, weights: Weights, targets: int) -> _Ensemble:
        if targets < 1:
            ctx.fail("at least one target", str(targets))
        if len(weights.targets) and not 0 <= weights.targets.min() <= weights.targets.max() < targets:
            ctx.fail(f"targets in [0, {targets})", f"{weights.targets.min()} to {weights.targets.max()}")
        trees.plain(forest)
        inner = forest.modes != trees.LEAF
        used = forest.features[inner]
        if used.min(initial=0) < 0:
            ctx.fail("features of at least 0", str(used.min()))
        most, width = int(used.max(initial=0)), data.shape[1]
        if proves(width, "<=", most):
            ctx.fail(f"rows of at least {most + 1} features, as nodes_featureids says", str(width))
        ctx.require_least(width, most + 1, f"whether rows have {most + 1} features")
        laid = trees.laid_out(forest, ctx.fail)
        position = np.full(len(forest), -1)
        position[laid.order] = np.arange(len(laid.order))
        at = position[weights.nodes]
        kept = np.flatnonzero(at >= 0)
        kept = kept[np.argsort(at[kept], kind="stable")]
        weights = Weights(at[kept], weights.targets[kept], weights.values[kept])
        return cls(ctx, data, laid, weights, targets, len(forest.roots))

    def combined(self, aggregate: str) -> Term:
        """Return the combined weights, for each target, of the leaves that rows reach: (rows, targets)."""
        return self._emitted(aggregate, self.weights.values)

    def met(self) -> Term:
        """Return the targets for which rows met a weight: (rows, targets)."""
        return self._emitted("max", np.ones_like(self.weights.values)) > 0.0

    def meets(self, target: int) -> bool | None:
        """Return whether rows meet a weight of a target: all, none, or (None) some."""
        laid = self.laid
        has = np.zeros(len(laid.order), np.bool_)
        has[self.weights.nodes[self.weights.targets == target]] = True
        if not has.any():
            return False
        lacking = np.bincount(laid.owner[laid.leaf & ~has], minlength=self.number)
        return True if (lacking == 0).any() else None

    def _emitted(self, aggregate: str, values: Floats) -> Term:
        ctx, laid, weights = self.ctx, self.laid, self.weights
        combine, start = AGGREGATES[aggregate]
        thresholds, count = laid.values, len(laid.order)
        if self.targets == 1:
            total = np.full(len(thresholds), start, thresholds.dtype)
            combine.at(total, weights.nodes, values)
            thresholds = np.concatenate([np.where(laid.leaf, total[:count], thresholds[:count]), total[count:]])
        arrays = {"roots": laid.roots, "depths": laid.depths, "features": laid.features, "values": thresholds}
        arrays["children"] = laid.children
        if self.targets > 1:
            places = np.arange(len(laid.features) + 1)
            arrays["begins"] = np.searchsorted(weights.nodes, places).astype(np.int32)
            # Of no weights at all: a tensor has one element at least.
            none = np.zeros(0 if len(values) else 1, values.dtype)
            arrays["targets"] = np.concatenate([weights.targets, none]).astype(np.int32)
            arrays["weights"] = np.concatenate([values, none])
        operands = [ctx.constant(array, name) for name, array in arrays.items()]
        attributes = {"targets": self.targets, "aggregate": aggregate, "missing": laid.missing}
        # What the leaves have is one operand.
        return Term(ctx, ctx.emit(TreeEnsembleOp, self.data.value, *operands, **attributes))


_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _data(ctx: Context) -> Term:
    """The rows, in the dtype in which they are compared."""
    data = rows_of(ctx)
    return data if data.dtype.name in ("float32", "float64") else data.to("float32")


def _regression(ensemble: _Ensemble, aggregate: str, base: Floats, transform: str) -> Term:
    targets = ensemble.targets
    if aggregate not in _AGGREGATES:
        ensemble.ctx.fail(f"an aggregate_function among {', '.join(_AGGREGATES)}", repr(aggregate))
    if len(base) not in (0, targets):
        ensemble.ctx.fail(f"base_values of 0 or {targets} elements", str(len(base)))
    scores = ensemble.combined(aggregate.lower() if aggregate in ("MIN", "MAX") else "sum")
    if aggregate == "AVERAGE":
        scores = scores / float(ensemble.number)
    if len(base):
        scores = scores + constant(ensemble.ctx, base, "base_values")
    if targets == 1:
        return probit(scores) if transform == "PROBIT" else scores
    if not all(ensemble.meets(target) for target in range(targets)):
        scores = where(ensemble.met(), scores, 0.0)
    return transformed(scores, transform)


def regressor(ctx: Context) -> SSAValue:
    data = _data(ctx)
    forest, weights = _nodes(ctx, data.dtype, "target")
    ensemble = _Ensemble.of(ctx, data, forest, weights, ctx.int("n_targets", 1))
    base = _floats(ctx, "base_values", data.dtype)
    scores = _regression(ensemble, ctx.word("aggregate_function", "SUM"), base, transform_of(ctx))
    return scores.to("float32").value


def ensemble(ctx: Context) -> SSAValue:
    data = _data(ctx)
    forest, weights = _nodes_and_leaves(ctx, data.dtype)
    names = [("aggregate_function", 1, _AGGREGATES), ("post_transform", 0, _TRANSFORMS)]
    chosen_: list[str] = []
    for name, default, known in names:
        if not 0 <= ctx.int(name, default) < len(known):
            ctx.fail(f"{name} from 0 to {len(known) - 1}", str(ctx.int(name, default)))
        chosen_.append(known[ctx.int(name, default)])
    found = _Ensemble.of(ctx, data, forest, weights, ctx.int("n_targets", 1))
    return _regression(found, chosen_[0], np.zeros(0, data.dtype), chosen_[1]).to(ctx.dtype(0)).value


def classifier(ctx: Context) -> tuple[SSAValue, SSAValue]:
    data, labels, transform = _data(ctx), labels_of(ctx, "classlabels_int64s"), transform_of(ctx)
    forest, weights = _nodes(ctx, data.dtype, "class")
    found = _Ensemble.of(ctx, data, forest, weights, len(labels))
    base = _floats(ctx, "base_values", data.dtype)
    if len(base) not in (0, len(labels)) and not (len(base) == 1 and len(labels) == _TWO):
        ctx.fail(f"base_values of 0 or {len(labels)} elements", str(len(base)))
    scores = found.combined("sum")
    if len(labels) > _TWO:
        label, scores = _of_many(found, scores, base, labels, transform)
    elif len(labels) == _TWO:
        label, scores = _of_two(found, scores, base, labels, transform)
    else:
        scores = scores + float(base[0]) if len(base) else scores
        label = chosen(ctx, scores > 0.0, 1, 0)
        scores = probit(scores) if transform == "PROBIT" else scores
    return label, scores.to("float32").value


_TWO = 2


def _of_many(found: _Ensemble, scores: Term, base: Floats, labels: Array, transform: str) -> tuple[SSAValue, Term]:
    """The label of the greatest score; classes of which a row met no weight are out, unless there are base values."""
    candidates = scores
    if len(base):
        candidates = scores = scores + constant(found.ctx, base, "base_values")
    elif not all(found.meets(target) for target in range(found.targets)):
        candidates = where(found.met(), scores, float("-inf"))
    return labelled(found.ctx, labels, best(candidates)), transformed(scores, transform)


def _of_two(found: _Ensemble, scores: Term, base: Floats, labels: Array, transform: str) -> tuple[SSAValue, Term]:
    """Both classes have scores, or rows that met none of the second have one number, of which both scores are made."""
    ctx, weights = found.ctx, found.weights
    first, second = (scores.apply(StridedSliceOp, begin=(k,), end=(k + 1,), strides=(1,), axes=(1,)) for k in (0, 1))
    meets = [found.meets(0), found.meets(1)]
    met: list[Term | bool] = [bool(known) for known in meets]
    if None in meets:
        both = found.met()
        columns = [both.apply(StridedSliceOp, begin=(k,), end=(k + 1,), strides=(1,), axes=(1,)) for k in (0, 1)]
        met = [column if known is None else known for column, known in zip(columns, meets, strict=True)]
    if len(base) == _TWO:
        added = first + float(base[1])
        first, second = _either(met[1], -added, first + float(base[0])), _either(met[1], added, second + float(base[1]))
    elif len(base):
        first = first + float(base[0])
    first, second = _either(met[0], first, first * 0.0), _either(met[1], second, second * 0.0)
    score = _either(met[1], second, first)
    positive = not (weights.values < 0).any()
    if len(np.unique(weights.targets)) == 1:
        label = chosen(ctx, score > (0.5 if positive else 0.0), int(labels[1]), int(labels[0]))
    else:
        positive = False
        label = chosen(ctx, score > 0.0, 1, 0)
    two = transformed(side_by_side(first, second), transform)
    if len(base) == _TWO or met[1] is True:
        return label, two
    one = pair(first, transform, mixed=not positive)
    return label, _either(met[1], two, one)


def _either(condition: Term | bool, x: Term, y: Term) -> Term:
    if isinstance(condition, bool):
        return x if condition else y
    return where(condition, x, y)


_TRAINED = "how often a node was met in training"
_STATISTICS: dict[str, str] = dict.fromkeys(("nodes_hitrates", "nodes_hitrates_as_tensor"), _TRAINED)

MACHINE_LEARNING = {
    "TreeEnsemble": Converter(ensemble, unread=_STATISTICS),
    "TreeEnsembleClassifier": Converter(classifier, unread=_STATISTICS),
    "TreeEnsembleRegressor": Converter(regressor, unread=_STATISTICS),
}

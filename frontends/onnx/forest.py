"""Decision trees as arrays of nodes: from any comparisons to `at most`, checked, and laid out for the kernel.

A node sends a row to `yes` where its number is at most `values`, else to `no`; a number that is NaN goes to `yes` where
`missing` says so. Nodes whose `yes` is themselves are leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...support.dtypes import Array

Ints = NDArray[np.int64]
Floats = NDArray[Any]
Fail = Callable[[str, str], NoReturn]
"""Called with what was expected and what was found."""

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF = range(len(MODES))
_SIDE_BY_SIDE = 8
"""Trees of a group: as many descents as a processor has under way at once."""
_MOST = 1 << 30
"""Nodes, and features: their numbers are of 32 bits."""


@dataclass(eq=False)
class Forest:
    """Nodes of all trees."""

    modes: NDArray[np.int8]
    features: Ints
    values: Floats
    yes: Ints
    no: Ints
    missing: NDArray[np.bool_]
    roots: Ints
    members: Sequence[Floats] = ()
    """The numbers that each node of mode MEMBER, in order, looks for."""

    def __len__(self) -> int:
        return len(self.modes)

    def append(self, count: int) -> Ints:
        """The numbers of `count` more nodes."""
        first = len(self)
        for name in ("modes", "features", "values", "yes", "no", "missing"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros(count, array.dtype)]))
        return np.arange(first, first + count)


@dataclass(frozen=True, eq=False)
class Laid:
    """The arrays that the kernel reads, and where nodes of a `Forest` went in them."""

    roots: Array
    depths: Array
    features: Array
    values: Floats
    children: Array
    missing: bool
    order: Ints
    """The forest's node at each position; positions past its end are padding."""
    leaf: NDArray[np.bool_]
    """Of these, which are leaves."""
    owner: Ints
    """The trees that they are in."""


def plain(forest: Forest) -> None:
    """Make every comparison `at most`, in place.

    What numbers are less than `t` are at most the one before `t`; nothing is less than the least of all, which nothing
    at most NaN says. Where a number is greater, branches are exchanged; what is equal is at most, and not less.
    """
    _members(forest)
    mode = forest.modes.copy()
    before = _before(forest.values)
    undefined = np.isnan(forest.values)
    turned = (mode == GTE) | (mode == GT)
    forest.yes, forest.no = np.where(turned, forest.no, forest.yes), np.where(turned, forest.yes, forest.no)
    forest.missing ^= turned
    own = forest.values
    forest.values = np.where((mode == LT) | (mode == GTE), before, own)
    forest.values[turned & undefined] = np.inf
    for kind in (EQ, NEQ):
        (at,) = np.nonzero(mode == kind)
        less = forest.append(len(at))
        # At most: to a node that asks whether it is less, too.
        met, other = (forest.yes[at], forest.no[at]) if kind == EQ else (forest.no[at], forest.yes[at])
        forest.features[less], forest.values[less] = forest.features[at], before[at]
        forest.yes[less], forest.no[less] = other, met
        forest.yes[at], forest.no[at] = less, other
        if kind == NEQ:
            # NaN is not equal, whatever else is said of it.
            forest.missing[at] = False
    forest.modes[forest.modes != LEAF] = LEQ


def _before(values: Floats) -> Floats:
    """The next smaller numbers; NaN where there is none."""
    return np.where(values == -np.inf, np.nan, np.nextafter(values, values.dtype.type(-np.inf))).astype(values.dtype)


def _members(forest: Forest) -> None:
    """A node that looks for several values is a tree of its own, which halves them."""
    (at,) = np.nonzero(forest.modes == MEMBER)
    for node, members in zip(at.tolist(), forest.members, strict=True):
        yes, no = int(forest.yes[node]), int(forest.no[node])
        values = np.unique(members[~np.isnan(members)])
        if forest.missing[node]:
            # Only NaN is not at most infinity.
            (inner,) = forest.append(1).tolist()
            _set(forest, node, LEQ, np.inf, inner, yes, feature=int(forest.features[node]))
            forest.missing[node] = False
            forest.features[inner] = forest.features[node]
            node = inner
        waiting = [(node, values)]
        while waiting:
            node, values = waiting.pop()
            feature = int(forest.features[node])
            if len(values) > 1:
                half = len(values) // 2
                left, right = forest.append(2).tolist()
                forest.features[[left, right]] = feature
                _set(forest, node, LEQ, values[half - 1], left, right, feature=feature)
                waiting += [(left, values[:half]), (right, values[half:])]
            else:
                _set(forest, node, EQ, values[0] if len(values) else np.nan, yes, no, feature=feature)


def _set(forest: Forest, node: int, mode: int, value: float, yes: int, no: int, *, feature: int) -> None:
    forest.modes[node], forest.features[node], forest.values[node] = mode, feature, value
    forest.yes[node], forest.no[node] = yes, no


def laid_out(forest: Forest, fail: Fail) -> Laid:
    """The nodes that roots reach, tree by tree and from the root down, in groups of trees.

    Nodes that several lead to are allowed, as exporters of sets write them; calls `fail` where a node leads to itself.
    Groups are filled up with the last node, a leaf.
    """
    leaf = forest.modes == LEAF
    itself = np.arange(len(forest))
    forest.yes, forest.no = np.where(leaf, itself, forest.yes), np.where(leaf, itself, forest.no)
    if len(forest) >= _MOST:
        fail(f"fewer than {_MOST} nodes", str(len(forest)))
    if forest.features.max(initial=0) >= _MOST:
        fail(f"features below {_MOST}", str(forest.features.max()))
    rank, owner = _ranks(forest, leaf, fail)
    order = np.lexsort((itself, rank, owner))
    order = order[rank[order] >= 0]
    count = 1 << len(order).bit_length()
    number = np.zeros(len(forest), np.int32)
    number[order] = np.arange(len(order))

    missing = bool((forest.missing & ~leaf).any())
    features, values = np.zeros(count, np.int32), np.zeros(count, forest.values.dtype)
    features[: len(order)] = np.where(forest.missing & ~leaf, -1 - forest.features, forest.features)[order]
    values[: len(order)] = forest.values[order]
    children = np.repeat(np.arange(count, dtype=np.int32)[:, None], 2, 1)
    children[: len(order)] = np.stack([number[forest.yes[order]], number[forest.no[order]]], 1)

    groups = max(1, -(-len(forest.roots) // _SIDE_BY_SIDE))
    trees = max(1, -(-len(forest.roots) // groups))
    roots = np.full(groups * trees, count - 1, np.int32)
    roots[: len(forest.roots)] = number[forest.roots]
    depths = np.zeros(groups * trees, np.int32)
    np.maximum.at(depths, owner[order], rank[order])
    depths = depths.reshape(groups, trees).max(1)
    return Laid(
        roots.reshape(groups, trees), depths, features, values, children, missing, order, leaf[order], owner[order]
    )


def _ranks(forest: Forest, leaf: NDArray[np.bool_], fail: Fail) -> tuple[Ints, Ints]:
    """Return the largest number of steps that lead to each node, -1 where none do, and a tree that the node is in."""
    seen = np.zeros(len(forest), np.bool_)
    owner = np.zeros(len(forest), np.int64)
    owner[forest.roots] = np.arange(len(forest.roots))
    front = np.unique(forest.roots)
    reached: list[Ints] = []
    while len(front):
        seen[front] = True
        reached.append(front)
        inner = front[~leaf[front]]
        owner[forest.yes[inner]] = owner[forest.no[inner]] = owner[inner]
        front = np.unique(np.concatenate([forest.yes[inner], forest.no[inner]]))
        front = front[~seen[front]]
    nodes = np.concatenate([*reached, np.zeros(0, np.int64)])
    inner = nodes[~leaf[nodes]]
    waits = np.bincount(np.concatenate([forest.yes[inner], forest.no[inner]]), minlength=len(forest))
    rank = np.full(len(forest), -1)
    front, step = nodes[waits[nodes] == 0], 0
    done = 0
    while len(front):
        rank[front] = step
        done += len(front)
        inner = front[~leaf[front]]
        after = np.concatenate([forest.yes[inner], forest.no[inner]])
        np.subtract.at(waits, after, 1)
        front = np.unique(after)
        front = front[waits[front] == 0]
        step += 1
    if done < len(nodes):
        fail("trees", "a node that leads to itself (a cycle)")
    return rank, owner

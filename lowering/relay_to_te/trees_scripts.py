"""Descents through decision trees, as hybrid scripts.

Rows in blocks: the nodes of a group of trees stay near while a block goes through them, and the trees of a group
descend side by side, as no step of one waits for another's.
"""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te


@te.hybrid.script
def tree_values(
    x: Any,
    roots: Any,
    depths: Any,
    features: Any,
    values: Any,
    children: Any,
    sizes: Any,
    start: Any,
    begin: Any,
    go: Any,
    act: Any,
) -> Any:
    """The values of the leaves that rows come to, combined by `act`: (rows, 1).

    sizes: rows, rows of a block, blocks, groups, trees of a group, steps after which a descent asks whether all trees
    of a group are at leaves. `begin(roots, group, tree)` is the first node, `go(x, row, features, values, children,
    node)` the next one, `start` what is combined with the first value.
    """
    scores = output_tensor((sizes[0], 1), x.dtype)
    for b in range(sizes[2]):
        node = allocate((sizes[4],), "int32", "local")
        end = min(int64(sizes[0]) - b * sizes[1], sizes[1])
        r = int64(0)
        while r < end:
            scores[b * sizes[1] + r, 0] = start
            r += 1
        for g in range(sizes[3]):
            r = int64(0)
            while r < end:
                for k in unroll(sizes[4]):
                    node[k] = begin(roots, g, k)
                depth = int32(0)
                going = depth < depths[g]
                while going:
                    for k in unroll(sizes[4]):
                        node[k] = go(x, b * sizes[1] + r, features, values, children, node[k])
                    depth += 1
                    going = depth < depths[g]
                    if going and depth % sizes[5] == 0:
                        resting = int32(0)
                        for k in unroll(sizes[4]):
                            following = go(x, b * sizes[1] + r, features, values, children, node[k])
                            resting += int32(following == node[k])
                        going = resting < sizes[4]
                total = scores[b * sizes[1] + r, 0]
                for k in unroll(sizes[4]):
                    total = act(total, values[node[k]])
                scores[b * sizes[1] + r, 0] = total
                r += 1
    return scores


@te.hybrid.script
def tree_weights(
    x: Any,
    roots: Any,
    depths: Any,
    features: Any,
    values: Any,
    children: Any,
    begins: Any,
    targets: Any,
    weights: Any,
    sizes: Any,
    start: Any,
    begin: Any,
    go: Any,
    act: Any,
    target: Any,
) -> Any:
    """Sums like those of `tree_values` for leaves with weights of several targets: (rows, targets).

    sizes: .., targets, weights. `target(targets, k)` is the target of weight `k`.
    """
    scores = output_tensor((sizes[0], sizes[6]), x.dtype)
    for b in range(sizes[2]):
        node = allocate((sizes[4],), "int32", "local")
        end = min(int64(sizes[0]) - b * sizes[1], sizes[1])
        r = int64(0)
        while r < end:
            for t in range(sizes[6]):
                scores[b * sizes[1] + r, t] = start
            r += 1
        for g in range(sizes[3]):
            r = int64(0)
            while r < end:
                for k in unroll(sizes[4]):
                    node[k] = begin(roots, g, k)
                depth = int32(0)
                going = depth < depths[g]
                while going:
                    for k in unroll(sizes[4]):
                        node[k] = go(x, b * sizes[1] + r, features, values, children, node[k])
                    depth += 1
                    going = depth < depths[g]
                    if going and depth % sizes[5] == 0:
                        resting = int32(0)
                        for k in unroll(sizes[4]):
                            following = go(x, b * sizes[1] + r, features, values, children, node[k])
                            resting += int32(following == node[k])
                        going = resting < sizes[4]
                for k in range(sizes[4]):
                    i = max(begins[node[k]], 0)
                    last = min(begins[node[k] + 1], sizes[7])
                    while i < last:
                        at = target(targets, i)
                        scores[b * sizes[1] + r, at] = act(scores[b * sizes[1] + r, at], weights[i])
                        i += 1
                r += 1
    return scores

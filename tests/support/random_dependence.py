"""Random pairs of accesses in loop nests: the answers of the exact dependence test, compared with all iterations.

`python tests/support/random_dependence.py 20000 --seed 1` prints how many of the answers are wrong or undecided, and
the times that they took.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from whence.dialects.affine import Range
from whence.passes.tir.analysis.dependence import orders
from whence.passes.tir.analysis.meetings import (
    AFTER,
    EQUAL,
    Access,
    Answer,
    Apart,
    Clause,
    Pair,
    Undecided,
    Variable,
    Witness,
)

LETTERS = "ijkl"


class Nest(NamedTuple):
    """Loops of some extents, a store and a load or store inside, and two questions about them."""

    extents: tuple[int, ...]
    first: Access
    second: Access
    order: tuple[int, ...]
    """The loops in another order."""
    loop: int
    """The loop that is to run in parallel."""


def random_nest(draw: random.Random) -> Nest:
    """Return a nest of 2 or 3 loops of at most 6 iterations each."""
    depth = draw.choice([1, 2, 2, 3, 3])
    extents = tuple(draw.randint(1, 6 if depth < 3 else 4) for _ in range(depth))
    dims = draw.choice([1, 2, 2])
    first = _access(draw, depth, dims)
    second = _near(draw, first) if draw.random() < 0.5 else _access(draw, depth, dims)
    order = list(range(depth))
    draw.shuffle(order)
    return Nest(extents, first, second, tuple(order), draw.randrange(depth))


def _access(draw: random.Random, depth: int, dims: int) -> Access:
    map = tuple(_expr(draw, depth, 2) for _ in range(dims))
    clauses: list[Clause] = []
    if draw.random() < 0.3:
        clauses.append(((_expr(draw, depth, 1),),))
    if draw.random() < 0.15:
        clauses.append(((_expr(draw, depth, 1),), (_expr(draw, depth, 1), _expr(draw, depth, 0))))
    return Access(tuple(LETTERS[:depth]), map, tuple(clauses))


def _near(draw: random.Random, access: Access) -> Access:
    map = tuple(expr + draw.randint(-1, 1) for expr in access.map)
    return Access(access.variables, map, access.clauses if draw.random() < 0.5 else ())


def _expr(draw: random.Random, depth: int, nested: int) -> AffineExpr:
    expr: AffineExpr = AffineConstantExpr(draw.randint(-2, 3))
    for i in range(depth):
        if factor := draw.choice([0, 0, 1, 1, -1, 2, 3, 5, -4]):
            expr = expr + AffineDimExpr(i) * factor
    if nested and draw.random() < 0.35:
        divisor = draw.choice([2, 3, 4, 5])
        expr = expr // divisor if draw.random() < 0.5 else expr % divisor
        if draw.random() < 0.3:
            expr = expr * draw.choice([2, -1, 3]) + _expr(draw, depth, nested - 1)
    return expr


def answers(nest: Nest) -> tuple[list[Answer], list[Answer]]:
    """Return the answers about the order of loops and about the parallel loop: for both orders of the accesses."""
    names = LETTERS[: len(nest.extents)]
    ranges: dict[Variable, Range] = {name: (0, extent - 1) for name, extent in zip(names, nest.extents, strict=True)}
    pairs = [Pair(*ends, ranges) for ends in ((nest.first, nest.second), (nest.second, nest.first))]
    ways = list(orders(names, [names[i] for i in nest.order]))
    parallel: Apart = {**dict.fromkeys(names[: nest.loop], EQUAL), names[nest.loop]: AFTER}
    return [_first(pair, ways) for pair in pairs], [pair.meet(parallel) for pair in pairs]


def _first(pair: Pair, ways: Sequence[Apart]) -> Answer:
    found = [answer for way in ways if (answer := pair.meet(way)) is not None]
    return next((answer for answer in found if isinstance(answer, Witness)), found[0] if found else None)


def places(access: Access, extents: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The iterations in which an access happens, and the element of each."""
    for at in itertools.product(*map(range, extents)):
        if all(any(all(e.eval(at, []) >= 0 for e in exprs) for exprs in clause) for clause in access.clauses):
            yield at, tuple(expr.eval(at, []) for expr in access.map)


def expected(nest: Nest) -> tuple[list[set[tuple[int, ...]]], list[set[tuple[int, ...]]]]:
    """Return the pairs of iterations, one behind the other, that contradict the order and the parallel loop."""
    both = [list(places(access, nest.extents)) for access in (nest.first, nest.second)]
    orders_: list[set[tuple[int, ...]]] = []
    parallels: list[set[tuple[int, ...]]] = []
    for mine, theirs in (both, both[::-1]):
        met = [(p, q) for p, at in mine for q, there in theirs if at == there and p < q]
        orders_.append({p + q for p, q in met if [q[i] for i in nest.order] < [p[i] for i in nest.order]})
        parallels.append({p + q for p, q in met if p[: nest.loop] == q[: nest.loop] and p[nest.loop] != q[nest.loop]})
    return orders_, parallels


def differences(nest: Nest) -> list[str]:
    """Return what is wrong in the answers about a nest, or undecided."""
    wrong: list[str] = []
    for given, wanted in zip(answers(nest), expected(nest), strict=True):
        for answer, pairs in zip(given, wanted, strict=True):
            match answer:
                case None if pairs:
                    wrong.append(f"none, but {min(pairs)}")
                case Undecided():
                    wrong.append("undecided")
                case Witness() if (iterations(nest, answer.earlier) + iterations(nest, answer.later)) not in pairs:
                    wrong.append(f"{answer}, but {pairs}")
                case _:
                    pass
    return wrong


def iterations(nest: Nest, values: Mapping[Variable, int]) -> tuple[int, ...]:
    """Return the values of all loops; a loop that no index uses has its first one."""
    return tuple(values.get(name, 0) for name in LETTERS[: len(nest.extents)])


def main() -> None:
    """Print the counts of answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw, counts, times = random.Random(options.seed), Counter[str](), list[float]()
    for number in range(options.count):
        nest = random_nest(draw)
        start = time.process_time()
        order, parallel = answers(nest)
        times.append(1e3 * (time.process_time() - start))
        counts["order refused"] += any(isinstance(answer, Witness) for answer in order)
        counts["parallel refused"] += any(isinstance(answer, Witness) for answer in parallel)
        wrong = differences(nest)
        counts["undecided"] += "undecided" in wrong
        wrong = [text for text in wrong if text != "undecided"]
        counts["wrong"] += bool(wrong)
        for text in wrong:
            print(f"nest {number} {nest}: {text}")
    times.sort()
    print(f"{options.count} nests:", ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    middle, last = times[len(times) // 2], times[int(len(times) * 0.99)]
    print(
        f"both questions of a nest: median {middle:.2f} ms, 99 of 100 below {last:.1f} ms, at most {times[-1]:.1f} ms"
    )


if __name__ == "__main__":
    main()

"""Random numbers of the options' seeds, or of the program's; other ones than LiteRT's."""

from __future__ import annotations

from typing import Any

from ..importing.attributes import Int
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import draws
from .context import Context
from .values import DTYPES


def multinomial(ctx: Context, logits: Term, count: int, seed: int | None) -> Term:
    """For each row of logarithms (batch, classes) so many classes at random, by their probabilities."""
    if count < 0 or ctx.out().type not in ("INT32", "INT64"):
        ctx.fail("at least 0 samples, integers as classes", f"{count} and {ctx.out().type}")
    return draws.multinomial(logits, count, DTYPES[ctx.out().type], seed)


_SEEDS: dict[str, Any] = {"seed": Int(0, name="Seed"), "seed2": Int(0, name="Seed2")}

TABLE = {
    "MULTINOMIAL": row(draws.seeded(multinomial), "logits samples:size", **_SEEDS),
    "RANDOM_STANDARD_NORMAL": row(draws.seeded(draws.normal), "shape:ints", **_SEEDS),
    "RANDOM_UNIFORM": row(draws.seeded(draws.uniform), "shape:ints", **_SEEDS),
}

"""Damaged texts of TVMScript: whatever they are, they are read or refused as a text, in one way.

python tests/support/damaged_scripts.py [--count 5000] [--seed 0]
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator

from whence.script import from_source
from whence.support.errors import InternalError, WhenceError

TEXTS = (
    """
@T.prim_func(s_tir=True)
def mm(A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 4), "float32"), E: T.Buffer((8, 4), "float32")):
    T.func_attr({"global_symbol": "mm", "tir.noalias": T.bool(True), "num_outputs": 1})
    C = T.sblock_alloc_buffer((8, 4), scope="local")
    for i_0, i_1, j, k in T.grid(3, 3, 4, 6):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i_0 * 3 + i_1)
            vj, vk = T.axis.remap("SR", [j, k])
            T.where(i_0 * 3 + i_1 < 8 or k == 0)
            T.reads(A[vi, vk], B[vk, 0:4])
            T.writes(C[vi, vj])
            T.sblock_attr({"note": [1, 2], "why": "a test"})
            row = T.match_buffer(A[vi, 0:6], (6,), strides=("s0",), offset_factor=1)
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + row[vk] * B[vk, vj]
    for i in T.parallel(2, 8, annotations={"x": 1}):
        x: T.float32 = T.exp(C[i, 0]) if i > 3 else T.float32("inf")
        if not i % 2 == 1:
            E[i, 0:4] = T.Broadcast(x, 4)
        else:
            E[i, 0] += T.Select(x < 1.0, T.max(x, 2), T.Cast("float32", i // 2))
        assert i >= 2, "order"
""",
    """
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32):
    m = T.int64()
    A = T.match_buffer(a, (m, 16), "float32", strides=[16, 1])
    B = T.match_buffer(b, [m, 16])
    flat = T.decl_buffer((m * 16,), "float32", data=A.data)
    acc = T.alloc_buffer((1,), "int32", scope="local")
    acc[0] = n
    while acc[0] < 16:
        v: T.int32 = acc[0]
        with T.LetStmt(flat[v]) as y:
            B[0, v] = T.if_then_else(v < 3, y, T.sqrt(-y))
        B[0, T.Ramp(0, 1, 8)] = T.Shuffle([A[0, T.Ramp(0, 1, 8)]], [7, 6, 5, 4, 3, 2, 1, 0])
        T.masked_store(B, A[1, T.Ramp(0, 1, 8)], 1, T.Ramp(0, 1, 8), T.Ramp(v, 1, 8) >= T.Broadcast(0, 8))
        acc[0] = acc[0] + 1
""",
)
_WORDS = (
    *"T. T.grid [ ] ( ) 0 -1 1e99 None vi A B[ ' : if for in *x **x x".split(),
    *"T.Buffer T.sblock T.init() range T.int8x4 = ,".split(),
    "lambda: 0",
    "1 << 70",
    '"',
)


def damaged(text: str, draw: random.Random) -> str:
    """The text with some of its tokens or lines lost, doubled, swapped or replaced."""
    for _ in range(draw.randint(1, 4)):
        if draw.random() < 0.3:
            lines: list[str] = [*text.splitlines()]
            i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
            match draw.randrange(3):
                case 0:
                    del lines[i]
                case 1:
                    lines.insert(j, lines[i])
                case _:
                    lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines) + "\n"
            continue
        tokens = re.findall(r"\w+|[^\w\s]|\s+", text)
        i, j = draw.randrange(len(tokens)), draw.randrange(len(tokens))
        match draw.randrange(4):
            case 0:
                tokens[i] = ""
            case 1:
                tokens[i] = draw.choice(_WORDS)
            case 2:
                tokens[i] = tokens[j]
            case _:
                tokens.insert(i, draw.choice(_WORDS))
        text = "".join(tokens)
    return text


def outcomes(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """For each damaged text its outcome, `read`, `refused`, or the class of a foreign error, and the text."""
    draw = random.Random(seed)
    for _ in range(count):
        text = damaged(draw.choice(TEXTS), draw)
        try:
            func = from_source(text)
            outcome = "read"
            _ = func.op
            _ = func.script()
        except InternalError as error:
            outcome = f"foreign: {error}"
        except WhenceError:
            outcome = "refused"
        except Exception as error:
            outcome = f"foreign: {type(error).__name__}: {error}"
        yield outcome, text


def main() -> None:
    """Print the counts, and each text with a foreign error."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for outcome, text in outcomes(options.count, options.seed):
        counts[outcome.partition(":")[0]] += 1
        if outcome.startswith("foreign"):
            print(outcome, text, sep="\n", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()

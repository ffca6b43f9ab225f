"""Random kernels of loops and blocks: what is raised, whole or in parts, computes what the loops compute as written.

    python tests/support/random_raised.py --cases 2000 [--seed 0]

A kernel has up to five statements over a few buffers: elementwise ones, reductions with and without a start, scans,
updates in place, halves, mirrored and guarded stores, blocks with inits, conditions and opaque variables. Numbers are
small whole numbers, so that orders of sums are equal. Prints how many kernels were raised whole, in parts, not at all.
"""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random

import numpy as np

import whence
from whence.dialects import te
from whence.kernels.building import build_prim_func, parsed_prim_func
from whence.lowering.tir_to_te.nests import NotRaised
from whence.lowering.tir_to_te.raising import raised

SIZES = (1, 3, 4, 8)
COMBINES = {"arith.addf": "0.0", "arith.maximumf": "0xFF800000", "arith.minimumf": "0x7F800000"}


class Maker:
    """Writes the text of a kernel over square buffers."""

    def __init__(self, random: Random):
        self.random = random
        self.size = random.choice(SIZES)
        self.type = f"!tir.buffer<{self.size}x{self.size}xf32>"
        self.written = ["a", "b"]
        self.values = 0

    def text(self) -> str:
        """Return the kernel; each buffer is written whole before it is read or written in part."""
        body: list[str] = []
        for _ in range(self.random.randint(1, 4)):
            name = self.random.choice(["t", "u", "c"])
            whole = name not in self.written or self.random.random() < 0.4
            kinds = (self.elementwise, self.reduction, self.block, self.mirrored) if whole else self.partial
            body.append(self.random.choice(kinds)(name))
            if name not in self.written:
                self.written.append(name)
        if "c" not in self.written:
            body.append(self.elementwise("c"))
        arguments = ", ".join(f"%{name}: {self.type}" for name in "abc")
        allocs = "".join(f"%{name} = tir.alloc : {self.type}\n" for name in "tu")
        return f"tir.prim_func @f({arguments}) outputs 1 {{\n{allocs}{''.join(body)}}}"

    @property
    def partial(self):
        return (self.in_place, self.scan, self.half, self.guarded, self.start_and_sum, self.corner)

    def value(self) -> str:
        self.values += 1
        return f"%v{self.values}"

    def load(self, name: str, point: str) -> tuple[str, str]:
        value = self.value()
        return f"{value} = tir.load %{name}[{point}] : {self.type} -> f32\n", value

    def store(self, value: str, name: str, point: str) -> str:
        return f"tir.store {value}, %{name}[{point}] : f32, {self.type}\n"

    def element(self, axes: str, sources: list[str] | None = None) -> tuple[str, str]:
        """Ops of one value made of elements at points of two of the axes."""
        text, values = "", list[str]()
        for _ in range(self.random.randint(1, 2)):
            name = self.random.choice(sources or self.written)
            first, second = self.random.choice(axes), self.random.choice(axes)
            point = self.random.choice(
                [f"%{first}, %{second}", f"%{first}, 0", f"%{first}, %{second} * -1 + {self.size - 1}"]
            )
            line, value = self.load(name, point)
            text += line
            values.append(value)
        if len(values) == 2:
            value = self.value()
            text += f"{value} = {self.random.choice([*COMBINES, 'arith.subf'])} {values[0]}, {values[1]} : f32\n"
            values = [value]
        return text, values[0]

    def loops(self, axes: str, body: str) -> str:
        for axis in reversed(axes):
            body = f"tir.for %{axis} in {self.size} {{\n{body}}}\n"
        return body

    def others(self, name: str) -> list[str]:
        return [each for each in self.written if each != name]

    def elementwise(self, name: str) -> str:
        text, value = self.element("ij", self.others(name))
        point = self.random.choice(["%i, %j", "%i, %j", "%j, %i"])
        return self.loops(self.random.choice(["ij", "ij", "ji"]), text + self.store(value, name, point))

    def mirrored(self, name: str) -> str:
        text, value = self.element("ij", self.others(name))
        return self.loops("ij", text + self.store(value, name, f"%i, %j * -1 + {self.size - 1}"))

    def combined(self, name: str, combine: str, axes: str = "ijk") -> str:
        """Ops that combine an element with a term, whose operand is sometimes the first one."""
        own, before = self.load(name, "%i, %j")
        text, term = self.element(axes, self.others(name))
        value, pair = self.value(), [before, term]
        self.random.shuffle(pair)
        return f"{own}{text}{value} = {combine} {', '.join(pair)} : f32\n" + self.store(value, name, "%i, %j")

    def start(self, name: str, number: str) -> str:
        value = self.value()
        return f"{value} = arith.constant {number} : f32\n" + self.store(value, name, "%i, %j")

    def reduction(self, name: str) -> str:
        combine = self.random.choice(list(COMBINES))
        start = self.start(name, self.random.choice([COMBINES[combine], "1.0"]))
        terms = self.combined(name, combine)
        match self.random.randrange(3):
            case 0:
                return self.loops("ij", start + self.loops("k", terms))
            case 1:
                return self.loops("ij", start) + self.loops(self.random.choice(["ijk", "kij", "ikj"]), terms)
            case _:
                return self.loops("i", self.loops("j", start) + self.loops(self.random.choice(["kj", "jk"]), terms))

    def start_and_sum(self, name: str) -> str:
        return self.loops("ijk", self.combined(name, self.random.choice(list(COMBINES))))

    def block(self, name: str) -> str:
        combine = self.random.choice(list(COMBINES))
        kind = self.random.choice(["reduce", "reduce", "reduce", "opaque"])
        extents = f"(%i : spatial {self.size}, %j : spatial {self.size}, %k : {kind} {self.size})"
        where = self.random.choice(["", "", "", f"where [%x + {self.size}] >= 0 "])
        init = f"tir.init {{\n{self.start(name, COMBINES[combine])}}}\n"
        body = f'tir.block "{name}" {extents} at [%x, %y, %z] {where}{{\n{init}{self.combined(name, combine)}}}\n'
        return self.loops(self.random.choice(["xyz", "xyz", "xyz", "yxz"]), body)

    def in_place(self, name: str) -> str:
        return self.loops("ij", self.combined(name, "arith.addf", "ij"))

    def scan(self, name: str) -> str:
        if self.size == 1:
            return self.in_place(name)
        own, before = self.load(name, "%i, %j")
        text, term = self.element("i", self.others(name))
        value = self.value()
        text += f"{value} = arith.addf {before}, {term} : f32\n" + self.store(value, name, "%i, %j + 1")
        return f"tir.for %i in {self.size} {{\ntir.for %j in {self.size - 1} {{\n{own}{text}}}\n}}\n"

    def half(self, name: str) -> str:
        text, value = self.element("ij", self.others(name))
        return (
            f"tir.for %i in {(self.size + 1) // 2} {{\n{self.loops('j', text + self.store(value, name, '%i, %j'))}}}\n"
        )

    def guarded(self, name: str) -> str:
        text, value = self.element("ij", self.others(name))
        limit = self.random.randint(0, self.size)
        return self.loops("ij", f"tir.if [%i - {limit}] >= 0 {{\n{text}{self.store(value, name, '%i, %j')}}}\n")

    def corner(self, name: str) -> str:
        source = self.random.choice(self.others(name))
        line, value = self.load(source, f"{self.size - 1}, 0")
        return line + self.store(value, name, "0, 0")


def check(seed: int) -> str:
    """Compare a kernel as it is built with its loops as written; returns how much of it was raised."""
    random = Random(seed)
    text = Maker(random).text()
    func = parsed_prim_func(text)
    size = Maker(Random(seed)).size
    arrays = [np.random.default_rng(seed + k).integers(-2, 3, (size, size)).astype(np.float32) for k in range(2)]
    got, wanted = whence.build(text)(*arrays), build_prim_func(text)(*arrays)
    np.testing.assert_array_equal(got, wanted, f"seed {seed}\n{text}")
    try:
        parts = [op for op in raised(func).block.ops if isinstance(op, te.HybridOp)]
    except NotRaised:
        return "not raised"
    return "in parts" if parts else "whole"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = Counter[str]()
    for seed in range(options.seed, options.seed + options.cases):
        counts[check(seed)] += 1
        if sum(counts.values()) % 100 == 0:
            print(dict(counts), flush=True)
    print(f"{options.cases} kernels, 0 wrong: {dict(counts)}")


if __name__ == "__main__":
    main()

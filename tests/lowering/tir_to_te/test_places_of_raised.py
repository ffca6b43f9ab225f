"""Each instruction of a raised kernel names the place in its source that it is made of, and no other.

The fact to compare with is a change of the source: what differs in loops and machine code is made of what was changed.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

import whence
from whence import relay
from whence.executables.executable import Executable

SOURCE = """
@T.prim_func
def k(
    a: T.Buffer((64, 48), "float32"),
    b: T.Buffer((48, 32), "float32"),
    bias: T.Buffer((32,), "float32"),
    out: T.Buffer((64, 32), "float32"),
):
    product = T.alloc_buffer((64, 32), "float32")
    biased = T.alloc_buffer((64, 32), "float32")
    act = T.alloc_buffer((64, 32), "float32")
    for i, j in T.grid(64, 32):
        product[i, j] = T.float32(0)
        for r in range(48):
            product[i, j] = product[i, j] + a[i, r] * b[r, j]
    for i, j in T.grid(64, 32):
        biased[i, j] = product[i, j] + bias[j]
    for i, j in T.grid(64, 32):
        act[i, j] = T.max(biased[i, j], T.float32(0))
    for i in range(64):
        out[i, 0] = act[i, 0]
        for j in range(31):
            out[i, j + 1] = out[i, j] + act[i, j + 1]
"""
SCAN = SOURCE[SOURCE.index("    for i in range(64):") :]
CHANGES = [
    ("a[i, r]", "a[63 - i, r]"),
    ("+ bias[j]", "- bias[j]"),
    ("T.max(", "T.min("),
    ("act[i, 0]", "act[i, 1]"),
    ("+ act[i, j + 1]", "- act[i, j + 1]"),
]
MACHINE = "llvm -mcpu=x86-64-v3"


def compiled(source: str) -> Executable:
    """A graph with a kernel between two operators."""
    kernel = whence.script.from_source(source, file="k.py")
    a, b, bias = relay.var("a", shape=(64, 48)), relay.var("b", shape=(48, 32)), relay.var("bias", shape=(32,))
    call = relay.nn.relu(relay.call_tir("k", [relay.exp(a), b, bias]))
    exe = whence.compile(whence.IRModule({"main": relay.Function([a, b, bias], call), "k": kernel}), target=MACHINE)
    assert isinstance(exe, Executable)
    return exe


class Loops:
    """The loops of the kernel of a graph that calls `k`, line by line."""

    def __init__(self, source: str):
        exe = compiled(source)
        (number,) = (n for n, kernel in enumerate(exe.artifact.kernels) if "call_tir" in kernel.symbol)
        self.text = exe.get_source(number, "tir").splitlines()
        lines = [exe.why(number, line).line for line in range(1, len(self.text) + 1)]
        self.lines = [line for line in lines if line is not None]
        assert len(self.lines) == len(self.text)

    def places(self, line: int) -> set[tuple[int, int]]:
        """The lines and columns of the source that a line is made of."""
        found = [re.fullmatch(r"k \(k\.py:(\d+):(\d+)\)", place) for place in self.lines[line].places]
        return {(int(match[1]), int(match[2])) for match in found if match is not None}

    def of(self, line: int) -> set[int]:
        return {number for number, _ in self.places(line)}

    def instructions(self, line: int) -> Counter[str]:
        return Counter(text.split()[0] for text in self.lines[line].instructions)


def line_of(part: str) -> int:
    (line,) = (number for number, text in enumerate(SOURCE.splitlines(), 1) if part in text)
    return line


@pytest.fixture(scope="module")
def original() -> Loops:
    return Loops(SOURCE)


@pytest.mark.parametrize(("part", "other"), CHANGES)
def test_what_a_change_changes_names_the_line_that_was_changed(original: Loops, part: str, other: str) -> None:
    changed = Loops(SOURCE.replace(part, other))
    assert len(changed.text) == len(original.text)
    title = re.compile(r"@\w+")
    numbers = range(len(original.text))
    loops = [n for n in numbers if title.sub("", original.text[n]) != title.sub("", changed.text[n])]
    assert loops
    for each in (original, changed):
        assert {number: each.of(number) for number in loops} == {number: {line_of(part)} for number in loops}
    code = [n for n in numbers if original.instructions(n) != changed.instructions(n) and original.of(n)]
    assert all(line_of(part) in original.of(number) for number in code)


def test_each_op_names_its_line_and_column(original: Loops) -> None:
    lines = SOURCE.splitlines()
    wanted = {
        "tir.load %p0": "a[i, r]",
        "tir.load %p1": "b[r, j]",
        "tir.load %p2": "bias[j]",
        "math.fma": "product[i, j] + a[i, r]",
        "arith.maximumf": "T.max(",
        "tir.load %act[%i_2, 0]": "act[i, 0]",
    }
    for op, part in wanted.items():
        (number,) = (n for n, text in enumerate(original.text) if op in text)
        line = line_of(part)
        assert (line, lines[line - 1].index(part) + 1) in original.places(number)
        assert original.of(number) == {line}
    zeros = [n for n, text in enumerate(original.text) if "dense<0.0" in text]
    assert [original.of(n) for n in zeros] == [{line_of("= T.float32(0)")}, {line_of("T.max(")}]
    kernel = {number for number in range(len(original.text)) if original.of(number)}
    assert {original.lines[number].layers[0][1] for number in kernel} == {("call_tir_0",)}


def test_ops_of_a_fused_kernel_name_its_lines_and_the_layer_of_the_call() -> None:
    whole = SOURCE.replace(SCAN, "").replace("act[", "out[").replace("], T.float32(0))", "], T.float32(0.5))")
    whole = "".join(line for line in whole.splitlines(keepends=True) if "act =" not in line)
    fused = Loops(whole)
    assert not any("%out" in text and "alloc" in text for text in fused.text)
    last = [n for n, text in enumerate(fused.text) if "maximumf" in text or "tir.select" in text]
    assert len(last) == 2
    layers = [(fused.of(n) != set(), fused.lines[n].layers[0][1]) for n in last]
    assert layers == [(True, ("call_tir_0",)), (False, ("nn.relu_0",))]

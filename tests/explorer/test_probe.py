"""The probe of products of tiles: its code for machines that have them, looked at; and none for other machines."""

from __future__ import annotations

import re

import pytest

from whence.explorer.probe import SHARED, Probe, tile_kinds, tile_operations, tile_text
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.target import Target
from whence.support.machine import Machine


@pytest.mark.parametrize(("kind", "instruction", "terms"), [("bf16", "tdpbf16ps", 32), ("u8s8", "tdpbusd", 64)])
def test_products_of_tiles_follow_one_another(kind: str, instruction: str, terms: int):
    target = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids")
    assembly = compile_text(tile_text(kind), target).assembly
    words = [line.split()[0] for line in assembly.splitlines() if re.match(r"\s+[a-z]", line)]
    assert words.index("ldtilecfg") < words.index("tilezero") < words.index(instruction) < words.index("tilerelease")
    (loop, *_) = re.findall(r"^(\.L\w+):\n((?:\t.*\n)*?)\tjne\t\1$", assembly, re.MULTILINE)
    steps = [line.split(maxsplit=1) for line in loop[1].splitlines()]
    products = [operands for word, operands in steps if word == instruction]
    # No loads, and four sums in turn, so that none waits for the one before.
    assert len(products) >= len(steps) - 3
    assert len({operands.split(", ")[-1] for operands in products[:4]}) == 4
    # Each is a matrix of 16 rows times one of 16 columns.
    assert tile_operations(kind) == 4 * 2 * 16 * 16 * terms


def test_machines_without_tiles_have_no_roof_of_them():
    assert tile_kinds(Machine.of("x86_64", "sapphirerapids")) == ["bf16", "u8s8"]
    assert tile_kinds(Machine.of("x86_64", "sapphirerapids", "-amx-int8")) == ["bf16"]
    assert tile_kinds(Machine.of("x86_64", "znver5")) == []
    here = tile_kinds(Target.native().hardware)
    assert list(Probe().tiles) == here


def test_a_probe_has_the_rates_of_a_machine():
    probe = Probe(2)
    rates = probe.rates
    assert rates.threads == 2
    assert 2 * probe.machine.lanes() * rates.products == pytest.approx(probe.operations)
    assert rates.loads * probe.machine.vector_bytes == pytest.approx(probe.bytes["L1"])
    assert rates.shared_memory == pytest.approx(2 * probe.bytes[SHARED])
    # A cache is nearer than memory; how much, depends on the machine.
    assert rates.loads * probe.machine.vector_bytes > rates.memory > 1e8

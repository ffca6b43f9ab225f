"""The links of a document are true: each leads where `why` and `where` and the object's own line table say."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest
from disassembly import HAS_TOOLS, disassembled
from recorded_sessions import MODELS, recorded

import whence
from whence.executables.executable import Executable
from whence.explorer.code import kernel_of
from whence.explorer.session.document import Session
from whence.explorer.session.text import column, text_of_stage
from whence.lowering.llvm_to_native.assembly import instructions
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.line_table import line_table, rows
from whence.runtime.loading.elf import Elf

PAIRS = 200


@dataclass(frozen=True)
class Instruction:
    """A machine instruction as the document has it."""

    text: str
    tir: int
    """The line of TIR; 0 for none."""
    exact: bool
    slots: tuple[int, ...]


@dataclass(frozen=True)
class Compiled:
    """A model compiled apart from its document."""

    session: Session
    executable: Executable

    def code(self, kernel: int) -> list[Instruction]:
        """The instructions of a kernel of the document."""
        row = self.session.kernels[kernel]
        (number,) = (number for number in row.stages if self.session.stages[number].level == "asm")
        body = self.session.stages[number].body
        columns = (text_of_stage(self.session, number), column(body.sets), column(body.tir), column(body.exact))
        return [
            Instruction(" ".join(text.split()), tir, bool(exact), tuple(row.slots[slots]) if slots >= 0 else ())
            for text, slots, tir, exact in zip(*columns, strict=True)
            if text.startswith("\t")
        ]

    def rows(self, call: int, instruction: Instruction) -> set[int]:
        """The rows of the layers and tensors that an instruction serves in a call, by the document."""
        sets = [self.session.calls[call].layers[slot] for slot in instruction.slots]
        return {row for index in sets for row in self.session.sets[index]}


@pytest.fixture(scope="module", params=list(MODELS))
def compiled(request: pytest.FixtureRequest) -> Compiled:
    return Compiled(recorded(request.param), whence.compile(MODELS[request.param]()))


def test_instructions_serve_the_layers_that_why_names(compiled: Compiled):
    rng = random.Random(1)
    session, names = compiled.session, [call.name for call in compiled.executable.artifact.calls]
    assert [call.name for call in session.calls] == names
    links = 0
    for _ in range(PAIRS):
        call = rng.randrange(len(names))
        instruction = rng.choice(compiled.code(session.calls[call].kernel))
        layer = rng.choice(session.layers.name)
        said = {session.layers.name[row] for row in compiled.rows(call, instruction)}
        if not instruction.tir:
            assert not said
            continue
        line = compiled.executable.why(names[call], instruction.tir).line
        assert line is not None
        texts = [" ".join(text.removesuffix("  (inferred)").split()) for text in line.instructions]
        assert instruction.text in texts
        (served,) = (layers for name, layers in line.layers if name == names[call])
        assert said == set(served)
        assert (layer in said) is (layer in served)
        links += bool(said)
    assert links > PAIRS // 2


def test_layers_have_as_many_instructions_as_where_counts(compiled: Compiled):
    """Those of their tensors included."""
    layers = compiled.session.layers
    counts: Counter[tuple[str, str]] = Counter()
    for number, call in enumerate(compiled.session.calls):
        for instruction in compiled.code(call.kernel):
            owners = {layers.owner[row] for row in compiled.rows(number, instruction)}
            counts.update((call.name, layers.name[row]) for row in owners)
    parts = {
        (part.call, answer.layers[0].name): part.native[0]
        for answer in compiled.executable.wheres()
        for part in answer.kernels
    }
    assert counts == Counter(parts)
    assert len(parts) > 5


def test_exact_lines_are_those_of_the_objects_line_table(compiled: Compiled):
    artifact = compiled.executable.artifact
    for number in range(len(artifact.kernels)):
        code = compiled.code(number)
        kernel = kernel_of(artifact, number)
        assert compiled.session.kernels[number].symbol == kernel.symbol
        own = [one.line if one.exact else 0 for one in instructions(kernel.assembly)]
        # A line in the table is inferred where its op cannot have made the instruction.
        assert all(line in ({one.tir} if one.exact else {0, one.tir}) for one, line in zip(code, own, strict=True))
        table = [line for line in line_table(kernel.object).lines if line >= 0]
        assert [line for line, _ in groupby(own)] == [line for line, _ in groupby(table)]


@pytest.mark.skipif(not HAS_TOOLS, reason="binutils or llvm-objdump are not installed")
def test_exact_lines_are_those_that_objdump_reads(compiled: Compiled, tmp_path: Path):
    artifact = compiled.executable.artifact
    for number in range(len(artifact.kernels)):
        path = tmp_path / f"{number}.o"
        path.write_bytes(kernel_of(artifact, number).object)
        code = compiled.code(number)
        read = disassembled(path)
        assert [instruction.text.split()[0] for instruction in code] == [one.mnemonic for one in read]
        wrong = [(mine, one.line) for mine, one in zip(code, read, strict=True) if mine.exact and mine.tir != one.line]
        assert not wrong
        # Inferred ones are there, too: other tools show them without us.
        assert [(mine, one.line) for mine, one in zip(code, read, strict=True) if mine.tir != one.line] == []


def test_inferred_lines_change_no_code_and_are_told_apart(compiled: Compiled):
    artifact, inferred = compiled.executable.artifact, 0
    for number in range(len(artifact.kernels)):
        kernel = kernel_of(artifact, number)
        plain = compile_text(kernel.llvm, artifact.target).object
        texts = [(elf := Elf.of(data)).content(elf.sections[_text(elf)]) for data in (plain, kernel.object)]
        assert texts[0] == texts[1]
        assert line_table(plain) == line_table(kernel.object)
        columns = Counter(row.column for row in rows(kernel.object) if row.line > 0)
        assert 2 not in {row.column for row in rows(plain)}
        inferred += columns[2]
    assert inferred > 10


def _text(elf: Elf) -> int:
    """The number of the section of code."""
    (number,) = (number for number, section in enumerate(elf.sections) if section.name == ".text")
    return number

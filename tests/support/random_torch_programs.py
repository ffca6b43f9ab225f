"""Random programs that write in place, through views of views, to inputs and to buffers; held against eager torch.

    python tests/support/random_torch_programs.py [--cases 200] [--seed 0] [--keep FOLDER] [--write SEED ..]

Each program is a file of Python whose every line is known: `Program.source`. It is exported, compiled from its .pt2
file, called twice, and compared with eager torch in all results and all that it keeps. Every op has to stand at the
line of a call that computes such a thing. `--write` puts some of them into tests/exports/pytorch/random.zip, with what
torch computes of them.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import random
import re
import sys
import tempfile
import warnings
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ARCHIVE = Path(__file__).parents[1] / "exports" / "pytorch" / "random.zip"

MOVES = {
    "broadcast_to", "cast", "concatenate", "copy", "constant", "expand_dims", "full", "gather", "gather_nd", "ones",
    "reshape", "reverse", "scatter_elements", "scatter_nd", "squeeze", "strided_slice", "take", "transpose", "where",
    "zeros", "sizes",
}  # fmt: skip
"""Operators of relay that only move elements: any view or write may need them."""
PUTS = {"concatenate", "scatter_elements", "scatter_nd", "where"}
"""Those that put a part into a whole: no view needs them."""


@dataclass
class Value:
    """A tensor of the program."""

    name: str
    shape: tuple[int, ...]
    writable: bool = True
    """False where elements overlap, as those of `expand`."""
    kept: bool = False
    """True for an input or a buffer."""


@dataclass
class Program:
    """A module as source, and what its lines compute."""

    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    computes: list[set[str]] = field(default_factory=list[set[str]])
    """For each line the relay operators that compute, beyond moving elements."""
    values: list[Value] = field(default_factory=list[Value])
    count: int = 0
    views: set[int] = field(default_factory=set[int])
    """The numbers of the lines that make views."""

    def line(self, text: str, *computes: str) -> None:
        self.lines.append(f"        {text}")
        self.computes.append(set(computes))

    def named(self, shape: tuple[int, ...], writable: bool = True) -> str:
        self.count += 1
        self.values.append(Value(f"v{self.count}", shape, writable))
        return f"v{self.count}"

    def any(self, writable: bool = False) -> Value:
        return self.rng.choice([value for value in self.values if value.writable or not writable])

    def like(self, shape: tuple[int, ...]) -> str | None:
        """A tensor of a shape, or one that broadcasts to it."""
        fitting = [value.name for value in self.values if value.shape in (shape, shape[-1:], ())]
        return self.rng.choice(fitting) if fitting else None

    @property
    def source(self) -> str:
        head = HEAD.splitlines()
        results = ", ".join(value.name for value in self.results())
        return "\n".join([*head, *self.lines, f"        return {results}", ""])

    def results(self) -> list[Value]:
        """About half of the values, and always some."""
        rng = random.Random(len(self.lines))
        return [value for at, value in enumerate(self.values) if rng.random() < 0.5 or at == len(self.values) - 1]

    def first_line(self) -> int:
        return len(HEAD.splitlines()) + 1


HEAD = (
    """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.arange(6.0).reshape(2, 3))

    def forward(self, x, y):
        kept = self.kept
        """.rstrip()
    + "\n        rows = torch.tensor([1, 0])\n        columns = torch.tensor([0, 2])"
)


def generated(seed: int, steps: int = 14) -> Program:
    """A random program."""
    rng = random.Random(seed)
    program = Program(rng, values=[Value("x", (4, 6)), Value("y", (3, 2)), Value("kept", (2, 3), kept=True)])
    program.line("v0 = x * 2" if rng.random() < 0.7 else "v0 = x", "multiply")
    program.values.append(Value("v0", (4, 6)))
    for _ in range(rng.randrange(steps // 2, steps + 1)):
        add = rng.choice([_new, _view, _view, _view, _write, _write, _write])
        first = len(program.lines)
        add(program)
        if add is _view:
            program.views |= {*range(first, len(program.lines))}
    _write(program)
    return program


def _new(program: Program) -> None:
    rng, value = program.rng, program.any()
    kind = rng.randrange(5)
    other = program.like(value.shape)
    if kind == 0 or other is None:
        program.line(f"{program.named(value.shape)} = {value.name}.clone()")
    elif kind == 1:
        program.line(f"{program.named(value.shape)} = {value.name} + {other}", "add")
    elif kind == 2:
        program.line(f"{program.named(value.shape)} = {value.name} * 0.5", "multiply")
    elif kind == 3:
        shape = rng.choice([(4, 6), (2, 3), (5,), (3, 2)])
        program.line(f"{program.named(shape)} = torch.full({shape}, {rng.randrange(4)}.0)")
    else:
        program.line(f"{program.named(value.shape[:-1])} = {value.name}.sum(-1)" if value.shape else "pass", "sum")


def _view(program: Program) -> None:
    rng, value = program.rng, program.any()
    name, shape, writable = value.name, value.shape, value.writable
    rank = len(shape)
    if not rank:
        program.line(f"{program.named((1,), writable)} = {name}.unsqueeze(0)")
        return
    axis = rng.randrange(rank)
    extent = shape[axis]
    rest = shape[:axis] + shape[axis + 1 :]
    kind = rng.randrange(16)
    if kind == 0:
        index = rng.randrange(-extent, extent)
        program.line(f"{program.named(rest, writable)} = {name}.select({axis}, {index})")
    elif kind in (1, 2):
        start = rng.randrange(extent)
        step = rng.choice([1, 1, 2, 3])
        end = rng.randrange(start + 1, extent + 1)
        colons = ":, " * axis
        new = (*shape[:axis], -(-(end - start) // step), *shape[axis + 1 :])
        program.line(f"{program.named(new, writable)} = {name}[{colons}{start}:{end}:{step}]")
    elif kind == 3 and rank >= 2:
        other = (axis + 1) % rank
        new = list(shape)
        new[axis], new[other] = new[other], new[axis]
        program.line(f"{program.named(tuple(new), writable)} = {name}.transpose({axis}, {other})")
    elif kind == 4:
        program.line(f"{program.named((*shape[:axis], 1, *shape[axis:]), writable)} = {name}.unsqueeze({axis})")
    elif kind == 5 and rank >= 2:
        least = min(shape[0], shape[1])
        program.line(f"{program.named((*shape[2:], least), writable)} = {name}.diagonal()")
    elif kind == 6 and extent <= 4:
        parts = [program.named(rest, writable) for _ in range(extent)]
        program.line(f"{', '.join(parts)}, = {name}.unbind({axis})")
    elif kind == 7:
        size = rng.randrange(1, extent + 1)
        lengths = [min(size, extent - at) for at in range(0, extent, size)]
        parts = [program.named((*shape[:axis], length, *shape[axis + 1 :]), writable) for length in lengths]
        program.line(f"{', '.join(parts)}, = {name}.split({size}, {axis})")
    elif kind == 8:
        total = 1
        for size in shape:
            total *= size
        new = rng.choice([(total,), (1, total), (2, total // 2) if total % 2 == 0 else (total, 1)])
        # A copy or a view, as strides have it: torch decides, and so do we.
        program.line(f"{program.named(new, writable)} = {name}.reshape({new})")
    elif kind == 9:
        program.line(f"{program.named((2, *shape), False)} = {name}.expand(2, {', '.join(['-1'] * rank)})")
    elif kind == 10:
        program.line(
            f"{program.named(tuple(reversed(shape)), writable)} = {name}.permute({list(reversed(range(rank)))})"
        )
    elif kind == 11:
        length = rng.randrange(1, extent + 1)
        start = rng.randrange(extent - length + 1)
        new = (*shape[:axis], length, *shape[axis + 1 :])
        program.line(f"{program.named(new, writable)} = {name}.narrow({axis}, {start}, {length})")
    elif kind == 12 and 1 in shape:
        new = tuple(size for size in shape if size != 1)
        program.line(f"{program.named(new, writable)} = {name}.squeeze()")
    elif kind == 13:
        program.line(f"{program.named(shape, writable)} = {name}.detach()")
    elif kind == 14 and rank >= 2:
        first = shape[0] * shape[1]
        program.line(f"{program.named((first, *shape[2:]), writable)} = {name}.flatten(0, 1)")
    else:
        pieces = rng.choice([2, 3])
        size = -(-extent // pieces)
        lengths = [min(size, extent - at) for at in range(0, extent, size)]
        parts = [program.named((*shape[:axis], length, *shape[axis + 1 :]), writable) for length in lengths]
        program.line(f"{', '.join(parts)}, = {name}.chunk({pieces}, {axis})")


def _write(program: Program) -> None:
    rng, value = program.rng, program.any(writable=True)
    name, shape = value.name, value.shape
    other = program.like(shape) or "0.5"
    kind = rng.randrange(14)
    number = rng.choice(["1", "-2", "0.5"])
    if kind == 0:
        program.line(f"{name}.add_({number})", "add")
    elif kind == 1:
        program.line(f"{name}.mul_({number})", "multiply")
    elif kind == 2:
        program.line(f"{name}.add_({other}, alpha=2)" if other != "0.5" else f"{name}.add_(0.5)", "add", "multiply")
    elif kind == 3 and other != "0.5":
        program.line(f"{name}.copy_({other})")
    elif kind == 4:
        program.line(f"{name}.fill_({number})")
    elif kind == 5:
        program.line(f"{name}.masked_fill_({name} > {number}, {rng.randrange(3)})", "greater")
    elif kind == 6 and shape and shape[0] >= 3:
        program.line(f"{name}[columns] = {number}")
    elif kind == 7 and shape and shape[0] >= 2:
        program.line(f"{name}[rows] += {number}", "add", "less", "add")
    elif kind == 8 and shape:
        program.line(f"{name}[::2] = {number}")
    elif kind == 9 and len(shape) >= 2:
        index = rng.randrange(shape[1])
        program.line(f"{name}[:, {index}] -= {number}", "subtract")
    elif kind == 10:
        program.line(f"{name} += {other}", "add")
    elif kind == 11 and shape:
        program.line(f"{name}[{name} < {number}] = 3.0", "less")
    elif kind == 12:
        program.line(f"{name}.clamp_(min=-1.5)", "clip", "maximum")
    elif kind == 13 and len(shape) >= 2 and shape[0] >= 2:
        program.line(f"{name}.index_put_((rows,), {name}[0].clone(), accumulate=True)", "add")
    else:
        program.line(f"{name}.zero_()")


# Held against torch.


@dataclass
class Exported:
    """A program, its .pt2 file, and what eager torch computes of two calls."""

    program: Program
    file: str
    data: bytes
    calls: list[tuple[list[Any], list[Any]]]
    kept: list[Any]
    """The buffer after each call."""


def exported(seed: int, folder: Path) -> Exported | None:
    """Generate and export a program, and run it in torch; None where torch itself refuses one of its writes."""
    import torch

    program = generated(seed)
    path = folder / f"program_{seed}.py"
    path.write_text(program.source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(seed)
    inputs = [(torch.randn(4, 6), torch.randn(3, 2)) for _ in range(2)]
    with torch.no_grad():
        try:
            module.Net()(*(array.clone() for array in inputs[0]))
        except RuntimeError:
            return None
        net = module.Net().eval()
        buffer = io.BytesIO()
        torch.export.save(torch.export.export(net, inputs[0]), buffer)
        result = Exported(program, path.name, buffer.getvalue(), [], [])
        for arrays in inputs:
            results = net(*(array.clone() for array in arrays))
            results = results if isinstance(results, tuple) else (results,)
            result.calls.append(([array.numpy() for array in arrays], [value.clone().numpy() for value in results]))
            result.kept.append(net.kept.numpy().copy())
    return result


def checked(seed: int, folder: Path) -> str:
    """Compare one program with torch, twice; return what is wrong, "" for nothing, "SKIP" where torch refuses it."""
    import whence

    case = exported(seed, folder)
    if case is None:
        return "SKIP"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            executable = whence.compile(case.data)
            for (inputs, wanted), kept in zip(case.calls, case.kept, strict=True):
                results = executable(*inputs)
                if wrong := differing(results, wanted):
                    return wrong
                state = getattr(executable, "state", {})
                before = np.arange(6, dtype=np.float32).reshape(2, 3)
                if not np.allclose(state.get("kept", before), kept, rtol=1e-5, atol=1e-5):
                    return f"kept: {state.get('kept')}, expected {kept}"
        except whence.WhenceError as error:
            return f"ERROR {error}"
        return misplaced(case.program, case.data, case.file)


def differing(results: Any, wanted: list[Any]) -> str:
    """Return which results are wrong."""
    found = results if isinstance(results, tuple) else (results,)
    if len(found) != len(wanted):
        return f"{len(found)} results, expected {len(wanted)}"
    for at, (result, right) in enumerate(zip(found, wanted, strict=True)):
        if result.shape != right.shape or not np.allclose(result, right, rtol=1e-5, atol=1e-5):
            return f"output {at}:\n{result}\nexpected\n{right}"
    return ""


def lines_of(data: bytes, file: str) -> dict[str, int]:
    """Node -> the last line of a file in its stack trace, as the .pt2 file has it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("models/model.json"))
        nodes: list[Any] = json.loads(archive.read(name))["graph_module"]["graph"]["nodes"]
    lines: dict[str, int] = {}
    for node in nodes:
        found = re.findall(rf'{re.escape(file)}", line (\d+)', node["metadata"].get("stack_trace") or "")
        lines[node["name"]] = int(found[-1]) if found else 0
    return lines


def misplaced(program: Program, data: bytes, file: str) -> str:
    """Return what is wrong with the lines of the ops: each is that of its node's call, which computes such a thing."""
    from xdsl.dialects.builtin import NameLoc

    from whence.dialects.relay.core import ConstantOp, ReturnOp
    from whence.dialects.relay.size_ranges import main_of
    from whence.frontends.torch import from_exported_program
    from whence.provenance.span import leaves, positions

    lines = lines_of(data, file)
    for op in main_of(from_exported_program(data)).block.ops:
        if isinstance(op, ReturnOp | ConstantOp):
            continue
        for leaf in leaves(op.location):
            if not isinstance(leaf, NameLoc) or not (found := positions(leaf)):
                return f"{op.name} has no line"
            line, layer = found[0].line, leaf.desc.data
            if not found[0].file.endswith(file) or lines.get(layer) != line:
                return f"{op.name} of '{layer}' is at {line}, its call at {lines.get(layer)}"
            at = line - program.first_line()
            kind = op.name.removeprefix("relay.")
            allowed = program.computes[at] if 0 <= at < len(program.computes) else set[str]()
            puts = PUTS if at in program.views else set[str]()
            if kind not in (MOVES - puts) | allowed:
                return f"{kind} at line {line}, which is {program.lines[at].strip()!r}"
    return ""


def write(seeds: list[int], folder: Path) -> None:
    """Write some programs, and what torch computes of their first calls, into the archive of the tests."""
    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for seed in seeds:
            case = exported(seed, folder)
            assert case is not None, seed
            inner = io.BytesIO()
            with zipfile.ZipFile(io.BytesIO(case.data)) as old, zipfile.ZipFile(inner, "w") as new:
                for entry in old.infolist():
                    if "sample_inputs" not in entry.filename:
                        text = old.read(entry).replace(f"{folder}/".encode(), b"")
                        new.writestr(zipfile.ZipInfo(entry.filename), text)
            inputs, wanted = case.calls[0]
            arrays = io.BytesIO()
            named = {f"in{at}": array for at, array in enumerate(inputs)}
            np.savez(arrays, **named, **{f"out{at}": array for at, array in enumerate(wanted)})
            for name, data in (("pt2", inner.getvalue()), ("npz", arrays.getvalue())):
                archive.writestr(zipfile.ZipInfo(f"{seed}.{name}"), data, zipfile.ZIP_DEFLATED)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", default=None, help="a folder for the programs")
    parser.add_argument("--write", type=int, nargs="+", default=[], help="seeds of the programs for the tests")
    options = parser.parse_args()
    folder = Path(options.keep or tempfile.mkdtemp())
    if options.write:
        write(options.write, folder)
        return
    wrong = skipped = 0
    for seed in range(options.seed, options.seed + options.cases):
        try:
            result = checked(seed, folder)
        except Exception as error:  # torch's own, too: each is one to look at
            result = f"{type(error).__name__} {error}"
        if result == "SKIP":
            skipped += 1
        elif result:
            wrong += 1
            print(f"seed {seed}: {result[:600]}", flush=True)
    print(f"{options.cases} programs, {skipped} that torch refuses, {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

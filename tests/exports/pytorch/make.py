"""Writes the exported programs beside this file, each with inputs of two sizes and what eager torch computes of them.

    python tests/exports/pytorch/make.py [name ..]

The weights are random, and no file is larger than 100 kB: what they keep of where they were made is a relative path.
"""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import branches
import facts
import networks
import numpy as np
import quantized_networks
import torch
from torch.export import Dim, ExportedProgram, export, save

HERE = Path(__file__).parent
LARGEST = 100_000
Inputs = tuple[Any, ...]


def ids(batch: int, length: int) -> Inputs:
    return (torch.randint(0, 40, (batch, length)),)


def numbers(*shapes: tuple[int, ...]) -> Inputs:
    return tuple(torch.randn(shape) for shape in shapes)


def between(low: float, high: float) -> Inputs:
    return (torch.linspace(low, high, 12).view(3, 4),)


def cached(*places: int) -> Inputs:
    return torch.tensor(places), torch.randn(len(places), 4)


STRICT = {"branches", "loops"}
"""Programs whose graphs that nodes run have lines of their own: exports that are not strict do not keep them."""


def compared(rows: int, others: int) -> Inputs:
    x, y, z = numbers((rows, 2), (others, 2), (2,))
    return x, (y, z)


def answered(rows: int, factor: int) -> Inputs:
    return *numbers((rows, 2)), factor, 0.5, True


ANY = Dim.AUTO
PROGRAMS: dict[str, tuple[Callable[[], torch.nn.Module], Any, Inputs, Inputs]] = {
    "answers": (facts.Answers, ({0: Dim("rows")}, Dim.DYNAMIC, None, None), answered(4, 3), answered(2, 5)),
    "branches": (branches.Branches, None, between(-2, 1.5), between(-1, 1.9)),
    "cache": (networks.Cache, None, cached(1, 3), cached(3, 0)),
    "chosen": (networks.Chosen, None, numbers((4, 5)), numbers((4, 5))),
    "cnn": (networks.CNN, {"image": {0: Dim("batch", max=64)}}, numbers((2, 3, 16, 16)), numbers((5, 3, 16, 16))),
    "counted": (facts.Counted, None, (*numbers((6, 4)), torch.tensor(3)), (*numbers((6, 4)), torch.tensor(5))),
    "counter": (networks.Counter, None, numbers((4, 3)), numbers((4, 3))),
    "dynamically_quantized": (
        quantized_networks.DynamicallyQuantized,
        {"x": {0: Dim("rows")}},
        numbers((3, 8)),
        numbers((5, 8)),
    ),
    "guarded": (facts.Guarded, ({0: ANY}, ({0: ANY}, None)), compared(4, 6), compared(5, 5)),
    "loops": (branches.Loops, None, numbers((3, 4)), numbers((3, 4))),
    "marked": (branches.Marked, {"x": {0: Dim("rows")}}, numbers((3, 4)), numbers((5, 4))),
    "mixed": (networks.Mixed, {"x": {0: Dim("batch")}}, numbers((2, 4, 5, 6)), numbers((3, 4, 5, 6))),
    "quantized": (
        quantized_networks.QuantizedCNN,
        {"image": {0: Dim("batch")}},
        numbers((2, 3, 12, 12)),
        numbers((3, 3, 12, 12)),
    ),
    "recurrent": (networks.Recurrent, {"x": {0: Dim("batch")}}, numbers((2, 5, 4)), numbers((3, 5, 4))),
    "sized": (branches.Sized, {"x": {0: Dim("rows", max=64)}}, numbers((3, 4)), numbers((6, 4))),
    "transformer": (networks.Transformer, {"ids": {0: Dim.DYNAMIC, 1: Dim("length", max=32)}}, ids(2, 6), ids(3, 9)),
    "unknown": (networks.Unknown, None, numbers((3,)), numbers((3,))),
    "writes": (networks.Writes, {"x": {0: Dim("rows", min=4)}}, numbers((5, 4)), numbers((7, 4))),
}


def relative(program: bytes) -> bytes:
    """A program whose stack traces name files relative to this folder, and without the inputs, which are pickled."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(program)) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith(".json"):
                data = json.dumps(json.loads(data), separators=(",", ":")).encode()
                data = data.replace(f"{HERE}/".encode(), b"")
                packages = str(Path(torch.__file__).parent.parent.parent).encode()  # pyright: ignore[reportArgumentType]
                data = data.replace(packages, b"")
            if "sample_inputs" not in entry.filename:
                new.writestr(zipfile.ZipInfo(entry.filename), data)
    return target.getvalue()


def written(program: ExportedProgram, name: str) -> None:
    buffer = io.BytesIO()
    save(program, buffer)
    data = relative(buffer.getvalue())
    assert len(data) <= LARGEST, (name, len(data))
    (HERE / f"{name}.pt2").write_bytes(data)


def leaves(values: Any) -> list[Any]:
    """The tensors and numbers of a structure, as arrays."""
    flat = torch.utils._pytree.tree_leaves(values)  # pyright: ignore[reportPrivateUsage]
    return [np.asarray(value) for value in flat if value is not None and not isinstance(value, str)]


def make(name: str) -> None:
    torch.manual_seed(0)
    network, dynamic, first, second = PROGRAMS[name]
    module = network().eval()
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, torch.nn.BatchNorm2d):
                part.running_mean.uniform_(-1, 1)
                part.running_var.uniform_(0.5, 2)
        program = export(module, first, dynamic_shapes=dynamic, strict=name in STRICT)
        written(program, name)
        if name == "counter":
            written(program.run_decompositions(), "counter.decomposed")
        arrays: dict[str, Any] = {}
        for call, inputs in enumerate((first, second)):
            arrays |= {f"{call}.in{at}": value for at, value in enumerate(leaves(inputs))}
            arrays |= {f"{call}.out{at}": value for at, value in enumerate(leaves(module(*inputs)))}
    np.savez_compressed(HERE / f"{name}.npz", **arrays)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PROGRAMS:
        make(wanted)

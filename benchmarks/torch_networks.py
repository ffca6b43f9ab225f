"""Exported PyTorch networks held against eager torch, at two sizes each.

    python benchmarks/torch_networks.py                           every network, each in a process of its own
    python benchmarks/torch_networks.py 'timm/*' nn/unet          some of them
    python benchmarks/torch_networks.py --seconds 120             at most so long for one
    python benchmarks/torch_networks.py --reading                 only export and import: no kernels
    python benchmarks/torch_networks.py --markdown                as a table for a page

Networks of torchvision, timm and transformers in tiny configurations with random weights (benchmarks/torch_zoo). `off`
is the largest difference from eager torch over both calls, relative to the largest number of a result; `eager off` is
how far eager itself is from eager in float64, and stands where ours is off by more than the tolerance. `program` is
`all sizes` where one program serves both calls, `static` where the exporter left nothing open, so that there is one
for each. Needs torch, and the library of each network.
"""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import argparse
import io
import multiprocessing
import time
import traceback
import warnings
from fnmatch import fnmatch
from importlib.util import find_spec
from typing import Any

import numpy as np

TOLERANCE = 2e-5
COLUMNS = ("network", "sizes", "program", "operators", "nodes", "off", "eager off", "export s", "compile s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=["*"], help="names or patterns")
    parser.add_argument("--seconds", type=float, default=300, help="for one network, all together")
    parser.add_argument("--reading", action="store_true", help="export and import only")
    parser.add_argument("--markdown", action="store_true", help="a table for a page")
    arguments = parser.parse_args()
    if find_spec("torch") is None:
        print(
            "torch_networks.py: expected torch, torchvision, timm and transformers to be installed, got none of torch"
        )
        return
    warnings.simplefilter("ignore")
    from torch_zoo import NETWORKS

    import whence

    assert whence.compile
    names = [name for name in NETWORKS if any(fnmatch(name, pattern) for pattern in arguments.networks)]
    separator = " | " if arguments.markdown else "  "
    print(_line(COLUMNS, separator))
    right = 0
    for name in names:
        row = _row(name, arguments)
        right += row.get("off", 1.0) <= TOLERANCE
        print(
            _line([str(_shown(row.get(column, ""))) for column in COLUMNS], separator) + row.get("error", ""),
            flush=True,
        )
    if not arguments.reading:
        print(f"{right} of {len(names)} within {TOLERANCE:g} of eager torch")


def _line(cells: Any, separator: str) -> str:
    widths = (34, 24, 9, 9, 5, 8, 9, 8, 9)
    return separator.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))


def _shown(value: Any) -> Any:
    return f"{value:.2g}" if isinstance(value, float) else value


def _row(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one network in a process of its own, which has what this one has imported."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_inside, args=(name, arguments.reading, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(arguments.seconds):
            return {"network": name, "error": f"more than {arguments.seconds:g} s"}
        return ours.recv()
    except EOFError:
        process.join()
        return {"network": name, "error": f"ended with {process.exitcode}"}
    finally:
        process.kill()
        process.join()


def _inside(name: str, reading: bool, pipe: Any) -> None:
    try:
        row = _measured(name, reading)
    except Exception as error:
        traceback.print_exc()
        row = {"network": name, "error": _said(error)}
    pipe.send(row)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:400]


def _measured(name: str, reading: bool) -> dict[str, Any]:
    """Export a network, import or compile it, and compare both calls with eager."""
    import torch
    from torch_zoo import NETWORKS

    torch.manual_seed(0)
    torch.set_num_threads(1)
    case = NETWORKS[name]()
    module = _settled(case.module)
    row: dict[str, Any] = {"network": name}
    start = time.perf_counter()
    with torch.no_grad():
        program = torch.export.export(module, case.first, dynamic_shapes=case.dynamic)
    row["export s"] = time.perf_counter() - start
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    row["nodes"], row["operators"] = len(calls), len({str(node.target) for node in calls})
    row["sizes"] = " ".join(",".join("x".join(map(str, x.shape)) for x in call) for call in (case.first, case.second))
    try:
        return row | _compared(case, module, program, reading)
    except Exception as error:
        traceback.print_exc()
        return row | {"error": _said(error)}


def _settled(module: Any) -> Any:
    """A network for inference whose norms, biases and scales are not all alike, as those of trained ones are not."""
    import torch

    module = module.eval()
    for parameter in module.parameters():
        if parameter.numel() > 1 and parameter.is_floating_point() and (parameter == parameter.flatten()[0]).all():
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    for part in module.modules():
        if isinstance(getattr(part, "running_mean", None), torch.Tensor):
            part.running_mean.uniform_(-0.5, 0.5)
            part.running_var.uniform_(0.5, 2)
    return module


def _compared(case: Any, module: Any, program: Any, reading: bool) -> dict[str, Any]:
    import torch

    import whence

    def serve(program: Any, inputs: Any) -> Any:
        if not reading:
            return whence.compile(program)
        target = io.BytesIO()
        torch.export.save(program, target)
        whence.load(target.getvalue(), {n: list(x.shape) for n, x in zip(_names(program), inputs, strict=True)})
        return None

    start = time.perf_counter()
    executable = serve(program, case.first)
    row: dict[str, Any] = {"program": "all sizes"}
    executables = [executable, executable]
    if not _fits(program, case.second):
        row["program"] = "static"
        with torch.no_grad():
            executables[1] = serve(torch.export.export(module, case.second), case.second)
    row["compile s"] = time.perf_counter() - start
    if reading:
        return row
    off = eager_off = 0.0
    with torch.no_grad():
        state = {name: value.clone() for name, value in module.named_buffers()}
        for executable, inputs in zip(executables, (case.first, case.second), strict=True):
            results = executable(*(x.numpy() for x in inputs))
            expected = _leaves(module(*inputs))
            results = results if isinstance(results, tuple) else (results,)
            off = max(off, _distance(results, expected))
        row["off"] = off
        if off > TOLERANCE:
            for name, value in module.named_buffers():
                value.copy_(state[name])
            for inputs in (case.first, case.second):
                expected = _leaves(module(*inputs))
                eager_off = max(eager_off, _distance(expected, _exactly(module, inputs)))
            row["eager off"] = eager_off
    return row


def _names(program: Any) -> list[str]:
    return [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]


def _fits(program: Any, inputs: Any) -> bool:
    """Return whether a program takes inputs of these sizes, or was made for others only."""
    import torch

    shapes = [
        node.meta["val"].shape
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in _names(program)
    ]
    return all(
        (isinstance(size, torch.SymInt) and not size.node.expr.is_number) or size == extent
        for shape, x in zip(shapes, inputs, strict=True)
        for size, extent in zip(shape, x.shape, strict=True)
    )


def _leaves(results: Any) -> list[Any]:
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf.numpy() for leaf in tree_leaves(results) if isinstance(leaf, torch.Tensor)]


def _exactly(module: Any, inputs: Any) -> list[Any]:
    """The results of eager in float64."""
    import copy

    import torch

    doubled = copy.deepcopy(module).double()
    return _leaves(doubled(*(x.double() if x.dtype == torch.float32 else x for x in inputs)))


def _distance(results: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number of a result."""
    assert len(results) == len(expected), (len(results), len(expected))
    off = 0.0
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape, (result.shape, wanted.shape)
        a, b = np.asarray(result, np.float64), np.asarray(wanted, np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        largest = np.abs(b[np.isfinite(b)]).max(initial=1e-30)
        with np.errstate(invalid="ignore"):
            off = max(off, float(np.nan_to_num(np.where(same, 0, np.abs(a - b)) / largest, nan=np.inf).max(initial=0)))
    return off


if __name__ == "__main__":
    main()

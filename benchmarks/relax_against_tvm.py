"""Modules of ours, printed as Relax, compiled and run by TVM: are the values the same?

    python benchmarks/relax_against_tvm.py --tvm PYTHON [NETWORK ..]

PYTHON: an interpreter with apache-tvm 0.27 (not a dependency of this project). The modules are the programs of
`tests/support/relax_programs.py`, or networks of the tests' zoo. Prints each module that does not agree to 1e-4, with
the reason, and how many do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-4
TESTS = Path(__file__).parents[1] / "tests"


def worker(path: Path) -> None:
    """Run the module of a file by TVM, and print a line of JSON about it."""
    tvm, relax, script = (import_module(name) for name in ("tvm", "tvm.relax", "tvm.script"))
    type_variable: Any = import_module("typing").TypeVar
    arrays = np.load(path.with_suffix(".npz"))
    inputs, expected = ([arrays[name] for name in sorted(arrays) if name[0] == letter] for letter in "io")
    try:
        head, at, body = path.read_text().partition("@I.ir_module")
        names: dict[str, Any] = {"I": script.ir, "R": script.relax, "T": script.tirx}
        for line in head.splitlines():
            name, sign, value = line.partition(" = ")
            if sign and value.startswith("TypeVar("):
                names[name] = type_variable(name)
        if "load_json" in head:
            names["metadata"] = tvm.ir.load_json(head.partition('load_json("""')[2].partition('""")')[0])
        module: Any = script.from_source(at + body, extra_vars=names)
        machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
        result = machine["main"](*map(tvm.runtime.tensor, inputs))
        found = [result] if hasattr(result, "numpy") else list(result)
        pairs = [(each.numpy(), array) for each, array in zip(found, expected, strict=True)]
        worst = max(float(np.abs(a.astype("f8") - b.astype("f8")).max(initial=0)) for a, b in pairs)
        scale = max(float(np.abs(b.astype("f8")).max(initial=1)) for _, b in pairs)
        outcome, reason = ("equal", "") if worst <= TOLERANCE * scale else ("other", f"{worst:.3g}")
    except Exception as failure:
        outcome, reason = "failed", " ".join(str(failure).split())[-300:]
    print(json.dumps([outcome, reason]), flush=True)


def modules(networks: list[str]) -> Iterator[tuple[str, Any, list[Any]]]:
    """Modules with inputs: programs, or networks of the zoo."""
    import whence

    sys.path[:0] = [str(TESTS / "support"), str(TESTS)]
    if not networks:
        programs: Any = import_module("relax_programs")
        for name, program in {**programs.PRINTED, **programs.WRITTEN}.items():
            yield name, whence.script.from_source(program.module()), program.inputs()
    for name in networks:
        model, inputs = import_module("zoo").SMALL[name]()
        module, _ = whence.relay.frontend.from_onnx(model)
        yield name, module, [inputs[param.name_hint] for param in module["main"].params]


def write(folder: Path, networks: list[str]) -> None:
    """Write texts, inputs and our results."""
    import whence

    for name, module, inputs in modules(networks):
        result: Any = whence.compile(module)(*inputs)
        parts: list[Any] = list(result) if isinstance(result, tuple | list) else [result]  # pyright: ignore
        outputs = [np.asarray(part) for part in parts]
        (folder / f"{name}.txt").write_text(module.script(show_meta=True))
        arrays: dict[str, Any] = {f"i{n:03}": a for n, a in enumerate(inputs)}
        arrays |= {f"o{n:03}": a for n, a in enumerate(outputs)}
        np.savez(folder / f"{name}.npz", **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--tvm", metavar="PYTHON")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        worker(options.worker)
        return
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.networks)
        for path in sorted(Path(folder).glob("*.txt")):
            command = [options.tvm, __file__, "--worker", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            outcome, reason = json.loads(done.stdout) if done.returncode == 0 else ("crashed", str(done.returncode))
            counts[outcome] += 1
            if outcome != "equal":
                print(f"{path.stem}: {outcome} {reason}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))


if __name__ == "__main__":
    main()

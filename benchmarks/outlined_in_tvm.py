"""Whole networks of ours as Relax with a kernel for each fused function, compiled and run by TVM: are outputs the same?

    python benchmarks/outlined_in_tvm.py --tvm PYTHON [NETWORK ..]

PYTHON: an interpreter with apache-tvm 0.27 (not a dependency of this project). Networks are those of
tests/support/named_networks.py, or ONNX files. Weights are arguments of the printed program. Prints the number of
kernels and the largest difference, over the largest output, for each network.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

DEFAULT = ("mobilenet_v3", "gpt2", "efficientnet", "tflite mobilenet", "squeezenet")


def worker(folder: Path) -> None:
    """Run the text in a folder by TVM; print the largest difference as JSON."""
    tvm: Any = import_module("tvm")
    relax: Any = import_module("tvm.relax")
    arrays = np.load(folder / "arrays.npz")
    inputs = [tvm.runtime.tensor(arrays[f"x{k}"]) for k in range(sum(name[0] == "x" for name in arrays))]
    expected = [arrays[f"y{k}"] for k in range(sum(name[0] == "y" for name in arrays))]
    module: Any = tvm.script.from_source((folder / "net.py").read_text())
    # TVM's own list, but for the pass that looks for reshapes: it expects kernels of blocks.
    names = (
        "LegalizeOps ToNonDataflow RemovePurityChecking CallTIRRewrite StaticPlanBlockMemory LowerAllocTensor "
        "KillAfterLastUse LowerRuntimeBuiltin ComputePrimValue VMShapeLower AttachGlobalSymbol"
    )
    passes: Any = tvm.transform.Sequential([getattr(relax.transform, name)() for name in names.split()])
    target: Any = tvm.target.Target({"kind": "llvm", "mcpu": (folder / "cpu").read_text()})
    built: Any = tvm.compile(module, target=target, relax_pipeline=passes)
    result: Any = relax.VirtualMachine(built, tvm.cpu())["main"](*inputs)
    outputs = [result] if len(expected) == 1 else [result[k] for k in range(len(expected))]
    pairs = [
        (each.numpy().astype("float64"), array.astype("float64")) for each, array in zip(outputs, expected, strict=True)
    ]
    print(json.dumps(max(float(np.abs(a - b).max() / max(1.0, np.abs(b).max())) for a, b in pairs)))


def with_weights_as_arguments(module: Any) -> list[Any]:
    """Make arguments of the constants of `@main` that have more than a few elements; return their arrays."""
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

    from whence.dialects.relay.core import ConstantOp
    from whence.dialects.relay.size_ranges import main_of

    main = main_of(module)
    arrays: list[Any] = []
    for op in list(main.block.ops):
        if isinstance(op, ConstantOp) and op.key is not None:
            arrays.append(np.ascontiguousarray(op.value(module)))
            argument = main.block.insert_arg(op.result.type, len(main.block.args), op.location)
            argument.name_hint = f"weight{len(arrays)}"
            op.result.replace_all_uses_with(argument)
            op.detach()
            op.erase()
    main.update_type()
    names = [argument.name_hint or f"x{argument.index}" for argument in main.block.args]
    main.attributes["input_names"] = ArrayAttr(map(StringAttr, names))
    return arrays


def compare(name: str, python: str, folder: Path) -> str:
    import whence
    from whence import relay
    from whence.lowering.kernel.outline import OutlinePass
    from whence.passes.pipelines import run_passes
    from whence.provenance.numbers import same_module

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    networks = import_module("named_networks").NETWORKS
    exe = whence.compile(networks[name]() if name in networks else name)
    rng = np.random.default_rng(0)
    integral = [np.dtype(spec.dtype).kind in "iub" for spec in exe.inputs]
    inputs = [
        (rng.integers(0, 10, spec.shape) if whole else rng.standard_normal(spec.shape)).astype(spec.dtype)
        for spec, whole in zip(exe.inputs, integral, strict=True)
    ]
    found = exe(*inputs)
    outputs = list(found) if isinstance(found, tuple | list) else [found]
    module = same_module(exe.artifact.snapshots[-1].module)
    run_passes(module, [OutlinePass()])
    weights = with_weights_as_arguments(module)
    (folder / "net.py").write_text(relay.IRModule.of(module).script())
    (folder / "cpu").write_text(exe.artifact.target.cpu)
    arrays: dict[str, Any] = {f"x{k}": array for k, array in enumerate([*inputs, *weights])}
    arrays |= {f"y{k}": np.asarray(each) for k, each in enumerate(outputs)}
    np.savez(folder / "arrays.npz", **arrays)
    command = [python, __file__, "--worker", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"failed: {' '.join(done.stderr.split())[-600:]}"
    return f"{len(exe.artifact.kernels)} kernels, difference {json.loads(done.stdout.splitlines()[-1]):.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=DEFAULT)
    parser.add_argument("--tvm", default=sys.executable)
    parser.add_argument("--worker", type=Path)
    arguments = parser.parse_args()
    if arguments.worker is not None:
        worker(arguments.worker)
        return
    for name in arguments.networks:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: {compare(name, arguments.tvm, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()

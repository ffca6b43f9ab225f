"""`whence debug`: times of nodes, tensors between them, the first NaN, the first departure from a reference."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.answers import answer, print_json
from whence.cli.common import add_model, compile_model
from whence.cli.inputs import add_inputs, add_sizes, at_sizes, check_inputs, inputs_of
from whence.cli.options import Subparsers, add_json, add_output, add_threads, command, whole
from whence.reading.models import EXPORTED
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whence.executables.executable import Executable
    from whence.explorer.references import References
    from whence.runtime.debugger.module import GraphModuleDebug
    from whence.support.dtypes import Array


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Run a model node by node. Exit code 1 when --nan or --compare finds something."
    examples = (
        "light_resnet50                              # times of all nodes, longest first",
        "model.onnx --layers --dump-root dumps       # times of layers; graph, tensors and trace in a folder",
        "model.onnx --watch conv1 --no-fuse          # the tensor of a layer",
        "model.onnx --seed 0 --nan                   # the first node that makes NaN or Inf",
        "model.onnx --seed 0 --compare               # the first layer that departs from onnxruntime",
        "model.onnx --inject conv1=mine.npy --watch fc",
        "model.onnx --sizes batch=1,seq=128 --layers # one of the sizes that a model takes",
        "model.onnx --step                           # step through the run",
    )
    parser = command(commands, "debug", "inspect a run, node by node", about, examples)
    add_model(parser)
    add_inputs(parser)
    add_sizes(parser)
    add_threads(parser)
    parser.add_argument("--no-fuse", action="store_true", help="a kernel per operator, so that all layers have tensors")
    parser.add_argument(
        "--watch", action="append", default=[], metavar="NAME", help="show the tensor of a layer or node"
    )
    about = "with --watch: show layers' tensors in the layout of the kernels instead of the model's"
    parser.add_argument("--as-stored", action="store_true", help=about)
    add_output(parser, "with --watch: save the tensors as .npz")
    about = "replace the tensor of a layer or node by that in a file"
    parser.add_argument("--inject", action="append", default=[], metavar="NAME=FILE", help=about)
    parser.add_argument("--nan", action="store_true", help="find the first node that makes NaN or Inf")
    about = "compare every layer with the tensors of an .npz or .params file by name; without FILE, with those of "
    about += "onnxruntime (.onnx), LiteRT (.tflite) or numpy"
    parser.add_argument("--compare", type=Path, nargs="?", const=Path(), metavar="FILE", help=about)
    parser.add_argument("--step", action="store_true", help="step through the run: read commands from the input")
    parser.add_argument("--layers", action="store_true", help="the time of layers instead of nodes")
    parser.add_argument("--times", action="store_true", help="also print start and end of every node")
    parser.add_argument("--dump-root", type=Path, metavar="DIR", help="keep the graph, every tensor and a trace here")
    parser.add_argument(
        "--number", type=whole(1), default=10, metavar="N", help="runs of a node per repeat (default 10)"
    )
    about = "the number of repeats (default 1)"
    parser.add_argument("--repeat", type=whole(1), default=1, metavar="N", help=about)
    add_json(parser)
    parser.set_defaults(command=_debug)


def _debug(args: argparse.Namespace) -> int:
    _check(args)
    compiled, _ = compile_model(args, args.threads, {"relay.FuseOps.max_depth": 1} if args.no_fuse else {})
    executable = at_sizes(args, compiled, "debug")
    inputs = inputs_of(args, executable.inputs)
    if args.compare is not None:
        return _compare(args, executable, inputs)
    module = _module(args, executable, inputs)
    try:
        module.set_input(None, None, **inputs)
        for text in args.inject:
            _inject(module, text)
        return _look(args, module)
    finally:
        if args.dump_root is None:
            module.exit()


def _check(args: argparse.Namespace) -> None:
    """Raise PipelineError for options that do not fit together."""
    check_inputs(args)
    asked = [name for name in ("nan", "step", "watch") if getattr(args, name)]
    asked += ["compare"] if args.compare is not None else []
    if len(asked) > 1:
        raise PipelineError(f"--{asked[0]}: expected no --{asked[1]} beside it, got both")
    for name in ("output", "as_stored"):
        if getattr(args, name) and not args.watch:
            raise PipelineError(f"--{name.replace('_', '-')}: expected --watch beside it, got none")
    if args.json and args.step:
        raise PipelineError("--json: expected no --step beside it, got both")
    if args.inject and args.compare is not None:
        raise PipelineError("--inject: expected no --compare beside it, got both")


def _look(args: argparse.Namespace, module: GraphModuleDebug) -> int:
    if args.nan:
        finding = module.first_bad()
        data = finding.data() if finding is not None else None
        answer(args, lambda: {"found": data}, lambda: str(finding) if finding is not None else "all numbers are finite")
        return 1 if finding is not None else 0
    if args.step:
        from whence.cli.debug_shell import DebugShell

        DebugShell(module).cmdloop()
    elif args.watch:
        _watch(args, module)
    else:
        _times(args, module)
    return 0


def _module(args: argparse.Namespace, executable: Executable, inputs: Mapping[str, Array]) -> GraphModuleDebug:
    from whence.executables.graph_factory import GraphExecutorFactoryModule
    from whence.explorer.layers import snapshot
    from whence.lowering.llvm_to_native.sampler import can_sample
    from whence.runtime.debugger.module import GraphModuleDebug

    lib = GraphExecutorFactoryModule(executable, snapshot(executable.artifact, "relay"))
    if args.layers and can_sample():
        lib.sample(inputs, 0.5)
    return GraphModuleDebug(lib.debug_create("default"), None, None, args.dump_root)


def _inject(module: GraphModuleDebug, text: str) -> None:
    from whence.reading.arrays import read_arrays

    name, equals, file = text.partition("=")
    if not equals:
        raise PipelineError(f"--inject: expected NAME=FILE, got {text!r}")
    arrays = read_arrays(Path(file))
    if len(arrays) != 1 and name not in arrays:
        raise PipelineError(f"--inject: expected one array, or one called '{name}', in {file}, got {', '.join(arrays)}")
    module.inject(name, arrays.get(name, next(iter(arrays.values()))))


def _watch(args: argparse.Namespace, module: GraphModuleDebug) -> None:
    from whence.explorer.tensor_text import TensorText

    stepper = module.stepper
    wanted = {text: int(text) if text.isdecimal() else text for text in args.watch}
    places = {text: stepper.value_of(name) for text, name in wanted.items()}
    arrays: dict[str, Array] = {}
    stepper.resume(
        lambda stop: arrays.update({text: stop.outputs[0] for text, place in places.items() if place == stop.place})
    )
    arrays |= {text: stepper.outputs(place)[0] for text, place in places.items() if text not in arrays}
    if not args.as_stored:
        arrays = {text: stepper.shown(wanted[text], array) for text, array in arrays.items()}
    texts = [TensorText.of(text, arrays[text]) for text in wanted]
    answer(args, lambda: texts, lambda: "\n".join(map(str, texts)))
    if args.output is not None:
        import numpy as np

        from whence.support.files import replacing

        save: Callable[..., None] = np.savez
        with replacing(args.output) as stream:
            save(stream, **arrays)


def _times(args: argparse.Namespace, module: GraphModuleDebug) -> None:
    from whence.explorer.report import WIDTH

    width = WIDTH.get()
    text = module.measured(number=args.number, repeat=args.repeat, times=args.times, layers=True, width=width)
    if args.layers:
        layers = module.by_layer()
        answer(args, lambda: {"microseconds": layers}, lambda: module.layer_table(width))
    elif args.json:
        print_json(json.loads(module.profile().json()))
    else:
        print(text)


def _compare(args: argparse.Namespace, executable: Executable, inputs: Mapping[str, Array]) -> int:
    references = _references(args, executable, inputs)
    comparison = executable.compare(inputs, references.tensors, references.layers)
    rows = [
        {
            "layer": gap.layer.name,
            "tensor": gap.tensor,
            "call": gap.call,
            "absolute": gap.difference.error,
            "relative": gap.difference.relative,
            "right": gap.difference.right,
        }
        for gap in comparison.differences
    ]
    unseen = [layer.name for layer in comparison.unseen]
    data = {"reference": references.source, "tensors": rows, "unseen": unseen}
    answer(args, lambda: data, lambda: f"{comparison}\nreference: {references.source}")
    return 0 if comparison.first is None else 1


def _references(args: argparse.Namespace, executable: Executable, inputs: Mapping[str, Array]) -> References:
    """Return the references of --compare."""
    from whence.cli.references import of_file
    from whence.explorer.references import of_module, of_runtime
    from whence.kernels.kernel_calls import run_kernel
    from whence.reading.models import model_path

    path = model_path(args.model)
    if args.compare.name:
        return of_file(args.compare, path, args.signature, executable.outputs)
    if path.suffix in EXPORTED:
        expected = "FILE, as a compiled model does not keep all values that it was imported with"
        raise PipelineError(f"--compare: expected {expected}, got none")
    return of_runtime(path, args.signature, inputs) or of_module(executable.artifact, inputs, run_kernel)

"""`whence debug`: times of nodes, tensors between them, the first NaN, the first departure from a reference."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.common import Subparsers, add_model, compile_model
from whence.cli.inputs import add_inputs, inputs_of, references_of, static
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whence.executable import Executable
    from whence.runtime.debugger.module import GraphModuleDebug
    from whence.support.dtypes import Array

_EPILOG = """\
examples:
  whence debug light_resnet50                              times of all nodes, longest first
  whence debug model.onnx --layers --dump-root dumps       times of layers; graph, tensors and trace in a folder
  whence debug model.onnx --watch conv1 --no-fuse          the tensor of a layer
  whence debug model.onnx --seed 0 --nan                   the first node that makes NaN or Inf
  whence debug model.onnx --seed 0 --compare               the first layer that departs from onnxruntime
  whence debug model.onnx --inject conv1=mine.npy --watch fc
  whence debug model.onnx --step                           stop, look and go on by hand
"""


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Run a model node by node. Exit code 1 when --nan or --compare finds something."
    parser = commands.add_parser("debug", help="look into a run, node by node", description=about, prog="whence debug")
    parser.epilog, parser.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    add_model(parser)
    add_inputs(parser)
    parser.add_argument("--threads", type=int, metavar="N", help="threads to run on (default: all usable CPUs)")
    parser.add_argument("--no-fuse", action="store_true", help="a kernel per operator, so that all layers have tensors")
    parser.add_argument("--watch", action="append", default=[], metavar="NAME", help="show what a layer or node gives")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="with --watch: save the tensors as .npz")
    about = "put a tensor of a file in the place of what a layer or node gives"
    parser.add_argument("--inject", action="append", default=[], metavar="NAME=FILE", help=about)
    parser.add_argument("--nan", action="store_true", help="find the first node that makes NaN or Inf")
    about = "compare every layer with .npz or .params of tensors by name; without FILE with onnxruntime"
    parser.add_argument("--compare", type=Path, nargs="?", const=Path(), metavar="FILE", help=about)
    parser.add_argument("--step", action="store_true", help="run by hand: commands are read from the input")
    parser.add_argument("--layers", action="store_true", help="the time of layers instead of nodes")
    parser.add_argument("--times", action="store_true", help="start and end of every node, too")
    parser.add_argument("--dump-root", type=Path, metavar="DIR", help="keep the graph, every tensor and a trace here")
    parser.add_argument("--number", type=int, default=10, metavar="N", help="runs of a node per repeat (default 10)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="how often that is repeated (default 1)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(command=_debug)


def _debug(args: argparse.Namespace) -> int:
    from whence.support.context import PassContext

    if args.output is not None and not args.watch:
        raise PipelineError("--output: expected --watch beside it, got none")
    with PassContext(config={"relay.FuseOps.max_depth": 1} if args.no_fuse else {}):
        compiled, _ = compile_model(args, args.threads)
    executable = static(compiled, "debug")
    inputs = inputs_of(args, executable.inputs)
    if args.compare is not None:
        return _compare(args, executable, inputs)
    module = _module(args, executable, inputs)
    try:
        module.set_input(None, None, **inputs)
        for text in args.inject:
            _inject(module, text)
        return _look(args, module, inputs)
    finally:
        if args.dump_root is None:
            module.exit()


def _look(args: argparse.Namespace, module: GraphModuleDebug, inputs: Mapping[str, Array]) -> int:
    if args.nan:
        found = module.first_bad()
        print(found if found is not None else "all numbers are finite")
        return 1 if found is not None else 0
    if args.step:
        from whence.cli.debug_shell import DebugShell

        DebugShell(module).cmdloop()
    elif args.watch:
        _watch(args, module)
    elif args.json:
        print(module.profile().json())
    else:
        _times(args, module)
    return 0


def _module(args: argparse.Namespace, executable: Executable, inputs: Mapping[str, Array]) -> GraphModuleDebug:
    from whence.explorer.layers import snapshot
    from whence.lowering.llvm_to_native.sampler import can_sample
    from whence.relay.build_module import GraphExecutorFactoryModule
    from whence.runtime.debugger.module import GraphModuleDebug

    lib = GraphExecutorFactoryModule(executable, snapshot(executable.artifact, "relay"))
    if args.layers and can_sample():
        lib.sample(inputs, 0.5)
    return GraphModuleDebug(lib.debug_create("default"), None, None, args.dump_root)


def _inject(module: GraphModuleDebug, text: str) -> None:
    from whence.cli.arrays import read_arrays

    name, equals, file = text.partition("=")
    if not equals:
        raise PipelineError(f"--inject: expected NAME=FILE, got {text!r}")
    arrays = read_arrays(Path(file))
    if len(arrays) != 1 and name not in arrays:
        raise PipelineError(f"--inject: expected one array, or one called '{name}', in {file}, got {', '.join(arrays)}")
    module.inject(name, arrays.get(name, next(iter(arrays.values()))))


def _watch(args: argparse.Namespace, module: GraphModuleDebug) -> None:
    from whence.explorer.tensor_text import tensor_text

    wanted = {name: module.stepper.value_of(int(name) if name.isdecimal() else name) for name in args.watch}
    found: dict[str, Array] = {}
    module.stepper.resume(
        lambda stop: found.update({name: stop.outputs[0] for name, place in wanted.items() if place == stop.place})
    )
    for name, array in found.items():
        print(tensor_text(name, array))
    if args.output is not None:
        import numpy as np

        from whence.support.files import replacing

        save: Callable[..., None] = np.savez
        with replacing(args.output) as stream:
            save(stream, **found)


def _times(args: argparse.Namespace, module: GraphModuleDebug) -> None:
    text = module.measured(number=args.number, repeat=args.repeat, times=args.times, layers=True)
    print(module.layer_table() if args.layers else text)


def _compare(args: argparse.Namespace, executable: Executable, inputs: Mapping[str, Array]) -> int:
    from whence.models import model_path

    given = args.compare if args.compare.name else None
    reference, tensors = references_of(given, model_path(args.model), inputs, executable.outputs)
    found = executable.compare(inputs, reference, tensors)
    if args.json:
        rows = [
            {
                "layer": one.layer.name,
                "tensor": one.tensor,
                "call": one.call,
                "absolute": one.difference.error,
                "relative": one.difference.relative,
                "right": one.difference.right,
            }
            for one in found.differences
        ]
        print(json.dumps({"tensors": rows, "unseen": [layer.name for layer in found.unseen]}, ensure_ascii=False))
    else:
        print(found)
    return 0 if found.first is None else 1

"""`whence compile`: a model into a file that runs without the compiler."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.answers import answer
from whence.cli.common import Subparsers, add_memory, add_model, compile_model, memory_options
from whence.cli.inputs import static
from whence.cli.options import add_json, add_passes, command, pass_context
from whence.models import model_path
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from whence.planning.artifact import Artifact

_CODE = ("asm", "ll", "tir", "relay")


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Compile a model into one file: kernels, parameters, graph, and where everything came from."
    examples = (
        "light_resnet50 -o resnet.tar",
        "model.onnx -o model.so --c-header whence.h",
        "model.onnx -o model.tar --dump-code tir,asm --print-pass-times",
        'model.onnx --target "llvm -mcpu=skylake-avx512" -o model.tar',
    )
    parser = command(commands, "compile", "compile a model into a file to ship", about, examples)
    add_model(parser)
    add_passes(parser)
    about = "the file to write (default: the model's name with .tar)"
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=about)
    about = "tar: objects, no linker is needed; so, o: linked by the system's compiler (default: the file's suffix)"
    parser.add_argument("-f", "--output-format", choices=("tar", "so", "o"), help=about)
    about = "write the code, too, beside the file: " + ", ".join(_CODE) + ", separated by commas"
    parser.add_argument("--dump-code", metavar="FORMATS", help=about)
    parser.add_argument("--no-params", action="store_true", help="leave the parameters out; a run has to bring them")
    about = "write the parameters, too, as a params file"
    parser.add_argument("--save-params", type=Path, metavar="FILE", help=about)
    about = "write the header by which programs in C run the model, too"
    parser.add_argument("--c-header", type=Path, metavar="FILE", help=about)
    parser.add_argument("--module-name", default="default", metavar="NAME", help="part of the names of functions")
    add_memory(parser)
    add_json(parser)
    parser.set_defaults(command=_compile)


def _compile(args: argparse.Namespace) -> int:
    from whence.explorer.report import count, seconds
    from whence.exporting import export_artifact
    from whence.planning.graph import graph_plan
    from whence.support.files import replacing, write_text

    source = model_path(args.model)
    suffix = f".{args.output_format}" if args.output_format else (args.output.suffix if args.output else ".tar")
    path: Path = args.output if args.output is not None else Path(source.name).with_suffix(suffix)
    if path.suffix != suffix or suffix not in (".tar", ".so", ".o"):
        raise PipelineError(f"-o {path}: expected a file in {suffix if args.output_format else '.tar, .so or .o'}")
    codes = [word.strip() for word in (args.dump_code or "").split(",") if word.strip()]
    if strange := [word for word in codes if word not in _CODE]:
        raise PipelineError(f"--dump-code: expected {', '.join(_CODE)}, got {', '.join(strange)}")
    config, pools = memory_options(args)
    with pass_context(args, config):
        compiled, took = compile_model(args, None, pools)
    artifact = static(compiled, "compile", sizes=True).artifact
    plan = graph_plan(artifact, args.module_name)
    export_artifact(artifact, plan, None, path, name=args.module_name, params=not args.no_params)
    written = [path]
    if args.save_params is not None:
        from whence.runtime.params import write_params

        with replacing(args.save_params) as stream:
            write_params(plan.params, stream)
        written.append(args.save_params)
    if args.c_header is not None:
        from whence.planning.c_interface import HEADER

        write_text(args.c_header, HEADER.read_text())
        written.append(args.c_header)
    for code in codes:
        written.append(path.with_name(f"{path.name}.{code}"))
        write_text(written[-1], _code(artifact, code))
    data = {
        "model": source.name,
        "files": [str(one) for one in written],
        "bytes": path.stat().st_size,
        "target": artifact.target.triple,
        "cpu": artifact.target.cpu,
        "layers": len(compiled.layers),
        "kernel_calls": len(artifact.calls),
        "kernels": len(artifact.kernels),
        "memory": compiled.memory,
        "compile_seconds": took,
    }
    kernels = f"{count(len(artifact.calls), 'kernel call')}, {count(len(artifact.kernels), 'distinct kernel')}"
    text = f"{source.name}: {count(len(compiled.layers), 'layer')}, {kernels}; compiled in {seconds(took)}\n"
    text += "\n".join(f"wrote {one} ({one.stat().st_size} bytes)" for one in written)
    answer(args, lambda: data, lambda: text)
    return 0


def _code(artifact: Artifact, code: str) -> str:
    """The code of a model at a level."""
    from whence.explorer.code import kernel_of
    from whence.explorer.layers import snapshot
    from whence.frontends.relay.view import view
    from whence.frontends.relay_text import astext

    if code == "relay":
        return astext(view(snapshot(artifact, "fused")), show_meta_data=False).rstrip("\n") + "\n"
    kernels = [kernel_of(artifact, index) for index in range(len(artifact.kernels))]
    field = {"asm": "assembly", "ll": "llvm", "tir": "tir"}[code]
    mark = {"asm": "#", "ll": ";", "tir": "//"}[code]
    texts = [f"{mark} {kernel.symbol}\n{getattr(kernel, field).rstrip()}\n" for kernel in kernels]
    if code == "asm":
        texts.append(f"# whence_main\n{artifact.main_assembly.rstrip()}\n")
    return "\n".join(texts)

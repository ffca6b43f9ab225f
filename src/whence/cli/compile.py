"""`whence compile`: a model into a file that runs without the compiler."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.answers import answer
from whence.cli.common import add_memory, add_model, compile_model
from whence.cli.inputs import native
from whence.cli.options import Subparsers, add_json, add_output, command, identifier, new_file
from whence.reading.models import EXPORTED, model_path
from whence.support.errors import PipelineError

if TYPE_CHECKING:
    from whence.planning.artifact import Artifact
    from whence.planning.graph import GraphPlan

CODES = ("asm", "ll", "opt.ll", "tir", "relay")


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Compile a model into one file: kernels, parameters, graph, and the origin of everything."
    examples = (
        "light_resnet50 -o resnet.tar",
        "model.onnx -o model.so --c-header whence.h",
        "model.onnx -o model.tar --dump-code tir,asm --print-pass-times",
        'model.onnx --target "llvm -mcpu=skylake-avx512" -o model.tar',
    )
    parser = command(commands, "compile", "compile a model into a file to ship", about, examples)
    add_model(parser)
    add_output(parser, "the file to write (default: the model's name with .tar)")
    about = "tar: objects, needs no linker; so, o: linked by the system's compiler (default: the file's suffix)"
    parser.add_argument("-f", "--output-format", choices=("tar", "so", "o"), help=about)
    about = "also write the code beside the file: " + ", ".join(CODES) + ", separated by commas"
    parser.add_argument("--dump-code", metavar="FORMATS", help=about)
    about = "write the module and each kernel after every pass into this folder"
    parser.add_argument("--snapshot-dir", type=Path, metavar="DIR", help=about)
    parser.add_argument("--no-params", action="store_true", help="leave the parameters out; load them before a run")
    about = "also write the parameters, as a params file"
    parser.add_argument("--save-params", type=new_file, metavar="FILE", help=about)
    about = "also write the header for programs in C"
    parser.add_argument("--c-header", type=new_file, metavar="FILE", help=about)
    parser.add_argument(
        "--module-name", type=identifier, default="default", metavar="NAME", help="part of the names of functions"
    )
    add_memory(parser)
    add_json(parser)
    parser.set_defaults(command=_compile)


def _compile(args: argparse.Namespace) -> int:
    from whence.executables.exporting import export_artifact
    from whence.explorer.report import count, seconds
    from whence.planning.graph import graph_plan

    source = model_path(args.model)
    path, codes = _output(args, source), _codes(args)
    compiled, took = compile_model(args, snapshots=args.snapshot_dir is not None)
    artifact = native(compiled, "compile").artifact
    plan = graph_plan(artifact, args.module_name)
    export_artifact(artifact, plan, None, path, name=args.module_name, params=not args.no_params)
    written = [path, *_beside(args, path, codes, artifact, plan)]
    data = {
        "model": source.name,
        "files": [str(path) for path in written],
        "bytes": path.stat().st_size,
        "target": artifact.target.triple,
        "cpu": artifact.target.cpu,
        "layers": len(compiled.layers),
        "kernel_calls": len(artifact.calls),
        "kernels": len(artifact.kernels),
        "tuned": compiled.tuned,
        "memory": compiled.memory,
        "compile_seconds": took,
    }
    kernels = f"{count(len(artifact.calls), 'kernel call')}, {count(len(artifact.kernels), 'distinct kernel')}"
    if args.tuned is not None:
        sources = Counter(applied.source for applied in compiled.tuned.values())
        kernels += f", {sources['exact']} tuned and {sources['borrowed']} borrowed"
    text = f"{source.name}: {count(len(compiled.layers), 'layer')}, {kernels}; compiled in {seconds(took)}\n"
    text += "\n".join(f"wrote {path} ({path.stat().st_size} bytes)" for path in written)
    answer(args, lambda: data, lambda: text)
    return 0


def _output(args: argparse.Namespace, source: Path) -> Path:
    """Return the file to write. Raises PipelineError for an unknown suffix, or one that contradicts --output-format."""
    suffix = f".{args.output_format}" if args.output_format else (args.output.suffix if args.output else ".tar")
    path: Path = args.output if args.output is not None else Path(source.name).with_suffix(suffix)
    if path.suffix != suffix or suffix not in EXPORTED:
        expected = suffix if args.output_format else ", ".join(EXPORTED[:-1]) + f" or {EXPORTED[-1]}"
        raise PipelineError(f"-o {path}: expected a file in {expected}")
    if path.exists() and source.exists() and path.samefile(source):
        raise PipelineError(f"-o {path}: expected a file other than the model, got the model")
    return path


def _codes(args: argparse.Namespace) -> list[str]:
    """Return the kinds of code that --dump-code asks for; raises PipelineError for unknown kinds."""
    codes = [word.strip() for word in (args.dump_code or "").split(",") if word.strip()]
    if strange := [word for word in codes if word not in CODES]:
        raise PipelineError(f"--dump-code: expected {', '.join(CODES)}, got {', '.join(strange)}")
    return codes


def _beside(
    args: argparse.Namespace, path: Path, codes: Sequence[str], artifact: Artifact, plan: GraphPlan
) -> list[Path]:
    """Write the requested files beside the model, and return them."""
    from whence.planning.c_interface import HEADER
    from whence.planning.snapshots import SnapshotFolder
    from whence.runtime.values.params import write_params
    from whence.support.files import replacing, write_text

    written: list[Path] = []
    if args.save_params is not None:
        with replacing(args.save_params) as stream:
            write_params(plan.params, stream)
        written.append(args.save_params)
    if args.c_header is not None:
        write_text(args.c_header, HEADER.read_text())
        written.append(args.c_header)
    for code in codes:
        written.append(path.with_name(f"{path.name}.{code}"))
        write_text(written[-1], code_of(artifact, code))
    if args.snapshot_dir is not None:
        folder = SnapshotFolder(args.snapshot_dir)
        for snapshot in artifact.passes:
            folder.write(snapshot)
        written += folder.written
    return written


def code_of(artifact: Artifact, code: str) -> str:
    """The code of a model at a level."""
    from whence.explorer.code import compiler_of, kernel_of, source
    from whence.explorer.layers import snapshot
    from whence.syntax.relay.view import view
    from whence.syntax.text import astext

    if code == "relay":
        return astext(view(snapshot(artifact, "fused")), show_meta_data=False).rstrip("\n") + "\n"
    mark, fmt = {"asm": ("#", "s"), "ll": (";", "ll"), "opt.ll": (";", "opt.ll"), "tir": ("//", "tir")}[code]
    texts = [
        f"{mark} {kernel.symbol}\n{source(artifact, index, fmt).rstrip()}\n"
        for index, kernel in enumerate(artifact.kernels)
        if not compiler_of(kernel_of(artifact, index))
    ]
    if code == "asm":
        texts.append(f"# whence_main\n{artifact.main_assembly.rstrip()}\n")
    return "\n".join(texts)

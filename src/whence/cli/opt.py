"""`whence-opt`: xDSL's optimizer driver with models as input, checks of locations, and machine code as output."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, ClassVar, NoReturn

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from whence.cli.errors import guarded
from whence.cli.instruments import Audit, BetweenPasses, Timer, Verifier, WrittenSnapshots, complain
from whence.cli.options import hinted
from whence.compiler.formats import is_stablehlo
from whence.dialects.located_parser import LocatedParser
from whence.passes.relay.annotate_target import AnnotateTargetPass
from whence.passes.relay.merge_composite import MergeCompositePass
from whence.passes.runner import run_passes
from whence.planning.snapshots import SnapshotFolder
from whence.provenance.diagnostics import LocationError
from whence.provenance.ledger import Ledger, recording
from whence.reading.models import KERAS, PYTORCH, SCRIPT, SUFFIXES, model_path, shipped_models
from whence.reading.pipeline_text import parse_passes
from whence.reading.textio import attach_params, decoded, name_weights, relay_module, write_files
from whence.support.errors import FrontendError, PipelineError, WhenceError
from whence.support.instrument import PassInfo, PassInstrument
from whence.universe import ALL_PASSES, multiverse, passes_of_others


def listed() -> list[str]:
    """Return a table of our passes (name, purpose, name in TVM), then the names of other packages' passes."""
    width = max(len(row.name) for row in ALL_PASSES)
    return [
        f"{row.name:{width}}  {row.help}" + (f" (TVM: {row.tvm}, level {row.level})" if row.tvm else "")
        for row in sorted(ALL_PASSES, key=lambda row: row.name)
    ] + passes_of_others()


def _llvm() -> type[Target]:
    from whence.cli.lower_all import LowerToLLVM

    return LowerToLLVM


def _asm() -> type[Target]:
    from whence.cli.lower_all import LowerToAssembly

    return LowerToAssembly


def _relay_text() -> type[Target]:
    from whence.cli.relay_target import RelayText

    return RelayText


def _tvmscript() -> type[Target]:
    from whence.cli.scripts import TVMScript

    return TVMScript


_TARGETS = {"llvm": _llvm, "asm": _asm, "relay": _relay_text, "tvmscript": _tvmscript}


def _model(stream: IO[bytes], input_shapes: str | None) -> ModuleOp:
    """The module of a framework's model, as `whence.load` imports it."""
    from whence.compiler.formats import read_model
    from whence.compiler.load import import_at

    # By its path where there is one: weights may lie in files beside it, and locations say its name.
    path = Path(stream.name) if isinstance(getattr(stream, "name", None), str) else None
    source = path if path is not None and path.exists() else stream.read()
    return import_at(read_model(source), input_shapes)


SAVED_MODEL = "saved_model"
"""The frontend of folders."""


class _Folder(BytesIO):
    """The folder of a model in place of an open file."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name


def _know_compilers(passes: Sequence[ModulePass]) -> None:
    """Register the external compilers that come with Whence, for the passes that name them."""
    names = [pass_.compiler for pass_ in passes if isinstance(pass_, MergeCompositePass)]
    names += [name for pass_ in passes if isinstance(pass_, AnnotateTargetPass) for name in pass_.targets]
    if names:
        from whence.lowering.external.registry import external_codegen, external_compilers

        for name in names:
            if name in external_compilers():
                external_codegen(name)


class _Output(StringIO):
    """A file in memory; `text` outlives closing."""

    text = ""

    def close(self) -> None:
        if not self.closed:
            self.text = self.getvalue()
        super().close()


@dataclass
class _Running(PassInstrument):
    """An instrument that adds the pass to an error."""

    tool: WhenceOptMain

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        self.tool.kind, self.tool.running = "pass", info.name


class WhenceOptMain(xDSLOptMain):
    """One run of whence-opt."""

    version_format: ClassVar[str] = "whence-opt built from xdsl version {xdsl_version}"

    def __init__(self, args: Sequence[str] | None = None):
        self.output: _Output | None = None
        self.written: list[ModuleOp] = []
        self.chunks = 0
        self.lines_above = 0
        # The subject of errors: a pass, a target or the input; "" if their texts name it.
        self.kind, self.running = "", ""
        self.timer, self.audits = Timer(), list[Audit]()
        multiverse()  # before xDSL loads it, to say which package is broken
        words = list(sys.argv[1:] if args is None else args)
        # An option that takes a value or none would swallow the input file after it.
        words = ["--time-passes-json" if word == "--time-passes=json" else word for word in words]
        super().__init__("Run passes on a model or module, and show the origin of every op.", words)

    # Registration

    def register_all_frontends(self) -> None:
        super().register_all_frontends()
        self.available_frontends["mlir"] = self._mlir
        self.available_frontends["relay"] = self._relay
        self.available_frontends[SCRIPT.removeprefix(".")] = self._script
        models = (*SUFFIXES, *KERAS, *PYTORCH, ".mlirbc", SAVED_MODEL)
        for name in dict.fromkeys(suffix.removeprefix(".") for suffix in models):
            self.available_frontends.setdefault(name, lambda stream: _model(stream, self.args.input_shapes))

    def _mlir(self, stream: IO[bytes]) -> ModuleOp:
        data = stream.read()
        # Without passes it is printed as it stands.
        if self.pipeline.passes and is_stablehlo(data) and b"relay." not in data:
            return _model(stream if stream.seekable() and not stream.seek(0) else BytesIO(data), self.args.input_shapes)
        text = data.decode()
        parser = LocatedParser(self.ctx, text, self.get_input_name(), self.lines_above)
        module = parser.parse_module(not self.args.no_implicit_module)
        attach_params(module, Path(self.args.input_file or ".").parent)
        return module

    def _relay(self, stream: IO[bytes]) -> ModuleOp:
        return relay_module(decoded(stream.read(), self.get_input_name()), Path(self.get_input_name()))

    def _script(self, stream: IO[bytes]) -> ModuleOp:
        from whence.cli.scripts import script_module

        return script_module(stream.read(), self.get_input_name())

    def register_all_targets(self) -> None:
        super().register_all_targets()
        self.available_targets |= _TARGETS

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.prog = "whence-opt"
        arg_parser.formatter_class = argparse.RawDescriptionHelpFormatter
        lines = "\n  ".join(["", *listed()])
        models = "\n  ".join(["", *shipped_models()])
        arg_parser.epilog = f"passes of whence (those of xDSL work, too):{lines}\n\nshipped models:{models}"
        # These take the place of options that xDSL has under the same names.
        add = arg_parser.add_argument_group("whence", conflict_handler="resolve").add_argument
        add("-p", "--passes", default="", help="passes separated by commas: name or name{option=value ..}")
        targets = ", ".join(self.available_targets)
        add("-t", "--target", default="mlir", help=f"what to print: {targets}; options as for passes")
        about = 'of inputs that a model leaves open, such as "data:[1,3,224,224] mask:[1,16]"'
        add("--input-shapes", metavar="SHAPES", help=f"shapes {about}")
        add("-o", "--output-file", help="file to write: a module with locations; its weights go into .params beside it")
        add("--snapshot-dir", metavar="DIR", help="write the module after each pass, with locations, into DIR")
        add("--list-passes", action="store_true", help="print the passes of whence with their purposes, and exit")
        add("--audit", action="store_true", help="fail if a pass loses a location; print a table on stderr")
        add("--time-passes", action="store_true", help="print times on stderr; --time-passes=json as JSON")
        add("--time-passes-json", action="store_true", help=argparse.SUPPRESS)

        def complain_about(message: str) -> NoReturn:
            options = re.findall(r"(?<![\w-])--?[a-z][\w-]*", arg_parser.format_usage())
            raise PipelineError(hinted(message, options))

        arg_parser.error = complain_about

    def setup_pipeline(self) -> None:
        self.pipeline = PassPipeline(parse_passes(self.args.passes, self.available_passes))
        _know_compilers(self.pipeline.passes)
        # Options of the target are checked before any work is done.
        spec = parse_spec(self.args.target)
        if spec.name in _TARGETS:
            try:
                _TARGETS[spec.name]().from_spec(spec)
            except ValueError as error:
                raise PipelineError(f"target {self.args.target}: {error}") from error

    # Running

    def run(self) -> None:
        """Read, rewrite, print; a file that is asked for is written last, and whole.

        Raises whatever is wrong with the input or the passes.
        """
        super().run()
        if self.output is not None:
            write_files(self.written, self.output.text, Path(self.args.output_file))

    def report(self) -> None:
        """Print the tables that were asked for, of the passes that ran."""
        if self.args.time_passes_json:
            complain([self.timer.json()])
        elif self.args.time_passes:
            complain([self.timer.text()])
        complain(audit.text() for audit in self.audits)

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        if self.args.input_file == "-":
            self.args.input_file = None
        if self.args.input_file is not None and self.args.input_file != "/dev/stdin":
            self.args.input_file = str(model_path(self.args.input_file))
            if Path(self.args.input_file).is_dir():
                return _Folder(self.args.input_file), SAVED_MODEL
        return super().get_input_stream()

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        try:
            return super().prepare_input()
        except ValueError as error:
            suffixes = ", ".join(f".{name}" for name in self.available_frontends if name != SAVED_MODEL)
            raise FrontendError(f"{self.args.input_file}: expected a file {suffixes}") from error

    def prepare_output(self) -> IO[str]:
        if self.args.output_file is None:
            return sys.stdout
        self.output = _Output()
        return self.output

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        self.ledger = Ledger()
        self.lines_above = start_offset
        with recording(self.ledger, "import"):
            return super().parse_chunk(chunk, file_extension, start_offset)

    def apply_passes(self, prog: ModuleOp) -> None:
        self.kind, self.running = "", self.get_input_name()
        instruments = self._instruments()
        if not self.args.disable_verify:
            prog.verify()
        for audit in self.audits[-1:]:
            audit.look(prog, "input")
        run_passes(
            prog, self.pipeline.passes, ledger=self.ledger, instruments=[_Running(self), *instruments], context=self.ctx
        )
        self.running = ""

    def _instruments(self) -> list[PassInstrument]:
        """Return the instruments of the passes over one chunk of the input, in order."""
        self.chunks += 1
        instruments: list[PassInstrument] = [self.timer]
        if self.args.snapshot_dir is not None:
            folder = Path(self.args.snapshot_dir)
            folder = folder / f"chunk-{self.chunks}" if self.args.split_input_file else folder
            instruments.append(WrittenSnapshots(folder=SnapshotFolder(folder)))
        if not self.args.disable_verify:
            instruments.append(Verifier())
        if self.args.audit:
            self.audits.append(audit := Audit(self.ledger))
            instruments.append(audit)
        if self.args.print_between_passes:
            instruments.append(BetweenPasses(len(self.pipeline.passes), self.args.print_debuginfo))
        return instruments

    def output_resulting_program(self, prog: ModuleOp) -> str:
        if self.output is not None and parse_spec(self.args.target).name == "mlir":
            self.written.append(prog)
            name_weights(prog, Path(self.args.output_file))
            # A reader of the file needs the layers.
            self.args.print_debuginfo = True
        self.kind, self.running = "target", parse_spec(self.args.target).name
        text = super().output_resulting_program(prog)
        self.running = ""
        return text


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""

    def body() -> int:
        tool = WhenceOptMain(argv)
        if tool.args.list_passes:
            print(*listed(), sep="\n")
            return 0
        try:
            tool.run()
        except (WhenceError, DiagnosticException) as error:
            if not tool.running or isinstance(error, LocationError) or str(error).startswith(f"{tool.running}:"):
                raise
            raise PipelineError(f"{tool.kind} {tool.running}: {error}".lstrip()) from error
        finally:
            sys.stdout.flush()
            tool.report()
        return 0

    return guarded("whence-opt", body)

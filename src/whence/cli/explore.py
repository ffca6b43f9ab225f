"""`whence explore`: all that became of a model, in a browser, in one file, or as one document."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from whence.cli.answers import print_json
from whence.cli.common import Shown, add_model, check_uncompiled, compile_model
from whence.cli.explore_views import add_views, check_views, print_view, write_export
from whence.cli.inputs import add_inputs, add_sizes, inputs_of, named_sizes
from whence.cli.options import TARGET, Subparsers, amount, command, new_file, opt_level, whole
from whence.reading.models import model_path
from whence.support.names import shown as shown_text

if TYPE_CHECKING:
    from whence.explorer.references import References
    from whence.explorer.session.document import Session
    from whence.explorer.session.watching import Watch
    from whence.exploring.measuring import Wishes
    from whence.exploring.origin import Origin
    from whence.exploring.request import Request
    from whence.planning.artifact import Artifact

DOCUMENTS = (".json", ".json.gz")
"""The endings of session documents."""
SESSIONS = (*DOCUMENTS, ".html")
"""The endings of files that sessions are read from: documents and reports."""


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Compile a model, and show the whole compilation: every stage, the ledger, kernels, machine code. Without "
    about += "-o, --report, --text and --export, open it as a page in the browser, served to this machine until Ctrl-C."
    examples = (
        "light_resnet50",
        "light_resnet50 --report resnet.html       # one file, opened without a network",
        "light_resnet50 -o session.json.gz",
        "session.json.gz",
        "resnet.html                               # a report, opened again as a session",
        "new.onnx --compare old.json.gz --report difference.html",
        "session.json.gz --text verdict --layer conv1",
        "session.json.gz --text diff --stage simplify-inference",
        'session.json.gz --text query "time where op=Conv by scope"',
        "session.json.gz --export model-explorer -o graphs.json",
    )
    parser = command(commands, "explore", "the whole compilation as a page or a document", about, examples)
    add_model(parser)
    add_inputs(parser)
    _add_output(parser)
    add_measurements(parser)
    add_views(parser)
    parser.set_defaults(command=_explore)


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the answer goes."""
    about = "write the session document, as gzip if the name ends in .gz"
    parser.add_argument("-o", "--output", type=new_file, metavar="FILE", help=about)
    about = "write the page with the session as one file, which needs no network"
    parser.add_argument("--report", type=new_file, metavar="FILE", help=about)
    parser.add_argument("--json", action="store_true", help="print the verdicts and an overview as JSON")
    group = parser.add_argument_group("server")
    group.add_argument("--port", type=whole(0), default=0, metavar="N", help="its port (default: a free one)")
    group.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    # For the processes of the server's jobs.
    group.add_argument("--job", type=new_file, metavar="FILE", help=argparse.SUPPRESS)
    group.add_argument("--job-memory", type=whole(0), default=0, metavar="BYTES", help=argparse.SUPPRESS)


def add_measurements(parser: argparse.ArgumentParser) -> None:
    """Add the options for the measurements and records of a run."""
    group = parser.add_argument_group("measurements")
    group.add_argument("--no-times", action="store_true", help="do not run the model to measure layers and lines")
    group.add_argument("--seconds", type=amount, metavar="S", help="how long to sample (default 1)")
    group.add_argument("--tensors", action="store_true", help="statistics of the values of layers")
    about = "the same, compared with onnxruntime's or LiteRT's values of the model"
    group.add_argument("--reference", action="store_true", help=about)
    about = "show loops and next primitives in each frame of schedules: of the hot kernels, of all or of none"
    group.add_argument("--films", choices=("none", "hot", "all"), help=about)
    about = "take whole Python files whose lines called layers, not only the lines that the model quotes"
    group.add_argument("--sources", action="store_true", help=about)
    add_sizes(parser)
    about = "another session document or model to compare with, layer by layer"
    parser.add_argument("--compare", metavar="OTHER", help=about)


def _wishes(args: argparse.Namespace) -> Wishes:
    from whence.explorer.peer import onnxruntime_times
    from whence.explorer.references import of_module, of_runtime
    from whence.exploring.measuring import Wishes
    from whence.kernels.kernel_calls import run_kernel

    def reference(artifact: Artifact, inputs: Mapping[str, Any]) -> References:
        runtime = of_runtime(model_path(args.model), args.signature, inputs)
        return runtime or of_module(artifact, inputs, run_kernel)

    seconds = 0.0 if args.no_times else 1.0 if args.seconds is None else args.seconds
    path = model_path(args.model)
    peer = partial(onnxruntime_times, path) if args.reference and path.suffix == ".onnx" else None
    return Wishes(
        seconds=seconds,
        tensors=args.tensors or args.reference,
        reference=reference if args.reference else None,
        peer=peer,
        films=args.films or "hot",
        sizes=named_sizes(args),
        sources=args.sources,
    )


def _explore(args: argparse.Namespace) -> int:
    if args.job is not None:
        return _job(args)
    check_views(args)
    session = _document(args) if _is_document(args) else None
    shown = args.output is args.report is args.text is args.export is None and not args.json
    if session is None and not (shown and args.compare is None):
        session = recorded(args)
    if session is not None and args.compare is not None:
        _compare(args, session)
    if session is None or shown:
        from whence.cli.explore_server import serve

        return serve(args, None if _is_document(args) else request_of(args), session)
    if args.export is not None:
        write_export(args, session)
    elif args.output is not None:
        from whence.explorer.session.file import write

        write(args.output, session)
    if args.json:
        print_json(answers_of(session))
    if args.text is not None:
        print_view(args, session)
    if args.report is not None:
        from whence.explorer.report_file import write_report

        write_report(session, args.report)
        if session.comparison is not None and args.text is None:
            print(shown_text(session.comparison.headline))
    return 0


def answers_of(session: Session) -> dict[str, Any]:
    """Return the verdicts on a session and an overview of it as JSON values."""
    from whence.explorer.session.answers_data import answers_data

    return answers_data(session)


def session_of_arguments(args: argparse.Namespace) -> Session:
    """Return the session in a file, or record that of a model."""
    return _document(args) if _is_document(args) else recorded(args)


def _compare(args: argparse.Namespace, session: Session) -> None:
    """Put another session beside one: that of a document, or of a model with the same options."""
    from whence.explorer.session.comparison import compare_sessions

    other = argparse.Namespace(**{**vars(args), "model": args.compare})
    session.comparison = compare_sessions(session, session_of_arguments(other))


def _is_document(args: argparse.Namespace) -> bool:
    return args.model.endswith(SESSIONS)


def _document(args: argparse.Namespace) -> Session:
    from whence.explorer.session.file import read

    path = model_path(args.model)
    check_uncompiled(args, path)
    return read(path)


def request_of(args: argparse.Namespace) -> Request:
    """Return the model and its options from the arguments."""
    from whence.exploring.request import FLAGS, OPTIONS, Request

    options: dict[str, tuple[str, ...]] = {name: ("",) for name in FLAGS if getattr(args, name.replace("-", "_"))}
    for name in OPTIONS:
        value = getattr(args, name.replace("-", "_"))
        values = cast("list[object]", value) if isinstance(value, list) else [] if value is None else [value]
        if name == "desired-layout-ops" and values:
            values = [",".join(map(str, values))]
        if values:
            options[name] = tuple(map(str, values))
    return Request(args.model, options)


def recorded(args: argparse.Namespace, watch: Watch | None = None, progress: Shown | None = None) -> Session:
    """Return the session of the model in the arguments; errors as in `compile_model`.

    watch: records the compilation; a new one by default.
    """
    from whence.explorer.session.watching import Watch
    from whence.exploring.record import session_of

    watch = watch or Watch()
    compiled, seconds = compile_model(args, instruments=[watch], progress=progress)
    origin = _origin(args)
    origin.seconds = seconds - watch.seconds
    chosen = args.input is not None or args.fill_mode is not None or args.seed is not None
    return session_of(compiled, watch, origin, inputs_of(args, compiled.inputs) if chosen else None, _wishes(args))


def _origin(args: argparse.Namespace) -> Origin:
    from whence.exploring.origin import Origin
    from whence.exploring.record import model_bytes

    path = model_path(args.model)
    digest = hashlib.sha256(model_bytes(path)).hexdigest()
    return Origin(path.name, request_of(args).command(), args.target or TARGET, opt_level(args), sha256=digest)


def _job(args: argparse.Namespace) -> int:
    """Run a job: write the session. For a failed compilation, write the part until the failure and the reason."""
    from whence.cli.errors import described
    from whence.explorer.session.file import write
    from whence.exploring.failing import FailureWatch, failed_session, failure
    from whence.exploring.job import job

    with job(args.job_memory) as tell:
        watch = FailureWatch()
        try:
            write(args.job, recorded(args, watch, tell))
        except Exception as error:
            message = described(error)
            if watch.programs:
                origin = _origin(args)
                origin.notes.append(message)
                write(args.job, failed_session(watch, origin))
            tell.fail(failure(message, watch, request_of(args)))
            return 1
    return 0

"""A failed compilation: the stages up to the failure, the subject of the error, and the command that repeats it."""

from __future__ import annotations

import re
import shlex

from whence.explorer.session.builder import Builder
from whence.explorer.session.courses import add_course
from whence.explorer.session.document import Program, Session
from whence.explorer.session.kept import add_rows
from whence.explorer.session.kernels import course_rows
from whence.explorer.session.watching import Watch, Watched
from whence.exploring.origin import Origin
from whence.exploring.request import FLAGS, Request
from whence.support.instrument import PassInfo

_LAYER = re.compile(r"\(layer '(.*?)'[,;)]")
_OPERATOR = re.compile(r"(?:^|got )((?:relay|te|tir|llvm)\.[\w.]+)")


class FailureWatch(Watch):
    """Knows the pass that runs, too."""

    def __init__(self) -> None:
        super().__init__()
        self.infos: list[PassInfo] = []
        """The passes that run now, those inside others last."""

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        super().run_before_pass(mod, info)
        self.infos.append(info)

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        self.infos.pop()
        super().run_after_pass(mod, info)


def failure(message: str, watch: FailureWatch, request: Request) -> dict[str, str]:
    """Return the details of an error: the text, the operator, the layer, the pass, and the command to reproduce it."""
    layer = _LAYER.search(message)
    operator = _OPERATOR.search(message)
    return {
        "message": message,
        "op": operator[1] if operator else "",
        "layer": layer[1] if layer else "",
        "pass": watch.infos[0].name if watch.infos else "",
        "command": _command(watch, request),
    }


def _command(watch: FailureWatch, request: Request) -> str:
    """Return the command of the passes that ran, if a pass over relay failed; else the command of the compilation."""
    course = next(iter(watch.programs.values())).relay if len(watch.programs) == 1 else None
    if not watch.infos or course is None or request.options.keys() - {"opt-level", "passes", "target", *FLAGS}:
        return request.command("-o", "session.json")
    specs = [run.info.spec for run in course.runs] + [watch.infos[0].spec]
    if not all(spec.startswith("relay-") for spec in specs):
        return request.command("-o", "session.json")
    return shlex.join(["whence-opt", request.words()[0], "-p", ",".join(specs)])


def failed_session(watch: Watch, origin: Origin) -> Session:
    """Return the session up to an error."""
    builder = Builder(origin.made_by())
    for number, seen in enumerate(watch.programs.values()):
        _add_program(builder, seen, f"program {number}" if number else "main")
    return builder.finish()


def _add_program(builder: Builder, seen: Watched, name: str) -> None:
    session, layers = builder.session, builder.session.layers
    program = len(session.programs)
    session.programs.append(Program(name, "static", "not compiled to the end"))
    for leaf, kind in seen.relay.ledger.op_types.items() if seen.relay.ledger is not None else ():
        row = builder.layer(leaf)
        layers.kind[row], layers.type[row] = "layer", kind
    add_course(builder, seen.relay, "relay", program, -1, builder.set_of)
    for rows in seen.kept.values():
        add_rows(builder, rows, program)
    for symbol, course in seen.kernels.items():
        add_rows(builder, course_rows(Builder(session.made_by), symbol, course), program)

"""Session documents damaged at random: each that passes the check is taken by all that reads documents.

    python tests/support/damaged_sessions.py [--cases 2000] [--seed 0]

Case k has seed SEED + k. Prints each case that a reader does not take, and how many passed; the exit code is 1 when
there is one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, cast

from small_session import small_session

from whence.explorer.report_file import report
from whence.explorer.session.comparison import compare_sessions
from whence.explorer.session.document import LEVELS, Session
from whence.explorer.session.exports import EXPORTS
from whence.explorer.session.file import from_json, to_json
from whence.explorer.session.parts import head, schedule_part, stage_part
from whence.explorer.session.strip import stripped
from whence.explorer.session.views import VIEWS
from whence.explorer.session.views.choice import Choice
from whence.exploring.orders import current_pipeline
from whence.exploring.store import Kept
from whence.support.errors import FrontendError, WhenceError

_NUMBERS = (0, -1, 1, 2, 3, 31, 32, 33, 1 << 40, 0.0, -0.5, 1e308, 5e-324)
_TEXTS = ("", "asm", "layer", "tensor", "conv2", "block/conv1", "relay", "x", "\n", '"', "\ud800", "%0", "a,b")


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Give the container and the key of each value of a document."""
    keyed = isinstance(value, dict)
    items = cast("dict[Any, Any]", value).items() if keyed else enumerate(cast("list[Any]", value))
    for key, element in items:
        yield value, key
        if isinstance(element, dict | list):
            yield from places(element)


def damaged(document: Any, rng: random.Random) -> Any:
    """Return a document with one to three values changed."""
    document = json.loads(json.dumps(document))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        container, key = rng.choice(list(places(document)))
        value = container[key]
        if isinstance(value, bool):
            container[key] = not value
        elif isinstance(value, int):
            container[key] = rng.choice((value + 1, value - 1, int(rng.choice(_NUMBERS[:9]))))
        elif isinstance(value, float):
            container[key] = float(rng.choice(_NUMBERS))
        elif isinstance(value, str):
            container[key] = rng.choice((*_TEXTS, *LEVELS))
        elif isinstance(value, list):
            container[key] = _list(cast("list[Any]", value), rng)
    return document


def _list(values: list[Any], rng: random.Random) -> list[Any]:
    match rng.randrange(5):
        case 0:
            return []
        case 1:
            return values[:-1]
        case 2:
            return values + values[-1:]
        case 3:
            return values[::-1]
        case _:
            return rng.sample(values, len(values))


def readers(base: Session) -> dict[str, Callable[[Session], object]]:
    """Return all that reads documents, by name; base: a session to compare with."""
    choices = [
        Choice(),
        *(Choice(level=level, kernel="0", line=1) for level in LEVELS[3:]),
        *(Choice(layer=layer) for layer in ("0", "conv2", "4")),
        *(Choice(stage=stage) for stage in ("1", "fuse-ops")),
    ]

    def each(view: Callable[[Session, Choice], str]) -> Callable[[Session], object]:
        return lambda session: [_asked(view, session, choice) for choice in choices]

    return {
        **{f"view {name}": each(view) for name, view in VIEWS.items()},
        **{f"export {name}": each(export) for name, export in EXPORTS.items()},
        "report": report,
        "compared": lambda session: compare_sessions(session, base),
        "compared with it": lambda session: compare_sessions(base, session),
        "compared with itself": lambda session: compare_sessions(session, session),
        "stripped": lambda session: from_json(to_json(stripped(session))),
        "parts": _parts,
        "pipeline": lambda session: current_pipeline(Kept(1, session, None, "")),
    }


def _asked(view: Callable[[Session, Choice], str], session: Session, choice: Choice) -> str:
    """Return an answer, which may be that there is none."""
    try:
        return view(session, choice)
    except WhenceError as error:
        return str(error)


def _parts(session: Session) -> None:
    head(session)
    for stage in session.stages:
        stage_part(stage)
    for schedule in session.schedules:
        schedule_part(schedule)


def faults(seed: int) -> list[str] | None:
    """Return what the readers say that do not take a damaged document; None where the check does not."""
    rng = random.Random(f"session {seed}")
    try:
        session = from_json(damaged(to_json(small_session()), rng))
    except FrontendError:
        return None
    wrong: list[str] = []
    for name, read in readers(small_session()).items():
        try:
            read(session)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(f"{name}: {type(error).__name__}: {error} ({frame.filename}:{frame.lineno})")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    passed = bad = 0
    for case in range(args.cases):
        wrong = faults(args.seed + case)
        passed += wrong is not None
        if wrong:
            bad += 1
            print(f"seed {args.seed + case}: " + "\n    ".join(wrong), flush=True)
        if not (case + 1) % 500:
            print(f"{case + 1} cases, {passed} passed the check, {bad} not taken", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""Session documents as files: plain JSON, or that in gzip where the name ends in .gz; reports are read, too."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any, NoReturn, cast

from ...frontends.importing.files import read_model
from ...support.errors import FrontendError, PipelineError, expectation
from ...support.files import replacing
from .blocks import HEAD, LIMIT, Blocks, is_report, unpacked, with_parts
from .check import check
from .document import DOCUMENT, VERSION, Session

_MAGIC = b"\x1f\x8b"


def to_json(session: Session) -> dict[str, Any]:
    """Return the document as JSON values; columns are not copied."""
    return DOCUMENT.encode(session)


def from_json(value: object, title: str = "session") -> Session:
    """Return the session of JSON values, all types and links of it checked; unknown keys are ignored.

    Raises FrontendError, one sentence that begins with `title` and has the path to what is wrong.
    """
    if not isinstance(value, dict) or "whence_session" not in value:
        raise FrontendError(expectation(title, "a session document", "other JSON"))
    version = cast("dict[str, object]", value)["whence_session"]
    if version != VERSION:
        shown = version if isinstance(version, int) and abs(version) < 1_000_000 else "another"
        raise FrontendError(expectation(title, f"a session document of version {VERSION}", f"version {shown}"))
    session = DOCUMENT.decode(Session, cast("object", value), title)
    check(session, title)
    return session


def write(path: str | os.PathLike[str], session: Session) -> None:
    """Write the document; the file is the old or the new one at any moment, and equal sessions make equal files.

    Raises PipelineError when it cannot be written.
    """
    try:
        text = DOCUMENT.text(session)
    except ValueError as error:
        raise PipelineError(expectation(str(path), "finite numbers", str(error))) from error
    data = f"{text}\n".encode()
    with replacing(Path(path)) as stream:
        stream.write(gzip.compress(data, 6, mtime=0) if Path(path).suffix == ".gz" else data)


def read(path: str | os.PathLike[str]) -> Session:
    """Return the session in a file, a document, packed or not, or a report, with all its types and links checked.

    Raises FrontendError, one sentence, for a file that cannot be read, or is no session document, or a damaged one.
    """
    name, data = read_model(path, "session")
    title = name.name
    if is_report(data):
        blocks = Blocks(data, title)
        return from_json(
            with_parts(_json(blocks.text(HEAD), title), lambda part: _json(blocks.text(part), title)), title
        )
    if data.startswith(_MAGIC):
        data = unpacked(data, title, LIMIT)
    if len(data) > LIMIT:
        raise FrontendError(expectation(title, f"at most {LIMIT} bytes of JSON", "more"))
    return from_json(_json(data, title), title)


def _json(data: bytes, title: str) -> object:
    try:
        return json.loads(data, parse_constant=_refused)
    except RecursionError:
        raise FrontendError(expectation(title, "a session document", "lists in lists without end")) from None
    except ValueError as error:
        raise FrontendError(expectation(title, "JSON", str(error))) from error


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"the number {constant}")

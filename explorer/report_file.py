"""The Explorer in one file, which needs no network: the page with its modules inside, and a session in parts.

The head of the session, each body of a stage, each film of a schedule and the tables of queries are blocks of their
own, in gzip and base64, that the page unpacks when it is asked for them, and `session.file` reads. The content policy
allows the two scripts and the style of the file by their hashes, modules and workers out of `data:` addresses, and
nothing else: no name out of a model becomes code, and nothing is fetched or sent.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path

from ..support.files import replacing
from ..support.names import shown
from .page_files import MAIN, framed, hash_source, import_map, modules, page_files
from .session.blocks import HEAD, packed
from .session.document import Session
from .session.parts import head, schedule_part, stage_part
from .session.query.part import tables_part

_BOOT = f'import "{MAIN}";'


def write_report(session: Session, path: str | os.PathLike[str]) -> None:
    """Write the report of a session; equal sessions make equal files.

    Raises PipelineError when the file cannot be written.
    """
    with replacing(Path(path)) as stream:
        stream.write(report(session).encode("utf-8", "backslashreplace"))


def report(session: Session) -> str:
    """Return the report of a session as HTML."""
    texts = page_files()
    addresses = {name: _address(texts[path]) for name, path in modules(texts).items()}
    style = "\n".join(text for path, text in texts.items() if path.endswith(".css"))
    scripts = import_map(addresses)
    policy = (
        f"default-src 'none'; script-src {hash_source(scripts)} {hash_source(_BOOT)} data:; "
        f"style-src {hash_source(style)}; img-src data:; worker-src data:; base-uri 'none'; form-action 'none'"
    )
    header = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
        f'<script type="importmap">{scripts}</script>\n<script type="module">{_BOOT}</script>'
    )
    return framed(shown(session.made_by.model), header, "\n".join(_blocks(session)))


def _address(text: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(text.encode()).decode()}"


def _blocks(session: Session) -> Iterator[str]:
    yield packed(HEAD, head(session))
    for number, stage in enumerate(session.stages):
        yield packed(f"stage-{number}", stage_part(stage))
    for number, schedule in enumerate(session.schedules):
        yield packed(f"schedule-{number}", schedule_part(schedule))
    yield packed("tables", tables_part(session))

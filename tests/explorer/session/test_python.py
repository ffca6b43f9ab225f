"""The user's own Python as a level: the lines that the model quotes, and with consent the files."""

from __future__ import annotations

from pathlib import Path

import pytest
from traced_network import CALLS, SOURCE, traced_network

from whence.explorer.session.check import check
from whence.explorer.session.document import DOCUMENT, Session
from whence.explorer.session.strip import stripped
from whence.explorer.session.text import layers_of_lines, text_of_stage
from whence.exploring.measuring import Wishes
from whence.exploring.record import record

SERVED = {line: {layer for layer, lines in CALLS.items() if line in lines} for line in (6, 7, 12, 13)}


def python_of(session: Session) -> tuple[list[str], list[set[str]]]:
    """Return the one stage of Python: its lines, and the layers of each."""
    check(session)
    (stage,) = (number for number, stage in enumerate(session.stages) if stage.level == "python")
    names = session.layers.name
    return text_of_stage(session, stage), [{names[row] for row in rows} for rows in layers_of_lines(session, stage)]


def test_without_consent_only_quoted_lines_are_there(tmp_path: Path):
    session = record(traced_network(tmp_path / "net.py"))
    lines, layers = python_of(session)
    texts = SOURCE.splitlines()
    assert lines == [f"{line:>2}  {texts[line - 1].strip()}" for line in SERVED]
    assert layers == list(SERVED.values())
    assert "secret" not in str(DOCUMENT.encode(session))
    assert "class Net" not in str(DOCUMENT.encode(session))


def test_with_consent_the_file_is_there(tmp_path: Path):
    lines, layers = python_of(record(traced_network(tmp_path / "net.py"), wishes=Wishes(sources=True)))
    assert lines == SOURCE.splitlines()
    assert layers == [SERVED.get(number, set()) for number in range(1, len(lines) + 1)]


@pytest.mark.parametrize("text", ["x = 1\n" * 20, "", None, b"\xff\n"])
def test_another_file_is_not_taken(tmp_path: Path, text: str | bytes | None):
    file = tmp_path / "net.py"
    model = traced_network(file)
    file.unlink()
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    session = record(model, wishes=Wishes(sources=True))
    assert len(python_of(session)[0]) == len(SERVED)
    (note,) = session.made_by.notes
    assert note.startswith(f"{file} is shown by the lines of the model alone: expected")


def test_a_file_of_which_the_model_quotes_nothing_is_named(tmp_path: Path):
    model = traced_network(tmp_path / "net.py")
    for node in model.graph.node:
        trace = node.metadata_props[0]
        trace.value = "".join(line + "\n" for line in trace.value.splitlines() if line.startswith("File"))
    session = record(model, wishes=Wishes(sources=True))
    assert python_of(session)[0] == SOURCE.splitlines()
    assert session.made_by.notes == [f"{tmp_path}/net.py is shown as it is here: the model quotes no line of it"]


def test_a_file_that_is_no_python_is_not_taken(tmp_path: Path):
    session = record(traced_network(tmp_path / "password"), wishes=Wishes(sources=True))
    assert len(python_of(session)[0]) == len(SERVED)


def test_a_stripped_session_has_no_python(tmp_path: Path):
    session = stripped(record(traced_network(tmp_path / "net.py"), wishes=Wishes(sources=True)))
    assert not any(python_of(session)[0])
    text = str(DOCUMENT.encode(session))
    assert "self.block" not in text
    assert "net.py" not in text

"""Kernels that were recorded before: nothing of them is lowered again, and the session is the same."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from onnx import ModelProto

import whence
from whence.explorer.session import schedules
from whence.explorer.session.check import check
from whence.explorer.session.document import Session
from whence.explorer.session.file import to_json
from whence.explorer.session.watching import Watch, Watched
from whence.exploring.failing import failed_session
from whence.exploring.origin import Origin
from whence.exploring.record import session_of
from whence.support.context import PassContext


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path / "cache"))


ORIGIN = Origin("twins.onnx", "whence explore twins.onnx")


def recorded(source: ModelProto, **options: Any) -> tuple[Session, Watched]:
    watch = Watch()
    with PassContext.current().at_level(3, [watch]):
        executable = whence.compile(source, **options)
    session = session_of(executable, watch, ORIGIN)
    check(session)
    return session, next(iter(watch.programs.values()))


def timeless(session: Session) -> dict[str, Any]:
    """A document without what is measured."""
    data = to_json(session)
    return {**data, "passes": [{**run, "seconds": 0} for run in data["passes"]]}


def test_a_second_session_is_the_same_and_lowers_no_kernel(source: ModelProto, monkeypatch: pytest.MonkeyPatch):
    first, seen = recorded(source)
    assert set(seen.kernels) == {kernel.symbol for kernel in first.kernels}
    assert not seen.kept
    # Schedules are made neither for kernels nor for films.
    monkeypatch.setattr("whence.lowering.kernel.draft.schedule_function", None)
    monkeypatch.setattr("whence.lowering.kernel.few_rows.schedule_function", None)
    monkeypatch.setattr(schedules, "schedule_function", None)
    second, seen = recorded(source)
    assert not seen.kernels
    assert set(seen.kept) == {kernel.symbol for kernel in second.kernels}
    assert len(second.schedules) == len(first.schedules) > 0
    assert timeless(second) == timeless(first)


def test_kept_kernels_serve_the_layers_of_the_model_at_hand(source: ModelProto, tmp_path: Path):
    """As its layers were recorded anew, though all kernels were recorded for a model with other names."""
    other = ModelProto.FromString(source.SerializeToString())
    for node in other.graph.node:
        node.name = f"other_{node.name}"
    recorded(source)
    kept, seen = recorded(other)
    assert not seen.kernels
    rmtree(tmp_path / "cache")
    anew, seen = recorded(other)
    assert not seen.kept
    assert timeless(kept) == timeless(anew)
    assert [name for name, kind in zip(kept.layers.name, kept.layers.kind, strict=True) if kind == "layer"] == [
        node.name for node in other.graph.node
    ]


def test_an_edit_of_the_pipeline_lowers_the_kernels_that_it_changes(source: ModelProto):
    before = "relay-simplify-inference,relay-fold-constant,relay-fuse-ops"
    # The pool stays alone in its kernel, and the others are one operator each.
    after = f"{before}{{max-depth=1}}"
    recorded(source, pipeline=before)
    session, seen = recorded(source, pipeline=after)
    again, kept = recorded(source, pipeline=after)
    assert set(seen.kernels) == {kernel.symbol for kernel in session.kernels} - set(seen.kept)
    assert any("pool" in symbol for symbol in seen.kept)
    assert any("conv2d" in symbol for symbol in seen.kernels)
    assert not kept.kernels
    assert timeless(again) == timeless(session)


def test_a_damaged_record_is_made_anew(source: ModelProto, monkeypatch: pytest.MonkeyPatch):
    def damaged(data: bytes) -> dict[str, str]:
        return {"rows": '{"kernel": 3}'}

    first, _ = recorded(source)
    monkeypatch.setattr("whence.explorer.session.kept.decode", damaged)
    again, seen = recorded(source)
    assert not seen.kept
    assert timeless(again) == timeless(first)


def test_a_film_that_was_cut_is_kept_with_the_note_about_it(source: ModelProto, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(schedules, "_SECONDS", {"hot": (0.0, 0.0)})
    first, _ = recorded(source)
    monkeypatch.setattr(schedules, "schedule_function", None)
    again, _ = recorded(source)
    assert any("films are long" in note for note in first.made_by.notes)
    assert timeless(again) == timeless(first)


def test_a_compilation_that_fails_has_the_kernels_until_then(source: ModelProto):
    first, _ = recorded(source)
    watch = Watch()
    with PassContext.current().at_level(3, [watch]):
        whence.compile(source)
    failed = failed_session(watch, ORIGIN)
    check(failed)
    assert [kernel.symbol for kernel in failed.kernels] == [kernel.symbol for kernel in first.kernels]

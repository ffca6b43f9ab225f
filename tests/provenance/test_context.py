"""PassContext: options, levels, scopes, and the texts of its errors."""

from __future__ import annotations

import threading

import pytest

from whence.support.context import PassContext, spans_enabled
from whence.support.errors import PipelineError


def test_defaults():
    context = PassContext.current()
    assert context.opt_level == 3
    assert context.option("ir.enable_si_builder") is True
    assert context.option("relay.FuseOps.max_depth") == 256


def test_an_unknown_option_lists_the_candidates():
    with pytest.raises(PipelineError) as error:
        PassContext(config={"relay.fuse": 1})
    candidates = ", ".join(sorted(PassContext.list_configs()))
    assert str(error.value) == f"Invalid config option 'relay.fuse' candidates are: {candidates}"
    assert candidates.startswith("ir.enable_si_builder, relay.FuseOps.max_depth, ")
    assert candidates.endswith(", tir.usmp.algorithm, tir.usmp.enable")
    with pytest.raises(PipelineError, match="Invalid config option 'nope'"):
        PassContext().option("nope")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("relay.FuseOps.max_depth", "12", "expected int, got str ('12')"),
        ("relay.FuseOps.max_depth", True, "expected int, got bool (True)"),
        ("ir.enable_si_builder", 1, "expected bool, got int (1)"),
    ],
)
def test_a_wrong_type_is_refused(name: str, value: bool | int | str, text: str):
    with pytest.raises(PipelineError) as error:
        PassContext(config={name: value})
    assert str(error.value) == f"config option '{name}': {text}"


@pytest.mark.parametrize("level", [-1, 5])
def test_a_wrong_level_is_refused(level: int):
    with pytest.raises(PipelineError, match=f"opt_level: expected 0-4, got {level}"):
        PassContext(opt_level=level)


def test_scopes_nest_and_end():
    with PassContext(opt_level=1) as outer:
        assert PassContext.current() is outer
        with PassContext(opt_level=2) as inner:
            assert PassContext.current() is inner
            with outer:
                assert PassContext.current() is outer
            assert PassContext.current() is inner
        assert PassContext.current() is outer
    assert PassContext.current().opt_level == 3


def test_a_scope_ends_when_an_error_passes():
    with pytest.raises(KeyError), PassContext(opt_level=0):
        raise KeyError
    assert PassContext.current().opt_level == 3


def test_another_thread_has_its_own_scope():
    seen: list[int] = []
    with PassContext(opt_level=0):
        thread = threading.Thread(target=lambda: seen.append(PassContext.current().opt_level))
        thread.start()
        thread.join()
    assert seen == [3]


def test_enabled_passes():
    context = PassContext(opt_level=1, required_pass=("FastMath", "Both"), disabled_pass=("FoldConstant", "Both"))
    assert context.enables("Any", 1)
    assert not context.enables("Any", 2)
    assert context.enables("FastMath", 4)
    assert not context.enables("FoldConstant", 0)
    assert not context.enables("Both", 0)


def test_list_configs():
    assert PassContext.list_configs()["relay.FuseOps.max_depth"] == {"type": "IntImm"}
    assert PassContext.list_configs()["tir.usmp.algorithm"] == {"type": "runtime.String"}


def test_the_switches_of_span_filling(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TVM_SPANFILLING", raising=False)
    assert spans_enabled()
    with PassContext(config={"relay.frontend.fill_span": False}):
        assert not spans_enabled()
    monkeypatch.setenv("TVM_SPANFILLING", "0")
    assert not spans_enabled()
    monkeypatch.setenv("TVM_SPANFILLING", "1")
    assert spans_enabled()

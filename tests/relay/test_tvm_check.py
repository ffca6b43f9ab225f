"""Scripts written for TVM, read for what Whence lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whence.cli.main import main
from whence.reading.tvm_script import check_script
from whence.support.errors import FrontendError

SCRIPT = """\
import numpy as np
import tvm
from tvm import relay, te
from tvm.contrib import graph_executor as runtime
from tvm.no_such import thing
import tvm.relay.backend.contrib.ethosu.legalize

x = relay.var("x", shape=(1, 8))
mod = tvm.IRModule.from_expr(relay.nn.reluu(x))
mod = relay.transform.PlanDevices()(mod)
lib = relay.build(mod, target="cuda", tagret=None)
module = runtime.GraphModule(lib["default"](tvm.cpu()))
module.run()
module.set_inputt("x", np.zeros(1))
held = tvm.IRModule()
held.functions
held.no_such_method()


def inner(relay, n):
    te = n
    return relay.not_of_tvm + te.neither


held_target = tvm.target.Target("llvm")
held_target.kind.name, held_target.attrs, held_target.no_field


def build(s):
    te.create_schedule(s).no_primitive()
    return tvm.build(s, name="main", no_option=1) if s else tvm.target.Target("llvm")
"""


def test_what_is_missing_is_named_with_its_line_and_the_nearest(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    report = check_script(script)
    found = {(finding.line, finding.name): finding.reason for finding in report.findings}
    assert set(found) == {
        (5, "tvm.no_such.thing"),
        (6, "tvm.relay.backend.contrib.ethosu.legalize"),
        (9, "tvm.relay.nn.reluu"),
        (10, "tvm.relay.transform.PlanDevices"),
        (11, "tvm.relay.build('cuda')"),
        (11, "tvm.relay.build(tagret=)"),
        (14, "GraphModule.set_inputt"),
        (17, "IRModule.no_such_method"),
        (26, "Target.no_field"),
        (30, "Schedule.no_primitive"),
        (31, "tvm.build(no_option=)"),
    }
    assert found[5, "tvm.no_such.thing"].startswith("tvm.no_such is missing")
    assert "(did you mean relu" in found[9, "tvm.relay.nn.reluu"]
    assert "all runs on one CPU" in found[10, "tvm.relay.transform.PlanDevices"]
    assert "the CPU is the only device" in found[11, "tvm.relay.build('cuda')"]
    assert "(did you mean target" in found[11, "tvm.relay.build(tagret=)"]
    assert "(did you mean set_input" in found[14, "GraphModule.set_inputt"]
    assert str(report).endswith("11 missing")


def test_the_command_counts_and_exits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("from tvm import relay\nimport other\nrelay.nn.relu(other.thing)\n")
    bad.write_text("import tvm\ntvm.relay.nn.no_such\n")
    assert main(["tvm-check", str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: 3 names of tvm, 0 missing\n"
    assert main(["tvm-check", str(good), str(bad), "--json"]) == 1
    reports = json.loads(capsys.readouterr().out)
    assert [len(report["findings"]) for report in reports] == [0, 1]
    assert reports[1]["findings"][0]["name"] == "tvm.relay.nn.no_such"


def test_what_is_no_script_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import tvm.(")
    for path in (script, tmp_path / "none.py"):
        with pytest.raises(FrontendError, match=r"expected a Python script, got"):
            check_script(path)

"""Text that nests without end is refused with one error, of file, line and column."""

from pathlib import Path

import pytest

from whence.cli.opt import main as whence_opt
from whence.support.nesting import DEEPEST, too_deep
from whence.syntax.text.parser import DEEPEST_BODY

MANY = 5000


def _relay(text: str) -> str:
    return f'#[version = "0.0.5"]\ndef @main(%x: bool) -> bool {{ {text} }}\n'


def _mlir(attributes: str, type_: str = "i1") -> str:
    return f"relay.func @main(%x: {type_}) -> () attributes {attributes} {{ relay.return }}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("net.relay", _relay("if (%x) { " * MANY + "%x" + " } else { %x }" * MANY)),
        ("net.relay", _relay("(fn (%y: bool) -> bool { " * MANY + "%x" + " })(%x)" * MANY)),
        ("net.mlir", _mlir("{a = " + "[" * MANY + "1" + "]" * MANY + "}")),
        ("net.mlir", _mlir("{a = " * MANY + "1" + "}" * MANY)),
        ("net.mlir", _mlir("{}", "tuple<" * MANY + "i1" + ">" * MANY)),
        ("net.mlir", "builtin.module { " * MANY + "}" * MANY),
        ("net.mlir", "builtin.module {} loc(" + "fused[" * MANY + '"a"' + "]" * MANY + ")"),
    ],
)
def test_text_that_nests_without_end(name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text(text)
    assert whence_opt([str(tmp_path / name)]) == 1
    error = capsys.readouterr().err
    kind = f"{DEEPEST_BODY} bodies" if name.endswith("relay") else f"{DEEPEST} brackets"
    assert f"expected at most {kind} in each other, got more" in error
    assert f"{name}:" in error
    assert "Traceback" not in error
    assert "internal" not in error


@pytest.mark.parametrize(
    "text",
    [
        "builtin.module { " * (DEEPEST - 1) + "}" * (DEEPEST - 1),
        "// " + "[" * MANY + "\nbuiltin.module {}",
        "builtin.module {} // {{",
    ],
)
def test_text_that_nests_little(text: str, tmp_path: Path) -> None:
    (tmp_path / "net.mlir").write_text(text + "\n")
    assert whence_opt([str(tmp_path / "net.mlir")]) == 0


def test_what_counts() -> None:
    assert too_deep("{" * DEEPEST) is None
    assert too_deep("\n" + "{" * (DEEPEST + 1)) == (2, DEEPEST + 1)
    assert too_deep('"' + "{" * 300 + '"') is None
    assert too_deep("(d0) -> (d0) <= 3 " * 300) is None
    assert too_deep("(" * 300, "{") is None

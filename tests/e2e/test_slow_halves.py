"""The warning of a precision that is slower than float32."""

from __future__ import annotations

import warnings
from pathlib import Path
from unittest.mock import Mock

import onnx.parser
import pytest

import whence
from whence.compiler import slow_halves
from whence.compiler.compile import Precision
from whence.lowering.llvm_to_native.target import Target
from whence.support.errors import PrecisionWarning

MODEL = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["": 13]>
net (float[4] x) => (float[4] y) { y = Relu (x) }""")
HASWELL = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell"


def measured(*_: object) -> float:
    pytest.fail("measured")


def texts(precision: Precision, target: str, times: int = 1) -> list[str]:
    """What compiling says, by the filters of a fresh process."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default", PrecisionWarning)
        for _ in range(times):
            whence.compile(MODEL, target=target, precision=precision)
    return [str(one.message) for one in said if one.category is PrecisionWarning]


@pytest.mark.parametrize(
    ("cpu", "slow"),
    [
        ("haswell", ["f16", "bf16"]),
        ("znver4", ["f16"]),
        ("sapphirerapids", []),
        ("sapphirerapids -mattr=-amx-bf16", ["bf16"]),
    ],
)
def test_other_machines_are_known_by_their_records(cpu: str, slow: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_halves, "slowdown", measured)
    precisions: tuple[Precision, ...] = ("f32", "f16", "bf16", "auto")
    said = {word: texts(word, f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}") for word in precisions}
    assert [word for word in precisions if said[word]] == slow
    for word in slow:
        (text,) = said[word]
        name = {"f16": "float16", "bf16": "bfloat16"}[word]
        assert text == (
            f"precision: '{word}' is not faster than 'f32', and may be slower: "
            f"{cpu.split()[0]} has no fast products of {name} (not measured)"
        )


@pytest.mark.parametrize(("ratio", "warned"), [(2.04, True), (1.04, False), (0.6, False)])
def test_this_machine_warns_once_with_what_was_measured(
    ratio: float, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Target.parse(HASWELL)
    monkeypatch.setattr(Target, "native", lambda: here)
    monkeypatch.setattr(slow_halves, "slowdown", Mock(return_value=ratio))
    said = texts("bf16", HASWELL, times=2)
    assert len(said) == warned
    for text in said:
        assert text == (
            "precision: 'bf16' takes about 2.0 times as long as 'f32' for a dense layer of 64 rows, 512 terms and 512 "
            "columns, measured in one thread: haswell has no fast products of bfloat16"
        )


def test_the_figure_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path))
    here = Target.native()
    figure = slow_halves.slowdown("bf16", here)
    assert figure > 0
    monkeypatch.setattr(slow_halves, "_measured", measured)
    assert slow_halves.slowdown("bf16", here) == figure
    with pytest.raises(pytest.fail.Exception, match="measured"):
        slow_halves.slowdown("f16", here)

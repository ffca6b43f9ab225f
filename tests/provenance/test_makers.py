"""Who made an op: the ledger names the patterns that a watcher of xDSL's own rewriters saw, and no others."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from makers import Verdict, judged
from xdsl.dialects.builtin import ModuleOp

from whence.provenance.ledger import Ledger
from whence.provenance.responsible import Responsible
from whence.support.instrument import PassInfo, PassInstrument

EXPORTS = Path(__file__).parents[1] / "exports"
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "light_squeezenet": {},
    "light_shufflenet": {},
    "lstm.onnx": {},
    "bert.onnx": {"given_0": (2, 7), "given_1": (2, 7)},
    "convnext.onnx": {"given_0": (1, 3, 32, 32)},
    "mobilenet_v3.qdq.onnx": {},
    "tflite/autoencoder.dynamic.tflite": {},
    "tflite/mobilenet_v1.int8.tflite": {},
    "tflite/ds_cnn.int16.tflite": {},
    "tflite/mobilebert.int8.tflite": {},
}


class Blamed(PassInstrument):
    """Collects what ops name that they have no part in, after every pass."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger
        self.wrong: list[str] = []

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, ModuleOp)
        self.responsible = Responsible.before_pass(mod, self.ledger)

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, ModuleOp)
        self.wrong += [f"{info.name}: {op.name} {layers}" for op, layers in self.responsible.wrongly_blamed(mod)]


@cache
def compiled(name: str) -> tuple[Verdict, list[str]]:
    """What is judged of a model's operators after all passes, and what was wrong after each."""
    ledger = Ledger()
    blamed = Blamed(ledger)
    verdict = judged(str(EXPORTS / name) if "." in name else name, SHAPES[name], ledger, [blamed])
    return verdict, blamed.wrong


@pytest.mark.parametrize("name", SHAPES)
def test_ops_name_no_layers_that_they_have_no_part_in(name: str):
    assert compiled(name)[1] == []


@pytest.mark.parametrize("name", SHAPES)
def test_the_ledger_names_those_patterns_that_made_an_op(name: str):
    verdict, _ = compiled(name)
    assert (verdict.wrong, verdict.missing) == ([], [])
    assert verdict.operators > 10
    assert verdict.made > 0

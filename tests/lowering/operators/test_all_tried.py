"""No operator is left out: each is compiled in one of the test files."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from operator_cases import Cases

from whence.lowering.relay_to_te.lower import TABLE

HERE = Path(__file__).parent


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"tried_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_operator_with_a_lowering_is_tried():
    files = [*HERE.glob("test_*.py"), *HERE.parent.glob("test_relay_to_te*.py")]
    tried: set[type] = set()
    for path in files:
        if path != Path(__file__):
            cases = load(path).CASES
            tried |= set(cases.kinds) if isinstance(cases, Cases) else {case.kind for case in cases}
    assert set(TABLE) <= tried

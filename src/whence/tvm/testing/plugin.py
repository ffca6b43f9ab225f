"""A pytest plugin for tests that are written as TVM's: fixtures `target` and `dev`, and parameters that go together.

`pytest -p whence.testing.plugin`, or `pytest_plugins = ["whence.testing.plugin"]` in a conftest.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from whence.runtime.values.device import Device, device
from whence.testing import device_enabled, enabled_targets

_MARKS = ("targets", "targets_excluded", "targets_failing")


def pytest_configure(config: Any) -> None:
    """Declare the marks."""
    for name in _MARKS:
        config.addinivalue_line("markers", f"{name}(*names): targets of whence.testing")


def pytest_generate_tests(metafunc: Any) -> None:
    """Make a test for each target, and for each row of parameters that go together."""
    if "target" in metafunc.fixturenames and not _has_own_targets(metafunc):
        metafunc.parametrize("target", _targets(metafunc.definition), scope="session")
    groups: dict[int, list[tuple[str, Any]]] = {}
    for name in metafunc.fixturenames:
        definitions = metafunc._arg2fixturedefs.get(name, ())
        function = definitions[-1].func if definitions else None
        if (group := getattr(function, "parametrize_group", None)) is not None:
            groups.setdefault(group, []).append((name, function))
    for columns in groups.values():
        rows = list(zip(*(function.parametrize_values for _, function in columns), strict=True))
        names = columns[0][1].parametrize_ids
        metafunc.parametrize([name for name, _ in columns], rows, indirect=True, ids=names)


def _has_own_targets(metafunc: Any) -> bool:
    """Return whether a test parametrises `target` itself."""
    marks = metafunc.definition.iter_markers("parametrize")
    return any("target" in str(mark.args[0]).replace(" ", "").split(",") for mark in marks if mark.args)


def _targets(item: Any) -> list[Any]:
    marked = {name: item.get_closest_marker(name) for name in _MARKS}
    names = list(marked["targets"].args) if marked["targets"] else [name for name, _ in enabled_targets()]
    excluded = marked["targets_excluded"].args if marked["targets_excluded"] else ()
    failing = marked["targets_failing"].args if marked["targets_failing"] else ()
    return [
        pytest.param(name, marks=[pytest.mark.xfail] if name in failing else [])
        for name in names
        if device_enabled(name) and str(name).split()[0] not in excluded
    ]


@pytest.fixture
def dev(target: Any) -> Device:
    """The device of the target."""
    return device(str(target).split()[0])

"""A pytest plugin that reports CPU seconds: of each folder, and of the tests that use most.

Seconds of the processor, unlike those of the clock, hardly depend on what else the machine does. Those of a child
process count with the test that waits for it, those of a fixture with the test that asks for it first.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from heapq import nlargest
from operator import itemgetter

import pytest

_PROPERTY = "cpu seconds"


def _seconds() -> float:
    """Return the CPU seconds of this process so far and of its children that ended."""
    return sum(os.times()[:4])


class CpuSeconds:
    """Measures each phase of a test where it runs, and sums up where pytest reports."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        """The number of tests to list."""
        self.tests = defaultdict[str, float](float)
        self._start = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._start = _seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = _seconds()
        report.user_properties.append((_PROPERTY, now - self._start))
        self._start = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A report has the properties of the phases before it, too.
        name, seconds = report.user_properties[-1]
        assert name == _PROPERTY
        assert isinstance(seconds, float)
        self.tests[report.nodeid] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folders = defaultdict[str, float](float)
        files = defaultdict[str, float](float)
        for test, seconds in self.tests.items():
            file = test.partition("::")[0]
            files[file] += seconds
            folders[os.path.dirname(file)] += seconds
        for title, sums in (("folders", folders), ("files", files), ("tests", self.tests)):
            terminalreporter.write_sep("=", f"CPU seconds of {title}, {sum(sums.values()):.0f} in total")
            for name, seconds in nlargest(self.longest, sums.items(), key=itemgetter(1)):
                terminalreporter.write_line(f"{seconds:8.2f} {name}")

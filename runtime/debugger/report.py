"""The report of `profile()`: the calls of one run with the metrics of TVM's report."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...support.errors import FrontendError, expectation
from ...support.names import shown

_FIRST = ("Name", "Duration (us)", "Percent", "Device", "Count", "Argument Shapes")
CLOCK = "CPU time of all threads"
"""The name, in the configuration, of the clock that measures durations."""
_UNITS = {"Duration (us)": "microseconds", "Percent": "percent", "Count": "count"}

Metric: TypeAlias = str | int | float
Metrics: TypeAlias = Mapping[str, Metric]


@dataclass(frozen=True)
class Report:
    """A profiled run: the metrics of its calls and of the device as a whole, and its configuration."""

    calls: tuple[Metrics, ...]
    device_metrics: Mapping[str, Metrics]
    configuration: Metrics
    layers: tuple[tuple[tuple[str, float], ...], ...] = ()
    """For each call, the layers behind it, and the share of each."""

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Return a readable table. aggregate: calls of one function with arguments of the same shapes are one row."""
        rows = _aggregated(self.calls) if aggregate else [dict(call) for call in self.calls]
        if sort:
            rows.sort(key=lambda row: -float(row["Duration (us)"]))
        columns = _columns(rows)
        cells = [list(columns), *([_text(column, row.get(column, "")) for column in columns] for row in rows)]
        if col_sums:
            sums: dict[str, Metric] = {"Name": "Sum"}
            for column in _UNITS:
                sums[column] = sum(float(row.get(column, 0)) for row in rows)
            sums["Count"] = int(sums["Count"])
            totals = [{"Name": "Total", **metrics} for metrics in self.device_metrics.values()]
            cells.append(["----------", *[""] * (len(columns) - 1)])
            cells += [[_text(column, row.get(column, "")) for column in columns] for row in (sums, *totals)]
        lines = _aligned(cells)
        lines += ["", "Configuration", "-------------"]
        lines += [f"{name}: {shown(str(value))}" for name, value in self.configuration.items()]
        return "\n".join(lines) + "\n"

    __str__ = table

    def csv(self) -> str:
        """Return the report as CSV, with a line for each call."""
        out = io.StringIO()
        columns = _columns(self.calls)
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([call.get(column, "") for column in columns] for call in self.calls)
        return out.getvalue()

    def json(self) -> str:
        """Return all metrics and units: `{"calls": [{"Name": {"string": ..}, "Count": {"count": 1}, ..}], ..}`."""
        data = {
            "calls": [_with_units(call) for call in self.calls],
            "device_metrics": {device: _with_units(metrics) for device, metrics in self.device_metrics.items()},
            "configuration": _with_units(self.configuration),
        }
        return json.dumps(data, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Report:
        """Read the JSON of `json`; the report has no layers. Raises FrontendError for any other text."""
        try:
            data = json.loads(text)
            calls = tuple(_without_units(call) for call in data["calls"])
            devices = {device: _without_units(metrics) for device, metrics in data["device_metrics"].items()}
            return Report(calls, devices, _without_units(data["configuration"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FrontendError(expectation("profile report", "the JSON that a report gives", repr(error))) from error

    def by_layer(self) -> dict[str, float]:
        """Return the microseconds of each layer, longest first; they add up to those of all calls."""
        microseconds: dict[str, float] = {}
        for call, parts in zip(self.calls, self.layers, strict=True):
            for layer, share in parts:
                microseconds[layer] = microseconds.get(layer, 0.0) + share * float(call["Duration (us)"])
        return dict(sorted(microseconds.items(), key=lambda item: -item[1]))


def _columns(rows: Sequence[Metrics]) -> list[str]:
    present = {column for row in rows for column in row}
    return [column for column in _FIRST if column in present] + sorted(present.difference(_FIRST))


def _aggregated(calls: Sequence[Metrics]) -> list[dict[str, Metric]]:
    """Merge calls of one function on arguments of the same shapes; fields that differ among them become empty."""
    groups: dict[tuple[Metric, ...], dict[str, Metric]] = {}
    for call in calls:
        key = tuple(call.get(name, "") for name in ("Hash", "Name", "Argument Shapes", "Device"))
        if key not in groups:
            groups[key] = dict(call)
            continue
        row = groups[key]
        for name, value in call.items():
            if name in _UNITS:
                before = row.get(name, 0)
                assert not isinstance(before, str)
                assert not isinstance(value, str)
                row[name] = before + value
            elif row.get(name) != value:
                row[name] = ""
    return list(groups.values())


def _text(column: str, value: Metric) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else shown(value)


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "".join(
            f"{cell.ljust(width) if index == 0 else cell.rjust(width)}  "
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    ]


def _without_units(metrics: Mapping[str, Mapping[str, Metric]]) -> dict[str, Metric]:
    return {name: next(iter(value.values())) for name, value in metrics.items()}


def _with_units(metrics: Metrics) -> dict[str, dict[str, Metric]]:
    return {
        name: {_UNITS.get(name, "count" if isinstance(value, int) else "string"): value}
        for name, value in metrics.items()
    }

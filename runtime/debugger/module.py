"""`GraphModuleDebug`, TVM's debug executor: a graph module that dumps, times, stops and watches."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from ...support.errors import PipelineError, expectation
from ..program.factory import DebugModule, Origin
from ..program.graph_executor import GraphExecutor
from ..program.graph_module import GraphModule, library_of
from ..program.graph_reader import read_graph
from ..program.library import HasLibrary
from ..program.timing import BenchmarkResult, Timing
from ..values.device import check_cpu
from ..values.ndarray import NDArray, view
from ..values.params import save_param_dict
from ..values.tensors import Tensor
from .datum import DebugResult
from .dump import (
    GRAPH,
    LAYERS,
    TENSORS,
    TRACE,
    DumpFolder,
    dumped,
    graph_dump,
    layers_dump,
    trace_dump,
)
from .report import CLOCK, Metric, Report
from .step import Finding, Stepper, Stop
from .table import Row, debug_table, layer_table


class GraphModuleDebug(GraphModule):
    """A graph module for debugging.

    module: the result of `lib["debug_create"]("default", dev)`. device: a list of one device, as in TVM.
    graph_json_str: the module's graph, or None. dump_root: the folder of the dump folder; None for a temporary one.
    origins: the layers behind the nodes, if the module does not know them.
    """

    def __init__(
        self,
        module: GraphModule | GraphExecutor,
        device: object = None,
        graph_json_str: str | None = None,
        dump_root: str | PathLike[str] | None = None,
        *,
        origins: Mapping[str, Origin] | None = None,
    ):
        super().__init__(module)
        check_cpu(device, "debug executor")
        if graph_json_str is not None and read_graph(graph_json_str) != self.module.graph:
            raise PipelineError(expectation("debug executor", "the graph of the module", "another"))
        read_origins = getattr(module, "origins", None)
        self.origins: Mapping[str, Origin] = (
            origins if origins is not None else read_origins() if read_origins is not None else {}
        )
        self.stepper = Stepper(self.module, self.origins)
        self.folder = DumpFolder(dump_root)
        self.folder.write(GRAPH, graph_dump(self.module.graph))
        self.rows: list[Row] = []
        """The rows of the last `run`."""
        self._tensors: list[list[Tensor]] | None = None

    @property
    def dump_path(self) -> str:
        """The folder of the dumps."""
        return str(self.folder.path)

    # TVM's tests use these names.
    _dump_path = dump_path

    @property
    def _dump_root(self) -> str:
        return str(self.folder.root)

    @property
    def debug_datum(self) -> DebugResult:
        """Nodes, tensors and table by TVM's names."""
        return DebugResult(self.module.graph, self._named_tensors, lambda sort: self.debug_table(sort_by_time=sort))

    def _named_tensors(self) -> dict[str, Tensor]:
        return dumped(self.module.graph, self._tensors or ())

    def run(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 1,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        sort_by_time: bool = True,
        **inputs: object,
    ) -> None:
        """Time every node, run once more to dump every tensor, and print the table.

        The folder then holds the tensors, the layers that they belong to, and a trace.
        """
        self.set_input(None, None, **inputs)
        timing = Timing(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
        self._measure_and_dump(timing)
        print(self.debug_table(sort_by_time=sort_by_time))

    def measured(
        self,
        number: int = 10,
        repeat: int = 1,
        *,
        times: bool = False,
        layers: bool = False,
        width: int | None = None,
    ) -> str:
        """Measure as `run` does, and return the table, with optional columns and lines of a width."""
        self._measure_and_dump(Timing(number, repeat, 1))
        return debug_table(self.rows, times=times, layers=layers, width=width)

    def _measure_and_dump(self, timing: Timing) -> None:
        self.rows = self._run_kept(self._individual(timing))
        graph = self.module.graph
        assert self._tensors is not None
        self.folder.write(TENSORS, save_param_dict(self._named_tensors()))
        self.folder.write(LAYERS, layers_dump(graph, {name: origin.layers for name, origin in self.origins.items()}))
        means = {row.node: row.mean for row in self.rows}
        nodes = [(node.name, means.get(node.name, 0.0), self.stepper.layers(k)) for k, node in enumerate(graph.nodes)]
        self.folder.write(TRACE, trace_dump(nodes))

    def debug_table(self, *, sort_by_time: bool = True, times: bool = False, layers: bool = False) -> str:
        """Return the table of the last `run`, optionally with start and end of nodes, or with their layers."""
        return debug_table(self.rows, sort_by_time=sort_by_time, times=times, layers=layers)

    def by_layer(self) -> dict[str, float]:
        """Return the CPU microseconds of each layer in the last `run`, longest first; their sum is that of all nodes.

        The time of a node is measured, and its layers share it by their work. "" stands for nodes of no known layer.
        """
        microseconds: dict[str, float] = {}
        for row in self.rows:
            if row.output == 1:
                for layer, share in self._shares(row.node):
                    microseconds[layer] = microseconds.get(layer, 0.0) + share * row.mean * 1e6
        return dict(sorted(microseconds.items(), key=lambda item: -item[1]))

    def layer_table(self, width: int | None = None) -> str:
        """Return a table of the time of layers in the last `run`, and its estimated part, with lines of a width."""
        estimated: dict[str, float] = {}
        for row in self.rows:
            if row.output == 1 and self.origins.get(row.node, Origin()).estimated:
                for layer, share in self._shares(row.node):
                    estimated[layer] = estimated.get(layer, 0.0) + share * row.mean * 1e6
        return layer_table(self.by_layer(), estimated, width)

    def _shares(self, node: str) -> tuple[tuple[str, float], ...]:
        origin = self.origins.get(node, Origin())
        return tuple(zip(origin.layers, origin.shares, strict=True)) or (("", 1.0),)

    def run_individual(
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
    ) -> list[list[float]]:
        """Return the CPU seconds of every node, a list of repeats for each; those of arguments are 0."""
        timing = Timing(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
        return [list(times) for times in self._individual(timing)]

    def _individual(self, timing: Timing) -> list[tuple[float, ...]]:
        timing.check()
        self.module.begin()
        # Every node is timed on the results of the nodes before it.
        return [self._timed(position, timing).results for position in range(len(self.module.graph.nodes))]

    def _timed(self, position: int, timing: Timing) -> BenchmarkResult:
        native = self.module.native(position)
        if native is None:
            return BenchmarkResult((0.0,) * timing.repeat)
        function, arguments = native
        with self.module.library.pool.clock() as clock:
            result = timing.measure(lambda: function(*arguments), clock)
        if self.module.library.check is not None:
            self.module.library.check(self.module.graph.nodes[position].name)
        return result

    def run_individual_node(
        self,
        index: int,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
    ) -> BenchmarkResult:
        """Time one node in CPU seconds, after a run up to it; 0 for an argument. Raises FrontendError for no node."""
        (position,) = self.stepper.places(index)
        timing = Timing(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
        timing.check()
        self._run_to(position)
        return self._timed(position, timing)

    def _run_to(self, last: int) -> None:
        """Run the nodes up to and including one."""
        self.module.begin()
        for position in range(last + 1):
            self.module.run_node(position)

    def _run_kept(self, seconds: list[tuple[float, ...]]) -> list[Row]:
        """Run once, keep all tensors, and return the rows of the table."""
        graph = self.module.graph
        executor = self.module
        executor.begin()
        kept: list[list[Tensor]] = []
        rows: list[Row] = []
        for position, node in enumerate(graph.nodes):
            start, before = _now(), time.perf_counter()
            executor.run_node(position)
            end = start + datetime.timedelta(seconds=time.perf_counter() - before)
            kept.append([np.array(executor.entries[number]) for number in graph.entries_of(position)])
            if node.is_argument:
                continue
            layers = self.stepper.layers(position)
            rows += [
                Row(
                    node=node.name,
                    function=node.function,
                    seconds=seconds[position],
                    shape=graph.entries[number].shape,
                    inputs=len(node.inputs),
                    output=output,
                    layers=layers,
                    started=f"{start:%H:%M:%S.%f}",
                    ended=f"{end:%H:%M:%S.%f}",
                )
                for output, number in enumerate(graph.entries_of(position), 1)
            ]
        self._tensors = kept
        executor.end()
        return rows

    def debug_get_output(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, node: str | int, out: Tensor | None = None, *, as_stored: bool = False
    ) -> NDArray:
        """Return the first output of a node, by name or number, as its kernel stores it; or the value of a layer, in
        the model's layout unless you ask for it `as_stored`.

        It is from the last `run`, or else from a run up to there. Raises FrontendError for an unknown name, and for a
        layer that has no tensor because a kernel computes it together with others.
        """
        position = self.stepper.value_of(node)
        if self._tensors is None:
            self._run_to(position)
            array = np.array(self.module.entries[self.module.graph.rows[position]])
        else:
            array = self._tensors[position][0]
        if not as_stored:
            array = self.stepper.shown(node, array)
        return view(array) if out is None else view(out).copyfrom(array)

    def execute_node(self, node: str | int) -> NDArray:
        """Run up to a node, by name or number, and return its first output as its kernel stores it.

        Raises the errors of `debug_get_output`.
        """
        self._tensors = None
        return self.debug_get_output(node, as_stored=True)

    def first_bad(self, **inputs: object) -> Finding | None:
        """Run up to the first node that turns finite numbers into NaN or Inf; None if there is none."""
        self.set_input(None, None, **inputs)
        self.stepper.reset()
        return self.stepper.first_bad()

    def break_at(self, name: str | int) -> None:
        """Let `resume` stop after a node, by name or number, or after every node that serves a layer."""
        self.stepper.break_at(name)

    def inject(self, name: str | int, value: Any, output: int = 0) -> None:
        """Replace a node's output by a tensor from now on; see `Stepper.inject`."""
        self.stepper.inject(name, value, output)

    def restart(self) -> None:
        """Go back before the first node."""
        self.stepper.reset()

    def step(self) -> Stop | None:
        """Run the next node; None when all have run."""
        return self.stepper.step()

    def resume(self) -> Stop | None:
        """Run on to the next breakpoint, or through; outputs are then those of `get_output`."""
        return self.stepper.resume()

    def profile(self, collectors: object = None, **inputs: object) -> Report:
        """Return the metrics of every call of one run, after a warm-up run; durations are CPU time of all threads."""
        if collectors:
            raise PipelineError(expectation("profile", "no collectors", str(collectors)))
        self.set_input(None, None, **inputs)
        executor, graph = self.module, self.module.graph
        executor.run()
        calls: list[tuple[int, float]] = []
        with executor.library.pool.clock() as clock:
            start = clock()
            for position in graph.calls:
                before = clock()
                executor.run_node(position)
                calls.append((position, clock() - before))
            whole = clock() - start
        metrics = [self._metrics(position, seconds, whole) for position, seconds in calls]
        total: dict[str, Metric] = {"Duration (us)": whole * 1e6, "Percent": 100.0, "Device": "cpu0", "Count": 1}
        configuration: dict[str, Metric] = {
            "Number of threads": executor.library.pool.threads,
            "Executor": "Graph",
            "Clock": CLOCK,
        }
        layers = tuple(self._shares(graph.nodes[position].name) for position, _ in calls)
        return Report(tuple(metrics), {"CPU": total}, configuration, layers)

    def _metrics(self, position: int, seconds: float, whole: float) -> dict[str, Metric]:
        graph = self.module.graph
        node = graph.nodes[position]
        entries = [graph.entries[graph.entry(ref)] for ref in node.inputs]
        entries += [graph.entries[number] for number in graph.entries_of(position)]
        shapes = ", ".join(f"{entry.dtype}[{', '.join(map(str, entry.shape))}]" for entry in entries)
        metrics: dict[str, Metric] = {
            "Name": node.function,
            "Duration (us)": seconds * 1e6,
            "Percent": seconds / whole * 100,
            "Device": "cpu0",
            "Count": 1,
            "Argument Shapes": shapes,
            "Hash": node.attrs.get("hash", ""),
        }
        return metrics | {name: value for name, value in node.attrs.items() if "layout" in name}

    def exit(self) -> None:
        """Remove the dumps."""
        self.folder.remove()


def _now() -> datetime.datetime:
    return datetime.datetime.now()


def create(
    graph_json_str: str, libmod: HasLibrary, device: object = None, dump_root: str | PathLike[str] | None = None
) -> GraphModuleDebug:
    """Return a debug module of a graph in JSON and a library; raises the errors of `graph_executor.create`."""
    check_cpu(device, "debug_executor.create")
    params = getattr(libmod, "params", None)
    module = DebugModule(GraphExecutor(read_graph(graph_json_str), library_of(libmod).library, params))
    return GraphModuleDebug(module, device, None, dump_root, origins=getattr(libmod, "origins", None))

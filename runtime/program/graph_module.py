"""`GraphModule`, TVM's graph executor: a static model whose inputs you set, which you run, whose outputs you read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from ...support.doors import doors
from ...support.dtypes import Array
from ...support.errors import FrontendError, PipelineError, expectation
from ..values.device import Device, check_cpu
from ..values.ndarray import NDArray, is_aligned, view
from ..values.params import load_param_dict
from ..values.tensors import Tensor
from .entries import NamedFunctions
from .graph_executor import GraphExecutor
from .graph_reader import read_graph
from .library import HasLibrary
from .timing import BenchmarkResult, Timing

_FUNCTIONS = (
    "benchmark",
    "get_input",
    "get_input_index",
    "get_input_info",
    "get_num_inputs",
    "get_num_outputs",
    "get_output",
    "load_params",
    "run",
    "run_from_inputs",
    "set_input",
    "set_input_zero_copy",
    "set_output_zero_copy",
    "share_params",
)


@doors()
class GraphModule(NamedFunctions):
    """A graph with its memory, which one thread uses at a time.

    module: an executor, or another module, with which this one then shares memory.
    """

    def __init__(self, module: GraphExecutor | GraphModule):
        self.module: GraphExecutor = module.module if isinstance(module, GraphModule) else module
        self._copies: dict[int, Tensor] = module._copies if isinstance(module, GraphModule) else {}

    @property
    def graph_json(self) -> str:
        return self.module.graph.to_json()

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function of TVM's module by its name, `module["run"]`; raises PipelineError for an unknown one."""
        if name not in _FUNCTIONS:
            raise PipelineError(expectation("graph module", f"a function among {', '.join(_FUNCTIONS)}", repr(name)))
        return getattr(self, name)

    def set_input(self, key: str | int | None = None, value: object = None, **params: object) -> None:
        """Copy an array into the argument with a name or number, and others by name.

        Unknown names in `params` are ignored, as in TVM. Raises FrontendError for an unknown `key`, and for an array
        that does not fit.
        """
        if key is not None:
            number, name = self.module.argument(key)
            self.module.write(number, self.module.checked(number, name, value))
        arguments = {name: array for name, array in params.items() if name in self.module.argument_of}
        # The largest comes first, as in TVM: if memory is short, this fails before time is spent.
        numbers = {name: self.module.argument(name)[0] for name in arguments}
        for name in sorted(arguments, key=lambda argument: -self.module.specs[numbers[argument]].nbytes):
            self.module.write(numbers[name], self.module.checked(numbers[name], name, arguments[name]))

    def set_input_zero_copy(self, key: str | int | None = None, value: Tensor | None = None, **params: Tensor) -> None:
        """Read an argument, and others by name, from these arrays from now on.

        They have to be contiguous, at a 64-byte boundary. Raises FrontendError for an unknown name.
        """
        for argument, array in (*(((key, value),) if key is not None else ()), *params.items()):
            number, name = self.module.argument(argument)
            self.module.bind(number, self._in_place(number, f"input '{name}'", array))

    def set_output_zero_copy(self, key: int, value: Tensor) -> None:
        """Write an output to this array from now on; it has to be contiguous, at a 64-byte boundary, and writable."""
        number = self.module.head(key)
        array = self._in_place(number, f"output {key}", value)
        if not array.flags.writeable:
            raise FrontendError(expectation(f"output {key}", "an array that can be written", "a read-only one"))
        if self.module.is_view(number):
            self._copies[number] = array
        else:
            self.module.bind(number, array)

    def _in_place(self, number: int, what: str, value: object) -> Tensor:
        array = cast(Tensor, self.module.checked(number, what, value))
        if array is not value or not is_aligned(array):
            raise FrontendError(expectation(what, "a contiguous array at a 64-byte boundary", "another"))
        return array

    def run(self, **inputs: object) -> None:
        """Set inputs by name, then run the graph."""
        if inputs:
            self.set_input(None, None, **inputs)
        self.module.run()
        for number, array in self._copies.items():
            np.copyto(array, self.module.entries[number])

    def run_from_inputs(self, *arguments: object) -> list[NDArray]:
        """Set inputs (name, array, name, array, ..), run the graph, and return copies of the outputs."""
        for name, value in zip(arguments[::2], arguments[1::2], strict=True):
            self.set_input(cast(str, name), value)
        self.run()
        return [view(self.get_output(index).numpy()) for index in range(self.get_num_outputs())]

    def get_num_outputs(self) -> int:
        return len(self.module.graph.heads)

    def get_num_inputs(self) -> int:
        """Return the number of arguments of the graph, params included."""
        return len(self.module.graph.arguments)

    def get_input(self, index: int | str, out: Tensor | None = None) -> NDArray:
        """The array of an argument, or its elements in `out`."""
        return self._contents(self.module.argument(index)[0], out)

    def get_input_index(self, name: str) -> int:
        """The number of an argument; -1 if there is none with that name."""
        node = self.module.argument_of.get(name)
        return -1 if node is None else self.module.graph.arguments.index(node)

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shapes and dtypes, by name, of the arguments that are no params."""
        graph = self.module.graph
        entries = {
            name: graph.entries[graph.rows[node]]
            for name, node in self.module.argument_of.items()
            if name not in self.module.params
        }
        shapes = {name: entry.shape for name, entry in entries.items()}
        return shapes, {name: entry.dtype for name, entry in entries.items()}

    def get_output(self, index: int, out: Tensor | None = None) -> NDArray:
        """The array of an output, which the next run overwrites; or its elements in `out`."""
        number = self.module.head(index)
        return self._contents(number, out, self._copies.get(number))

    def _contents(self, number: int, out: Tensor | None, copy: Tensor | None = None) -> NDArray:
        array = view(self.module.entries[number] if copy is None else copy)
        if out is None:
            return array
        return view(out).copyfrom(array)

    def debug_get_output(self, node: str | int, out: Tensor) -> NDArray:
        """Raise PipelineError: only the debugger keeps intermediate tensors."""
        expected = "contrib.debugger.debug_executor.GraphModuleDebug"
        raise PipelineError(expectation("debug_get_output", expected, type(self).__name__))

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set arguments from the bytes of a params file; ignores unknown names."""
        for name, value in load_param_dict(params_bytes).items():
            if name in self.module.argument_of:
                number, _ = self.module.argument(name)
                self.module.write(number, self.module.checked(number, name, value))
                self.module.params.add(name)

    def share_params(self, other: GraphModule, params_bytes: bytes | bytearray) -> None:
        """Use the arrays of another module for the arguments that the bytes of a params file name."""
        for name in load_param_dict(params_bytes):
            if name in self.module.argument_of and name in other.module.argument_of:
                self.module.share(name, other.module.entries[other.module.argument(name)[0]])

    def benchmark(
        self,
        device: Device | None = None,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: object,
    ) -> BenchmarkResult:
        """Measure runs, `end_to_end` with copies of inputs and outputs; the result prints a summary in milliseconds."""
        check_cpu(device, "benchmark")
        timing = Timing(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
        if end_to_end:
            inputs = {name: np.array(self.get_input(name)) for name in self.get_input_info()[0]} | kwargs

            def run() -> None:
                self.run(**inputs)
                for index in range(self.get_num_outputs()):
                    self.get_output(index).numpy()

            return timing.measure(run)
        self.set_input(None, None, **kwargs)
        return timing.measure(self[func_name])


def create(
    graph_json_str: str,
    libmod: HasLibrary,
    device: Any = None,
    params: Mapping[str, Array] | None = None,
) -> GraphModule:
    """Return a module of a graph in JSON and a library; raises as `read_graph` and `GraphExecutor` do."""
    check_cpu(device, "graph_executor.create")
    return GraphModule(GraphExecutor(read_graph(graph_json_str), library_of(libmod).library, params))


def library_of(libmod: object) -> HasLibrary:
    """Return `libmod` if it has functions for graphs; raises PipelineError if not."""
    if not isinstance(libmod, HasLibrary):
        raise PipelineError(
            expectation("graph executor", "a library with the graph's functions", type(libmod).__name__)
        )
    return libmod

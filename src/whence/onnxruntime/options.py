"""Options of sessions, by onnxruntime's names. Those that say how onnxruntime works inside are kept and do nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from whence.support.doors import doors
from whence.support.errors import PipelineError, expectation

PROVIDER = "CPUExecutionProvider"


class GraphOptimizationLevel(IntEnum):
    """Levels of optimisation: none is our level 0, all others are level 3."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """The ways in which nodes follow each other."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(IntEnum):
    """The orders of nodes."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


@doors()
@dataclass
class SessionOptions:
    """The options of a session. Compilation uses threads, the level of optimisation and numbers for open dimensions."""

    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    intra_op_num_threads: int = 0
    """The number of threads; 0 for the usual one."""
    inter_op_num_threads: int = 0
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    execution_order: ExecutionOrder = ExecutionOrder.DEFAULT
    enable_profiling: bool = False
    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    use_deterministic_compute: bool = False
    log_severity_level: int = 2
    log_verbosity_level: int = 0
    logid: str = ""
    optimized_model_filepath: str = ""
    profile_file_prefix: str = "onnxruntime_profile_"
    dimensions: dict[str, int] = field(default_factory=lambda: dict[str, int]())
    """Numbers for open dimensions, by their names."""
    entries: dict[str, str] = field(default_factory=lambda: dict[str, str]())

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Have an open dimension of a name be a number."""
        self.dimensions[name] = value

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keep an entry of onnxruntime's configuration."""
        self.entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """Return a kept entry; raises PipelineError for an unknown one."""
        if key not in self.entries:
            raise PipelineError(expectation("SessionOptions", f"an entry '{key}'", ", ".join(self.entries) or "none"))
        return self.entries[key]

    def register_custom_ops_library(self, path: str) -> None:
        """Raise PipelineError, which names the alternative: Python functions for your own operators."""
        expected = "custom_ops of whence.compile, which are Python functions"
        raise PipelineError(expectation("register_custom_ops_library", expected, path))

    def check(self) -> None:
        """Raise PipelineError for options that a session does not support."""
        asked = "enable_profiling" if self.enable_profiling else ""
        asked = "optimized_model_filepath" if self.optimized_model_filepath else asked
        if asked:
            expected = "profile, times, export_library and the like of session.executable"
            raise PipelineError(expectation("SessionOptions", expected, asked))


@dataclass
class RunOptions:
    """The options of a run, which have no effect."""

    log_severity_level: int = 2
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False
    terminate: bool = False
    entries: dict[str, str] = field(default_factory=lambda: dict[str, str]())

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Keep an entry of onnxruntime's configuration."""
        self.entries[key] = value


def get_available_providers() -> list[str]:
    """Return the available providers: the CPU's."""
    return [PROVIDER]


def get_all_providers() -> list[str]:
    """Return the result of `get_available_providers`."""
    return [PROVIDER]


def get_device() -> str:
    """Return the device that models run on."""
    return "CPU"


def set_default_logger_severity(severity: int) -> None:
    """Do nothing: there is no log."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Do nothing: there is no log."""

"""Sessions by onnxruntime's name: a compiled model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whence.compiler.compile import compile as compile_model
from whence.compiler.formats import read_model
from whence.compiler.load import model_source
from whence.executables.executable import Executable
from whence.onnxruntime.binding import IOBinding
from whence.onnxruntime.options import PROVIDER, GraphOptimizationLevel, RunOptions, SessionOptions
from whence.onnxruntime.ortvalue import OrtValue
from whence.runtime.program.model_facts import ModelMetadata, NodeArg
from whence.support.doors import doors
from whence.support.errors import FrontendWarning, PipelineError, expectation


@doors()
class InferenceSession:
    """A compiled model, which `executable` is."""

    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
        **kwargs: Any,
    ):
        """Compile a model; errors as `whence.compile`, and PipelineError for options that there are not here.

        path_or_bytes: a model as `whence.compile` takes it. providers: only the CPU's is here; others are passed over,
        with a warning.
        """
        self._options = sess_options or SessionOptions()
        self._options.check()
        self.set_providers(providers or [PROVIDER])
        is_plain = self._options.graph_optimization_level == GraphOptimizationLevel.ORT_DISABLE_ALL
        source = model_source(path_or_bytes)
        self.executable: Executable = compile_model(
            source,
            opt_level=0 if is_plain else 3,
            threads=self._options.intra_op_num_threads or None,
            shapes=_fixed(source, self._options.dimensions),
        )

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """Return the outputs of these names, all for none; errors as `Executable.run`."""
        return self.executable.run(output_names or None, input_feed)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Run like `run`, in a thread; see `Executable.run_async`."""
        self.executable.run_async(output_names or None, input_feed, callback, user_data)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Run like `run`, with values."""
        feed = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(array) for array in self.run(output_names, feed)]

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Run on the bound inputs and outputs."""
        iobinding.run()

    def io_binding(self) -> IOBinding:
        """Return a binding, of nothing yet."""
        return IOBinding(self)

    def get_inputs(self) -> list[NodeArg]:
        """Name, shape and type of each input."""
        return self.executable.get_inputs()

    def get_outputs(self) -> list[NodeArg]:
        """Name, shape and type of each output."""
        return self.executable.get_outputs()

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Return none: inputs with an initializer are constants."""
        return []

    def get_modelmeta(self) -> ModelMetadata:
        """Return the metadata in the model's file."""
        return self.executable.get_modelmeta()

    def get_session_options(self) -> SessionOptions:
        """Return the options of the session."""
        return self._options

    def get_providers(self) -> list[str]:
        """Return the provider that runs the model: the CPU's."""
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Return the options of that, none."""
        return {PROVIDER: {}}

    def set_providers(self, providers: Sequence[Any], provider_options: Sequence[Any] | None = None) -> None:
        """Accept providers. Only the CPU's is available, and a warning names others."""
        names = [provider if isinstance(provider, str) else str(provider[0]) for provider in providers]
        if others := [name for name in names if name != PROVIDER]:
            text = f"providers: expected {PROVIDER}, which is used, got {', '.join(others)} as well"
            warnings.warn(FrontendWarning(text), stacklevel=3)

    def enable_fallback(self) -> None:
        """Do nothing: there is one provider."""

    def disable_fallback(self) -> None:
        """Do nothing: there is one provider."""

    def end_profiling(self) -> str:
        """Raise PipelineError: see `profile` and `times` of `executable`."""
        raise PipelineError(expectation("end_profiling", "profile or times of session.executable", "no profile"))


def _fixed(source: Any, dimensions: Mapping[str, int]) -> dict[str, list[int | str]] | None:
    """The shapes of inputs in which open dimensions of these names are numbers; None where none is to be."""
    if not dimensions:
        return None
    shapes: dict[str, list[int | str]] = {}
    for spec in read_model(source).inputs.after({}):
        if any(name in dimensions for name in spec.names):
            pairs = zip(spec.shape, spec.names, strict=True)
            shapes[spec.name] = [
                extent if extent >= 0 else dimensions.get(name or "", name or -1) for extent, name in pairs
            ]
    return shapes or None

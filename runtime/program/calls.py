"""The ways to call a model: inputs by name or in order, as its own users and those of onnxruntime write them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast, overload

import numpy as np

from ...support.doors import leave
from ...support.errors import FrontendError, PipelineError, expectation
from ...support.names import did_you_mean
from ...support.supervising import supervised
from ..values.tensors import Tensor, TensorSpec
from ..values.values import described
from .model_facts import ModelMetadata, NodeArg


class Calls:
    """A model that can be called, with the values that `values.py` describes."""

    metadata: ModelMetadata = ModelMetadata()
    """The metadata in the model's file."""
    aliases: Mapping[str, str] = MappingProxyType({})
    """Other name of an input, which a call may use -> its name in `inputs`."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Name, shape and dtype of each input."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Name, shape and dtype of each output."""

    @abstractmethod
    def _results(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        """Return the outputs in order."""

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(spec.name for spec in self.outputs)

    @overload
    def run(
        self, inputs: Mapping[str, Any], *, out: Mapping[str, Tensor] | None = None, donate: Sequence[str] = ()
    ) -> dict[str, Tensor]: ...
    @overload
    def run(
        self,
        inputs: Sequence[str] | None,
        feed: Mapping[str, Any],
        run_options: object = None,
        *,
        donate: Sequence[str] = (),
    ) -> list[Any]: ...
    def run(
        self,
        inputs: Mapping[str, Any] | Sequence[str] | None,
        feed: Mapping[str, Any] | None = None,
        run_options: object = None,
        *,
        out: Mapping[str, Tensor] | None = None,
        donate: Sequence[str] = (),
    ) -> Any:
        """Return output name -> value for input name -> value; or a list of outputs, as onnxruntime does.

        inputs: inputs by name; or, before a `feed` of inputs, the names of the outputs to list, None for all.
        run_options: accepted for onnxruntime's sake, without effect.
        out: arrays by name to which outputs are written; the result contains them.
        donate: the names of inputs that the caller gives away. An output that is such an input with more rows behind is
        in its memory, and the input's array must not be given away again.
        Raises FrontendError when names, shapes or values are not the model's, PipelineError when it was compiled for
        another machine.
        """
        try:
            if feed is not None:
                return self._chosen(inputs, feed, donate)
            if not isinstance(inputs, Mapping):
                expected = "inputs by name, or names of outputs and then these"
                raise PipelineError(expectation("run", expected, f"a {type(inputs).__name__}"))
            results = self._named_results(inputs, donate)
            return results if out is None else {**results, **self._written(results, out)}
        except Exception as error:
            leave(error, Calls.run, (self, inputs, feed))

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Tensor | tuple[Tensor, ...]:
        """Run the model on inputs in order, and others by name; return one output as it is, several as a tuple.

        out: the array to which the output is written, or a sequence with one for each output.
        """
        try:
            inputs: Any = self._by_name(self._joined(arrays, named)) if named else arrays
            results = self._results(inputs)
            if out is not None:
                targets = cast("Sequence[Tensor]", out if isinstance(out, list | tuple) else (out,))
                if len(targets) != len(results):
                    raise FrontendError(expectation("out", f"{len(results)} arrays", f"{len(targets)}"))
                by_name = dict(zip(self._names, targets, strict=True))
                self._written(dict(zip(self._names, results, strict=True)), by_name)
                results = targets
        except Exception as error:
            leave(error, Calls.__call__, (self, *arrays), {"out": out, **named})
        return results[0] if len(results) == 1 else tuple(results)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any = None,
        run_options: object = None,
    ) -> None:
        """Run in a thread, with names and inputs as in `run`, then call `callback(results, user_data, error)`.

        error: the text of the error, in which case there are no results, or "".
        """

        results: list[Any] = []

        def work() -> None:
            results.extend(self.run(output_names, input_feed))

        def ended(error: BaseException | None) -> None:
            callback(results, user_data, "" if error is None else str(error) or type(error).__name__)

        supervised(work, ended, name="whence-run-async")

    def get_inputs(self) -> list[NodeArg]:
        """Name, shape and type of each input, in onnxruntime's words."""
        return [NodeArg.of(spec) for spec in self.inputs]

    def get_outputs(self) -> list[NodeArg]:
        """Name, shape and type of each output, in onnxruntime's words."""
        return [NodeArg.of(spec) for spec in self.outputs]

    def get_modelmeta(self) -> ModelMetadata:
        """Return what the model's file says about the model, in onnxruntime's words."""
        return self.metadata

    def _donated(self, inputs: Mapping[str, Any], donate: Sequence[str]) -> Sequence[Any]:
        """Return the outputs in order of a call that gives inputs away."""
        expected = "a program for all sizes in the process that compiled it"
        raise FrontendError(expectation("donate", expected, f"a {type(self).__name__}"))

    def _named_results(self, inputs: Mapping[str, Any], donate: Sequence[str]) -> dict[str, Any]:
        by_name = self._by_name(inputs)
        if donate:
            results = self._donated(by_name, [self.aliases.get(name, name) for name in donate])
        else:
            results = self._results(by_name)
        return dict(zip(self._names, results, strict=True))

    def _chosen(self, names: Any, feed: Mapping[str, Any], donate: Sequence[str]) -> list[Any]:
        """Return the outputs of these names, or all; raises FrontendError for unknown names before anything runs."""
        known = self._names
        for name in names or ():
            if name not in known:
                near = did_you_mean(str(name), known)
                raise FrontendError(f"outputs: unknown output '{name}'{near}; the outputs are {', '.join(known)}")
        results = self._named_results(feed, donate)
        return [results[name] for name in (known if names is None else names)]

    def _by_name(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the inputs of a call, aliases resolved. Raises FrontendError for one input under two names."""
        if not self.aliases or not any(name in self.aliases for name in inputs):
            return inputs
        names = [self.aliases.get(name, name) for name in inputs]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise FrontendError(f"inputs: expected input '{twice}' once, got it under several names")
        return dict(zip(names, inputs.values(), strict=True))

    def _joined(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return all inputs by name: the first ones come in order and others by name."""
        names = [spec.name for spec in self.inputs]
        if len(arrays) > len(names):
            actual = f"{len(arrays)} in order and {len(named)} by name"
            raise FrontendError(expectation("inputs", f"{len(names)} ({', '.join(names) or 'none'})", actual))
        if twice := [name for name in names[: len(arrays)] if name in named]:
            raise FrontendError(expectation("inputs", "each of them once", f"'{twice[0]}' in order and by name"))
        return {**dict(zip(names, arrays, strict=False)), **named}

    def _written(self, results: Mapping[str, Any], out: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Write results to `out` and return it; raises FrontendError, before it writes, for arrays that do not fit."""
        for name, target in out.items():
            if name not in results:
                near = did_you_mean(name, results)
                raise FrontendError(f"out: unknown output '{name}'{near}; the outputs are {', '.join(results)}")
            result = results[name]
            expected = f"an array of {described(result.shape, result.dtype)} to write output '{name}' to"
            if not isinstance(cast(object, target), np.ndarray):
                raise FrontendError(expectation("out", expected, f"a {type(target).__name__}"))
            if target.shape != result.shape or target.dtype != result.dtype or not target.flags.writeable:
                read_only = "" if target.flags.writeable else ", read-only"
                raise FrontendError(expectation("out", expected, described(target.shape, target.dtype) + read_only))
        for name, target in out.items():
            np.copyto(target, results[name])
        return out

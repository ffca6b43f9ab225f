"""Programs of the language, ready to be called: functions by name, whose values are converted for the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...support.errors import FrontendError
from ..program.program import Call
from ..program.threads import ThreadPool
from ..values.open_specs import OpenSpec
from .edge import Edge, ValueType
from .flow import Adt, Closure, Region, Run, Stretch
from .language import LanguageMachine

Visit = Callable[[Stretch, Call, float], None]
"""Callback after each kernel call, with the stretch, the call and its seconds."""


@dataclass(eq=False)
class LanguageFunction:
    """A function of a program, with the names and types of its parameters."""

    name: str
    region: Region
    names: tuple[str, ...]
    inputs: tuple[ValueType, ...]
    outputs: tuple[ValueType, ...]
    """The types of what its region gives: the parts of a tuple where there are several, or none."""
    output: ValueType = field(init=False)

    def __post_init__(self) -> None:
        several = ValueType("tuple", "", f"a tuple of {len(self.outputs)}", parts=self.outputs)
        self.output = self.outputs[0] if len(self.outputs) == 1 else several


class LanguageProgram:
    """The functions of a program, `main` among them; safe to call from several threads at once.

    constructors: the tag of each constructor of a data type.
    """

    def __init__(
        self,
        functions: Mapping[str, LanguageFunction],
        constructors: Mapping[str, int],
        machine: LanguageMachine,
        pool: ThreadPool,
    ):
        self.functions = functions
        self.constructors = constructors
        self.machine = machine
        self.last: list[Stretch] = []
        """The stretches that the last call ran, in order."""
        self._pool = pool
        self._edge = Edge(constructors, self._call_closure)

    @cached_property
    def inputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each input of `main` that is a tensor; the kind of value of each other input."""
        main = self.functions["main"]
        return tuple(type_.named(name) for name, type_ in zip(main.names, main.inputs, strict=True))

    @cached_property
    def outputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each output of `main`, or the kind of value that it is."""
        return tuple(type_.named(f"output{k}") for k, type_ in enumerate(self.functions["main"].outputs))

    def constructor(self, name: str) -> Callable[..., Adt]:
        """Return a function that makes values of a data type; raises FrontendError for an unknown constructor."""
        return self._edge.constructor(name)

    def invoke(self, name: str, arguments: Sequence[Any], visit: Visit | None = None) -> Any:
        """Call a function with values in order; several results are a tuple.

        visit: is called after each kernel call, with the stretch, the call and its seconds.
        Raises FrontendError when there is no such function, or it takes other values.
        """
        if name not in self.functions:
            raise FrontendError(f"expected a function among {', '.join(self.functions)}, got {name!r}")
        function = self.functions[name]
        closure = Closure(name, function.region, {})
        several = len(function.outputs) != 1
        return self._run(closure, function.names, function.inputs, function.output, arguments, several, visit)

    def _call_closure(self, type_: ValueType, closure: Closure, arguments: Sequence[Any]) -> Any:
        *inputs, output = type_.parts
        names = [f"argument {k}" for k in range(len(inputs))]
        return self._run(closure, names, inputs, output, arguments, False)

    def _run(
        self,
        closure: Closure,
        names: Sequence[str],
        types: Sequence[ValueType],
        output: ValueType,
        arguments: Sequence[Any],
        several: bool,
        visit: Visit | None = None,
    ) -> Any:
        """Return the value of a call; `several` results as a tuple."""
        if len(arguments) != len(types):
            raise FrontendError(f"{closure.name}: expected {len(types)} arguments, got {len(arguments)}")
        entered = [self._edge.enter(*entry) for entry in zip(types, arguments, names, strict=True)]
        run = Run(self._pool, visit)
        values = closure.captured | dict(zip(closure.region.inputs, entered, strict=True))
        results = self.machine.run(closure.region, values, run)
        self.last = list(run.visited)
        return self._edge.leave(output, tuple(results) if several else results[0])

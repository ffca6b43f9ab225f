"""Programs of the language, run by the virtual machine: control and data in steps, tensors in native stretches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from whence.dialects.element_types import numpy_dtype
from whence.dialects.relay import DYNAMIC, LANGUAGE
from whence.dialects.relay.core import CallOp, FuncOp
from whence.dialects.relay.data_types import TypeDataOp
from whence.dialects.relay.functions import YieldOp
from whence.dialects.relay.operator import Operator, element_of, shape_of
from whence.dialects.relay.values import ValueTypes
from whence.dialects.sizes.types import is_open
from whence.executables.choice import Tier
from whence.executables.interpreted import LIMIT, Build, InterpretedExecutable
from whence.executables.shipping import export_language
from whence.executables.sized import SizedExecutable
from whence.passes.functions import COMPOSITE
from whence.passes.relay.inlining import inline_calls
from whence.passes.relay.name_sizes import names_of_inputs
from whence.planning.archive import LayerFate
from whence.planning.language import translate
from whence.planning.stretches import Operators
from whence.provenance.diagnostics import describe
from whence.provenance.ledger import Ledger, recording
from whence.provenance.numbers import same_module
from whence.provenance.span import leaf_name, leaves
from whence.runtime.interpreting.flow import Region, Stretch
from whence.runtime.interpreting.language import LanguageMachine, Native
from whence.runtime.interpreting.language_program import LanguageFunction, LanguageProgram, Visit
from whence.runtime.interpreting.shape_patterns import Kept, Pattern
from whence.runtime.program.inputs import in_order
from whence.runtime.values.open_specs import OpenSpec
from whence.support.context import PassContext
from whence.support.doors import doors
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, ScheduleError

_STEPS = (CallOp, *DYNAMIC, *(op for op in LANGUAGE if op not in (TypeDataOp, YieldOp)))
"""The ops that the machine runs itself; of operators of dynamic shapes, those whose shape depends on values."""


def first_step(module: ModuleOp) -> Operation | None:
    """Return the first op that only the machine runs: no tensor operator of known shapes, no call of a primitive."""
    primitive = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp) and op.primitive is not None}
    for op in module.walk():
        if isinstance(op, TypeDataOp):
            continue
        if isinstance(op, (*LANGUAGE, *DYNAMIC)) or (
            isinstance(op, CallOp) and op.callee.string_value() not in primitive
        ):
            return op
        if isinstance(op, FuncOp) and any(map(is_open, op.function_type.inputs)):
            return op
    return None


_EXTENT = 4
"""An extent for what only a call decides, to compile code with for all."""


def _named(module: ModuleOp) -> list[tuple[str, FuncOp]]:
    return [(op.sym_name.data, op) for op in module.ops if isinstance(op, FuncOp)]


def _function(types: ValueTypes, func: FuncOp, region: Region) -> LanguageFunction:
    """Return a function of the module as callers know it."""
    names = tuple(names_of_inputs(func))
    inputs, outputs = (
        tuple(map(types.of, group.data)) for group in (func.function_type.inputs, func.function_type.outputs)
    )
    return LanguageFunction(func.sym_name.data, region, names, inputs, outputs)


@doors()
class VirtualExecutable(InterpretedExecutable):
    """A compiled program of the language.

    Values are arrays, Python tuples, `Adt` (with `tag`, `name` and `fields`), `Reference` (with `value`), and functions
    of the program, which can be called.

    A run of tensor operators is compiled for the shapes that it meets first, and then for all like these where that can
    be; of the programs of one run the least recently used go when there are more than `limit`.
    """

    interpreter = "the virtual machine"

    def __init__(
        self, module: ModuleOp, build: Build, threads: int | None = None, limit: int = LIMIT, tier: Tier = "auto"
    ):
        super().__init__(build, threads, limit)
        if any(COMPOSITE in op.attributes for op in module.ops if isinstance(op, FuncOp)):
            module = same_module(module)
            inline_calls(module, lambda func: COMPOSITE in func.attributes)
        self._module = module
        self._translated = translate(module)
        depth = cast(int, PassContext.current().option("relay.vm.max_depth"))
        generalise = None if tier == "static" else self._generalise
        machine = LanguageMachine(self._specialise, generalise, limit, depth)
        types = ValueTypes(module)
        functions = {name: _function(types, op, self._translated.functions[name]) for name, op in _named(module)}
        self._program = LanguageProgram(functions, types.constructors, machine, self._pool)

    def export_library(self, path: str | PathLike[str]) -> None:
        """Write the program to a .tar file for `load_program`, with code for all runs of operators.

        What calls have not compiled is compiled now, for all sizes. A FrontendWarning names the layers for which that
        cannot be. Raises PipelineError if the file cannot be written.
        """
        native = [step for region in self._translated.regions for step in region.steps if isinstance(step, Native)]
        for step in native:
            if not step.compiled:
                self._prepare(step)
        export_language(self, self._program, native, Path(path))

    def _prepare(self, step: Native) -> None:
        """Compile what no call has compiled yet, for all sizes that its types have."""
        assert isinstance(step.source, Operators)
        arrays = [_example(value) for value in step.source.inputs]
        if not step.open:
            self._program.machine.stretch(step, arrays)
            return
        sizes = tuple(extent for at in step.open for extent in arrays[at].shape)
        assert step.declared is not None
        if (stretch := self._generalise(step, arrays, step.declared, sizes)) is not None:
            kind = tuple(arrays[at].ndim for at in step.open)
            self._program.machine.restore([Kept(kind, 0, stretch, step.declared, step)])

    def _stretches(self) -> list[Stretch]:
        return self._program.machine.stretches

    @property
    def module(self) -> ModuleOp:
        """The program that the machine runs."""
        return self._module

    @property
    def program(self) -> LanguageProgram:
        """The functions that the machine runs."""
        return self._program

    @property
    def inputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each input that is a tensor; the kind of value of each other input."""
        return self._program.inputs

    @property
    def outputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each output, or the kind of value that it is."""
        return self._program.outputs

    @property
    def decided(self) -> str:
        """The first step that only a call decides, and its layer."""
        op = first_step(self._module)
        assert op is not None
        return f"{op.name} ({describe(op.location)})"

    def _fates(self) -> Sequence[LayerFate]:
        waiting: set[Operation] = set()
        for region in self._translated.regions:
            for step in region.steps:
                if isinstance(step.source, Operators) and isinstance(step, Native) and not step.compiled:
                    waiting.update(op for op, _ in step.source.operators)
        return [
            LayerFate(
                *(leaf_name(leaf), leaf, op.name),
                step=op.name if isinstance(op, _STEPS) else "",
                reached=op not in waiting,
            )
            for op in self._module.walk()
            if isinstance(op, (Operator, *_STEPS))
            for leaf in leaves(op.location)
        ]

    def constructor(self, name: str) -> Any:
        """Return a function that makes values of a data type: `exe.constructor("Cons")(head, tail)`."""
        return self._program.constructor(name)

    def _results(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        results = self.invoke("main", *in_order(self.inputs, inputs))
        return (results,) if len(self._names) == 1 else results

    def invoke(self, name: str, *arguments: Any, visit: Visit | None = None) -> Any:
        result = self._program.invoke(name, arguments, visit)
        self._last = self._program.last
        return result

    def _kept(self, count: int) -> str:
        return f"{count} specialisation{'s' * (count != 1)}, of a run of operators at most {self._limit}"

    def _specialise(self, step: Native, arrays: Sequence[Array]) -> Stretch:
        return self._context.copy().run(self._built, step, arrays)

    def _built(self, step: Native, arrays: Sequence[Array]) -> Stretch:
        assert isinstance(step.source, Operators)
        ledger = Ledger()
        try:
            with recording(ledger, "import"):
                module = step.source.specialised(step, [array.shape for array in arrays])
        except VerifyException as error:
            raise FrontendError(str(error)) from error
        part = self._compiled(module, ledger)
        return Stretch(None, (), {}, part.runner, part, reason=self._fell_back(step))

    def _generalise(
        self, step: Native, arrays: Sequence[Array], pattern: Pattern, sizes: Sequence[int]
    ) -> Stretch | None:
        return self._context.copy().run(self._opened, step, arrays, pattern, sizes)

    def _opened(self, step: Native, arrays: Sequence[Array], pattern: Pattern, sizes: Sequence[int]) -> Stretch | None:
        assert isinstance(step.source, Operators)
        ledger = Ledger()
        try:
            with recording(ledger, "import"):
                module = step.source.opened(step, arrays, pattern, sizes)
            part = self._compiled(module, ledger)
        except (VerifyException, ScheduleError) as error:
            # For the sizes that came there may be a program nevertheless.
            self._refused(step, sizes, error)
            return None
        assert isinstance(part, SizedExecutable)
        return Stretch(None, (), {}, part, part, part.takes, reason=self._fell_back(step, sizes))


def _example(value: SSAValue) -> Array:
    """Return an array of a value's type, of few bytes."""
    shape = [_EXTENT if n == DYNAMIC_INDEX else n for n in shape_of(value)]
    return np.broadcast_to(np.zeros((), numpy_dtype(element_of(value))), shape)

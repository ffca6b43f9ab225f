"""The choice of the kind of program for a model: for known sizes, for all sizes, or for an interpreter.

The first possible kind is chosen; `Executable.choice` gives the reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from whence.compiler.load import Opened, refused, states_of
from whence.dialects.relay.binding import LetOp
from whence.dialects.relay.constants import ConstantPool, pool_of
from whence.dialects.relay.core import ConstantOp
from whence.dialects.relay.size_ranges import is_sized, main_of, symbols_in
from whence.dialects.relay.tuples import TupleOp
from whence.executables.choice import Choice, Specialize, Tier
from whence.executables.executable import Executable
from whence.passes.pipelines import preparation, run_passes
from whence.planning.artifact import Artifact
from whence.planning.build import Building
from whence.provenance.ledger import Ledger, recording
from whence.provenance.numbers import same_module
from whence.reading.input_shapes import InputShapes, given_shapes, numbers_in
from whence.runtime.program.sizes import check_symbols
from whence.support.errors import FrontendWarning, ScheduleError

if TYPE_CHECKING:
    from whence.frontends.importing.model import Model
    from whence.frontends.importing.state import State


_EACH = "each size that comes has a program of its own, as asked"


@dataclass(frozen=True)
class Policy:
    """The arguments of `whence.compile` that say how to compile."""

    build: Building
    ledger: Ledger
    shapes: InputShapes | None
    threads: int | None
    tier: Tier
    specialize: Specialize | None

    def executable(self, opened: Opened) -> Executable:
        """Compile a model; `choice` states the kind of program and the reason. The opened model loses its module."""
        if (module := opened.module) is None:
            assert opened.model is not None
            return self._interpreted(opened.model, opened.undecided or _EACH)
        if any(isinstance(op, LetOp | TupleOp) for op in module.walk()):
            run_passes(module, preparation(), ledger=self.ledger, audit=self.build.audit)
        if opened.reopen is None:
            return self._of_relay(module)
        if not is_sized(module):
            return self._static(module, opened.model, opened.again)
        # The module has the weights: those of the model make room for what becomes of them.
        states = states_of(opened.model)
        opened.model = opened.module = None
        try:
            return self._sized(module, states)
        except (VerifyException, ScheduleError) as error:
            if self.tier == "symbolic":
                raise refused(error) from error
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FrontendWarning)  # once is enough
                model = opened.reopen()
            return self._interpreted(model, str(error))

    def _of_relay(self, module: ModuleOp) -> Executable:
        """Compile a program of the language; one of operators only is compiled as models from files are."""
        from whence.compiler.open_modules import for_all_sizes
        from whence.executables.virtual_machine import first_step

        step = first_step(module)
        if step is None and not is_sized(module):
            return self._static(module, None)
        try:
            opened = same_module(module) if step is None else for_all_sizes(module)
            if is_sized(opened):
                each = step is not None and self.tier == "static"
                return self._virtual(module, _EACH) if each else self._sized(opened)
        except (VerifyException, ScheduleError) as error:
            if self.tier == "symbolic":
                raise refused(error) from error
            return self._virtual(module, str(error))
        return self._static(opened, None)

    def _static(self, module: ModuleOp, model: Model | None, again: Callable[[], ModuleOp] | None = None) -> Executable:
        artifact = self.build(module, self.ledger)
        if again is not None and not self.build.snapshots:
            _let_go(artifact, again)
        if not (states := states_of(model)):
            return Executable(artifact, self.threads)
        from whence.executables.stateful import StatefulExecutable

        executable = StatefulExecutable(artifact, self.threads)
        executable.keep(states)
        return executable

    def _sized(self, module: ModuleOp, states: tuple[State, ...] = ()) -> Executable:
        names = sorted(symbols_in(main_of(module)))
        symbols = ", ".join(names)
        if self.specialize:
            check_symbols("specialize", names, self.specialize)
        artifact, options = self.build(module, self.ledger), (self.build, self.threads)
        if states:
            from whence.executables.stateful import StatefulSizedExecutable

            executable = StatefulSizedExecutable(artifact, *options, tier=self.tier, specialize=self.specialize)
            executable.keep(states)
        else:
            from whence.executables.sized import SizedExecutable

            executable = SizedExecutable(artifact, *options, tier=self.tier, specialize=self.specialize)
        executable.choice = Choice("sized", f"a call decides {symbols}")
        return executable

    def _interpreted(self, model: Model, reason: str) -> Executable:
        from whence.executables.dynamic import DynamicExecutable
        from whence.executables.stateful import StatefulDynamicExecutable

        shapes = given_shapes(self.shapes or {}).shapes
        fixed = {name: numbers for name, shape in shapes.items() if (numbers := numbers_in(shape)) is not None}
        states = states_of(model)
        kind = StatefulDynamicExecutable if states else DynamicExecutable
        executable = kind(model, fixed, self.build, self.threads, tier=self.tier)
        executable.choice = Choice("interpreted", reason)
        if isinstance(executable, StatefulDynamicExecutable):
            executable.keep(states)
        return executable

    def _virtual(self, module: ModuleOp, reason: str) -> Executable:
        from whence.compiler.open_modules import without_names
        from whence.executables.virtual_machine import VirtualExecutable

        try:
            bare = without_names(module)
        except VerifyException as error:
            raise refused(error) from error
        executable = VirtualExecutable(bare, self.build, self.threads, tier=self.tier)
        executable.choice = Choice("virtual machine", reason)
        return executable


def _let_go(artifact: Artifact, again: Callable[[], ModuleOp]) -> None:
    """Let go of weights that the program does not have: those of the file, where it has others made of them."""

    def restored() -> ConstantPool:
        with recording(Ledger(), "import"):
            return pool_of(again())

    imported, fused = (_keys(artifact.snapshots[at].module) for at in (0, -1))
    pool_of(artifact.snapshots[-1].module).keep(fused, imported, restored)


def _keys(module: ModuleOp) -> set[str]:
    """Return the keys of a module's weights."""
    return {op.key.data for op in module.walk() if isinstance(op, ConstantOp) and op.key is not None}

"""The one runner of passes: of models and kernels, in `compile` and in whence-opt.

Around each pass it opens the ledger, takes the time and calls the instruments: those of the current PassContext, then
those it was given. xDSL's PassPipeline has a callback as well, but that is not told which pass failed, can skip none,
and cannot put anything around one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, LocationAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..dialects.table import DIALECTS
from ..provenance.audit import check_blame, check_explained, check_located, surviving_leaves
from ..provenance.ledger import Ledger, current_ledger, recording
from ..provenance.lost import mark_lost
from ..provenance.numbers import number_all
from ..provenance.responsible import Responsible
from ..provenance.span import leaves
from ..support.context import PassContext, spans_enabled
from ..support.errors import called
from ..support.instrument import PassInfo, PassInstrument
from .functions import closed_aside
from .registry import find_row, info_of, own_name, own_names

OnPass: TypeAlias = Callable[[ModulePass, ModuleOp, float], None]


def run_under_instruments(
    info: PassInfo,
    mod: Operation,
    run: Callable[[], object],
    instruments: Sequence[PassInstrument] = (),
    shown: Callable[[ModuleOp], object] | None = None,
) -> object:
    """Return the result of `run`, the pass `info` on `mod`; None when an instrument says that it should not run.

    A module that it gives is what instruments see after it.

    instruments: further ones, which are called after those of the current PassContext. shown: makes what instruments of
    users see of a module of ops, where passes were called on such an object.
    """
    context, ledger = PassContext.current(), current_ledger()
    everybody = (*context.instruments, *instruments)
    name = own_name(info.name)

    def seen(instrument: PassInstrument, module: Operation) -> object:
        if shown is None or not isinstance(module, ModuleOp) or type(instrument).__module__.startswith("whence."):
            return module
        return shown(module)

    with called():
        if everybody and name not in own_names(context.required_pass):
            # All are asked, as TVM does.
            if not all([instrument.should_run(seen(instrument, mod), info) for instrument in everybody]):
                return None
        for instrument in everybody:
            instrument.run_before_pass(seen(instrument, mod), info)
        start = perf_counter()
        with recording(ledger, name) if ledger is not None else nullcontext():
            result = run()
        done = replace(info, seconds=perf_counter() - start) if everybody else info
        after = result if isinstance(result, ModuleOp) else mod
        for instrument in everybody:
            instrument.run_after_pass(seen(instrument, after), done)
    return result


def is_ours(pass_: ModulePass) -> bool:
    """Return whether a pass comes with Whence: those keep the ledger."""
    return type(pass_).__module__.startswith("whence.")


def pass_context() -> Context:
    """A context that knows our dialects, which passes from elsewhere ask for."""
    context = Context()
    context.load_dialect(Builtin)
    for name, load in DIALECTS.items():
        context.register_dialect(name, load)
    return context


class Losses(PassInstrument):
    """Marks what a pass lost, so that later passes cannot hide it, and has the ledger tell of it.

    An op without a location gets one that names the pass. A layer that vanished in a pass of somebody else's, without
    an entry in the ledger, gets an entry; so do the ops that came without one.
    """

    def __init__(self, ledger: Ledger | None, foreign: Iterable[str]):
        self.ledger = ledger
        self.foreign = frozenset(foreign)
        self.before: dict[LocationAttr, dict[str, None]] = {}
        self.numbered: object = None
        """The module whose ops have numbers."""

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, Operation)
        if self.ledger is not None and mod is not self.numbered:
            number_all(mod)
        self.before = _ops_of_leaves(mod) if self.ledger is not None and info.name in self.foreign else {}

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, Operation)
        mark_lost(mod, info.name)
        if self.ledger is None:
            return
        for op in number_all(mod):
            self.ledger.record("", created=[op], reason=f"came in pass {info.name}")
        self.numbered = mod
        if not self.before:
            return
        for leaf in self.before.keys() - surviving_leaves(mod) - self.ledger.explained():
            names = list(self.before[leaf])
            self.ledger.note("unaware of locations", removed=names, before=[leaf], reason=f"lost by pass {info.name}")


def _ops_of_leaves(root: Operation) -> dict[LocationAttr, dict[str, None]]:
    """Leaf -> the names of the ops that stand for it."""
    names: dict[LocationAttr, dict[str, None]] = {leaf: {} for leaf in surviving_leaves(root)}
    for op in root.walk():
        for leaf in leaves(op.location):
            if leaf in names:
                names[leaf][op.name] = None
    return names


class AuditInstrument(PassInstrument):
    """Raises LocationError when a pass leaves an op without location, or loses a layer unexplained.

    foreign: the names of passes that do not come with Whence: their ops must name no layers that they have no part in.
    """

    def __init__(self, ledger: Ledger, foreign: Container[str] = ()):
        self.ledger = ledger
        self.foreign = foreign
        self.seen: object = None
        """The module that the last pass left; its leaves then are in `before`."""
        self.before: set[LocationAttr] = set()
        self.responsible: Responsible | None = None
        """The blame of the running pass, if it is a foreign one."""

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, Operation)
        if mod is not self.seen:
            self.before = surviving_leaves(mod)
        self.responsible = Responsible.before_pass(mod, self.ledger) if info.name in self.foreign else None

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, Operation)
        check_located(mod, info.name)
        self.before = check_explained(self.before, mod, info.name, self.ledger)
        if self.responsible is not None:
            check_blame(self.responsible, mod, info.name)
        self.seen = mod


@dataclass
class _Told(PassInstrument):
    """Calls a function after each pass."""

    one: ModulePass
    on_pass: OnPass

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, ModuleOp)
        self.on_pass(self.one, mod, info.seconds)


def run_passes(
    module: ModuleOp,
    passes: Iterable[ModulePass],
    *,
    ledger: Ledger | None = None,
    audit: bool = False,
    on_pass: OnPass | None = None,
    instruments: Sequence[PassInstrument] = (),
    context: Context | None = None,
) -> None:
    """Run `passes` on `module`, in place.

    ledger: records what each pass did; without one the ledger of an open `recording` scope does, if there is any.
    audit: raise LocationError when a pass leaves an op without location or loses a layer unexplained.
    on_pass: called after each pass with the pass, the module and the seconds the pass took.
    instruments: called around each pass, after those of the PassContext.
    context: what the passes are given; one that knows our dialects if left out.
    """
    ledger = ledger if ledger is not None else current_ledger()
    if audit and ledger is None:
        ledger = Ledger()
    given = list(passes)
    context = context or pass_context()
    foreign = [pass_.name for pass_ in given if not is_ours(pass_)]
    around = [AuditInstrument(ledger, foreign), *instruments] if audit and ledger is not None else [*instruments]
    if spans_enabled():
        around.append(Losses(ledger, foreign))
    for pass_ in given:
        told = [*around, _Told(pass_, on_pass)] if on_pass is not None else around
        with recording(ledger, pass_.name) if ledger is not None else nullcontext():
            run_under_instruments(info_of(pass_), module, lambda pass_=pass_: apply(pass_, context, module), told)


def apply(pass_: ModulePass, context: Context, module: ModuleOp) -> None:
    """Run a pass, and nothing around it, in place; one that works function by function does not see closed ones."""
    row = find_row(pass_.name)
    if row is None:
        # It may ask operators for the patterns that come with their dialect.
        DIALECTS["relay"]()
    with nullcontext() if row is None or row.whole else closed_aside(module):
        pass_.apply(context, module)

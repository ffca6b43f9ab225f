"""PassContext: the switches of one compilation, with TVM's option names, types and error texts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, cast
from uuid import uuid4

from xdsl.passes import ModulePass

from .errors import OptionError, PipelineError, called
from .instrument import PassInstrument

LowerPasses = list[tuple[int, ModulePass]]
"""Passes of one's own among those of tir, and the phase (0 to 3) before which each runs."""

Option = bool | int | str | LowerPasses
Kind = type[bool] | type[int] | type[str] | type[LowerPasses]

_OPTIONS: dict[str, tuple[Kind, Option]] = {
    "ir.enable_si_builder": (bool, True),
    "relay.FuseOps.max_depth": (int, 256),
    "relay.ToMixedPrecision.keep_orig_output_dtype": (bool, False),
    # Records decide wherever they are applied; programs for TVM say so here.
    "relay.backend.use_auto_scheduler": (bool, False),
    "relay.backend.use_meta_schedule": (bool, False),
    "relay.fallback_device_type": (int, 1),
    "relay.frontend.fill_span": (bool, True),
    "relay.vm.max_depth": (int, 20_000),
    # Beyond TVM: convolutions of 3x3 may compute on transformed weights, which rounds otherwise.
    "relay.winograd": (bool, True),
    "te.keep_primitive_lines": (bool, False),
    "te.keep_schedule_record": (bool, True),
    "tir.InjectDoubleBuffer.split_loop": (int, 1),
    "tir.LoopPartition.partition_const_loop": (bool, False),
    "tir.UnrollLoop.auto_max_depth": (int, 8),
    "tir.UnrollLoop.auto_max_extent": (int, 0),
    "tir.UnrollLoop.auto_max_step": (int, 0),
    # TVM's default is True; here loops stay rolled up to LLVM, which unrolls them at less cost.
    "tir.UnrollLoop.explicit_unroll": (bool, False),
    "tir.add_lower_pass": (list, []),
    "tir.debug_keep_trivial_loop": (bool, False),
    "tir.disable_cse_tir": (bool, False),
    "tir.disable_storage_rewrite": (bool, False),
    "tir.disable_vectorize": (bool, False),
    # Beyond TVM: numbers smaller than the smallest normal one are 0 in kernels.
    "tir.flush_denormals": (bool, True),
    "tir.instrument_bound_checkers": (bool, False),
    # Beyond TVM: products of tiles are vectors, "always", or "if-refused": where a process may not use tiles.
    "tir.lower_tiles": (str, ""),
    # Beyond TVM: kernels whose loops have no marks of a schedule become tensor expressions, which strategies schedule.
    "tir.raise_kernels": (bool, True),
    "tir.usmp.algorithm": (str, "greedy_by_size"),
    "tir.usmp.enable": (bool, False),
}


_TYPE_KEYS: dict[Kind, str] = {bool: "IntImm", int: "IntImm", str: "runtime.String", list: "Array"}
_PROCESS = uuid4().hex
_PHASES = range(4)


def _known(name: str) -> tuple[Kind, Option]:
    if name not in _OPTIONS:
        candidates = ", ".join(sorted(_OPTIONS))
        raise OptionError(f"Invalid config option '{name}' candidates are: {candidates}")
    return _OPTIONS[name]


def _flat(config: Mapping[str, Option | Mapping[str, Option]]) -> dict[str, Option]:
    """The options by their names, those of a pass that are given together, too."""
    options: dict[str, Option] = {}
    for name, value in config.items():
        options |= (
            {f"{name}.{option}": its for option, its in value.items()} if isinstance(value, Mapping) else {name: value}
        )
    return options


def _lower_passes(name: str, value: LowerPasses) -> LowerPasses:
    """The passes, those that are objects of `transform` as xDSL's; raises PipelineError for anything else."""
    passes: LowerPasses = []
    for entry in cast("list[Any]", value):
        match entry:
            case (int() as phase, own) if phase in _PHASES and isinstance(
                lower_pass := getattr(own, "in_place", own), ModulePass
            ):
                passes.append((phase, lower_pass))
            case _:
                expected = f"[(phase from {_PHASES[0]} to {_PHASES[-1]}, pass), ..]"
                raise PipelineError(f"config option '{name}': expected {expected}, got {entry!r}")
    return passes


def _passes_text(passes: LowerPasses) -> str:
    """Return what shapes code about passes; nothing is known of the sources of foreign ones beyond this process."""
    texts: list[str] = []
    for phase, lower_pass in passes:
        kind = type(lower_pass)
        if hasattr(lower_pass, "foreign"):
            texts.append(f"{phase} {lower_pass.number} {_PROCESS}")  # pyright: ignore
            continue
        origin = "" if kind.__module__.startswith("whence.") else f" {kind.__module__} {id(kind)} {_PROCESS}"
        texts.append(f"{phase} {lower_pass.pipeline_pass_spec()}{origin}")
    return "; ".join(texts)


class PassContext:
    """Options of the passes run inside its `with` scope.

    opt_level: 0-4; passes of a higher level do not run. Default 3.
    required_pass, disabled_pass: names of passes that run, or do not, at any level.
    config: option name -> value, or name of a pass -> its options ({"tir.UnrollLoop": {"auto_max_step": 16}}); unknown
    names and wrong types raise PipelineError.
    instruments: called around every pass, in this order. If one fails at the begin or end of the scope,
    those that began are ended, and all are dropped.
    """

    def __init__(
        self,
        opt_level: int = 3,
        required_pass: Sequence[str] | None = (),
        disabled_pass: Sequence[str] | None = (),
        config: Mapping[str, Option | Mapping[str, Option]] | None = None,
        instruments: Sequence[PassInstrument] | None = (),
    ):
        for option, names in (("required_pass", required_pass), ("disabled_pass", disabled_pass)):
            if isinstance(names, str):
                raise PipelineError(f"{option}: expected a list of pass names, got '{names}'")
        options = _flat(config or {})
        for name, value in options.items():
            expected, _ = _known(name)
            if type(value) is not expected:
                raise PipelineError(
                    f"config option '{name}': expected {expected.__name__}, got {type(value).__name__} ({value!r})"
                )
            if isinstance(value, list):
                options[name] = _lower_passes(name, value)
        if opt_level not in range(5):
            raise PipelineError(f"opt_level: expected 0-4, got {opt_level!r}")
        self.opt_level = opt_level
        self.required_pass = tuple(required_pass or ())
        self.disabled_pass = tuple(disabled_pass or ())
        self.config = options
        self.instruments = tuple(instruments or ())
        self._tokens: list[Token[PassContext | None]] = []
        self._begins = True

    def at_level(self, opt_level: int, instruments: Sequence[PassInstrument] = ()) -> PassContext:
        """This context with another opt level, to be entered within its scope: the instruments' scope goes on.

        instruments: further ones, for which no scope begins.
        """
        everybody = (*self.instruments, *instruments)
        inner = PassContext(opt_level, self.required_pass, self.disabled_pass, self.config, everybody)
        inner._begins = False
        return inner

    def with_options(self, config: Mapping[str, Option]) -> PassContext:
        """This context with some options set, to be entered within its scope: the instruments' scope goes on."""
        inner = self.at_level(self.opt_level)
        inner.config |= _flat(config)
        return inner

    def unwatched(self) -> PassContext:
        """This context without instruments, to be entered within its scope."""
        inner = self.at_level(self.opt_level)
        inner.instruments = ()
        return inner

    def __enter__(self) -> PassContext:
        if self._begins:
            self._enter(self.instruments)
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        _current.reset(self._tokens.pop())
        try:
            with called():
                for instrument in self.instruments if self._begins else ():
                    instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = ()
            raise

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Replace these instruments by others: the scope ends for these, and begins for the others.

        When one fails, all are dropped.
        """
        gone, self.instruments = self.instruments, ()
        with called():
            for instrument in gone:
                instrument.exit_pass_ctx()
        self._enter(tuple(instruments or ()))

    def _enter(self, instruments: tuple[PassInstrument, ...]) -> None:
        """Begin the scope of instruments, which become this context's."""
        entered: list[PassInstrument] = []
        try:
            with called():
                for instrument in instruments:
                    instrument.enter_pass_ctx()
                    entered.append(instrument)
        except BaseException:
            self.instruments = ()
            for instrument in entered:
                instrument.exit_pass_ctx()
            raise
        self.instruments = instruments

    @staticmethod
    def current() -> PassContext:
        """The context of the innermost `with` scope; outside of any, the defaults, one object per thread."""
        context = _current.get(None)
        if context is None:
            context = PassContext()
            _current.set(context)
        return context

    def option(self, name: str) -> Option:
        """Return the value of an option, or its default. Raises PipelineError for an unknown name."""
        _, default = _known(name)
        return self.config.get(name, default)

    def enables(self, name: str, level: int) -> bool:
        """Return whether the pass `name` of opt level `level` runs."""
        if name in self.disabled_pass:
            return False
        return name in self.required_pass or self.opt_level >= level

    def shapes_code(self) -> str:
        """Return the options that shape the code of a kernel, as text, which is part of the key of cached kernels."""
        lines: list[str] = []
        for name, (_, default) in sorted(_OPTIONS.items()):
            value = self.config.get(name, default)
            if name.startswith("tir.") and not name.startswith("tir.usmp.") and value != default:
                lines.append(f"{name} = {_passes_text(value) if isinstance(value, list) else value}")
        lines += [f"without {name}" for name in sorted(self.disabled_pass) if name.startswith("tir")]
        # An instrument may have passes left out, and by which rule nobody knows.
        choosy = [
            instrument
            for instrument in self.instruments
            if type(instrument).should_run is not PassInstrument.should_run
        ]
        lines += [f"instrument {id(instrument)} {_PROCESS}" for instrument in choosy]
        return "\n".join(lines)

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """Option name -> {"type": TVM's key of its type}."""
        return {name: {"type": _TYPE_KEYS[kind]} for name, (kind, _) in _OPTIONS.items()}


_current: ContextVar[PassContext | None] = ContextVar("pass_context", default=None)


def spans_enabled() -> bool:
    """Return True if frontends give locations: `relay.frontend.fill_span` is on, and the
    environment's TVM_SPANFILLING is not 0."""
    return PassContext.current().option("relay.frontend.fill_span") is True and os.environ.get("TVM_SPANFILLING") != "0"

"""The target of machine code: the CPU, its features, and LLVM's machine for it."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

from ...provenance.diagnostics import message
from ...runtime.program.tiles import tiles_allowed
from ...support.errors import PipelineError, expectation
from ...support.machine import Machine, registered_machine

_current: ContextVar[tuple[Target, ...]] = ContextVar("targets", default=())
_WORDS = ("keys", "device", "model", "tag", "libs")
"""The other words in TVM's targets, which change nothing here."""


@dataclass(frozen=True)
class TargetKind:
    """The kind of a target: "llvm", or "c", whose code is shown as C."""

    name: str = "llvm"
    default_keys: tuple[str, ...] = ("cpu",)

    def __str__(self) -> str:
        return self.name


MACHINE_VARIABLE = "WHENCE_MACHINE"
"""The environment variable that says what "native" stands for in place of the host: a target, `llvm -mcpu=haswell`."""
KINDS = ("c", "llvm")
"""The kinds of targets."""
_SYNTAX = '"native" or "llvm [-mtriple=..] [-mcpu=..] [-mattr=+x,-y]"'


def binding() -> Any:
    """llvmlite's binding, ready for all its targets. Imported when first needed: it is large, and not annotated."""
    import llvmlite.binding as llvm

    llvm_ = cast(Any, llvm)
    _initialize(llvm_)
    return llvm_


@cache
def _initialize(llvm: Any) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # Of the host, for assembly inside functions.
    llvm.initialize_native_asmparser()
    # An instruction without a line is one of line 0 in line tables, not of the line of the instruction before.
    llvm.set_option("", "-use-unknown-locations=Enable")


@dataclass(frozen=True)
class Target:
    """A machine as LLVM names it. `features` is LLVM's list (`+avx2,-avx512f`)."""

    triple: str
    cpu: str = ""
    features: str = ""
    host: bool = False
    """True for the machine that compiles, whose caches can be asked for."""
    attrs: Mapping[str, str | int] = field(default_factory=dict[str, "str | int"], compare=False)
    """The words of its text, as in TVM: `mcpu`, `num-cores`, .. Code does not depend on it."""
    record: Machine | None = None
    """The registered machine that it names, if any."""
    language: str = field(default="llvm", compare=False)
    """The kind's name: "c" for a target whose source is C. Code does not depend on it."""

    @property
    def kind(self) -> TargetKind:
        return TargetKind(self.language)

    @property
    def keys(self) -> list[str]:
        """The words that TVM finds schedules by: `cpu`, and what the text adds."""
        said = [word for word in str(self.attrs.get("keys", "")).split(",") if word]
        return list(dict.fromkeys([*said, "cpu"]))

    @property
    def model(self) -> str:
        return str(self.attrs.get("model", "unknown"))

    def with_host(self, host: object) -> Target:
        """The target, whose host is the same machine. Raises PipelineError for another one."""
        other = host if isinstance(host, Target) else Target.parse(str(host))
        if other.triple != self.triple:
            raise PipelineError(message("target host", f"the target, {self.triple}", other.triple))
        return self

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The target of the innermost `with` scope. Without one None, or PipelineError unless that is allowed."""
        inside = _current.get()
        if not inside and not allow_none:
            raise PipelineError(message("Target.current", "a `with target:` scope", "none"))
        return inside[-1] if inside else None

    def __enter__(self) -> Target:
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, *_exception: object) -> None:
        _current.set(_current.get()[:-1])

    @staticmethod
    def native() -> Target:
        """The target that "native" names: the host, or what the environment variable WHENCE_MACHINE says instead.

        Raises PipelineError for a WHENCE_MACHINE that is no target, or one whose code the host cannot run.
        """
        text = os.environ.get(MACHINE_VARIABLE, "")
        return _native(text) if text else Target.detected()

    @staticmethod
    @cache
    def detected() -> Target:
        """The host with all its features, as LLVM detects them; without tiles, if the system does not permit them."""
        llvm = binding()
        try:
            features = str(llvm.get_host_cpu_features().flatten())
        except RuntimeError:
            features = ""
        if not tiles_allowed():
            features = features.replace("+amx-", "-amx-")
        cpu = str(llvm.get_host_cpu_name())
        return Target(str(llvm.get_process_triple()), cpu, features, host=True)

    @staticmethod
    def parse(text: str) -> Target:
        """The target that a user names.

        `llvm` alone is the host's architecture without optional features. Raises PipelineError for anything that is
        not a target.
        """
        kind, *options = _split(text)
        if kind == "native" and not options:
            return Target.native()
        if kind not in KINDS:
            raise PipelineError(message("target", _SYNTAX, repr(text)))
        said: dict[str, str | int] = {}
        values = {"mtriple": str(binding().get_process_triple()), "mcpu": "", "mattr": ""}
        for option in options:
            key, equals, value = option.partition("=")
            name = key.removeprefix("-").removeprefix("-")
            if key[:1] != "-" or name not in (*values, *_WORDS, "num-cores") or not equals:
                raise PipelineError(message("target", "-mtriple=, -mcpu= or -mattr=", repr(option)))
            if name == "num-cores" and not (value.isdecimal() and int(value)):
                raise PipelineError(message("target", "a number of at least 1 as -num-cores", repr(value)))
            said[name] = int(value) if name == "num-cores" else value
            if name in values:
                values[name] = value
        if values["mcpu"] == "native":
            host = Target.detected()
            values["mcpu"] = host.cpu
            values["mattr"] = ",".join(filter(None, (host.features, values["mattr"])))
        wrong = [word for word in values["mattr"].split(",") if word and word[0] not in "+-"]
        if wrong:
            raise PipelineError(message("target", "features that begin with + or -", ", ".join(wrong)))
        target = _target(values, said)
        _check_names(target)
        return replace(target, language=kind)

    @property
    def hardware(self) -> Machine:
        """The machine's vectors, registers and caches."""
        return self.record or Machine.of(self.triple, self.cpu, self.features, host=self.host)

    @property
    def vector_bits(self) -> int:
        """The width of the widest vectors."""
        return self.hardware.vector_bits

    @property
    def key(self) -> str:
        """The text that machine code depends on besides its source, LLVM's version included."""
        version = ".".join(map(str, binding().llvm_version_info))
        return f"llvm-{version} {self.triple} {self.cpu} {self.features} {self.hardware.text}"

    def machine(self) -> Any:
        """llvmlite's target machine: position independent, small code model.

        Raises PipelineError when LLVM cannot make code for the triple.
        """
        return _machine(self)

    def assembler(self) -> Any:
        """Return a target machine for modules without code: setting up an optimiser takes half the time."""
        return _assembler(self)

    @property
    def data_layout(self) -> str:
        """The layout of data by LLVM for it."""
        return _data_layout(self)


@cache
def _native(text: str) -> Target:
    target = Target.parse(text) if text != "native" else Target.detected()
    check_runs_here(target, MACHINE_VARIABLE)
    return target


def check_runs_here(target: Target, name: str = "target") -> None:
    """Raises PipelineError for a target whose code this machine cannot run, as far as its name and features tell.

    name: what the error is about.
    """
    host = Target.detected()
    has = set(host.features.split(","))
    wanted = [word for word in target.features.split(",") if word.startswith("+")]
    if target.record is None:
        wanted += [f"+{word}" for word in target.hardware.instructions]
    lacking = [word for word in dict.fromkeys(wanted) if word not in has] if host.features else []
    if target.triple.partition("-")[0] != host.triple.partition("-")[0]:
        actual = f"code for {target.triple}"
    elif lacking:
        actual = f"code that needs {', '.join(lacking)}"
    elif target.vector_bits > host.vector_bits:
        actual = f"code for {target.cpu} with vectors of {target.vector_bits} bits"
    else:
        return
    machine = f"code that runs on this machine ({host.triple}, {host.cpu})"
    raise PipelineError(expectation(name, machine, f"{actual}; it can be looked at, not run"))


def _target(values: Mapping[str, str], said: Mapping[str, str | int]) -> Target:
    """The target of what a text says: by LLVM's names, or by that of a registered machine."""
    record = registered_machine(values["mcpu"])
    if record is None:
        return Target(values["mtriple"], values["mcpu"], values["mattr"], attrs=said)
    triple = record.triple if record.triple and "mtriple" not in said else values["mtriple"]
    features = ",".join([*(f"+{word}" for word in sorted(record.features)), *filter(None, [values["mattr"]])])
    return Target(triple, record.cpu, features, attrs=said, record=record)


@cache
def _machine(target: Target) -> Any:
    return _made(target)


@cache
def _assembler(target: Target) -> Any:
    return _made(target, opt=0)


@cache
def _data_layout(target: Target) -> str:
    return str(target.machine().target_data)


def _made(target: Target, opt: int = 3) -> Any:
    llvm = binding()
    try:
        backend = llvm.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise PipelineError(message("target", "a triple that this LLVM knows", f"{target.triple} ({error})")) from error
    # A record's tiles are no features, as what has vectors beside them runs without them; LLVM has to know them.
    tiles = [f"+{word}" for word in target.hardware.instructions if word.startswith("amx")]
    features = ",".join(filter(None, [target.features, *tiles]))
    return backend.create_target_machine(cpu=target.cpu, features=features, opt=opt, reloc="pic", codemodel="small")


_lock = threading.Lock()
_I386 = frozenset(
    "i386 i486 i586 i686 pentium pentium-mmx pentiumpro pentium2 pentium3 pentium3m pentium-m pentium4 pentium4m "
    "lakemont yonah prescott winchip-c6 winchip2 c3 c3-2 geode k6 k6-2 k6-3 athlon athlon-tbird athlon-4 athlon-xp "
    "athlon-mp".split()
)
"""Processors without 64-bit code: LLVM ends the process that asks for some."""


def _check_names(target: Target) -> None:
    """Raise PipelineError for a processor or features that LLVM does not know; it only says so on stderr."""
    words = target.features.split(",")
    if target.triple.startswith("x86_64"):
        if target.cpu in _I386:
            raise PipelineError(message("target", "a processor with 64-bit code as -mcpu", target.cpu))
        if lacking := [word for word in words if word in ("-64bit", "-sse", "-sse2")]:
            raise PipelineError(message("target", "the features that all x86-64 has", ", ".join(lacking)))
    for line in _said(lambda: _made(target)):
        if (match := _UNKNOWN.match(line)) is not None:
            option = {"processor": "-mcpu", "feature": "-mattr"}[match[2]]
            raise PipelineError(message("target", f"a {match[2]} that this LLVM knows as {option}", match[1]))


_UNKNOWN = re.compile(r"'(.*)' is not a recognized (processor|feature) for this target")


def _said(action: Callable[[], object]) -> list[str]:
    """The lines that `action` writes on stderr in native code; what else is written meanwhile goes on to it."""
    with _lock, tempfile.TemporaryFile() as capture:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(capture.fileno(), 2)
        try:
            action()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        capture.seek(0)
        lines = capture.read().decode(errors="replace").splitlines()
    for line in lines:
        if not _UNKNOWN.match(line):
            print(line, file=sys.stderr)
    return lines


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words:
        raise PipelineError(message("target", _SYNTAX, repr(text)))
    return words

"""Targets by TVM's name: `target.Target("llvm -mcpu=..")`, and the other forms in which TVM's functions take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from whence.lowering.external.registry import split_target
from whence.lowering.llvm_to_native.target import KINDS
from whence.lowering.llvm_to_native.target import Target as LLVMTarget
from whence.support.errors import PipelineError, expectation
from whence.support.machine import Machine, register_machine
from whence.target.generic_func import generic_func, get_native_generic_func, override_native_generic_func

__all__ = [
    "Machine",
    "Target",
    "TargetLike",
    "check_host",
    "generic_func",
    "get_native_generic_func",
    "override_native_generic_func",
    "params_beside",
    "register_machine",
    "target_of",
]

TargetLike: TypeAlias = "str | LLVMTarget | Mapping[object, object] | Sequence[object] | None"
"""A text, a target, `{"kind": "llvm", "mcpu": ..}`, one of these by a device or in a list; None is this machine."""

_OPTIONS = ("mtriple", "mcpu", "mattr", "num-cores", "device", "model", "libs")
_IDLE = ("keys", "tag", "host")
"""Further keys of TVM's targets, without effect here."""


class _Targets(type):
    """Makes targets, which are `lowering`'s, and describes them."""

    def __call__(cls, target: TargetLike, host: TargetLike = None) -> LLVMTarget:
        resolved = target_of(target)
        check_host(resolved, host)
        return _machine(resolved)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, LLVMTarget)


class Target(metaclass=_Targets):
    """Return the target of a text; `llvm` is this machine, as in `relay.build`.

    host: the same machine, for programs that name one. Raises PipelineError for a bad target and for another host.
    """

    @staticmethod
    def current(allow_none: bool = True) -> LLVMTarget | None:
        """The target of the innermost `with` scope; None without one, PipelineError unless that is allowed."""
        return LLVMTarget.current(allow_none)

    @staticmethod
    def list_kinds() -> list[str]:
        """The names of the kinds of targets."""
        return list(KINDS)


def target_of(target: TargetLike) -> str | LLVMTarget:
    """Return a target of `whence.compile`. Raises PipelineError for an invalid target, and for several."""
    if target is None:
        return LLVMTarget.current() or "native"
    if isinstance(target, LLVMTarget):
        return target
    if isinstance(target, str):
        return _without_words(target)
    if isinstance(target, Mapping):
        options: Mapping[object, object] = target
        if "kind" in options:
            return target_of(_text(options))
        target = list(options.values())
    several = list(cast("Sequence[object]", target))
    if len(several) != 1:
        raise PipelineError(expectation("target", "one target, as there is one machine", f"{len(several)}"))
    first = several[0]
    if not isinstance(first, str | LLVMTarget | Mapping):
        raise PipelineError(expectation("target", "a text, a Target or its options", type(first).__name__))
    return target_of(cast("TargetLike", first))


def _without_words(text: str) -> str | LLVMTarget:
    """The target of a text: `llvm` or `c` with nothing that names another machine is this one."""
    kind, *options = text.split() or [""]
    if kind not in KINDS or any(option.lstrip("-").split("=")[0] in ("mtriple", "mcpu", "mattr") for option in options):
        return text
    if kind == "llvm" and not options:
        return "native"
    return replace(LLVMTarget.native(), attrs=LLVMTarget.parse(text).attrs, language=kind)


def check_host(target: TargetLike, host: TargetLike) -> None:
    """Raise PipelineError where the host that a program names is another machine than the target."""
    if host is None:
        return
    wanted, actual = _machine(target_of(target)), _machine(target_of(host))
    if wanted.triple != actual.triple:
        raise PipelineError(expectation("target_host", f"the target, {wanted.triple}", actual.triple))


def params_beside(
    what: str, target: TargetLike, host: TargetLike, params: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """The parameters of a call `what(mod, target, host, params)`: a mapping in the place of the host is taken for them.

    Raises PipelineError where there are two of them, and for another host than the target.
    """
    if isinstance(host, Mapping) and "kind" not in host:
        if params is not None:
            raise PipelineError(expectation(what, "params once", "a mapping for target_host beside them"))
        return cast("Mapping[str, Any]", host)
    check_host(target, host)
    return params


def _machine(target: str | LLVMTarget) -> LLVMTarget:
    if isinstance(target, LLVMTarget):
        return target
    _, text = split_target(target)
    words = _without_words(text)
    return words if isinstance(words, LLVMTarget) else LLVMTarget.parse(words)


def _text(options: Mapping[object, object]) -> str:
    """The text of a target's options."""
    words = [str(options["kind"])]
    for name, value in options.items():
        if name == "kind" or name in _IDLE:
            continue
        if name not in _OPTIONS:
            raise PipelineError(expectation("target", f"kind, {', '.join(_OPTIONS)}", repr(name)))
        text = ",".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)
        words.append(f"-{name}={text}")
    return " ".join(words)

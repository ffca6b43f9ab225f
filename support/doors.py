"""The one place that turns what would escape into an error for people.

A *door* is where a user's call enters: `load`, `compile`, `run`, a primitive of a schedule, a command. Inside, code
raises what suits it. What would leave a door and is no WhenceError becomes one: what breaks a rule of a dialect, nests
too deeply or takes too much memory is refused; an argument of another type than the signature says is named; and all
else is a bug of ours, an InternalError that says in which pass and layer, with its cause. What code of the caller's
raised, a pass, a strategy, a callback or an instrument, stays as it is, with a note that says in which pass and layer,
and so does a warning that Python is asked to raise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from inspect import signature
from types import FrameType, FunctionType
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from .errors import FrontendError, InternalError, MemoryRefused, PipelineError, ScheduleError, WhenceError, expectation
from .hints import fits, spelled
from .names import shortened, shown

P = ParamSpec("P")
R = TypeVar("R")
Finder = Callable[[FrameType], tuple[str, str]]
"""Finds the pass and the layer that a frame is about, "" where it does not say."""

_FINDERS: list[Finder] = []
_LIBRARIES = frozenset(
    {"google", "lark", "llvmlite", "ml_dtypes", "numpy", "onnx", "onnxruntime", "re2", "tflite", "xdsl"}
)
"""Packages that we call and that call us: what they raise is our affair."""
_OF_ARGUMENTS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of code that meets an argument of another type."""
_LONGEST = 400
"""Letters of a foreign text that are shown."""


def find_with(finder: Finder) -> Finder:
    """Have a function look which pass and layer the frames of an error are about."""
    _FINDERS.append(finder)
    return finder


def door(kind: type[WhenceError] | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have what leaves a function be a WhenceError.

    kind: of what is refused; left out, FrontendError for a program and PipelineError for an argument.
    """

    def around(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def entered(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except ScheduleError as error:
                _name_layer(error)
                raise
            except WhenceError:
                raise
            except Exception as error:
                leave(error, function, args, kwargs, kind)

        return entered

    return around


def doors(
    kind: type[WhenceError] | None = None, *, besides: tuple[str, ...] = (), inherited: bool = False
) -> Callable[[type[R]], type[R]]:
    """Apply `door` to each public method that a class defines, its constructor included.

    besides: methods that see to it themselves, as each call of them counts. inherited: those of its bases, too.
    """

    def around(cls: type[R]) -> type[R]:
        methods = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
        for name, value in list((methods if inherited else vars(cls)).items()):
            is_public = not name.startswith("_") or name in ("__init__", "__call__", "__getitem__")
            if is_public and name not in besides and isinstance(value, FunctionType):
                setattr(cls, name, door(kind)(value))
        return cls

    return around


def leave(
    error: Exception,
    function: Callable[..., object],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    kind: type[WhenceError] | None = None,
) -> NoReturn:
    """Raise what a caller of a door gets for an error that was caught in it."""
    caller = sys._getframe(1).f_back  # pyright: ignore[reportPrivateUsage]
    # A caller inside the API may handle the original error.
    if isinstance(error, WhenceError | Warning) or (caller is not None and _package(caller) == "whence"):
        raise error
    if _is_theirs(error):
        _note_place(error)
        raise error
    names = function.__qualname__.split(".")
    name = names[-2] if names[-1].startswith("__") else names[-1]
    if isinstance(error, _OF_ARGUMENTS):
        if wrong := _mistyped(function, args, kwargs or {}):
            raise (kind or PipelineError)(f"{name}: {wrong}") from error
    raise turned(error, kind) from error


def turned(error: BaseException, kind: type[WhenceError] | None = None) -> WhenceError:
    """The error for people that stands for any other, with the pass and the layer that its frames tell."""
    if isinstance(error, WhenceError):
        return error
    stage, layer = _culprits(error)
    text = shortened(" ".join(str(error).split()), _LONGEST)
    about = f" ({layer})" if layer and layer not in text else ""
    match error:
        case RecursionError():
            actual = "more than the stack holds"
            return (kind or FrontendError)(expectation(stage or "program", "less nesting", actual, layer))
        case MemoryError():
            return MemoryRefused(expectation(stage or "memory", "less memory", text or "more than there is", layer))
        case OSError(filename=str() | bytes() as file, strerror=str(reason)):
            return (kind or FrontendError)(f"{shown(str(file))}: {reason}")
        case _ if _is_refusal(error):
            return (kind or FrontendError)(f"{text}{about}")
        case _ if _is_theirs(error):
            return (kind or PipelineError)(f"{stage or 'callback'}: {type(error).__name__}: {text}{about}")
        case _:
            where = f" in {stage}" if stage else ""
            what = f"{type(error).__name__}: {text}{about}"
            return InternalError(f"internal error{where}: {what}; this is a bug of Whence")


def _name_layer(error: WhenceError) -> None:
    """Have an error name the layer that it is about: te and schedules do not know of layers."""
    text = str(error)
    if "(layer" not in text and (layer := _culprits(error)[1]) and layer not in text:
        first, newline, rest = text.partition("\n")
        error.args = (f"{first} ({layer}){newline}{rest}",)


def note_theirs(error: BaseException) -> None:
    """Have an error that code of the caller's raised say what that code was called for."""
    if _is_theirs(error):
        _note_place(error)


def _note_place(error: BaseException) -> None:
    """Have an error of the caller's own code say what that code was called for."""
    where = [words for words in _culprits(error) if words and not words.startswith("whence.")]
    note = f"raised in {', '.join(where)}"
    if where and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _is_refusal(error: BaseException) -> bool:
    """An error of xDSL for a program that breaks a rule; xDSL is not loaded for it, as models run without it."""
    kinds = ("DiagnosticException", "ParseError", "ArgSpecParseError")
    return any(base.__name__ in kinds and base.__module__.startswith("xdsl.") for base in type(error).__mro__)


def _frames(error: BaseException) -> Iterator[FrameType]:
    """The frames that an error came through, the innermost first."""
    frames: list[FrameType] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return reversed(frames)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_theirs(error: BaseException) -> bool:
    """Return whether code of the caller's, that we called, raised an error."""
    for frame in _frames(error):
        package = _package(frame)
        if package == "whence":
            return False
        if package not in _LIBRARIES and package not in sys.stdlib_module_names:
            return True
    return False


def _culprits(error: BaseException) -> tuple[str, str]:
    """The pass, or else the module of ours, and the layer that the innermost frames that tell are about."""
    stage, layer, module = "", "", ""
    for frame in _frames(error):
        if _package(frame) == "whence" and not module:
            module = str(frame.f_globals["__name__"])
        for finder in _FINDERS:
            its_stage, its_layer = finder(frame)
            stage, layer = stage or its_stage, layer or its_layer
    return stage or module, layer


def _mistyped(function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the argument of a call that contradicts the signature, or why the call does not fit; "" if all fit."""
    try:
        bound = signature(function).bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    names = cast("dict[str, Any]", getattr(function, "__globals__", {}))
    for parameter in bound.signature.parameters.values():
        if parameter.name not in bound.arguments or parameter.annotation is parameter.empty:
            continue
        value = bound.arguments[parameter.name]
        several = {parameter.VAR_POSITIONAL: value, parameter.VAR_KEYWORD: getattr(value, "values", tuple)()}
        for each in several.get(parameter.kind, (value,)):
            if not fits(each, parameter.annotation, names):
                shape = shortened(shown(repr(each)), 60)
                return f"expected {parameter.name} of type {spelled(parameter.annotation)}, got {shape}"
    return ""

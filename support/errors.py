"""The kinds of error a user can meet. A tool prints their text, which is made for people, and exits with 1."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from .names import shown


class WhenceError(Exception):
    """Base of the errors whose text is meant for a user: a tool prints it without a traceback and exits with 1."""


TVMError = WhenceError
"""The error that programs written for TVM catch."""


class FrontendError(WhenceError):
    """The model or an input of it is bad."""


class TextError(FrontendError):
    """A text is bad; the error shows lines of it, with marks below them."""


class InputInfosError(FrontendError, RuntimeError):
    """The `input_infos` of `relay.frontend.from_pytorch` do not fit the program."""


class OperatorsMissing(FrontendError, NotImplementedError):
    """The model has operators that nothing converts."""


class FrontendWarning(UserWarning):
    """The model is imported, but not as surely as others."""


class ScheduleWarning(UserWarning):
    """A kernel has the plain schedule, which is slow, as the compiler's strategies cannot schedule it."""


class PrecisionWarning(UserWarning):
    """The precision that somebody asked for is slower than float32."""


class ScheduleError(WhenceError):
    """The schedule is illegal."""


class PipelineError(WhenceError):
    """A pass pipeline, a command line or a compile option is bad."""


class InternalError(WhenceError):
    """A bug of ours, with its cause: the text says in which pass and layer (`support/doors.py`)."""


class MemoryRefused(WhenceError, MemoryError):
    """A call takes more memory than there is."""


class OptionError(PipelineError, AttributeError):
    """A PassContext is given an option that there is not."""


class CalledError(PipelineError, RuntimeError):
    """A Python function of the user's raised RuntimeError; the text is that of the error, which is the cause."""


@contextmanager
def called() -> Generator[None]:
    """A scope that calls functions of the user's: their RuntimeErrors are TVMErrors, too; other errors stay."""
    try:
        yield
    except RuntimeError as error:
        if type(error) is not RuntimeError:
            raise
        raise CalledError(str(error)) from error


def expectation(op: str, expected: str, found: str, where: str = "") -> str:
    """The one form of an error text: `conv2d: expected .., got .. (layer 'x', model.onnx node 3)`."""
    return shown(f"{op}: expected {expected}, got {found}" + (f" ({where})" if where else ""))


def enumerated(places: Sequence[str], limit: int = 3) -> str:
    """The layers that an error is about in one text; at most `limit` are spelled."""
    more = [f"and {len(places) - limit} more"] if len(places) > limit else []
    return "; ".join([*places[:limit], *more])

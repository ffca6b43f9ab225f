"""The handling of errors in every command: one line on stderr and exit code 1."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial

from xdsl.utils.exceptions import ArgSpecParseError, ParseError

from whence.cli.answers import painted
from whence.reading.textio import one_line
from whence.support.doors import turned
from whence.support.errors import InternalError, TextError
from whence.support.names import shown


def guarded(program: str, body: Callable[[], int]) -> int:
    """Return the exit code of `body`. Its errors become one line `program: error: ...` on stderr and exit code 1.

    With WHENCE_DEBUG=1 in the environment errors keep their traceback.
    """
    if os.environ.get("WHENCE_DEBUG") == "1":
        return body()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_warn, program)
            return body()
    except BrokenPipeError:
        # The reader of our output has closed it; Python must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except (Exception, ArgSpecParseError) as error:
        label = "" if isinstance(error, TextError) else "error: "
        print(painted(f"{program}: {label}{described(error)}", sys.stderr), file=sys.stderr)
        return 1


def _warn(program: str, text: Warning | str, *_: object) -> None:
    print(painted(f"{program}: warning: {shown(str(text))}", sys.stderr), file=sys.stderr)


def described(error: BaseException) -> str:
    """Return the text of an error in one line, or in several if it quotes lines of a text."""
    match error:
        case ParseError():
            return one_line(error)
        case TextError():
            return "\n".join(map(shown, str(error).splitlines()))
        case _:
            reported = turned(error)
            text = f"{reported} (WHENCE_DEBUG=1 shows where)" if isinstance(reported, InternalError) else str(reported)
    return shown(" ".join(text.split()))

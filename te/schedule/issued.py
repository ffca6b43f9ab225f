"""The line of Python that issued a primitive."""

from __future__ import annotations

import sys
from pathlib import PurePath

_ROOT = __name__.partition(".")[0]
_SUPPORT = f"{_ROOT}.support"


def issued(package: str) -> str:
    """`te/x.py:12`, the line outside of `package` and support that is being carried out; of users' files the name."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    ours = (package, _SUPPORT)
    while (module := str(frame.f_globals.get("__name__", ""))).rpartition(".")[0] in ours and frame.f_back is not None:
        frame = frame.f_back
    is_own = module.partition(".")[0] == _ROOT
    file = module.partition(".")[2].replace(".", "/") + ".py" if is_own else PurePath(frame.f_code.co_filename).name
    return f"{file}:{frame.f_lineno}"

"""Records of tuning by AutoTVM's names: files have the measurements, and compiling reads the files.

>>> with autotvm.apply_history_best("tuned.jsonl"):
...     lib = relay.build(mod, target="llvm", params=params)

`whence tune` writes such files. Logs of TVM are read as well; as they are about schedules of TVM's they decide nothing.
"""

from __future__ import annotations

from typing import Any

from whence.support.rooms import homes_in, name_in


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)


def __dir__() -> list[str]:
    return sorted(homes_in(__name__))

"""TVM's driver for programs in Python: load, compile, run, tune.

>>> model = tvmc.load("model.onnx", shape_dict={"x": [1, 3, 224, 224]})
>>> package = tvmc.compile(model, target="llvm", package_path="model.tar")
>>> result = tvmc.run(package, device="cpu")
>>> print(result)

Schedules follow from rules, or with `tuning_records` from measurements. A package is a file of `whence compile`. On a
command line, `python -m whence.driver.tvmc` is `whence`.
"""

from __future__ import annotations

from typing import Any

from whence.support.rooms import homes_in, name_in


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)


def __dir__() -> list[str]:
    return sorted(homes_in(__name__))

"""A module into a file, as tvmc's options say."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

import whence
from whence.cli.compile import CODES, code_of
from whence.cli.inputs import native
from whence.cli.options import checked_passes, configured
from whence.executables.exporting import export_artifact
from whence.lowering.llvm_to_native.target import Target
from whence.relay.executors import bound_params
from whence.support.context import PassContext
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.support.files import write_text
from whence.support.instrument import PassTimingInstrument

_LAYOUT_OPS = ("nn.conv2d", "qnn.conv2d")


def layouts_of(layout: str, names: Sequence[str]) -> str:
    """Return the layouts of operators, by default of convolutions, in the form of `relay-convert-layout`."""
    return ";".join(f"{name}:{layout}" for name in names or _LAYOUT_OPS) if layout else ""


@dataclass(frozen=True)
class Wish:
    """The options for the compilation of a model."""

    target: str | Target
    opt_level: int
    layout: str
    layout_ops: Sequence[str]
    disabled: Sequence[str] | str
    configs: Sequence[str]
    """`name=value` each."""
    times: bool
    instruments: Sequence[Any]
    codes: Sequence[str] | str
    tuned: str | PathLike[str] | None
    """Records of tuning."""


def compile_to(
    path: Path,
    module: ModuleOp,
    params: Mapping[str, Array],
    wish: Wish,
    name: str,
    link: Callable[..., object] | None,
    options: Sequence[str],
) -> None:
    """Write the file, and code beside it."""
    codes = _words(wish.codes)
    if strange := [code for code in codes if code not in CODES]:
        raise PipelineError(expectation("dump_code", ", ".join(CODES), ", ".join(strange)))
    timing = PassTimingInstrument()
    instruments = [*wish.instruments, *([timing] if wish.times else [])]
    layouts = layouts_of(wish.layout, wish.layout_ops)
    disabled = checked_passes(_words(wish.disabled), "disabled_pass")
    config = configured(wish.configs, "pass_context_configs")
    with PassContext(wish.opt_level, (), disabled, config, instruments):
        bound = bound_params(module, params) if params else module
        compiled = whence.compile(
            bound, target=wish.target, opt_level=wish.opt_level, desired_layouts=layouts, tuned=wish.tuned
        )
        if wish.times:
            print(timing.render(), end="", file=sys.stderr)
    artifact = native(compiled, "tvmc.compile").artifact
    export_artifact(artifact, None, None, path, name=name, link=link, options=options)
    for code in codes:
        write_text(path.with_name(f"{path.name}.{code}"), code_of(artifact, code))


def _words(text: Sequence[str] | str) -> list[str]:
    """Names in a list, or in a text with commas between them."""
    words = text.split(",") if isinstance(text, str) else text
    return [word.strip() for word in words if word.strip()]

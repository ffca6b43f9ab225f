"""Metadata of nodes (`metadata_props`) that PyTorch's exporter writes: the module, and the stack trace of the call.

The values are Python source. They are matched with grammars and never run; a value that does not match is ignored,
because the metadata does not change the results.
"""

from __future__ import annotations

import re
from typing import NamedTuple, cast

from onnx import NodeProto

from ..importing.frames import MOST_TEXT, Frame, frames_in, user_frames

_STACK_TRACE = "pkg.torch.onnx.stack_trace"
_NAME_SCOPES = "pkg.torch.onnx.name_scopes"

_TEXT = r"""'[^'\\]*'|"[^"\\]*\""""
_TEXTS = re.compile(rf"\[(?:{_TEXT})(?:, (?:{_TEXT}))*\]")
_LONGEST_PATH = 1024


class Origin(NamedTuple):
    """The origin of a node, where the exporter states it."""

    frames: tuple[Frame, ...] = ()
    """The calls in the user's own Python files, the innermost first."""
    module: str = ""
    """The path of the innermost module, `layer1.0.conv`; empty in the outermost one."""


def origin_of(node: NodeProto) -> Origin:
    """Read the metadata of a node; values that are missing, damaged or longer than `MOST_TEXT` are left out."""
    if not node.metadata_props:
        return Origin()
    texts: dict[str, str] = {}
    for entry in node.metadata_props:
        # protobuf returns texts that are not UTF-8 as bytes.
        key, value = cast(object, entry.key), cast(object, entry.value)
        if isinstance(key, str) and isinstance(value, str):
            texts.setdefault(key, value)
    return Origin(user_frames(frames_in(texts.get(_STACK_TRACE, ""))), _module_in(texts.get(_NAME_SCOPES, "")))


def _module_in(text: str) -> str:
    """Return the last module of `['', 'layer1', 'layer1.0', 'conv2d']`, in which the last name is the node's own."""
    if len(text) > MOST_TEXT or _TEXTS.fullmatch(text) is None:
        return ""
    scopes = [quoted[1:-1] for quoted in re.findall(_TEXT, text)]
    module = scopes[-2] if len(scopes) > 1 else ""
    return module if module.isprintable() and len(module) <= _LONGEST_PATH else ""

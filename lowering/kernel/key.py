"""The name under which a kernel is kept: a hash of all that shapes its code."""

from __future__ import annotations

from ...dialects.relay.core import FuncOp
from ...support.context import PassContext
from ..fingerprint import native_key
from ..llvm_to_native.target import Target
from ..relay_to_te.strategies import outside_fingerprint
from .printing import printed


def code_key(target: Target, text: str, decisions: str = "") -> str:
    """The cache key (hex sha256) of what passes and schedules, under the current options, make of `text`.

    decisions: those about the schedule that are not the defaults, as text.
    """
    parts = (PassContext.current().shapes_code(), outside_fingerprint(), text)
    return native_key(target.key, *parts, *([decisions] if decisions else []))


def kernel_key(func: FuncOp, target: Target) -> str:
    """The cache key of an anonymous function."""
    return code_key(target, printed(func))

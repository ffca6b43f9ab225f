"""Targets by TVM's name: `target.Target("llvm -mcpu=..")`."""

from whence.lowering.llvm_to_native.target import Target as Machine

__all__ = ["Target"]


def Target(text: str) -> Machine:
    """What a text names; `llvm` is this machine, as in `relay.build`. Raises PipelineError for what is no target."""
    return Machine.parse("native" if text.strip() == "llvm" else text)

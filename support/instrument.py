"""Pass instruments, TVM's way to look at passes: an object whose methods are called around each of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PassInfo:
    """What an instrument is told of a pass."""

    name: str
    """As in the text form of pipelines: `relay-fuse-ops`."""
    tvm_name: str = ""
    """TVM's name of the pass, "" where it has none: `FuseOps`."""
    opt_level: int = 0
    """The opt level from which on it runs."""
    seconds: float = 0.0
    """How long it took; 0 before it ran."""


class PassInstrument:
    """Base class of instruments: override what is of interest.

    Given to `PassContext(instruments=[..])`, it is called around every pass that runs within the context's scope. `mod`
    is what the pass runs on: a module, or the one kernel in hand when a tir pass runs on the way to machine code.
    """

    def enter_pass_ctx(self) -> None:
        """The scope of its PassContext begins."""

    def exit_pass_ctx(self) -> None:
        """The scope ends, be it by an error."""

    def should_run(self, mod: object, info: PassInfo) -> bool:
        """Whether the pass runs, as far as this instrument goes; not asked about passes that are required."""
        return True

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        """The pass is about to run."""

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        """The pass ran; `info.seconds` says for how long. Not called when it failed."""

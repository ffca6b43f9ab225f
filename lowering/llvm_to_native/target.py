"""What machine code is made for: the CPU, its features, and LLVM's machine for it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from ...provenance.diagnostics import message
from ...support.errors import PipelineError

_SYNTAX = '"native" or "llvm [-mtriple=..] [-mcpu=..] [-mattr=+x,-y]"'
# A CPU that is named without -mattr: what its vectors hold. The first name that it starts with counts.
_CPU_VECTORS = (
    ("skylake-avx512", 512),
    ("cascadelake", 512),
    ("cooperlake", 512),
    ("icelake", 512),
    ("rocketlake", 512),
    ("tigerlake", 512),
    ("sapphirerapids", 512),
    ("emeraldrapids", 512),
    ("graniterapids", 512),
    ("znver4", 512),
    ("znver5", 512),
    ("x86-64-v4", 512),
    ("x86-64-v3", 256),
    ("haswell", 256),
    ("broadwell", 256),
    ("skylake", 256),
    ("alderlake", 256),
    ("znver", 256),
)


def binding() -> Any:
    """llvmlite's binding, ready for the host. Imported when first needed: it is large, and not annotated."""
    import llvmlite.binding as llvm

    llvm_ = cast(Any, llvm)
    _initialize(llvm_)
    return llvm_


@cache
def _initialize(llvm: Any) -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()


@dataclass(frozen=True)
class Target:
    """A machine. `features` is LLVM's list (`+avx2,-avx512f`); `vector_bits` is the width of the widest vectors."""

    triple: str
    cpu: str = ""
    features: str = ""
    vector_bits: int = 128

    @staticmethod
    @cache
    def native() -> Target:
        """The host with all its features."""
        llvm = binding()
        try:
            features = str(llvm.get_host_cpu_features().flatten())
        except RuntimeError:
            features = ""
        cpu = str(llvm.get_host_cpu_name())
        return Target(str(llvm.get_process_triple()), cpu, features, vector_bits(cpu, features))

    @staticmethod
    def parse(text: str) -> Target:
        """The target that a user names.

        `llvm` alone is the host's architecture without optional features. Raises PipelineError for anything that is
        not a target.
        """
        kind, *options = _split(text)
        if kind == "native" and not options:
            return Target.native()
        if kind != "llvm":
            raise PipelineError(message("target", _SYNTAX, repr(text)))
        values = {"mtriple": str(binding().get_process_triple()), "mcpu": "", "mattr": ""}
        for option in options:
            key, equals, value = option.partition("=")
            if key[:1] != "-" or key[1:] not in values or not equals:
                raise PipelineError(message("target", "-mtriple=, -mcpu= or -mattr=", repr(option)))
            values[key[1:]] = value
        if values["mcpu"] == "native":
            host = Target.native()
            values["mcpu"] = host.cpu
            values["mattr"] = ",".join(filter(None, (host.features, values["mattr"])))
        wrong = [word for word in values["mattr"].split(",") if word and word[0] not in "+-"]
        if wrong:
            raise PipelineError(message("target", "features that begin with + or -", ", ".join(wrong)))
        bits = vector_bits(values["mcpu"], values["mattr"])
        target = Target(values["mtriple"], values["mcpu"], values["mattr"], bits)
        target.machine()
        return target

    @property
    def key(self) -> str:
        """What machine code depends on besides its source, LLVM's version included."""
        version = ".".join(map(str, binding().llvm_version_info))
        return f"llvm-{version} {self.triple} {self.cpu} {self.features} {self.vector_bits}"

    def machine(self) -> Any:
        """llvmlite's target machine: position independent, small code model.

        Raises PipelineError when LLVM cannot make code for the triple.
        """
        return _machine(self)


@cache
def _machine(target: Target) -> Any:
    llvm = binding()
    try:
        found = llvm.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise PipelineError(message("target", "a triple that this LLVM knows", f"{target.triple} ({error})")) from error
    return found.create_target_machine(cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="small")


def vector_bits(cpu: str, features: str) -> int:
    """The widest vectors of a CPU: by its features, or else by its name."""
    named = {word for word in features.split(",") if word}
    if "+avx512f" in named:
        return 512
    width = next((bits for name, bits in _CPU_VECTORS if cpu.startswith(name)), 256 if "+avx" in named else 128)
    if "-avx512f" in named:
        width = min(width, 256)
    return 128 if "-avx" in named else max(width, 256 if "+avx" in named or "+avx2" in named else 128)


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words:
        raise PipelineError(message("target", _SYNTAX, repr(text)))
    return words

"""The share of the machine code of networks that has a line: from LLVM (exact), from what reads it (inferred), or not.

    PYTHONPATH=src python benchmarks/lines.py [NAME ...]

A row per network that onnx ships, that the tests export, or that they build for TFLite; below, what the instructions
are that LLVM gave no line, or one that cannot have made them. The same script with the `src` of another checkout shows
what that one claims.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import whence
from whence.explorer.code import MainCode, kernel_of, machine_code
from whence.lowering.llvm_to_native.assembly import Instruction

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))
from named_networks import NETWORKS

KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("zeros", re.compile(r"v?p?xor\w* (%\w+)(?:, \1)+$")),
    ("constants from memory", re.compile(r".*\.LCPI")),
    ("frame, returns", re.compile(r"push|pop|ret|.*, %rsp$|\w+ %rsp,")),
    ("spills and reloads", re.compile(r"v?k?mov.*\(%r[sb]p\)")),
    ("constants in code", re.compile(r"mov\w* \$")),
    ("copies", re.compile(r"v?k?mov\w* %\w+, %\w+$")),
    ("jumps", re.compile(r"j")),
    ("addresses, counts", re.compile(r"(?!v|k|call)")),
)


def code_of(exe: whence.Executable) -> Iterator[Instruction]:
    """The instructions of all kernels and of the main program."""
    artifact = exe.artifact
    yield from MainCode.of(artifact).instructions
    for index in range(len(artifact.kernels)):
        yield from machine_code(kernel_of(artifact, index))


def kind_of(text: str) -> str:
    return next((kind for kind, pattern in KINDS if pattern.match(text)), "others")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", default=list(NETWORKS))
    unsaid: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    total = 0
    print(f"{'network':24}{'instructions':>12}{'exact':>8}{'inferred':>10}{'both':>8}")
    for name in parser.parse_args().names:
        exe = whence.compile(NETWORKS[name](), threads=1)
        code = list(code_of(exe))
        total += len(code)
        for instruction in code:
            if not instruction.exact:
                unsaid[instruction.line > 0][kind_of(instruction.text)] += 1
        said = exe.coverage()
        exact, inferred = said["native"], said["native_inferred"]
        print(f"{name:24}{len(code):12}{exact:8.1%}{inferred:10.1%}{exact + inferred:8.1%}", flush=True)
    print(f"\n{'not exact':24}{'of all':>12}{'':8}{'inferred':>10}{'none':>8}")
    for kind, _ in (unsaid[True] + unsaid[False]).most_common():
        inferred, none = unsaid[True][kind], unsaid[False][kind]
        print(f"{kind:24}{(inferred + none) / total:12.1%}{'':8}{inferred:10}{none:8}")


if __name__ == "__main__":
    main()

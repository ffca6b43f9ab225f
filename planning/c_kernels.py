"""Kernels of an artifact as C, read from the TIR that their records keep."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, StringAttr

from ..dialects.kernel_context import kernel_context
from ..dialects.located_parser import LocatedParser
from ..dialects.tir import PrimFuncOp, TileConfigOp
from ..lowering.kernel.record import Kernel, source_name
from ..lowering.llvm_to_native.target import Target
from ..lowering.tir_to_c.convert import CKernel, convert
from ..lowering.tir_to_c.prelude import PRELUDE, Vectors, vector_text
from ..lowering.tir_to_llvm.float_mode import flushes
from ..passes.tir import lower_tiles
from ..provenance.span import fuse, leaf_name, leaves, positions
from ..provenance.walk import walk
from ..support.errors import enumerated

Comment = Callable[[LocationAttr], Sequence[str]]


def c_kernel(kernel: Kernel, layers: Iterable[Sequence[LocationAttr]], target: Target, *, vectors: bool) -> CKernel:
    """Print a kernel as C; raises VerifyException, in the name of the layers, for an op that has no C.

    layers: per call of the kernel the locations of its slots.
    """
    calls = list(layers)
    behind = [[call[slot] for call in calls for slot in slots if slot < len(call)] for slots in kernel.lines]
    return _printed(kernel.tir, kernel.symbol, behind, target, vectors=vectors)


def _printed(
    tir: str, symbol: str, behind: Sequence[Sequence[LocationAttr]], target: Target, *, vectors: bool
) -> CKernel:
    """Print a kernel; one of tiles with vectors in their place as well, for compilers that know no tiles."""
    bits, flush = target.vector_bits, flushes(target.triple)

    def text(*, tiles: bool) -> CKernel:
        func = located_tir(tir, symbol, behind)
        if not tiles:
            lower_tiles.run(func)
        return convert(func, comment_of(), vectors=vectors, flush=flush, register_bits=bits)

    kernel = text(tiles=vectors)
    if not vectors or TileConfigOp.name not in tir:
        return kernel
    other = text(tiles=False)
    both = f"#ifdef WHENCE_TILES\n{kernel.text}#else\n{other.text}#endif\n"
    return replace(kernel, text=both, vectors=Vectors.joined([kernel.vectors, other.vectors]))


def function_text(tir: str, symbol: str, behind: Sequence[Sequence[LocationAttr]], target: Target) -> str:
    """A kernel as a file of its own; errors as `c_kernel`.

    behind: per line of `tir` the locations of the ops on it.
    """
    kernel = _printed(tir, symbol, behind, target, vectors=True)
    parts = [PRELUDE, _DECLARED, *(["", vector_text(kernel.vectors)] if kernel.vectors.types else [])]
    return "\n".join([*parts, *kernel.externs.values(), kernel.text])


_DECLARED = """
/* As a project of `export_library` has them. */
extern void whence_parallel_for(whence_pool *pool, void (*body)(void *, int64_t, int64_t), void *context, int64_t n);
extern void whence_alloc_refused(int64_t bytes);
""".lstrip()


def located_tir(text: str, symbol: str, behind: Sequence[Sequence[LocationAttr]]) -> PrimFuncOp:
    """The kernel of a text of final TIR; its ops have the locations behind their lines."""
    module = LocatedParser(kernel_context(), text, source_name(symbol)).parse_module()
    func = cast("PrimFuncOp", module.body.block.first_op)
    func.sym_name = StringAttr(symbol)
    for op in walk(func):
        place = op.location
        if isinstance(place, FileLineColLoc) and place.line.data <= len(behind) and behind[place.line.data - 1]:
            op.location = fuse(behind[place.line.data - 1])
    return func


def comment_of() -> Comment:
    """Return the lines of C that say which layers what follows serves.

    A comment; with WHENCE_SOURCE_LINES also a #line of the first layer's place in its file.
    """
    lines = os.environ.get("WHENCE_SOURCE_LINES", "0") not in ("", "0")

    def spell(location: LocationAttr) -> list[str]:
        behind = [leaf for leaf in leaves(location) if not isinstance(leaf, FileLineColLoc)]
        places = [place for leaf in behind for place in list(positions(leaf))[:1]]
        texts = [_layer(leaf) for leaf in behind]
        if not texts:
            return []
        comment = f"/* {_safe(enumerated(list(dict.fromkeys(texts)), 3))} */"
        if lines and places:
            return [comment, f'#line {max(places[0].line, 1)} "{_quoted(places[0].file)}"']
        return [comment]

    return spell


def _layer(leaf: LocationAttr) -> str:
    place = next(iter(positions(leaf)), None)
    return leaf_name(leaf) if place is None else f"{leaf_name(leaf)}, {place.file}:{place.line}"


def _safe(text: str) -> str:
    """A text inside of a comment."""
    return "".join(c if c.isprintable() else " " for c in text).replace("*/", "* /").replace("/*", "/ *")


def _quoted(text: str) -> str:
    return "".join(c for c in text if c.isprintable() and c not in '"\\')

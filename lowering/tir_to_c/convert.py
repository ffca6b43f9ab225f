"""A kernel as C with GNU's vectors, or without vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from ...dialects.sizes.kernel import is_derived
from ...dialects.sizes.text import parse_size
from ...dialects.tir import PrimFuncOp
from ...provenance.walk import walk
from ..tir_to_llvm.types import lanes, vector_type
from .arithmetic import ARITHMETIC
from .context import Function, Handler, Printing
from .control import CONTROL, computes_floats, give_back, take_memory
from .math_ops import MATH
from .memory import MEMORY
from .prelude import Vectors
from .splitting import split_vectors
from .tiles import TILES
from .types import c_type
from .vectors import VECTORS

_HANDLERS: Mapping[type[Operation], Handler] = {**CONTROL, **MEMORY, **ARITHMETIC, **MATH, **VECTORS, **TILES}


@dataclass(frozen=True)
class CKernel:
    """A kernel as text, and what it needs around it."""

    text: str
    """The functions of parallel loops, then `void symbol(buffers.., int64_t sizes.., void *workspace, pool)`."""
    vectors: Vectors
    externs: Mapping[str, str]
    """The prototypes of other functions that it calls, by name."""
    prototype: str


def convert(
    func: PrimFuncOp,
    comment: Callable[[LocationAttr], Sequence[str]],
    *,
    vectors: bool,
    flush: bool,
    register_bits: int = 512,
) -> CKernel:
    """Print a kernel in the form that `tir_to_llvm` reads as C with the same bits; the kernel is rewritten.

    comment: the lines that say where what follows comes from. vectors: by GNU's vectors (gcc 12, clang); kernels with
    vectors of other lengths than powers of 2 are printed without. flush: denormal results are 0 on x86-64.
    register_bits: of a vector register; longer vectors are cut.

    Raises VerifyException, in the name of the layer, for an op without C.
    """
    vectors = vectors and all(
        lanes(value.type).bit_count() == 1
        for op in walk(func)
        for value in op.results
        if vector_type(value.type) is not None
    )
    if vectors:
        split_vectors(func, register_bits)
    symbol = func.sym_name.data
    ctx = Printing(symbol, _HANDLERS, comment, vectors=vectors, flush=flush)
    arguments = func.block.args
    inputs = len(arguments) - func.outputs.value.data
    passed = [name for name in func.size_names if not is_derived(name)]
    sizes = [f"s{number}" for number in range(len(passed))]
    ctx.reserve([symbol, *sizes])
    parameters: list[str] = []
    for number, argument in enumerate(arguments):
        name = ctx.unused(argument.name_hint)
        ctx.name_buffer(argument, name)
        const = "const " if number < inputs else ""
        if const:
            ctx.readonly.add(argument)
        parameters.append(f"{const}{c_type(func, argument.type.element_type).stored} *restrict {name}")  # type: ignore[attr-defined]
    parameters += [f"int64_t {size}" for size in sizes]
    parameters += ["void *workspace", "whence_pool *pool"]
    function = Function()
    with ctx.inside(function):
        spelled = iter(sizes)
        for name in func.size_names:
            ctx.sizes = (*ctx.sizes, ctx.size(parse_size(name)) if is_derived(name) else next(spelled))
        take_memory(ctx, func.block)
        ctx.lower(func.block)
        give_back(ctx)
    flush = flush and computes_floats(func)
    prototype = f"void {symbol}({', '.join(parameters)})"
    unused = ["  (void)workspace;", "  (void)pool;"]
    lines = list(ctx.functions)
    if flush:
        names = [parameter.split()[-1].lstrip("*") for parameter in parameters]
        lines += [f"static WHENCE_APART void {symbol}_floats({', '.join(parameters)}) {{"]
        lines += [*unused, *function.lines, "}", f"{prototype} {{", "  WHENCE_FLOATS_BEGIN"]
        lines += [f"  {symbol}_floats({', '.join(names)});", "  WHENCE_FLOATS_END", "}"]
    else:
        lines += [f"{prototype} {{", *unused, *function.lines, "}"]
    return CKernel("\n".join(lines) + "\n", ctx.used, ctx.externs, prototype + ";")

"""Object bytes linked into this process."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from ...runtime.program.program import Code
from .perf_map import write_perf_map
from .target import Target, binding

_names = itertools.count()


def link(objects: Iterable[bytes], exports: Iterable[str], imports: Mapping[str, int] | None = None) -> Code:
    """Link object bytes with each other, with the symbols in `imports` (name -> address) and with this process (libc).

    Returns the addresses of `exports`. Raises RuntimeError when a symbol is missing or defined twice.
    """
    llvm, code = binding(), list(objects)
    builder = llvm.JITLibraryBuilder()
    for data in code:
        builder.add_object_img(data)
    builder.add_current_process()
    for name, address in (imports or {}).items():
        builder.import_symbol(name, address)
    wanted = tuple(dict.fromkeys(exports))
    for name in wanted:
        builder.export_symbol(name)
    # Not JITLink: only the older linker tells gdb about the code.
    compiler = llvm.create_lljit_compiler(Target.native().machine())
    tracker = builder.link(compiler, f"whence{next(_names)}")
    addresses = {name: int(tracker[name]) for name in wanted}
    write_perf_map(code, addresses)
    return Code(addresses, (compiler, tracker))

"""A model as a project of C: its source, whence.h, the parameters, and a Makefile."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from ..lowering.kernel.record import Kernel
from ..lowering.llvm_to_native.target import Target
from ..lowering.tir_to_c.convert import CKernel
from ..lowering.tir_to_c.prelude import PRELUDE, Vectors, vector_text
from ..runtime.values.tensors import ALIGNMENT, TensorSpec, aligned
from ..support.files import replacing
from .artifact import Artifact
from .c_interface import HEADER
from .c_kernels import c_kernel
from .c_program import RUNTIME, program_text, tiles_text
from .graph import GraphPlan

FORMATS = (".c", ".zip")
_SMALL = 1 << 16
"""The most bytes of parameters that stand in the source."""
_FLAGS = "-O3 -ffp-contract=off -fno-math-errno -Wall"
"""Products and sums are rounded apart, as LLVM does it: the same bits."""


def export_c(artifact: Artifact, plan: GraphPlan, name: str, path: Path, *, params: bool = True) -> None:
    """Write a model as C: a .c file with whence.h and the parameters beside it, or a .zip of all, with a Makefile.

    Parameters of up to 64 KiB stand in the source, others in `<stem>.params`. Each file is written whole or not at
    all. params: False: they come from elsewhere. Raises VerifyException, in the name of the layer, for an op that has
    no C, PipelineError where a file cannot be written.
    """
    files = c_files(artifact, plan, name, path.stem, params=params)
    if path.suffix == ".c":
        for file, content in {**files, f"{path.stem}.c": files[f"{path.stem}.c"]}.items():
            if file != "Makefile":
                with replacing(path if file.endswith(".c") else path.with_name(file)) as stream:
                    stream.write(content)
        return
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for file, content in files.items():
            # Without times: equal models give equal files.
            archive.writestr(zipfile.ZipInfo(file), content)


def c_files(artifact: Artifact, plan: GraphPlan, name: str, stem: str, *, params: bool) -> Mapping[str, bytes]:
    """The files of the project by name; errors as `export_c`."""
    arrays = [aligned(array) for array in artifact.params]
    named = {id(array): text for text, array in plan.params.items()}
    names = [named.get(id(array), "") for array in artifact.params]
    specs = [TensorSpec(text, array.shape, array.dtype) for text, array in zip(names, arrays, strict=True)]
    offsets: list[int] = []
    data = bytearray()
    for array in arrays if params else ():
        offsets.append(len(data))
        data += array.tobytes()
        data += bytes(-len(data) % ALIGNMENT)
    parts = [
        f"/* {_title(artifact, name)} */",
        PRELUDE,
        RUNTIME,
        tiles_text(artifact.program),
        _kernels(artifact),
        *([] if not offsets else [_data(bytes(data), f"{stem}.params")]),
        program_text(artifact, specs, offsets if params else None),
    ]
    files = {f"{stem}.c": "\n".join(parts).encode(), HEADER.name: HEADER.read_bytes()}
    if len(data) > _SMALL:
        files[f"{stem}.params"] = bytes(data)
    files["Makefile"] = _makefile(stem, artifact.target, list(files)).encode()
    return files


def _title(artifact: Artifact, name: str) -> str:
    flags = f"{_FLAGS} {_march(artifact.target)}".strip()
    return f"{name}: compile it with {flags}; -DWHENCE_SCALAR does without GNU's vectors, -fopenmp has threads"


def _march(target: Target) -> str:
    if not target.triple.startswith("x86_64"):
        return ""
    return "-march=native" if target.host or not target.cpu else f"-march={target.cpu}"


def _makefile(stem: str, target: Target, files: Sequence[str]) -> str:
    library = f"{stem}.so" if stem.startswith("lib") else f"lib{stem}.so"
    return (
        f"CFLAGS ?= {_FLAGS} {_march(target)}\n"
        f"{library}: {' '.join(files)}\n"
        f"\t$(CC) $(CFLAGS) -shared -fPIC -o $@ {stem}.c -lm\n"
        "clean:\n"
        f"\trm -f {library}\n"
    )


def _kernels(artifact: Artifact) -> str:
    """All kernels, with vectors and without."""
    printed: dict[bool, list[CKernel]] = {True: [], False: []}
    for number, kernel in enumerate(artifact.kernels):
        calls = [call for call in artifact.calls if call.kernel == number]
        for vectors, kernels in printed.items():
            kernels.append(
                c_kernel(cast("Kernel", kernel), [call.layers for call in calls], artifact.target, vectors=vectors)
            )
    externs = {name: text for kernel in printed[True] for name, text in kernel.externs.items()}
    return "\n".join(
        [
            *externs.values(),
            "#ifndef WHENCE_SCALAR",
            vector_text(Vectors.joined(kernel.vectors for kernel in printed[True])),
            *(kernel.text for kernel in printed[True]),
            "#else",
            *(kernel.text for kernel in printed[False]),
            "#endif",
        ]
    )


_INCLUDED = r"""
/* The parameters, as bytes of a file. */
#ifndef WHENCE_PARAMS
#define WHENCE_PARAMS "$FILE"
#endif
__asm__(".section .rodata\n.balign 64\n.hidden whence_params_data\n.global whence_params_data\n"
        "whence_params_data:\n.incbin \"" WHENCE_PARAMS "\"\n.text\n");
extern const unsigned char whence_params_data[] __attribute__((visibility("hidden")));
""".lstrip()


def _data(data: bytes, file: str) -> str:
    if len(data) > _SMALL:
        return _INCLUDED.replace("$FILE", file)
    rows = [", ".join(map(str, data[at : at + 32])) for at in range(0, len(data), 32)]
    body = ",\n  ".join(rows) or "0"
    return f"static const _Alignas({ALIGNMENT}) unsigned char whence_params_data[] = {{\n  {body}}};\n"

"""Programs in which values decide, as archives: their steps, and an archive for each of their native programs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ..lowering.llvm_to_native.target import Target
from ..lowering.llvm_to_native.thread_pool import pool_object
from ..runtime.interpreting.edge import ValueType
from ..runtime.interpreting.flow import Region, Step, Stretch
from ..runtime.interpreting.language import Instruction, Native
from ..runtime.interpreting.written import LanguageSteps, ModelSteps, Writing, written
from ..runtime.loading.loaded import PROGRAM
from ..runtime.loading.opened import POOL_OBJECT
from ..runtime.loading.package import packed
from ..runtime.loading.programs import ShippedProgram
from ..runtime.values.tensors import TensorSpec, aligned
from ..support.errors import PipelineError, expectation
from ..support.files import replacing
from .archive import FATES, PROVENANCE, Fates
from .export import Object, seal_stream, write_archive

_LARGEST_TYPES = 10_000
"""The number of types of values up to which those of a program are written; types that grow as they nest have more."""


def export_program(
    steps: ModelSteps | LanguageSteps,
    programs: Sequence[Callable[[Path], None]],
    limited: Sequence[str],
    seed: int | None,
    fates: Fates,
    target: Target,
    path: Path,
) -> None:
    """Write a program to a .tar file, whole or not at all.

    programs: what writes the archive of each native program, by the numbers in the kept stretches of `steps`. limited:
    see `ShippedProgram`. Raises PipelineError for another suffix, and when the file cannot be written.
    """
    if path.suffix != ".tar":
        actual = f"{path.suffix or 'none'}: values decide the steps of the program, which are no code"
        raise PipelineError(expectation(f"export to {path}", "a file in .tar", actual))
    content, origins = _written(steps), {PROVENANCE: json.dumps(FATES.encode(fates)).encode()}
    about = ShippedProgram(content.objects, seed, tuple(limited))
    arrays = [aligned(array) for array in content.arrays]
    specs = [TensorSpec("", array.shape, array.dtype) for array in arrays]
    package = list(packed(about, origins, specs, arrays))
    objects: list[Object] = [(PROGRAM, package), (POOL_OBJECT, [pool_object(target)])]
    with tempfile.TemporaryDirectory(prefix="whence") as folder:
        files = [Path(folder) / f"{number}.tar" for number in range(len(programs))]
        for write, file in zip(programs, files, strict=True):
            write(file)
        with replacing(path) as stream:
            write_archive(objects, files, stream)
            seal_stream(stream)


def _written(steps: ModelSteps | LanguageSteps) -> Writing:
    """Return the steps as plain data: without what only the compiler reads, and without weights that code has."""
    read: set[str] = set()
    for entry in steps.kept:
        read.update(argument.name for argument in entry.stretch.arguments)
    if isinstance(steps, ModelSteps):
        for region in regions_of(steps.region):
            read.update(region.outputs)
            for step in region.steps:
                read.update(step.inputs if step.kind else ())
    return written(
        steps,
        {
            Region: lambda region: _constants(region, read),
            Step: _step,
            Native: lambda step: {"fixed": None, "kept": None},
            Stretch: lambda stretch: {"runner": None, "report": None, "fits": None},
            ValueType: _Types().fields,
        },
    )


def _step(step: Step) -> dict[str, object]:
    """Return the fields of a step that only the compiler reads; what compiled bodies read is input of their step."""
    if step.kind or isinstance(step, Instruction):
        return {"source": None}
    return {"source": None, "attributes": {}, "bodies": {}, "inputs": tuple(sorted(step.reads()))}


def regions_of(region: Region) -> list[Region]:
    """Return a region and all regions in its steps."""
    regions = [region]
    for one in regions:
        regions += [body for step in one.steps for body in step.bodies.values()]
    return regions


def _constants(region: Region, read: set[str]) -> dict[str, object]:
    names = [name for name in region.constants if name in read]
    return {
        "constants": {name: region.constants[name] for name in names},
        "compiled": region.compiled | (set(region.constants) - read),
    }


class _Types:
    """Types of values as they are written; raises PipelineError for types without end."""

    def __init__(self) -> None:
        self._count = 0

    def fields(self, type_: ValueType) -> dict[str, object]:
        self._count += 1
        if self._count > _LARGEST_TYPES:
            expected = "a program whose data types hold finitely many types"
            raise PipelineError(expectation("export", expected, f"more than {_LARGEST_TYPES}, as '{type_.text}'"))
        return {"fields": type_.held() if type_.kind == "data" else None}

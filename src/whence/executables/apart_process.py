"""The work of a separate process: compile a module for certain sizes, and write the program for its parent."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import IO

import numpy as np

from whence.dialects.located_parser import LocatedParser
from whence.dialects.relay.constants import pool_of
from whence.executables.apart import KERNEL, MAIN, SOURCE, CompiledHere, Settings, Weight, read_package
from whence.passes.relay.bind_sizes import bind_sizes
from whence.planning.archive import archived
from whence.planning.artifact import Artifact
from whence.planning.build import Building
from whence.provenance.ledger import Ledger
from whence.reading.textio import context
from whence.runtime.loading.package import Package, packed
from whence.runtime.loading.parent import end_with
from whence.runtime.values.tensors import TensorSpec
from whence.support.context import PassContext
from whence.support.dtypes import Array
from whence.support.errors import WhenceError
from whence.tuning.records import Records

_NICE = 10
"""Steps of `nice` by which this process yields to calls."""


def main(source: str, result: str, sizes: str) -> None:
    """Compile the package in a file for sizes (JSON) and write the result to another file; files are descriptors.

    Exits with 1 if there is no program for these sizes.
    """
    end_with(os.getppid())
    os.nice(_NICE)
    try:
        artifact = compiled(read_package(int(source), SOURCE), json.loads(sizes))
    except WhenceError:
        sys.exit(1)
    with os.fdopen(int(result), "wb") as file:
        write_program(artifact, file)


def compiled(package: Package, sizes: dict[str, int]) -> Artifact:
    """Compile what `apart.write_source` wrote for these sizes; raises WhenceError where that is impossible."""
    settings = package.about(Settings)
    text = bytes(package.part(SOURCE)).decode()
    module = LocatedParser(context(), text, SOURCE).parse_module()
    pool = pool_of(module)
    for name, array in zip(package.names, package.params(), strict=True):
        pool.add(name, array)
    bind_sizes(module, sizes)
    with PassContext(**vars(settings.options)):
        how = Building(
            target=settings.target,
            opt_level=settings.options.opt_level,
            audit=settings.audit,
            desired_layouts=settings.desired_layouts,
            precision=settings.precision,
            seed=settings.seed,
            tuned=Records.of_lines(settings.tuned) if settings.tuned is not None else None,
        )
        return how(module, Ledger())


def write_program(artifact: Artifact, file: IO[bytes]) -> None:
    """Write an artifact without the ledger's record of the import and without the weights in the source."""
    program, target, params = artifact.program, artifact.target, artifact.params
    head = CompiledHere(
        triple=target.triple,
        cpu=target.cpu,
        features=target.features,
        program=program,
        weights=_weights(artifact),
    )
    objects = {f"{KERNEL}{number}": kernel.object for number, kernel in enumerate(artifact.kernels)}
    specs = [TensorSpec("", array.shape, array.dtype) for array in params]
    file.writelines(packed(head, {MAIN: artifact.main, **objects, **archived(artifact)}, specs, params))


def _weights(artifact: Artifact) -> tuple[Weight, ...]:
    """The constants of the fused module that parameters hold; parameters may be copies of them."""
    numbers = {_digest(array): number for number, array in enumerate(artifact.params)}
    pool = pool_of(artifact.snapshots[-1].module)
    weights = ((name, numbers.get(_digest(pool[name]))) for name in pool)
    return tuple(Weight(name, number) for name, number in weights if number is not None)


def _digest(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    """Return a key that equal arrays share."""
    return array.dtype.str, array.shape, hashlib.sha256(np.ascontiguousarray(array).view(np.uint8).data).digest()

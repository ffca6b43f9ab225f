"""Packages as the artifacts that they were made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import ModuleOp

from whence.lowering.llvm_to_native.target import Target
from whence.planning.archive import PROVENANCE, Archive
from whence.planning.artifact import Artifact, Call, Snapshot
from whence.provenance.numbers import OpNumber, set_number
from whence.provenance.walk import walk
from whence.runtime.loading.exported import Compiled
from whence.runtime.loading.package import Package
from whence.support.errors import FrontendError, expectation


def _read(text: str, name: str, numbers: Sequence[OpNumber]) -> ModuleOp:
    """A module of a package: its text takes long to read, and few questions are about it."""
    from whence.dialects.located_parser import LocatedParser
    from whence.reading.textio import context

    module = LocatedParser(context(), text, name).parse_module()
    for op, number in zip(walk(module), numbers, strict=True):
        set_number(op, number)
    return module


def artifact_of(package: Package, name: str) -> Artifact:
    """The artifact of a package. Its plan has no offsets, and parameters may be missing.

    Raises FrontendError when it is by another version, or has lost where it came from.
    """
    try:
        archive = Archive.of(bytes(package.part(PROVENANCE)), name)
    except (ValueError, KeyError, TypeError, FrontendError) as error:
        expected = "a model that this version exported, with where it came from"
        raise FrontendError(expectation(name, expected, str(error))) from error
    model, history = package.about(Compiled), archive.history
    runs = zip(model.program.calls, history.calls, strict=True)
    snapshots = tuple(
        Snapshot(stage, partial(_read, text, f"{name} ({stage})", numbers))
        for (stage, text), numbers in zip(archive.modules.items(), history.ops, strict=True)
    )
    return Artifact(
        program=model.program,
        params=package.params(),
        calls=tuple(Call(run, origin.layers, origin.location) for run, origin in runs),
        plan=archive.rest.plan,
        returned=history.returned,
        formulas=(),
        kernels=archive.kernels,
        main=archive.main,
        target=Target(model.triple, model.cpu, model.features, archive.rest.host),
        ledger=history.ledger,
        snapshots=snapshots,
        main_assembly=archive.main_assembly,
        tuned=archive.rest.tuned,
    )

"""Restores the artifacts of exported models, so that a file answers the same questions as a compilation."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from whence.executables.executable import Executable
from whence.executables.unpacking import artifact_of
from whence.planning.artifact import Artifact
from whence.runtime.loading.exported import Exported
from whence.runtime.loading.loaded import read_package
from whence.runtime.loading.programs import program_file

if TYPE_CHECKING:
    from whence.executables.graph_factory import GraphExecutorFactoryModule


def read_artifact(path: str | PathLike[str]) -> Artifact:
    """The artifact in an exported file. Its plan has no offsets, and parameters may be missing.

    Raises FrontendError when the file is damaged, none that `export_library` wrote, or by another version.
    """
    return artifact_of(read_package(path), str(path))


def read_executable(path: str | PathLike[str], threads: int | None = None) -> Executable:
    """Return what `export_library` wrote, a model that is one native call or a program in which values decide.

    Raises FrontendError when the file is damaged, none that `export_library` wrote, or by another version.
    """
    from whence.executables.reopened import ReopenedExecutable

    if (file := program_file(path)) is not None:
        return ReopenedExecutable(file, threads)
    return Executable(read_artifact(path), threads)


def read_library(path: str | PathLike[str]) -> GraphExecutorFactoryModule:
    """Read an exported result of `relay.build`, which answers every question: `get_node_schedule`, debug modules.

    Errors as `read_artifact`.
    """
    from whence.executables.graph_factory import GraphExecutorFactoryModule
    from whence.explorer.layers import snapshot

    package = read_package(path)
    artifact = artifact_of(package, str(path))
    return GraphExecutorFactoryModule(Executable(artifact), snapshot(artifact, "relay"), package.about(Exported).name)

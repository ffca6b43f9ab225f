"""A compiled model in the form of tvmc: a file and its contents."""

from __future__ import annotations

import shutil
import weakref
from os import PathLike
from pathlib import Path

from whence.runtime.loading.loaded import load_module, read_package
from whence.runtime.values.params import save_param_dict


class TVMCPackage:
    """A file that `whence compile` or tvmc wrote.

    project_dir: the temporary folder of the file, which is removed with this object.
    """

    type = "classic"
    executor_type = "graph"

    def __init__(self, package_path: str | PathLike[str], project_dir: Path | None = None):
        self.package_path = Path(package_path)
        self.project_dir = project_dir
        if project_dir is not None:
            weakref.finalize(self, shutil.rmtree, project_dir, ignore_errors=True)

    @property
    def lib_path(self) -> str:
        return str(self.package_path)

    @property
    def lib_name(self) -> str:
        return self.package_path.name

    @property
    def graph(self) -> str:
        """Return the model in TVM's graph JSON; raises FrontendError for a file that is not ours."""
        return bytes(read_package(self.package_path).part("graph")).decode()

    @property
    def params(self) -> bytes:
        """The parameters as the bytes of a params file; errors as `load_module`."""
        return bytes(save_param_dict(load_module(self.package_path).get_params()))

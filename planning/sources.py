"""The TIR of kernels as files, for debuggers: what the line tables of machine code speak of."""

from __future__ import annotations

import logging
from pathlib import Path

from ..lowering.cache_folder import SOURCES
from ..lowering.kernel.record import Kernel, source_name
from ..support.errors import PipelineError
from ..support.files import replacing

_log = logging.getLogger(__name__)


def source_folder(cache: Path | None) -> str:
    """Return the folder of the sources of the kernels in a cache; "" without a cache."""
    return str(cache.absolute() / SOURCES) if cache is not None else ""


def write_source(kernel: Kernel, folder: str) -> None:
    """Write the TIR of a kernel below `folder` ("": nowhere) unless it lies there; a file appears whole or not at all.

    A folder that cannot be written does no other harm than that debuggers show no source.
    """
    path = Path(folder, source_name(kernel.symbol))
    if not folder:
        return
    content = kernel.tir.encode()
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(content)
    except (OSError, PipelineError) as error:
        _log.info("sources of kernels: cannot write %s (%s)", path, error)

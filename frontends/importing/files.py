"""Model files as bytes."""

from __future__ import annotations

import os
from pathlib import Path

from ...support.errors import FrontendError


def read_model(model: str | os.PathLike[str], kind: str) -> tuple[Path, bytes]:
    """Return the path and the contents of a file, which should be a `kind` model.

    Raises FrontendError when there is none, or it cannot be read.
    """
    path = Path(model)
    try:
        return path, path.read_bytes()
    except FileNotFoundError as error:
        raise FrontendError(f"{path}: expected {_with_article(kind)} model, got no such file") from error
    except OSError as error:
        raise FrontendError(f"{path}: expected a readable {kind} model, got: {error.strerror}") from error


def _with_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"

"""Writing files so that nobody ever sees half of one, and what a killed writer leaves behind is taken away."""

from __future__ import annotations

import errno
import glob
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import PipelineError

try:
    import fcntl
except ImportError:  # no such system
    fcntl = None

_ANONYMOUS = getattr(os, "O_TMPFILE", 0)
"""Opens a file without a name, which goes with its last descriptor; 0 where the system has none."""
_ENDING = ".unfinished"


def _mode() -> int:
    """Return the mode that `open` would give a new file; temporary files are private."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def replacing(path: Path) -> Generator[IO[bytes]]:
    """A stream whose bytes become the file `path` when the scope ends well; otherwise nothing changes.

    They are written to a file without a name, which the system forgets when the writer is killed; where its file
    system has no such files, to one beside `path`, which the next writer of a file in this folder takes away.
    What is no ordinary file (a pipe, /dev/null) is written directly. Raises PipelineError when it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            with open(path, "wb") as stream:
                yield stream
            return
        target = path.resolve()
        _take_away(target.parent)
        handle, temporary = _opened(target)
        try:
            with open(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fchmod(handle, target.stat().st_mode & 0o777 if target.exists() else _mode())
                temporary = temporary or _named(handle, target)
                os.replace(temporary, target)
        except BaseException:
            if temporary is not None:
                with suppress(FileNotFoundError):
                    os.unlink(temporary)
            raise
    except OSError as error:
        raise PipelineError(f"{path}: cannot be written: {error.strerror or error}") from error


def _opened(target: Path) -> tuple[int, str | None]:
    """A descriptor of a new file in the folder of `target`, and its name if it has one."""
    if _ANONYMOUS and Path("/proc/self/fd").is_dir():
        try:
            return os.open(target.parent, _ANONYMOUS | os.O_RDWR | os.O_CLOEXEC, 0o600), None
        except OSError as error:
            # EISDIR: a system that does not know the flag.
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                raise
    while True:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_ENDING, dir=target.parent)
        _lock(handle)
        if os.path.exists(temporary):
            return handle, temporary
        os.close(handle)  # taken away before it was locked


def _named(handle: int, target: Path) -> str:
    """Give a file without a name one beside `target`, from which it can be renamed over it."""
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    _lock(handle)
    try:
        while True:
            name = f".{target.name}.{os.urandom(6).hex()}{_ENDING}"
            with suppress(FileExistsError):
                # With a folder's descriptor, as only then does Python follow the link.
                os.link(f"/proc/self/fd/{handle}", name, dst_dir_fd=folder, follow_symlinks=True)
                return str(target.parent / name)
    finally:
        os.close(folder)


def _take_away(folder: Path) -> None:
    """Remove what writers of ours left in a folder that were killed: nobody has it locked."""
    if fcntl is None:
        return
    for left in folder.glob(f".*{_ENDING}"):
        with suppress(OSError):
            handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(handle, "rb") as stream:
                if os.fstat(handle).st_uid != os.geteuid():
                    continue
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(left)


@contextmanager
def scratch_folder(prefix: str) -> Generator[Path]:
    """A new folder among the system's temporary ones, whose name begins with `prefix`; it goes when the scope ends.

    One whose process was killed stays, and the next who asks for a folder of this prefix takes it away: a folder is
    locked as long as its process lives.
    """
    parent = Path(tempfile.gettempdir())
    for left in parent.glob(f"{glob.escape(prefix)}*"):
        _sweep(left)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        handle = os.open(folder, os.O_RDONLY) if fcntl is not None else -1
        if handle >= 0:
            _lock(handle)
        if folder.exists():
            break
        os.close(handle)  # taken away before it was locked
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle >= 0:
            os.close(handle)


def _sweep(left: Path) -> None:
    """Remove a folder of this user whose process is gone."""
    if fcntl is None:
        return
    with suppress(OSError):
        handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(handle).st_uid == os.getuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(handle)


def _lock(handle: int) -> None:
    """Tell whoever finds the file that its writer lives; where its file system has no locks, nobody takes it away."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)


def write_text(path: Path, text: str) -> None:
    """Write a text file, as a whole or not at all; raises PipelineError when that fails."""
    with replacing(path) as stream:
        stream.write(text.encode())

"""Files that are written whole or not at all. The whole package writes files this way.

A new file replaces the old one in a single step, so that a reader sees either the old file or the
new one, and so does the next reader after a crash or a power cut: the new file is on the disk
before it gets its name. The path is treated as a shell treats ``>``: links are followed, the mode
of a file is kept, a device or a pipe is written to, and a file without write permission is left
alone.

A file that several processes read, change and replace is ``locked`` meanwhile.
"""

from __future__ import annotations

import errno
import os
import random
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from dkmd.base.errors import LockedError

Path = str | os.PathLike[str]

IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)
"""Errors of a file that can be written to but not replaced: the folder cannot be written to, the
owner cannot be kept, or the file is a mount point."""

UNSYNCED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EROFS)
"""Errors of ``os.fsync`` for files that have no disk (pipes, devices) or whose system has none."""

PATIENCE = 20.0
"""Seconds after which a lock that no one releases is an error. To change a store takes far less
than one second, and others who come and go start this time anew."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole. After an error, which names ``path``, the old file is unchanged.

    Parameters
    ----------
    path : path
        A regular file is replaced in one step and keeps its mode and owner; a symbolic link stays,
        and the file that it points to is replaced; a device or a named pipe is written to.
    content : str or bytes
        The whole content. Text is written as UTF-8.

    Raises
    ------
    OSError
        With ``path`` as its file name.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        _write(path, data)
    except OSError as error:
        if error.errno is None:
            raise
        # the system may name the temporary file, which users do not know
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _write(path: Path, data: bytes) -> None:
    """Replace a regular file; write into anything else, and where replacing is not possible."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        _replace(os.path.realpath(path), data, None)
        return
    if not stat.S_ISREG(old.st_mode):
        _write_into(path, data)
        return
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        _replace(os.path.realpath(path), data, old)
    except OSError as error:
        if error.errno not in IN_PLACE:
            raise
        _write_into(path, data)


def _replace(target: str, data: bytes, old: os.stat_result | None) -> None:
    """Write a temporary file beside the target, wait until it is on the disk, then rename it."""
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, f"there is no folder {folder}")
    beside = os.path.join(folder, f".dkmd-{secrets.token_hex(8)}")
    # a new file gets what the umask allows; a replacement is private until it has the old mode
    mode = 0o666 if old is None else 0o600
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if old is not None:
                _keep_owner_and_mode(beside, old)
            _write_through(file, data)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):  # the folder may not be writable
            os.unlink(beside)
        raise
    _sync_folder(folder)


def _write_through(file: BinaryIO, data: bytes) -> None:
    """Write, and wait until the data are on the disk: a full disk may show only then."""
    file.write(data)
    file.flush()
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in UNSYNCED:
            raise


def _sync_folder(folder: str) -> None:
    """Wait until the new name is on the disk, too, where folders can be opened.

    The file is whole under its name by now, so an error here would say that nothing was written.
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _keep_owner_and_mode(path: str, old: os.stat_result) -> None:
    """Give a file the owner and the mode of the file that it will replace."""
    new = os.stat(path)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.chown(path, old.st_uid, old.st_gid)
    os.chmod(path, stat.S_IMODE(old.st_mode))


def _write_into(path: Path, data: bytes) -> None:
    """Write into a device, a pipe, or a file that cannot be replaced."""
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags & ~os.O_CREAT)) as file:
        _write_through(file, data)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a file to this process: others who lock it wait. The lock is a file beside it.

    A process that dies leaves its lock. No one can break such a lock safely: two who find it could
    each remove it, and the second would remove the lock of the first. So it is an error that says
    what to do.

    Raises
    ------
    LockedError
        If the same lock stays for ``PATIENCE`` seconds.
    OSError
        If the folder cannot be written to.
    """
    lock = os.path.realpath(path) + ".lock"
    _take(lock)
    try:
        yield
    finally:
        _release(lock)


def _take(lock: str) -> None:
    """Create the lock as soon as no other process has it."""
    seen, since = None, time.monotonic()
    while True:
        try:
            with open(lock, "x") as file:  # O_CREAT | O_EXCL: one process alone succeeds
                file.write(f"process {os.getpid()}\n")
            return
        except FileExistsError:
            pass
        except PermissionError:  # Windows says this of a lock that is just being removed
            if os.name != "nt":
                raise
        held = _identity(lock)
        if held != seen:
            seen, since = held, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            raise LockedError(
                f"{lock} has been there for more than {PATIENCE:g} s: another process is changing "
                "the file beside it; if none is, delete the lock and try again"
            )
        time.sleep(random.uniform(0.005, 0.03))


def _identity(lock: str) -> tuple[int, int] | None:
    """What tells a lock from the next one; None if it is gone."""
    with suppress(OSError):
        found = os.stat(lock)
        return found.st_ino, found.st_mtime_ns
    return None


def _release(lock: str) -> None:
    """Remove the lock. Windows may need some time if a virus scanner has it open."""
    for attempt in range(50):
        try:
            os.unlink(lock)
            return
        except FileNotFoundError:  # someone has deleted it by hand
            return
        except PermissionError:
            if os.name != "nt" or attempt == 49:
                raise
            time.sleep(0.02)

"""Files that are written whole or not at all: the one way in which this package writes files.

A new file takes the place of the old one in a single step, so a reader sees one or the other. The
path is treated as a shell's ``>`` would treat it: links are followed, the mode of a file is kept,
a device or a pipe is written to, and a file without write permission is left alone.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress

Path = str | os.PathLike[str]

IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)
"""Why a file may not be replaced although it can be written to: the folder is not ours to write
to, the owner cannot be kept, or the file is mounted where it stands."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole; an error names ``path`` and leaves the old file as it was.

    Parameters
    ----------
    path : path
        A regular file is replaced in one step and keeps its mode and owner; a symbolic link stays,
        and the file that it points to is replaced; a device or a named pipe is written to.
    content : str or bytes
        All of it. Text is written as UTF-8.

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
        # the file beside the target, which the system may name, means nothing to anybody
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _write(path: Path, data: bytes) -> None:
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
    """Write beside the target, then rename."""
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, f"there is no folder {folder}")
    beside = os.path.join(folder, f".dkmd-{secrets.token_hex(8)}")
    # what the umask allows for a new file; one that takes a place is private until it has its mode
    mode = 0o666 if old is None else 0o600
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if old is not None:
                _keep_owner_and_mode(beside, old)
            file.write(data)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):  # the folder may not be ours to write to
            os.unlink(beside)
        raise


def _keep_owner_and_mode(path: str, old: os.stat_result) -> None:
    new = os.stat(path)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.chown(path, old.st_uid, old.st_gid)
    os.chmod(path, stat.S_IMODE(old.st_mode))


def _write_into(path: Path, data: bytes) -> None:
    """Write to what is there: a device, a pipe, or a file that cannot be replaced."""
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags & ~os.O_CREAT)) as file:
        file.write(data)

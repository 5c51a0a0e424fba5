"""Files are written whole or not at all, and only where the user asked for them."""

from __future__ import annotations

import errno
import os
import pty
import stat
import subprocess
import sys
import tempfile
import threading
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dkmd.base.whole_files import write_whole


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(
    umask: int, mode: int, tmp_path: Path
) -> None:
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "new", "größe")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == "größe".encode()
    assert _mode(tmp_path / "new") == mode
    assert _names(tmp_path) == ["new"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    target = tmp_path / "page"
    target.write_text("old")
    target.chmod(mode)
    write_whole(target, "new")
    assert (target.read_text(), _mode(target)) == ("new", mode)


def test_a_reader_of_the_old_file_never_sees_the_new_one(tmp_path: Path) -> None:
    target = tmp_path / "page"
    target.write_text("old")
    with target.open() as reading:
        write_whole(target, "new and longer")
        assert reading.read() == "old"
    assert target.read_text() == "new and longer"


def test_links_are_followed(tmp_path: Path) -> None:
    """Links to a file, to a file that does not exist yet, and through another folder."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "there").write_text("old")
    for name, points_to in (("a", "shared/there"), ("b", "shared/to_come"), ("c", "a")):
        (tmp_path / name).symlink_to(points_to)
        write_whole(tmp_path / name, name)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_text() == name
    assert _names(folder) == ["there", "to_come"]
    assert (folder / "there").read_text() == "c"
    assert not (folder / "there").is_symlink()


def test_a_link_that_leads_nowhere_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "lost").symlink_to("gone/page")
    with pytest.raises(OSError, match=f"there is no folder {tmp_path}/gone") as caught:
        write_whole(tmp_path / "lost", "x")
    assert caught.value.filename == str(tmp_path / "lost")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="loop") as caught:
        write_whole(tmp_path / "loop", "x")
    assert caught.value.errno == errno.ELOOP
    assert _names(tmp_path) == ["loop", "lost"]


def test_a_device_is_written_to_and_stays_a_device() -> None:
    """A terminal made for the test, so no real device is at risk."""
    screen, side = pty.openpty()
    tty.setraw(side)
    path = Path(os.ttyname(side))
    write_whole(path, "page")
    assert os.read(screen, 100) == b"page"
    assert stat.S_ISCHR(path.stat().st_mode)
    os.close(side)
    os.close(screen)


def test_a_named_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, "page" * 100_000)
    reader.join()
    assert read == [b"page" * 100_000]
    assert pipe.is_fifo()
    assert _names(tmp_path) == ["pipe"]


@pytest.mark.parametrize("step", ["replace", "chmod"])
def test_a_failed_write_leaves_the_old_file_and_no_other(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "index.html"
    target.write_text("old")

    def fails(*_words: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/of/the/system")

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_whole(target, "new")
    assert caught.value.filename == str(target)
    assert _names(tmp_path) == ["index.html"]
    assert target.read_text() == "old"


@pytest.mark.parametrize("old", [None, "an old text"])
def test_a_file_is_on_the_disk_before_it_gets_its_name(
    old: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First all of its data, then its name, then the name in the folder: no crash loses it."""
    target = tmp_path / "page"
    if old is not None:
        target.write_text(old)
    steps: list[str] = []
    replace, fsync = os.replace, os.fsync

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            assert os.path.samestat(os.fstat(descriptor), tmp_path.stat())
            steps.append(f"folder {target.read_text()}")
        else:
            (beside,) = (path for path in tmp_path.iterdir() if path != target)
            assert os.path.samestat(os.fstat(descriptor), beside.stat())
            steps.append(f"file {beside.read_text()}")

    def replaced(source: str, name: str) -> None:
        replace(source, name)
        steps.append("name")

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_whole(target, "new")
    assert steps == ["file new", "name", "folder new"]


def test_a_disk_that_fails_at_the_end_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Network disks say only then that they are full."""
    target = tmp_path / "page"
    target.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="Disk quota exceeded") as caught:
        write_whole(target, "new")
    assert caught.value.filename == str(target)
    assert (target.read_text(), _names(tmp_path)) == ("old", ["page"])


def test_a_system_that_cannot_wait_for_its_disk_still_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(_descriptor: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", unsupported)
    write_whole(tmp_path / "page", "new")
    assert (tmp_path / "page").read_text() == "new"


@pytest.mark.parametrize("why", [errno.EBUSY, errno.EPERM, errno.EACCES])
def test_a_file_that_cannot_be_replaced_is_written_in_its_place(
    why: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example, a single file mounted into a container, or a folder of another user."""
    target = tmp_path / "summary.md"
    target.write_text("an old text that is longer")
    inode = target.stat().st_ino

    def fails(*_words: Any) -> None:
        raise OSError(why, os.strerror(why))

    monkeypatch.setattr(os, "replace", fails)
    write_whole(target, "new")
    assert (target.read_text(), target.stat().st_ino) == ("new", inode)
    assert _names(tmp_path) == ["summary.md"]


AS_SOMEBODY = """
import os, sys
from dkmd.base.whole_files import write_whole
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    write_whole(sys.argv[1], "new")
except PermissionError as error:
    print(error.filename)
"""
"""Root may write anywhere, so an unprivileged user tries what permissions forbid."""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can reach and write to."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


def _as_somebody(path: Path) -> str:
    """Write as an unprivileged user. Return the file named by the error, if there is one."""
    words = [sys.executable, "-c", AS_SOMEBODY, str(path)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_a_file_without_write_permission_is_left_alone(public: Path) -> None:
    kept = public / "kept"
    kept.write_text("old")
    kept.chmod(0o444)
    assert _as_somebody(kept) == str(kept)
    assert (kept.read_text(), _mode(kept)) == ("old", 0o444)
    assert _names(public) == ["kept"]


def test_a_file_of_others_that_may_be_written_stays_theirs(public: Path) -> None:
    shared = public / "shared"
    shared.write_text("old")
    shared.chmod(0o666)
    owner = shared.stat().st_uid
    assert _as_somebody(shared) == ""
    assert (shared.read_text(), shared.stat().st_uid, _mode(shared)) == ("new", owner, 0o666)
    assert _names(public) == ["shared"]

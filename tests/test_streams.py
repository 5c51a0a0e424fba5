"""Lines of pipes and growing files, and the numbers on them."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from dkmd.base.errors import ColumnError, FileError
from dkmd.sources.streams import lines as module
from dkmd.sources.streams.lines import FileLines, Lines, PipeLines, open_lines
from dkmd.sources.streams.places import Place
from dkmd.sources.streams.records import RecordReader


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for more lines."""
    monkeypatch.setattr(module, "MOMENT", 0.001)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A file of three lines."""
    path = tmp_path / "a.log"
    path.write_text("1\n2\n3\n")
    return path


def reader(path: Path, place: Place | None = None, follow: bool = True) -> FileLines:
    found = open_lines(str(path), follow, place, keep_unfinished=True)
    assert isinstance(found, FileLines)
    return found


def texts(source: FileLines, reads: int = 4) -> list[str]:
    """What some reads return."""
    return [text.decode() for _ in range(reads) for text in source.read().texts]


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_followed_file_returns_lines_as_they_are_finished(log: Path) -> None:
    source = reader(log)
    assert texts(source) == ["1", "2", "3"]
    append(log, "4\n5")
    assert texts(source) == ["4"]
    append(log, "0\n")
    assert texts(source) == ["50"]
    assert not source.ended
    source.close()


def test_line_numbers_go_on_across_reads(log: Path) -> None:
    source = reader(log)
    assert source.read().first == 1
    append(log, "4\n")
    assert source.read() == Lines(4, [b"4"])
    source.close()


def test_a_renamed_file_is_read_to_its_end_before_the_next_one(log: Path) -> None:
    source = reader(log)
    assert texts(source) == ["1", "2", "3"]
    log.rename(log.with_suffix(".1"))
    assert texts(source) == []  # nothing has the old name
    log.write_text("7\n")
    append(log.with_suffix(".1"), "4\n5")  # the writer had not noticed yet
    assert texts(source, 8) == ["4", "5", "7"]
    assert source.place() == Place.at(source._descriptor, 2, 1)
    source.close()


@pytest.mark.parametrize("content", ["9\n", "9\n8\n7\n6\n5\n"])
def test_a_truncated_file_is_read_from_its_start(log: Path, content: str) -> None:
    """Also if it is longer than before by the time it is looked at."""
    source = reader(log)
    texts(source)
    with log.open("r+") as file:  # the same inode
        file.truncate()
        file.write(content)
    assert texts(source) == content.split()
    assert len(source.notes) == 1
    assert "was truncated: it is read from its start" in source.notes[0]
    source.close()


def place_after(log: Path, lines: int) -> Place:
    with log.open("rb") as file:
        for _ in range(lines):
            file.readline()
        return Place.at(file.fileno(), file.tell(), lines)


def test_a_place_resumes_in_the_middle(log: Path) -> None:
    source = reader(log, place_after(log, 1))
    assert source.read() == Lines(2, [b"2", b"3"])
    assert not source.notes
    source.close()


@pytest.mark.parametrize("follow", [False, True])
def test_a_place_is_found_in_a_file_that_was_renamed_meanwhile(log: Path, follow: bool) -> None:
    place = place_after(log, 2)
    log.rename(log.with_suffix(".1"))
    log.write_text("7\n8\n")
    source = reader(log, place, follow)
    assert texts(source, 5) == ["3", "7", "8"]
    assert source.ended is not follow
    source.close()


def test_a_place_is_found_in_a_copy(log: Path, tmp_path: Path) -> None:
    place = place_after(log, 2)
    content = log.read_text()
    (tmp_path / "new").write_text(content + "4\n")
    (tmp_path / "new").replace(log)
    source = reader(log, place)
    assert texts(source) == ["3", "4"]
    source.close()


@pytest.mark.parametrize(
    ("content", "how"), [("9\n8\n7\n6\n", "replaced"), ("9\n", "replaced"), ("", "truncated")]
)
def test_a_place_in_a_file_that_is_gone_starts_anew(log: Path, content: str, how: str) -> None:
    place = place_after(log, 2)
    if how == "truncated":
        os.truncate(log, 0)
    else:
        (log.parent / "other").write_text(content)
        (log.parent / "other").replace(log)
    source = reader(log, place)
    assert texts(source) == content.split()
    assert how in source.notes[0]
    source.close()


def test_an_unfinished_last_line_is_left_for_the_next_run_if_there_is_one(log: Path) -> None:
    append(log, "4")
    source = reader(log, follow=False)
    assert texts(source, 2) == ["1", "2", "3"]
    place = source.place()
    source.close()
    append(log, "5\n")
    again = reader(log, place, follow=False)
    assert texts(again, 2) == ["45"]
    again.close()


def test_an_unfinished_last_line_counts_without_a_next_run(log: Path) -> None:
    append(log, "4")
    source = open_lines(str(log), False, None, keep_unfinished=False)
    assert [t for _ in range(2) for t in source.read().texts] == [b"1", b"2", b"3", b"4"]
    assert source.ended
    source.close()


def test_a_very_long_line_is_cut_and_costs_no_place(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST", 10)
    monkeypatch.setattr(module, "PIECE", 16)
    long = "x" * 100
    log.write_text(f"1\n{long}\n2\n")
    source = reader(log)
    assert texts(source, 20) == ["1", "x" * 10, "2"]
    assert source.place() == place_after(log, 3)
    source.close()


def test_pipes_are_read_to_their_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("1\n2\n3"))
    writer.start()
    source = open_lines(str(pipe), False, None, True)
    assert isinstance(source, PipeLines)
    found: list[bytes] = []
    while not source.ended:
        found += source.read().texts
    writer.join()
    source.close()
    assert found == [b"1", b"2", b"3"]
    assert source.place() is None
    with pytest.raises(FileError, match="--follow needs a file"):
        open_lines("-", True, None, True)


def test_packed_files_are_rejected_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(b"")
    with pytest.raises(FileError, match="zcat"):
        open_lines(str(tmp_path / "a.log.gz"), False, None, True)


@pytest.mark.parametrize(
    "damage", [{"offset": -1}, {"line": 1.5}, {"inode": True}, {"device": None}]
)
def test_a_damaged_place_is_rejected(log: Path, damage: dict[str, object]) -> None:
    good = place_after(log, 1).to_dict()
    assert Place.from_dict(good) == place_after(log, 1)
    with pytest.raises(ValueError, match="whole numbers"):
        Place.from_dict(good | damage)


def numbered(*text: str, first: int = 1) -> Lines:
    return Lines(first, [each.encode() for each in text])


def read(reader: RecordReader, *text: str, first: int = 1) -> tuple[list[float], list[str]]:
    found = reader.read(numbered(*text, first=first))
    return found.values.tolist(), [str(bad) for bad in found.bad]


def test_plain_numbers() -> None:
    reader = RecordReader()
    assert read(reader, "1", "2.5e3\r", "-inf") == ([1.0, 2500.0, -math.inf], [])
    assert reader.format == "numbers"
    values, bad = read(reader, "", "# comment", "true", "NA", "x1", "7", first=4)
    np.testing.assert_equal(values, [1.0, math.nan, 7.0])
    assert bad == ["line 8: 'x1' is not a number"]


def test_csv_has_a_header_that_a_later_file_may_repeat() -> None:
    reader = RecordReader(field="ms")
    values, bad = read(reader, "time;ms;host", "0;1.5;a", "1;;b")
    np.testing.assert_equal(values, [1.5, math.nan])
    assert not bad
    assert read(reader, "host;ms;time", "a;2.5;2") == ([2.5], [])
    assert read(reader, "a;3.5;3", first=7) == ([3.5], [])
    assert read(reader, "a;4.5;3") == ([4.5], [])  # a later file without a header
    values, bad = read(reader, "a;5", "a;x;1", '"b;c";6.5;1', first=9)
    assert values == [6.5]
    assert bad == [
        "line 9: 'a;5' has 2 cells where the header has 3",
        "line 10: 'a;x;1' has no number in 'ms'",
    ]


def test_csv_with_one_column_needs_no_field() -> None:
    reader = RecordReader(by="arm")
    found = reader.read(numbered("arm,latency", "A,1", "B,2"))
    assert (found.values.tolist(), found.arms) == ([1.0, 2.0], ["A", "B"])


def test_json_lines() -> None:
    reader = RecordReader(field="http.ms", by="arm")
    found = reader.read(
        numbered(
            '{"http": {"ms": 1.5}, "arm": "A"}',
            '{"http.ms": "2.5", "arm": 7}',
            '{"http": {"ms": null}, "arm": "A"}',
            '{"other": 1}',
            '{"http": {"ms": [1]}}',
            "{broken",
            '"text"',
            '{"http": {"ms": true}, "arm": "B"}',
            '{"http": {"ms": Infinity}}',
            '{"http": {"ms": -1e400}}',
        )
    )
    np.testing.assert_equal(found.values, [1.5, 2.5, math.nan, math.nan, 1.0, math.inf, -math.inf])
    assert found.arms == ["A", "7", "A", "", "B", "", ""]
    assert [bad.line for bad in found.bad] == [5, 6, 7]
    assert [bad.reason for bad in found.bad] == [
        "has no number in 'http.ms'", "is not JSON", "is not a JSON object",
    ]  # fmt: skip


def test_json_with_one_number_needs_no_field() -> None:
    reader = RecordReader()
    assert read(reader, '{"host": "a", "ok": true, "ms": 3}', '{"ms": 4}')[0] == [3.0, 4.0]
    assert reader.field == "ms"


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        ("a,b,c", None, "say which field to watch with --field: 'a', 'b', 'c'"),
        ("a,b", "c", "has no field 'c': it has 'a', 'b'"),
        ('{"a": 1, "b": 2}', None, "say which field"),
        ("1.5", "a", "one number per line, so there is no field 'a'"),
    ],
)
def test_a_field_that_is_not_clear_is_an_error(line: str, field: str | None, message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        RecordReader(field=field).read(numbered(line))


def test_a_reader_goes_on_from_its_state() -> None:
    first = RecordReader(field="ms")
    read(first, "host|ms")
    second = RecordReader(field="ms")
    second.restore(first.state())
    assert read(second, "a|2", first=5) == ([2.0], [])


def test_malformed_bytes_are_a_malformed_line() -> None:
    reader = RecordReader("numbers")
    found = reader.read(Lines(3, [b"1", b"\xff\xfe", b"2"]))
    assert found.values.tolist() == [1.0, 2.0]
    assert found.bad[0].line == 4
    assert found.lines.tolist() == [3, 5]

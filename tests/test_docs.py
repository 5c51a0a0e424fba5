"""The pages show what commands and Python print: every ``$ dkmd …`` and ``>>>`` block is run again.

``python tests/test_docs.py`` writes the current output into the pages.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import pytest
from shell import ROOT, here

import dkmd

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?<=^```\n)\$ (dkmd .*)\n((?:.*\n)*?)(?=```$)", re.M)


def printed(command: str) -> str:
    """What a command prints when it is run as printed, in the root of the repository."""
    with patch.dict(os.environ, {"COLUMNS": str(WIDTH)}):
        return here(*shlex.split(command)[1:], code=None).stdout


WIDTH = 80
"""The width of the outputs that pages show."""


def _blocks() -> list[tuple[str, str, str]]:
    found = [(page, match) for page in PAGES for match in BLOCK.finditer(page.read_text())]
    return [(page.name, match[1], match[2]) for page, match in found]


def test_the_pages_show_commands() -> None:
    assert len(_blocks()) >= 6


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command", "shown"), _blocks())
def test_a_page_shows_what_a_command_prints(page: str, command: str, shown: str) -> None:
    assert shown == printed(command)


@pytest.mark.slow
def test_the_page_of_the_docs_is_written_as_printed(tmp_path: Path) -> None:
    """By the command and by Python, both with another place for the file."""
    text = (ROOT / "docs" / "report.md").read_text()
    (command,) = re.findall(r"^```\n(dkmd drift .*)\n```$", text, re.M)
    (code,) = re.findall(r"^```python\n((?:.*\n)*?)```$", text, re.M)
    here(*shlex.split(command.replace("drift.html", str(tmp_path / "a.html")))[1:])
    with chdir(ROOT):
        exec(code.replace("drift.html", str(tmp_path / "b.html")), {"dkmd": dkmd})
    pages = [(tmp_path / name).read_text() for name in ("a.html", "b.html")]
    rows = [re.findall(r"<tbody[^>]*>", page) for page in pages]
    assert rows[0] == rows[1]
    assert len(rows[0]) >= 4


PYTHON = re.compile(r"^```python\n(>>> (?:.*\n)*?)```$", re.M)


def _examples() -> list[tuple[str, str]]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [(page.name, match[1]) for page in pages for match in PYTHON.finditer(page.read_text())]


@pytest.mark.slow
def test_readmes_python_prints_the_answer_of_its_first_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"^```python\n(import (?:.*\n)*?)```$", PAGES[0].read_text(), re.M)
    exec(code, {})
    words = " ".join(capsys.readouterr().out.split())
    command = next(command for page, command, _ in _blocks() if page == "README.md")
    expected = " ".join(printed(command).split())
    for old, new in (("before.txt", "reference"), ("after.txt", "current")):
        expected = expected.replace(old, new)
    assert words == expected


@pytest.mark.slow
@pytest.mark.parametrize(("page", "code"), _examples())
def test_a_page_shows_what_python_answers(
    page: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    example = doctest.DocTestParser().get_doctest(code, {}, page, page, 0)
    outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example)
    assert outcome.attempted > 0
    assert outcome.failed == 0


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(BLOCK.sub(lambda m: f"$ {m[1]}\n{printed(m[1])}", path.read_text()))

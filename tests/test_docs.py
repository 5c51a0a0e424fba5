"""The pages show what commands and Python print: every ``$ dkmd …`` and ``>>>`` block is run again.

``python tests/test_docs.py`` writes the current output into the pages.
"""

from __future__ import annotations

import doctest
import re
import shlex

import pytest
from shell import ROOT, here

PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("compare.md", "engines.md", "gate.md")),
]
BLOCK = re.compile(r"(?<=^```\n)\$ (dkmd .*)\n((?:.*\n)*?)(?=```$)", re.M)


def printed(command: str) -> str:
    """What a command prints when run in the folder of the shipped file that it names."""
    words = shlex.split(command)[1:]
    folders = [ROOT / "examples" / name for name in ("data", "bench", "bench/suite")]
    there = [f for f in folders if any(list(f.glob(word)) for word in words)]
    folder = [*there, *folders][0]
    return here(*words, cwd=folder, code=None).stdout


def _blocks() -> list[tuple[str, str, str]]:
    found = [(page, match) for page in PAGES for match in BLOCK.finditer(page.read_text())]
    return [(page.name, match[1], match[2]) for page, match in found]


def test_the_pages_show_commands() -> None:
    assert len(_blocks()) >= 6


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command", "shown"), _blocks())
def test_a_page_shows_what_a_command_prints(page: str, command: str, shown: str) -> None:
    assert shown == printed(command)


PYTHON = re.compile(r"^```python\n(>>> (?:.*\n)*?)```$", re.M)


def _examples() -> list[tuple[str, str]]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [(page.name, match[1]) for page in pages for match in PYTHON.finditer(page.read_text())]


def test_readme_shows_python() -> None:
    assert any(page == "README.md" for page, _ in _examples())


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

"""How many columns of a terminal a text takes: most characters take one, CJK and emoji take two."""

from __future__ import annotations

from itertools import accumulate

ELLIPSIS = "…"


def width_of(text: str) -> int:
    """The columns that a text takes on a terminal.

    Examples
    --------
    >>> width_of("sort"), width_of("排序"), width_of("🚀")
    (4, 4, 2)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def padded(text: str, width: int, right: bool = False) -> str:
    """A text with spaces up to a width: after it, or before it if it is aligned to the right."""
    spaces = " " * max(0, width - width_of(text))
    return spaces + text if right else text + spaces


def shortened(text: str, width: int) -> str:
    """A text that fits a width. The middle gives way to "…", because names often differ at the end.

    Examples
    --------
    >>> shortened("test_sort.py::test_sort[1000000]", 20)
    'test_sor…rt[1000000]'
    >>> shortened("基准测试排序", 8), shortened("sort", 8), shortened("sort", 1)
    ('基…排序', 'sort', '…')
    """
    if width_of(text) <= width:
        return text
    room = max(0, width - 1)
    start = _prefix(text, (room + 1) * 2 // 5)
    end = _prefix(text[::-1], room - width_of(start))[::-1]
    return start + ELLIPSIS + end


def _prefix(text: str, width: int) -> str:
    """The longest start of a text that fits a width."""
    if text.isascii():
        return text[: max(0, width)]
    ends = accumulate(map(width_of, text))
    return text[: sum(end <= width for end in ends)]

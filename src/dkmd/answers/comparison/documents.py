"""Answers as JSON that any parser reads, and as pages: what all kinds of answers share."""

from __future__ import annotations

import json
import math
import os
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dkmd.answers.page import Answer

FORMAT_VERSION = 2
"""The version of ``to_dict`` and of the command line's JSON; schema/answers.json describes it."""


class Paged:
    """An answer that can be written as a page."""

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        command: str | None = None,
        advance: Callable[[int, int], None] | None = None,
    ) -> None:
        """Write a page with the answer and its figures: one self-contained HTML file.

        ``command`` is the shell command that the page shows; by default it follows from the call.
        ``advance`` is called with the number of rows that are done and their total.
        """
        from dkmd.answers.page import write_page

        write_page(cast("Answer", self), path, command, advance)


class Documented(Paged):
    """An answer that can be written as JSON and as a page."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded, under the names of the JSON schema."""

    def to_json(self, indent: int | None = None) -> str:
        """``to_dict`` as JSON: NaN is null, infinities are "inf" and "-inf"."""
        return to_json(self.to_dict(), indent)


def to_json(document: Any, indent: int | None = None) -> str:
    """JSON that any parser reads: NaN is null, infinities are "inf" and "-inf"."""
    return json.dumps(_plain(document), indent=indent, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """The same document without NaN and infinities."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else f"{value:.0f}"
    return value

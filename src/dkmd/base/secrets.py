"""Messages of engines and URLs, in one line and without passwords."""

from __future__ import annotations

import re


def gist(error: BaseException) -> str:
    """The first line of an engine's message, without the error's class and without passwords."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # some parsers underline text
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("LINE ", "^"))]
    words = re.sub(r"^[A-Z][A-Za-z ]*Error: ", "", lines[0]) if lines else type(error).__name__
    words = f"{words} {lines[1]}" if len(lines) > 1 and len(words) < 60 else words
    words = words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
    return without_password(re.sub(r"://[^@/\s]*@", "://…@", words))


LONGEST = 300
"""Characters of an engine's message that are shown; it may quote a whole line of a file."""


def without_password(text: str) -> str:
    """Hide the secrets of URLs and settings in a text. When in doubt, hide more.

    Examples
    --------
    >>> without_password("cannot open postgresql://me:s3/cr@et@host/db?sslpassword=s3cret")
    'cannot open postgresql://me:***@host/db?sslpassword=***'
    >>> without_password("host=db password='my secret' user=me")
    'host=db password=*** user=me'
    >>> without_password("https://host/a.parquet?sig=s3cret&part=1")
    'https://host/a.parquet?sig=***&part=1'
    """
    hidden = re.sub(r"(:/{1,2}[^:/@\s]*):.*@", r"\1:***@", text)
    return SECRET.sub(r"\1***", hidden)


SECRET = re.compile(
    r"""(\b[\w-]*(?:password|passwd|pwd|token|secret|signature|credential|api_?key|access_?key|sig)=)
    (?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^&\s;]*)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A setting whose name says that its value is secret, with or without quotes."""

"""URLs of databases: recognised, checked, and shown without passwords."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from dkmd.base.secrets import without_password

URL = re.compile(r"^([a-z][a-z0-9]*)(\+[a-z0-9_]+)?://", re.IGNORECASE)
"""The start of a database URL: the engine and, as in SQLAlchemy, the driver."""


def is_url(source: Any) -> bool:
    """Whether this is the URL of a database."""
    return isinstance(source, str) and URL.match(source) is not None


def require_readable_url(url: str) -> None:
    """Reject a URL whose password would be read as something else; the error does not show it."""
    rest = url.partition("://")[2]
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    later = rest[len(host) :]
    astray = "@" in later and not re.fullmatch(r"[^@?#]*\?[\w.-]+=.*", later)
    with suppress(ValueError):  # the port or the address may be invalid
        _ = urlsplit(url).port
        if not (":" in host and astray):
            return
    raise ValueError(
        "the URL of the database cannot be read: percent-encode the password "
        "(/ is %2F, # is %23, ? is %3F, @ is %40, [ is %5B), and give the port as a number"
    )


def shown(url: str) -> str:
    """A URL without user, password and settings."""
    scheme, _, rest = url.partition("://")
    place = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = place.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def without_secrets(words: str, url: str) -> str:
    """A message without the password of the URL that it may quote."""
    password = urlsplit(url).password
    for secret in {password, unquote(password)} if password else ():
        words = words.replace(secret, "…")
    return without_password(words)

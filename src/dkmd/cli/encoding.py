"""Output in encodings without all our signs: "->" for → instead of "?"."""

from __future__ import annotations

import codecs
import json
import re
import sys

from dkmd.base.wording import visible

HANDLER = "dkmd-plain"

PLAIN = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "━": "-", "─": "-", "→": "->", "←": "<-", "…": "...",
    "‘": "'", "’": "'", "“": '"', "”": '"', "≤": "<=", "≥": ">=", "≈": "~", "±": "+-", "×": "x",
    "·": "*", "∞": "inf", "√": "sqrt", "²": "2", "µ": "u", "μ": "u", "σ": "sigma", "Σ": "sum",
    "✓": "+", "✗": "x", "ψ": "psi", "δ": "delta", "α": "alpha", "\xa0": " ", "\u202f": " ",
    "\u2009": " ",
}  # fmt: skip
"""Signs that the package writes, in ASCII."""


def spell_out_signs() -> None:
    """Make standard output and standard error write PLAIN for signs that they cannot encode."""
    codecs.register_error(HANDLER, _plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=HANDLER)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """The error handler of codecs: the replacement, and the position to go on from."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(PLAIN.get(sign, "?") for sign in signs), error.end


def json_for(text: str, encoding: str | None) -> str:
    r"""JSON with escapes for control characters and for characters that an encoding lacks.

    Examples
    --------
    >>> print(json_for('{"größe": "→"}', "ascii"), json_for('{"größe": 1}', "utf-8"))
    {"gr\u00f6\u00dfe": "\u2192"} {"größe": 1}
    """
    try:
        text.encode(encoding or "utf-8")
        shown = True
    except UnicodeEncodeError:
        shown = False

    def spelled(sign: re.Match[str]) -> str:
        if shown and visible(sign[0]) == sign[0]:
            return sign[0]
        # json.dumps escapes all but ASCII, and DEL is ASCII
        return json.dumps(sign[0])[1:-1] if sign[0] > "\x7f" else f"\\u{ord(sign[0]):04x}"

    return re.sub(r"[^ -~\n]", spelled, text)

"""Settings of ``dkmd gate`` from a file: ``[tool.dkmd.gate]`` in pyproject.toml, or any TOML file.

The nearest pyproject.toml with that table counts, from the working directory upwards. Unknown keys
are errors, because a misspelt margin would be ignored. Options of the command line go before.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dkmd.base.defaults import ALPHA

if TYPE_CHECKING:
    from dkmd.answers.gate import Rule

PROJECT_FILE = "pyproject.toml"
TABLE = "tool.dkmd.gate"
BENCHMARKS = "benchmarks"

CHOICES = {
    "worse": ("higher", "lower"),
    "missing": ("warn", "fail"),
    "inconclusive": ("pass", "fail", "3"),
}
OF_BENCHMARKS = ("margin", "worse")
KEYS = ("margin", "worse", "alpha", "missing", "inconclusive", BENCHMARKS)


@dataclass(frozen=True)
class GateSettings:
    """What a gate can be told, and the file that told it (empty: only the command line)."""

    margin: float | str = "5%"
    worse: str | None = None
    alpha: float = ALPHA
    missing: str = "warn"
    inconclusive: str = "3"
    rules: Mapping[str, Rule] = field(default_factory=dict)
    source: str = ""

    def with_options(self, **options: Any) -> GateSettings:
        """The same settings with the options that were given (not None) in place of the file's.

        A margin or a direction from the command line also replaces those of single benchmarks.
        """
        given = {key: value for key, value in options.items() if value is not None}
        single = {key: None for key in OF_BENCHMARKS if key in given}
        rules = {pattern: rule._replace(**single) for pattern, rule in self.rules.items()}
        return replace(self, rules=rules, **given)


def read_settings(config: Path | None) -> GateSettings:
    """The settings of a file, or of the nearest pyproject.toml that has some; else the defaults."""
    if config is not None:
        document = _read(config)
        return _settings(_own_table(document) if "tool" in document else document, str(config))
    here = Path.cwd()
    for folder in (here, *here.parents):
        path = folder / PROJECT_FILE
        if path.is_file():
            found = _own_table(_read(path))
            if found is not None:
                return _settings(found, _shown(path, here))
    return GateSettings()


def _shown(path: Path, here: Path) -> str:
    """A path from the working directory, where it lies in it."""
    return path.name if path.parent == here else str(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from None


def _own_table(document: Mapping[str, Any]) -> Any:
    """The table [tool.dkmd.gate]; None if there is none."""
    found: Any = document
    for key in TABLE.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _settings(table: Any, source: str) -> GateSettings:
    """Checked settings."""
    if table is None:
        raise ValueError(f"{source} has no table [{TABLE}]")
    _require_keys(table, KEYS, source, "")
    from dkmd.answers.gate import Rule

    rules = {}
    for pattern, own in _table(table.get(BENCHMARKS, {}), source, BENCHMARKS).items():
        where = f"{BENCHMARKS}.{pattern!r}"
        _require_keys(own, OF_BENCHMARKS, source, where)
        rules[pattern] = Rule(_margin(own, source, where), _choice(own, "worse", source, where))
    found: dict[str, Any] = {
        "margin": _margin(table, source, ""),
        "alpha": _number(table, "alpha", source),
        **{key: _choice(table, key, source, "") for key in CHOICES},
    }
    given = {key: value for key, value in found.items() if value is not None}
    return GateSettings(rules=rules, source=source, **given)


def _table(value: Any, source: str, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{source}: {where or TABLE} must be a table, got {value!r}")
    return value


def _require_keys(table: Any, known: tuple[str, ...], source: str, where: str) -> None:
    """Reject unknown keys, with the one that may have been meant."""
    for key in _table(table, source, where):
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise ValueError(f"{source}: unknown key {key!r} in {where or TABLE}: {hint}")


def _margin(table: Mapping[str, Any], source: str, where: str) -> float | str | None:
    value = table.get("margin")
    if isinstance(value, bool) or not isinstance(value, int | float | str | None):
        raise ValueError(f"{source}: margin in {where or TABLE} must be a text such as '3%'")
    return float(value) if isinstance(value, int | float) else value


def _number(table: Mapping[str, Any], key: str, source: str) -> float | None:
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise ValueError(f"{source}: {key} must be a number, got {value!r}")
    return None if value is None else float(value)


def _choice(table: Mapping[str, Any], key: str, source: str, where: str) -> str | None:
    value = table.get(key)
    if value is not None and value not in CHOICES[key]:
        allowed = " or ".join(repr(choice) for choice in CHOICES[key])
        raise ValueError(f"{source}: {key} in {where or TABLE} must be {allowed}, got {value!r}")
    return value

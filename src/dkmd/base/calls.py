"""A record of how an answer was asked for, to repeat the call in Python or at a shell.

A ``Call`` keeps paths and options as they were given. Data in memory have no name, so they appear
as ``reference``, ``current`` or ``table``.
"""

from __future__ import annotations

import glob
import inspect
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

from dkmd.base.secrets import without_password

FLAGS = (
    "column", "by", "reference", "current", "margin", "kind", "groups", "pair_by", "weigh", "worse",
    "alpha",
    "expect_ratio", "most_levels", "decimal",
)  # fmt: skip
"""Options that the command line has under the same names, with dashes."""

SEVERAL = {
    "columns": "--column",
    "column": "--column",
    "together": "--together",
    "table": "--table",
    "percentiles": "--percentile",
    "segments": "--segments",
    "also_reference": "--also-reference",
    "also_current": "--also-current",
    "history": "--history",
    "covariate": "--covariate",
    "strata": "--strata",
    "weights": "--weight-column",
    "counts": "--count-column",
}
"""Options that the command line repeats for each value."""

SWITCHES = ("randomized", "cross")
"""Options that are true or false."""


@dataclass(frozen=True)
class Call:
    """A function of the package, the paths it was given (None: data in memory) and its options.

    Examples
    --------
    >>> call = Call("compare", ("before.csv", "after today.csv"), {"margin": "2%"})
    >>> print(call.python())
    dkmd.compare('before.csv', 'after today.csv', margin='2%')
    >>> print(call.command())
    dkmd compare before.csv 'after today.csv' --margin 2%
    """

    function: str
    sources: tuple[str | None, ...]
    options: Mapping[str, Any]

    def python(self) -> str:
        """The call in Python."""
        names = self._names()
        given = [
            repr(path) if path is not None else name
            for path, name in zip(self.sources, names, strict=True)
        ]
        if self.function == "gate":
            return self._gate(given)
        options = [f"{key}={_written(key, value)}" for key, value in self.options.items()]
        return f"dkmd.{self.function}({', '.join([*given, *options])})"

    def command(self) -> str | None:
        """The call at a shell; None if data are in memory or an option has no flag."""
        words = ["dkmd", self.function]
        for path in self.sources:
            if path is None:
                return None
            words += [path] if "table" not in self.options else ["--connect", path]
        for key, value in self.options.items():
            if key in SWITCHES:
                words += [f"--{key}"] if value else []
            elif key in SEVERAL and not _is_plain(value):
                return None
            elif key in SEVERAL:
                several = [value] if isinstance(value, str | int) else value
                words += [word for each in several for word in (SEVERAL[key], str(each))]
            elif key == "expect_ratio" and not isinstance(value, str):
                words += ["--expect-ratio", ":".join(f"{part:g}" for part in value)]
            elif key == "most_levels" and value is None:
                words += ["--all-levels"]
            elif isinstance(value, Mapping) and key in FLAGS:
                words += [word for name in value for word in (f"--{key}", f"{name}={value[name]}")]
            elif key in FLAGS and isinstance(value, str | int | float):
                words += [f"--{key.replace('_', '-')}", str(value)]
            else:
                return None
        return shlex.join(words)

    def in_memory(self) -> list[str]:
        """The names that stand for data and options that cannot be written out."""
        sources = zip(self.sources, self._names(), strict=True)
        options = (key for key, value in self.options.items() if not _is_plain(value))
        return [*(name for path, name in sources if path is None), *options]

    def of_row(self, name: str, column: str = "", level: str = "") -> Call:
        """The call for one row of the answer: a level, or a column of a drift.

        ``column`` and ``level`` are those of the row, where the answer has several columns.
        """
        if self.function == "drift":
            kept = {key: value for key, value in self.options.items() if key != "columns"}
            if isinstance(kept.get("kind"), Mapping):
                kept |= {"kind": kept["kind"].get(name)}
                kept = {key: value for key, value in kept.items() if value is not None}
            return Call("compare", self.sources, {"column": name} | kept)
        if isinstance(self.options.get("column"), list | tuple):
            at = {"current": level} if "by" in self.options else {}
            return replace(self, options={**self.options, "column": column, **at})
        if "by" in self.options:
            return replace(self, options={**self.options, "current": name})
        return self

    def read_from(self, paths: tuple[str, ...], **options: str | list[str] | None) -> Call:
        """The same call with the files that the data were read from, and the options of reading."""
        given = {key: value for key, value in options.items() if value}
        return replace(self, sources=paths, options=given | dict(self.options) | given)

    def _names(self) -> tuple[str, ...]:
        return ("table",) if len(self.sources) == 1 else ("reference", "current")

    def _gate(self, given: list[str]) -> str:
        """The call of a gate: files are loaded first, with the options for tables."""
        in_tables = ("column", "by", "groups", "pair_by")
        loading = {k: v for k, v in self.options.items() if k in in_tables}
        more = {k: v for k, v in self.options.items() if k.startswith("also_")}
        for_files = loading.keys() - {"pair_by"}
        judging = {k: v for k, v in self.options.items() if k not in for_files and k not in more}
        how = "".join(f", {key}={_written(key, value)}" for key, value in loading.items())
        names, sides = {"gate"}, []
        for path, name, also in zip(self.sources, given, ("reference", "current"), strict=True):
            others = "".join(f", {other!r}" for other in more.get(f"also_{also}", ()))
            load = "load_runs" if others or _may_be_several(path) else "load_benchmarks"
            sides.append(f"{load}({name}{others}{how})" if path is not None else name)
            names |= {load} if path is not None else set()
        options = [f"{key}={_written(key, value)}" for key, value in judging.items()]
        if isinstance(judging.get("history"), list):  # paths, not runs in memory
            names.add("read_histories")
            options = [
                f"history=read_histories({judging['history']!r})" if o.startswith("history=") else o
                for o in options
            ]
        imported = ", ".join(sorted(names))
        return f"from dkmd.answers.gate import {imported}\ngate({', '.join([*sides, *options])})"


def _may_be_several(path: str | None) -> bool:
    """Whether a path names a folder or a pattern, which may hold several runs."""
    return path is not None and (
        os.path.isdir(path) or (glob.has_magic(path) and not os.path.exists(path))
    )


def _written(key: str, value: Any) -> str:
    """A value as Python code; the name of its option if the value cannot be written out."""
    if isinstance(value, float):
        return repr(float(value))  # the repr of a NumPy float is np.float64(…)
    return repr(value) if _is_plain(value) else key


def _is_plain(value: Any) -> bool:
    """Whether a value is short and can be written as Python code."""
    if isinstance(value, Mapping):
        return len(value) <= 100 and all(isinstance(item, str) for item in value.values())
    if isinstance(value, list | tuple):
        return len(value) <= 100 and all(isinstance(item, str | int | float) for item in value)
    return value is None or isinstance(value, str | int | float)


class Answer(Protocol):
    """An answer that keeps a record of its call."""

    def with_call(self, call: Call) -> Self:
        """The same answer with this call."""


P = ParamSpec("P")
A = TypeVar("A")

_SOURCES = ("samples", "reference", "current")
_NO_OPTIONS = ("advance",)


def recorded(function: Callable[P, A]) -> Callable[P, A]:
    """Decorate a function so that its answers keep a record of the call."""
    signature = inspect.signature(function)

    @wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> A:
        answer = function(*args, **kwargs)
        given = signature.bind(*args, **kwargs).arguments
        call = _call(function.__name__, given, signature)
        return cast(A, cast(Answer, answer).with_call(call))

    return asked


def _call(name: str, given: Mapping[str, Any], signature: inspect.Signature) -> Call:
    """The record of a call. With ``by``, reference and current are levels and count as options."""
    levels = given.get("by") is not None
    sources = list(given.get("samples", ()))
    if not levels:
        sources += [given[k] for k in ("reference", "current") if given.get(k) is not None]
    skipped = {*_NO_OPTIONS, *(_SOURCES if not levels else _SOURCES[:1])}
    options = {
        key: value
        for key, value in sorted(given.items(), key=lambda item: _place(item[0]))
        if key not in skipped and not _is_default(value, signature.parameters[key].default)
    }
    return Call(name, tuple(_path(source) for source in sources), options)


def _place(option: str) -> int:
    """The sort key of an option. Options that say what is compared come first."""
    return FLAGS.index(option) if option in FLAGS else len(FLAGS)


def _path(source: Any) -> str | None:
    """The path of a source without passwords; None for data in memory."""
    if not isinstance(source, str | os.PathLike):
        return None
    return without_password(os.fspath(source))


def _is_default(value: Any, default: Any) -> bool:
    """Whether an option has its default value, so that the record can leave it out."""
    return value is default or (_is_plain(value) and bool(value == default))

"""The one palette of pages, notebooks and plots: a grey reference, one accent up and one down.

Orange and blue are distinguishable with any type of colour blindness and in grey, and colour is
never the only sign of a meaning. ``ROLES`` says how each part of a figure is painted. A page paints
by CSS classes, which follow light and dark. A notebook keeps no styles, so it gets attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

LIGHT: dict[str, str] = {
    "paper": "#ffffff",
    "wash": "#f5f6f8",
    "line": "#dfe3e8",
    "ink": "#1d2530",
    "muted": "#586474",
    "reference": "#76828f",
    "band": "#e9edf2",
    "up": "#b8480a",
    "down": "#1c5fbf",
    "flat": "#3a4350",
}
DARK: dict[str, str] = {
    "paper": "#11151b",
    "wash": "#191f27",
    "line": "#2c343f",
    "ink": "#e8ebf0",
    "muted": "#a0abba",
    "reference": "#8d99a8",
    "band": "#242c37",
    "up": "#ff9a52",
    "down": "#74abff",
    "flat": "#ccd3dd",
}
ESTIMATORS_LIGHT: dict[str, str] = {
    "exact": "#175cd3",
    "riemann": "#e8710a",
    "printed": "#1d2531",  # looks like ink, but must differ from it to get its own variable
    "other": "#0e9384",
}
"""The estimators in the figures of the paper: dark, light, ink and middle, so distinct in grey."""

ESTIMATORS_DARK: dict[str, str] = {
    "exact": "#6ea8fe",
    "riemann": "#ff9f45",
    "printed": "#e8ebf0",
    "other": "#3fc1b0",
}
EITHER: dict[str, str] = {
    **LIGHT,
    # for light and dark backgrounds: middle tones, and text in the colour of the text around it
    "line": "#9aa4b1",
    "ink": "currentColor",
    "muted": "currentColor",
    "reference": "#87929f",
    "band": "#8894a3",
    "up": "#d8640f",
    "down": "#3d82e6",
    "flat": "currentColor",
}

ROLES: Mapping[str, Mapping[str, str]] = {
    # reference: area, line, centre, bars
    "ra": {
        "fill": "reference",
        "fill-opacity": ".2",
        "stroke": "reference",
        "stroke-width": "1.5",
    },
    "rl": {"fill": "none", "stroke": "reference", "stroke-width": "1.5"},
    "rc": {"stroke": "reference", "stroke-width": "1.25", "stroke-dasharray": "2 3"},
    "rb": {"stroke": "reference", "stroke-width": "4", "stroke-opacity": ".75"},
    "rs": {"stroke": "reference", "stroke-width": "2", "stroke-opacity": ".75"},
    # current: the same
    "ca": {"fill": "now", "fill-opacity": ".12", "stroke": "now", "stroke-width": "1.75"},
    "cl": {"fill": "none", "stroke": "now", "stroke-width": "1.75"},
    "cc": {"stroke": "now", "stroke-width": "1.25", "stroke-dasharray": "2 3"},
    "cb": {"stroke": "now", "stroke-width": "4"},
    "cs": {"stroke": "now", "stroke-width": "2"},
    "ax": {"fill": "none", "stroke": "line"},  # axes, zero, the margin
    "gr": {"stroke": "line", "stroke-opacity": ".6"},
    "ze": {"stroke": "muted", "stroke-opacity": ".7"},
    "bd": {"fill": "band"},
    "ci": {"fill": "now", "fill-opacity": ".12"},
    "iv": {"fill": "none", "stroke": "now", "stroke-width": "2"},  # interval and its middle
    "pt": {"fill": "now"},
    "do": {"stroke": "now", "stroke-width": "7", "stroke-linecap": "round"},
    # text: small, right-aligned, centred, and the amount of the shift
    "tx": {"fill": "muted", "font-size": "11"},
    "te": {"fill": "muted", "font-size": "11", "text-anchor": "end"},
    "tm": {"fill": "muted", "font-size": "11", "text-anchor": "middle"},
    "am": {"fill": "now", "font-size": "12", "font-weight": "600", "text-anchor": "middle"},
}
"""How each part is painted; ``now`` is the colour of current: up, down or flat."""

_COLOURED = ("fill", "stroke")

Paint = Callable[[str], str]
"""Turns a role into the attributes of an element."""


def on_page(role: str) -> str:
    """A class that ``roles_css`` styles."""
    return f'class="{role}"'


def in_notebook(kind: str) -> Paint:
    """Attributes in colours for any background; ``kind`` is the colour of current."""

    def paint(role: str) -> str:
        return " ".join(
            f'{name}="{_colour(name, value, kind)}"' for name, value in ROLES[role].items()
        )

    return paint


def palette_css(light: Mapping[str, str] = LIGHT, dark: Mapping[str, str] = DARK) -> str:
    """The palettes as CSS variables; print and readers without a preference get the light one."""
    on_light, on_dark = (
        ";".join(f"--{name}:{colour}" for name, colour in palette.items())
        for palette in (light, dark)
    )
    return (
        f":root{{{on_light};--now:var(--flat)}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{on_dark}}}}}"
    )


def roles_css() -> str:
    """A rule for each role, and one for each colour of current."""
    rules = [f".{kind}{{--now:var(--{kind})}}" for kind in ("up", "down", "flat")]
    for role, looks in ROLES.items():
        painted = (
            f"{name}:{f'var(--{value})' if _is_colour(name, value) else value}{_css_unit(name)}"
            for name, value in looks.items()
        )
        rules.append(f".{role}{{{';'.join(painted)}}}")
    return "".join(rules)


def _colour(name: str, value: str, kind: str) -> str:
    if not _is_colour(name, value):
        return value
    return EITHER[kind if value == "now" else value]


def _css_unit(name: str) -> str:
    """CSS needs a unit where an SVG attribute does not."""
    return "px" if name == "font-size" else ""


def _is_colour(name: str, value: str) -> bool:
    return name in _COLOURED and value != "none"

"""Why other statistics differ from dkmd: one plain sentence for each kind of difference."""

from __future__ import annotations

from collections.abc import Iterator

from dkmd.answers.opinions import NONE, Opinion, Opinions


def reasons(said: Opinions, alpha: float, grouped: bool, infinite: bool) -> list[str]:
    """What to know before comparing the p-values of several statistics."""
    own, *others = (row for row in said.rows if not row.of_spread)
    found = list(_differences(own, others, alpha, infinite))
    if grouped:
        found.append(
            "The others treat every value as independent; dkmd counted groups. Their p-values are "
            "too small here."
        )
    return found or [_agreement(own, others, alpha)]


def _differences(
    own: Opinion, others: list[Opinion], alpha: float, infinite: bool
) -> Iterator[str]:
    mean, welch, ranks, shape, *_ = others
    if infinite:
        yield (
            "With infinite values there is no mean and no MMD². dkmd treats them simply as very "
            "large or very small."
        )
    elif _opposed(own, mean) and min(own.pvalue, welch.pvalue) < alpha:
        yield (
            "The mean points the other way, because a few extreme values dominate it. In dkmd an "
            "extreme value counts no more than any other large value."
        )
    elif _surer(own, welch, alpha):
        yield "Welch’s test is less sure: extreme values widen its error, but not that of dkmd."
    elif _surer(welch, own, alpha):
        yield (
            "Welch’s test sees a change of the mean that dkmd does not see in the bulk of the "
            "values: it lies in the tails."
        )
    if _surer(ranks, own, alpha):
        yield (
            "Mann–Whitney is significant where dkmd is not. Its p-value assumes equal shapes, and "
            "a change of spread alone can make it small."
        )
    elif _opposed(own, ranks) and own.pvalue < alpha:
        yield "Mann–Whitney counts pairs, whatever their distance, and most lean the other way."
    if _surer(shape, own, alpha):
        yield (
            "Kolmogorov–Smirnov responds to any change of shape: the spread or the tails differ, "
            "but there is no clear shift."
        )


MUCH = 5.0


def _surer(one: Opinion, other: Opinion, alpha: float) -> bool:
    """Whether one is significant and the other clearly is not: p-values always differ a little."""
    return one.pvalue < alpha <= other.pvalue and other.pvalue > MUCH * one.pvalue


def _opposed(one: Opinion, other: Opinion) -> bool:
    return NONE not in (one.direction, other.direction) and one.direction != other.direction


def _agreement(own: Opinion, others: list[Opinion], alpha: float) -> str:
    tested = [o for o in others if o.pvalue == o.pvalue]
    if own.pvalue < alpha and all(o.pvalue < alpha for o in tested):
        return "They agree: the change is clear to all of them."
    if not own.pvalue < alpha and not any(o.pvalue < alpha for o in tested):
        return "They agree: none of them sees a clear change."
    if any(_opposed(own, other) for other in tested):
        return "They point different ways, and none of them clearly."
    return "They agree on the direction; some are a little surer than others."

"""Messages: warnings, and how values, rows, names and numbers are written in text.

Rows are numbered from 0. A table does not know the numbers of its rows: it reports how many were
dropped, not which.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING_LEVEL = "missing"  # the level that missing="group" makes

WHOLE = re.compile(r"-?(0|[1-9]\d*)\.0+")  # a whole number, as text of other software may have it

# in names: a minus sign stands at the beginning or after a blank, and a bin "below 9" is before 9
NUMBERS = re.compile(r"(?:\bbelow )?((?:(?<![^\s(\[,])-)?(?:\d+(?:\.\d+)?|\binf\b))")

SIMILAR = 0.6  # similarity, of 1, from which a name is suggested

MESSAGES = {  # of warnings, by their codes
    "dropped_rows": "rows dropped, sensitive_features is missing: {}",
    "missing_as_group": f'rows put in the level "{MISSING_LEVEL}" of sensitive_features: {{}}',
    "alike_levels": "{} has levels that differ only in case or spaces: {}; write equal ones alike",
    "blank_levels": "{} has levels that read as missing: {}; they are groups; if they are missing, "
    "leave them empty",
    "ties_with_threshold": "rows with a score equal to the threshold, counted as positive: {}; a "
    "threshold just above makes them negative",
    "shared_clusters": "parts of clusters that are in several groups: {}; each part counts as a "
    "cluster, so that intervals of differences may be too wide or too narrow",
    "label_prob": "labels-only weights each label by 1 / label_prob; prediction-powered needs it "
    "equal in a group; the posterior does not need it if rows were chosen by score and group alone",
    "label_error": "labels are taken to be wrong: {}, the same for all rows; labels-only and "
    "prediction-powered estimates, and forecasts of more labels, take them as right",
    "no_labels": "no row is labeled; all but selection rates rest on the prior alone; label some",
    "one_class": "every labeled row is {0}: the scores of {1} rows are unknown; if rows are "
    "unlabeled because they are {1}, label them",
    "unlabeled_group": "no labels in {}: estimates rest on other groups and the prior; label some",
    "one_class_group": "only {} labels in {}: label more of their rows, where any are left",
    "clipped_scores": "{:.0%} of the scores lie outside [{:g}, {:g}] and were clipped, so each end "
    "has one calibrated probability; if such scores differ in meaning, pass a smaller clip",
    "no_scores": "there are decisions and no scores: the model is one rate of positives for each "
    "decision in each group, without a curve; metrics of scores are undefined; y_score would add",
    "degenerate_decisions": "{}: metrics that are the same whatever the labels pass no check; "
    "check y_score, and threshold or y_pred",
    "one_group": "there is only one group, {}: no differences; name another attribute",
    "tied_scores": "{} take scores within {:g} in log odds as equal: {:.0%} of the pairs of rows "
    "in {}{}; spread the scores, for example by their ranks",
    "reversed_scores": "{}higher scores go with fewer positive labels: a calibration curve cannot "
    "fall, so these numbers are not reliable; check positive_label, or whether 1 - score was meant",
    "label_drift": "labeled rows are not a random sample of their group{}: {}; the posterior "
    "allows for selection on the score, others do not; pass label_prob if it is known",
    "few_labels": "few labels{}: {}; these rest on the prior and other labels; label more there",
    "assumed_alike": "numbers of groups with fewer than {} labels{} assume that scores mean there "
    "what they mean in other groups; without that, intervals would be {}; label more there",
    "partly_undefined": "{} is undefined in a few draws of {}, left out here; add rows or labels",
    "not_converged": "not converged after {} draws each: {}; do not use the numbers; draw more",
    "disagreement": "the model disagrees with the labels{}: {}; the model may be wrong there, or "
    "the labeled rows may not be a random sample of their group; label more rows there",
    "coarse_interval": "ends of a {:.10g} % interval rest on fewer than 10 of {:,} draws; use more",
    "few_disagreements": "few labels where the models decide differently: {}; the difference "
    "between them is prior-driven; label rows on which they differ",
    "own_decisions": "the predictions of the model differ from its scores at 0.5 in {}; the "
    "predictions are assessed; pass threshold=0.5 to assess decisions by score",
}


class OneLine(ABC):
    """A value that is shown in one line, `_line`, as text and in notebooks."""

    @abstractmethod
    def _line(self) -> str:
        """Return the value in one line, as it is shown."""

    def __str__(self) -> str:
        return one_line(self._line())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {one_line(self._line())}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<code>{escape(str(self))}</code>"


class Note(NamedTuple):
    """A warning: a stable code for programs, a message for people."""

    code: str
    message: str


@dataclass(frozen=True)
class Counts:
    """What happened to rows when they were read.

    Attributes
    ----------
    dropped : int
        Rows left out because a sensitive attribute is missing.
    missing_as_group : int
        Rows put in the level "missing" of an attribute.
    ties : int
        Rows with a score equal to the threshold, counted as positive.
    """

    dropped: int = 0
    missing_as_group: int = 0
    ties: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def note(code: str, *values: Any) -> Note:
    """Return the warning of a code, with values filled in."""
    return Note(code, MESSAGES[code].format(*values))


def level_name(value: Any) -> str:
    """Return the name of a level, or of a crossed group given as a tuple of levels."""
    if isinstance(value, tuple):
        return ", ".join(map(level_name, value))
    if isinstance(value, np.datetime64):  # an int for nanoseconds, a date or datetime otherwise
        item = value.item()
        return str(value.astype("datetime64[us]").item() if isinstance(item, int) else item)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    text = value.decode("utf-8") if isinstance(value, bytes) else str(value)
    return text.partition(".")[0] if WHOLE.fullmatch(text) else text


def name_key(name: str) -> tuple[list[float | str], str]:
    """Return the key by which names are sorted: numbers in them by size, other parts as text.

    Examples
    --------
    >>> sorted(["10", "9 to 10", "below 9", "2", "[-1, 5)", "[-inf, -1)"], key=name_key)
    ['2', 'below 9', '9 to 10', '10', '[-inf, -1)', '[-1, 5)']
    """
    parts = enumerate(NUMBERS.split(name))
    return [float(part) if at % 2 else part for at, part in parts], name


def check_kind(value: Any, kind: type, argument: str, maker: str) -> None:
    """Raise TypeError unless a value is what a function of this package returns."""
    if not isinstance(value, kind):
        name = f"a{'n' * (kind.__name__[0] in 'AE')} {kind.__name__}"
        got = type(value).__name__
        raise TypeError(f"{argument} must be {name}, as {maker} returns; got {got}")


def index_of(value: Any, names: Sequence[str], what: str = "group") -> int:
    """Return the index of a name, given as it was in the data; raise ValueError if it is absent."""
    name = level_name(value)
    if name not in names:
        raise ValueError(f"no {what} {name!r}{hint(name, names)}; there are {', '.join(names)}")
    return names.index(name)


def lies_in(value: Any, low: float, high: float) -> bool:
    """Whether a value is a real number strictly between two bounds."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return bool(real and low < value < high)


def show(value: Any) -> str:
    """Return a value as errors show it: text in quotes, at most 60 characters."""
    text = repr(str(value)) if isinstance(value, str) else level_name(value)
    return text if len(text) <= 60 else text[:57] + "..."


def visible(name: str) -> str:
    """Return the name of a column or file, in quotes if it could not be seen without."""
    return name if name.isprintable() and name.strip() == name != "" else show(name)


def list_values(values: Iterable[Any]) -> str:
    """List at most five values; those of a tuple in their order, others sorted."""
    shown = [show(value) for value in values]
    shown = shown if isinstance(values, tuple) else sorted(shown)
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")


def row_list(rows: NDArray[np.intp]) -> str:
    """List at most five numbers of rows: "rows 3, 8"."""
    return f"row{'s' if rows.size > 1 else ''} {list_values(tuple(rows))}"


def missing_rows(mask: NDArray[np.bool_], first: int = 0) -> str:
    """Return "2 missing values (rows 3, 8)" for a mask (n,) of rows numbered from `first`."""
    rows = first + np.flatnonzero(mask)
    return f"{rows.size} missing {'value' if rows.size == 1 else 'values'} ({row_list(rows)})"


def hint(name: str, known: Iterable[str]) -> str:
    """Return the suggestion " (did you mean 'label'?)", or "" if no known name is similar.

    Case does not matter, nor whether words are joined by hyphens, underscores or blanks.

    Examples
    --------
    >>> "no column lable" + hint("lable", ["id", "label", "score"])
    "no column lable (did you mean 'label'?)"
    >>> hint("income", ["id", "label", "score"])
    ''
    """
    from difflib import get_close_matches

    names = {plain_name(known_name): known_name for known_name in known}
    close = get_close_matches(plain_name(name), names, 1, SIMILAR)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""


def plain_name(name: str) -> str:
    """Return a name in small letters, with words joined by underscores."""
    return name.casefold().replace("-", "_").replace(" ", "_").strip("_")


def middle_out(name: str, most: int, middle: str = "\N{HORIZONTAL ELLIPSIS}") -> str:
    """Return a name, or both ends of one of more than `most` characters, around `middle`."""
    kept = most - len(middle)
    ends = name[: (kept + 1) // 2], name[len(name) - kept // 2 :]
    return name if len(name) <= most else middle.join(ends)


def one_line(text: str) -> str:
    """Write characters that cannot be printed, as names in data may hold, as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(value: float | None, digits: int = 3) -> str:
    """Format a number, or a dash for an undefined one; never -0.000."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{round(float(value), digits) + 0.0:.{digits}f}"


def probability(value: float | None, *, exact: bool = False) -> str:
    """Format a probability; one from draws never as 0 or 1, which draws cannot show."""
    if value is None or not math.isfinite(value):
        return "-"
    if exact:
        return f"{value:.0f}"
    if value < 0.001:
        return "<0.001"
    return ">0.999" if value > 0.999 else f"{value:.3f}"


def estimate(middle: float | None, low: float | None, high: float | None, exact: bool) -> str:
    """Format a defined estimate and its interval; None and inf are infinite.

    Three digits, or as many as show a number that is not 0; of tiny ones none is shown.
    """
    values = [math.inf if end is None else end for end in (middle, low, high)]
    size, digits = max(map(abs, values)), 3
    if 1e-9 < size < 0.0005:
        digits = -math.floor(math.log10(size))
    ends = ("infinite" if math.isinf(end) else number(end, digits) for end in values)
    return "{} (exact)".format(*ends) if exact else "{} [{}, {}]".format(*ends)


def counted(n: int, noun: str) -> str:
    """Format a count with its noun: 1 row, 2,056 rows."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"

"""Hints: which known name was likely meant by one that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LIKE = 0.6  # similarity from which a name is likely the one that was meant, of 1


def hint(given: str, known: Iterable[str], also: Mapping[str, str] | None = None) -> str:
    """Return " (did you mean 'label'?)", or nothing where no known name is like the given one.

    Case does not count, nor whether words are joined by hyphens, underscores or blanks. `also` are
    other words for known names.

    Examples
    --------
    >>> "no column lable" + hint("lable", ["id", "label", "score"])
    "no column lable (did you mean 'label'?)"
    >>> hint("income", ["id", "label", "score"])
    ''
    """
    from difflib import get_close_matches

    names: dict[str, str] = {}
    for word, name in [*((name, name) for name in known), *(also or {}).items()]:
        names.setdefault(_plain(word), name)
    close = get_close_matches(_plain(given), names, 1, LIKE)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_").strip("_")

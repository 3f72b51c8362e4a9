"""Result: the forms that every result has, for people and for programs.

`assess`, `compare_models`, `plan_labels` and `find_threshold` return results. Each is printed as
text, shown by a notebook, written as a page, as Markdown or as CSV, and becomes a data frame. What
a result is about it says itself: its document, its pictures and its rows. How these are shown is
said here, once.

A copy of the package may leave modules out. A form that needs one of them raises
ModuleNotFoundError with its name; a notebook shows text where there is no HTML.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .blocks import Document
    from .figures import Pictures

Row = dict[str, Any]


class Result(ABC):
    """What was found, in all forms.

    Examples
    --------
    The methods go on from here. They are those of all results.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> plan = lf.plan_labels(result, refits=0)
    >>> print(str(plan).splitlines()[0])
    Plan for tpr: 100 rows have labels, 1,900 can get one
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, ready for JSON."""

    @abstractmethod
    def _document(self, *, full: bool = False, command: str | None = None) -> Document:
        """Return the report; `full` and `command` as in `report.document`."""

    @abstractmethod
    def _pictures(self) -> Pictures | None:
        """Return the pictures of the whole report; None where there can be none."""

    @abstractmethod
    def _tidy(self) -> tuple[dict[str, type], Iterator[Row]]:
        """Return columns, and rows that hold some of them; see `tidy`."""

    def to_csv(self, *, spreadsheet: bool = False) -> str:
        """Return every number in a row of its own, as CSV; see `lightfair.tidy`.

        Examples
        --------
        >>> result.to_csv().split(",")[:4]
        ['quantity', 'metric', 'group', 'reference']
        """
        from .tidy import to_csv

        return to_csv(self, spreadsheet=spreadsheet)

    def to_dataframe(self, library: str | None = None) -> Any:
        """Return the same rows as a data frame of pandas or polars; see `frames`.

        Examples
        --------
        >>> frame = result.to_dataframe("pandas")
        >>> list(frame.columns[:4])
        ['quantity', 'metric', 'group', 'reference']
        """
        from .frames import to_dataframe

        return to_dataframe(self, library)

    def to_markdown(self, command: str | None = None) -> str:
        """Return the whole report as Markdown, for a model card; `command` as in `to_html`.

        Examples
        --------
        >>> print(result.to_markdown().splitlines()[0])
        # Fairness by group
        """
        from .markdown import render

        return render(self._document(full=True, command=command))

    def to_html(self, command: str | None = None) -> str:
        """Return the whole report as a page of its own, with plots where matplotlib is installed.

        Parameters
        ----------
        command
            The command line that made the result, for those who want to reproduce it.

        Examples
        --------
        >>> print(result.to_html().splitlines()[0])
        <!DOCTYPE html>
        """
        from .html import render

        return render(self._document(full=True, command=command), self._pictures())

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows; None, for which it shows text, in a copy without HTML."""
        try:
            from .html import fragment

            return fragment(self._document())
        except ModuleNotFoundError as error:
            if not str(error.name).startswith(f"{__package__}."):
                raise
            return None

    def __str__(self) -> str:
        from .text import render

        return render(self._document())

"""Labels: the values of y_true as 1, 0 and -1 for unlabeled.

The meaning of a value depends on the arguments alone: -1 is unlabeled like a missing value, unless
`positive_label` or `unlabeled` is given. Rules on all values, such as that there are two classes,
are checked as values are read, and where later values may matter by `check`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import factorize, is_missing, number_of, same
from .messages import list_values, show


class Labels:
    """The labels of a data set, read in one or more parts.

    Parameters
    ----------
    positive_label, unlabeled
        As in `score_data`.
    """

    def __init__(self, positive_label: Any, unlabeled: Any) -> None:
        several = isinstance(unlabeled, Iterable) and not isinstance(unlabeled, (str, bytes))
        values = unlabeled if several else [unlabeled]
        self.unlabeled = [value for value in values if not is_missing(value)]
        self.no_positive_label = positive_label is None
        self.positive = 1 if positive_label is None else positive_label
        self.default = positive_label is None and unlabeled is None
        self.unlabeled += [-1] * self.default
        self.classes: set[Any] = set()  # of the labels read so far; 1, 1.0, True and "1" are one
        self.minus_one = False  # whether -1 was read, and taken as unlabeled by default
        if any(same(positive_label, value) for value in self.unlabeled):
            raise ValueError(
                f"positive_label and unlabeled must differ; got {show(positive_label)} in both"
            )

    def read(self, column: Any, first: int = 0) -> NDArray[np.int8]:
        """Return 1, 0, or -1 for unlabeled, int8 (n,); rows in errors are numbered from `first`."""
        codes, values = factorize("y_true", column, first)
        meaning = []
        for value in values:
            if any(same(value, other) for other in self.unlabeled):
                self.minus_one |= self.default
                meaning.append(-1)
                continue
            number = number_of(value)
            self.classes.add(value if number is None else number)
            meaning.append(int(same(value, self.positive)))
        shown = list_values(self.classes)
        if len(self.classes) > 2:
            raise ValueError(
                f"y_true must hold two classes; got {len(self.classes)} values: {shown}; name "
                "those that mean unlabeled in unlabeled="
            )
        if self.no_positive_label and not self.classes <= {0, 1}:
            raise ValueError(
                f"y_true must hold 0 and 1, or say which value is positive; got {shown}; "
                "pass positive_label="
            )
        return np.array([*meaning, -1], dtype=np.int8)[codes]  # code -1, missing, is the last

    def check(self) -> None:
        """Raise ValueError if the classes of all rows leave open which one is positive."""
        if self.minus_one and self.classes == {1}:
            raise ValueError(
                "y_true holds only -1 and 1, so -1 may be the negative class or mean unlabeled; "
                "pass positive_label=1 for the first or unlabeled=-1 for the second"
            )
        one_sided = len(self.classes) == 1 and {*self.classes, number_of(self.positive)} <= {0, 1}
        if self.classes and not one_sided and not any(same(v, self.positive) for v in self.classes):
            raise ValueError(
                f"positive_label must be a value of y_true; got {show(self.positive)}, y_true "
                f"holds {list_values(self.classes)}; if no row is positive, pass labels 0 and 1"
            )

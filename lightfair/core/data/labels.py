"""Labels: the values of y_true as 1, 0 and -1, chunk by chunk, by rules on all of them.

What a value means may depend on values that come later: -1 means unlabeled beside 0 and 1, and may
be a class beside 1 alone. So rows with -1 are told apart until all values have been seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import factorize, is_missing, key_of, number_of, same
from .messages import list_values, show

MINUS = -2  # code of -1 while it is open what it means

TOO_MANY = 1000  # distinct values above which the rules are not put off to the end


class Labels:
    """The labels of a data set.

    Parameters
    ----------
    positive_label, unlabeled
        As in `score_data`.
    """

    def __init__(self, positive_label: Any, unlabeled: Any) -> None:
        listed = isinstance(unlabeled, Iterable) and not isinstance(unlabeled, (str, bytes))
        named = unlabeled if listed else [unlabeled]
        self.unlabeled = unlabeled
        self.named = [value for value in named if not is_missing(value)]
        self.positive_label = positive_label
        self.values: dict[tuple[bool, Any], None] = {}  # seen so far
        if positive_label is not None and any(same(positive_label, v) for v in self.named):
            got = show(positive_label)
            raise ValueError(f"positive_label and unlabeled must differ; got {got} in both")

    def take(self, column: Any, first: int = 0) -> NDArray[np.int8]:
        """Return 1, 0, -1 for unlabeled, MINUS for rows that hold -1: int8 (n,)."""
        codes, values = factorize("y_true", column, first)
        self.values.update((key_of(value), None) for value in values)
        if len(self.values) > TOO_MANY:
            self.minus()
        table = [self._meaning(value) for value in values]
        return np.array([*table, -1], dtype=np.int8)[codes]  # code -1, missing, is the last entry

    def minus(self) -> int:
        """Return what rows that hold -1 are, given all values: -1 unlabeled, 0 a class.

        Raises
        ------
        ValueError
            If the values seen are no two classes of which one is positive.
        """
        values = [value for _, value in self.values]
        live = [v for v in values if not any(same(v, other) for other in self.named)]
        texts = [value for value in live if isinstance(value, str)]
        if all(number_of(text) is not None for text in texts):
            texts = []  # numbers written as text
        classes = set()  # True, 1, 1.0 and "1" are one class
        for value in live:
            number = None if texts and isinstance(value, str) else number_of(value)
            classes.add(value if number is None else number)
        positive_label = self.positive_label
        if self.unlabeled is None and -1 in classes and not same(positive_label, -1):
            if classes == {-1, 1} and positive_label is None:
                raise ValueError(
                    "y_true holds only -1 and 1, so -1 may be the negative class or mean "
                    "unlabeled; pass positive_label=1 for the first or unlabeled=-1 for the second"
                )
            if classes != {-1, 1} or not same(positive_label, 1):
                classes.discard(-1)
        shown = list_values(classes)
        if len(classes) > 2:
            raise ValueError(
                f"y_true must hold two classes; got {len(classes)} values: {shown}; name those "
                "that mean unlabeled in unlabeled="
            )
        if positive_label is None and not classes <= {0, 1}:
            raise ValueError(
                f"y_true must hold 0 and 1, or say which value is positive; got {shown}; "
                "pass positive_label="
            )
        positive = 1 if positive_label is None else positive_label
        one_sided = len(classes) <= 1 and classes <= {0, 1} and number_of(positive) in (0, 1)
        if not one_sided and classes and not any(same(key, positive) for key in classes):
            raise ValueError(
                f"positive_label must be a value of y_true; got {show(positive)}, y_true holds "
                f"{shown}; if no row is positive, pass labels 0 and 1"
            )
        return 0 if any(same(key, -1) for key in classes) else -1

    def _meaning(self, value: Any) -> int:
        if any(same(value, other) for other in self.named):
            return -1
        positive = 1 if self.positive_label is None else self.positive_label
        if same(value, positive):
            return 1
        return MINUS if self.unlabeled is None and number_of(value) == -1 else 0

"""Types of arrays; the logit axis: log odds of scores, and back; quotients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

Ints = npt.NDArray[np.intp]  # codes and positions; counts of rows are int64, also on 32 bits


def logit_of(score: Any, clip: float) -> Floats:
    """Return the logit of scores in [0, 1], clipped to [clip, 1 - clip]: float64, same shape."""
    clipped = np.clip(np.asarray(score, dtype=np.float64), clip, 1.0 - clip)
    return np.asarray(np.log(clipped) - np.log1p(-clipped), dtype=np.float64)


def sigmoid(odds: Floats) -> Floats:
    """Return the probability of log odds: float64, same shape."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * odds))


def over(top: Any, bottom: Any, empty: float) -> Floats:
    """Return top / bottom where bottom is above 0, else `empty`: float64 (...)."""
    bottom = np.asarray(bottom, dtype=np.float64)
    return np.asarray(np.divide(top, bottom, out=np.full_like(bottom, empty), where=bottom > 0.0))

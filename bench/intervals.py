"""How far 95 % intervals miss the truth, and their interval score."""

from __future__ import annotations

import numpy as np

from lightfair.core.data.logit import Floats

ALPHA = 0.05


def missed(low: Floats, high: Floats, truth: Floats) -> Floats:
    """Return the distance of the truth from the interval, 0 inside."""
    return np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)


def interval_score(low: Floats, high: Floats, truth: Floats) -> Floats:
    """Return the width plus 2 / ALPHA times the distance missed (Gneiting and Raftery 2007)."""
    return high - low + 2.0 / ALPHA * missed(low, high, truth)

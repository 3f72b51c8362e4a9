"""Compiled twin of `gather.count_rows`: one loop over rows, no allocation.

Importing this module imports numba; it is imported where the rows are many enough to pay for that.
The sums are taken in the order of the rows, as `numpy.bincount` takes them, so that both forms give
the same bytes.
"""

from __future__ import annotations

import math
from typing import Any

from ..mcmc.jit import jit


@jit
def count_rows(
    logit: Any,
    bits: Any,
    label: Any,
    group: Any,
    predicted: Any,
    weight: Any,
    weighted: bool,
    scale: Any,
    first: int,
    limit: int,
    many: Any,
    sums: Any,
    bounds: Any,
    keys: Any,
    slots: Any,
    found: Any,
) -> None:
    """Add rows to the sums of their cells and points.

    logit (n,) and the same bytes as int64, bits (n,); label, group, predicted (n,) as in
    `ScoreData`; weight (n,), read where weighted; scale (3,): logits of the bounds, width of a
    cell; first: number of the first cell; limit: distinct scores that a stratum keeps.
    Added to: many (stratum,): strata that have more; sums (stratum, cell, 4 or 6): rows, three
    powers, weight and its square; bounds (stratum, 2, 1 or 3): rows at a bound; keys, slots
    (stratum, slot), (stratum, slot, 1 or 3): points, as a hash table; found (stratum,): its size.
    """
    low = scale[0]
    high = scale[1]
    width = scale[2]
    size = keys.shape[1]
    mass = 1.0
    for i in range(logit.shape[0]):
        at = logit[i]
        known = label[i]
        stratum = (group[i] * 2 + (1 if predicted[i] else 0)) * 3 + (known if known >= 0 else 2)
        if weighted:
            w = weight[i]
            mass = w if known < 0 else 1.0
        else:
            w = 1.0
        if at <= low or at >= high:
            end = 0 if at <= low else 1
            bounds[stratum, end, 0] += 1.0
            if weighted:
                bounds[stratum, end, 1] += w
                bounds[stratum, end, 2] += w * w
            continue
        cell = math.floor(at / width)
        away = at - (cell + 0.5) * width
        c = int(cell) - first
        power = mass * away
        sums[stratum, c, 0] += 1.0
        sums[stratum, c, 1] += power
        power = power * away
        sums[stratum, c, 2] += power
        sums[stratum, c, 3] += power * away
        if weighted:
            sums[stratum, c, 4] += w
            sums[stratum, c, 5] += w * w
        if many[stratum]:
            continue
        slot = ((bits[i] * -7046029254386353131) >> 40) & (size - 1)
        while slots[stratum, slot, 0] > 0.0 and keys[stratum, slot] != at:
            slot = (slot + 1) & (size - 1)
        if slots[stratum, slot, 0] == 0.0:
            if found[stratum] == limit:
                many[stratum] = True
                continue
            found[stratum] += 1
            keys[stratum, slot] = at
        slots[stratum, slot, 0] += 1.0
        if weighted:
            slots[stratum, slot, 1] += w
            slots[stratum, slot, 2] += w * w

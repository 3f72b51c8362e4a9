"""Intervals of impact ratios

A run draws the selected rows of each category from its true rate, takes the category of which the
largest share is selected, and asks for the 95 % intervals of all other rates over its rate, as
`lightfair.audit` does, and with independent Beta(1 + selected, 1 + others) posteriors. True rates
are fixed, or drawn anew in each run. A ratio of two true rates is contained, or not. Runs in which
no row is selected are left out.
"""

from __future__ import annotations

import numpy as np

from lightfair.audit.rates import rate_draws

from .evidence import Page, each, table

SMALLEST = {"runs": 2}

DRAWS = 4_000
RACES = [408, 797, 390, 119, 616, 41, 213]  # rows of the first example of 6 RCNY 5-301


def varied(center: float, sd: float, size: int):
    """Rates whose logits are normal, drawn anew."""
    return lambda rng: 1.0 / (1.0 + np.exp(-rng.normal(center, sd, size)))


CASES = {  # rows by category, and true rates
    "2: 0.3, 0.6": ([40, 80], [0.3, 0.6]),
    "2: 0.2, 0.5": ([200, 200], [0.2, 0.5]),
    "2: 0.05, 0.1": ([200, 200], [0.05, 0.1]),
    "2 equal: 0.5": ([100, 100], [0.5, 0.5]),
    "3: 0.3, 0.5, 0.6": ([60] * 3, [0.3, 0.5, 0.6]),
    "3 equal: 0.5": ([60] * 3, [0.5] * 3),
    "4: 0.3, thrice 0.6": ([40, 80, 80, 80], [0.3, 0.6, 0.6, 0.6]),
    "7 equal: 0.5": (RACES, [0.5] * 7),
    "7 varied, sd 0.2": (RACES, varied(0.0, 0.2, 7)),
    "7 varied, sd 0.6": (RACES, varied(0.0, 0.6, 7)),
    "14 equal: 0.5": ([12] * 14, [0.5] * 14),
    "14 equal: 0.05": ([60] * 14, [0.05] * 14),
    "14: 0.25, else 0.5": ([60] * 14, [0.25] + [0.5] * 13),
    "14 varied, sd 0.5": ([20, 30, 40, 50, 60, 80, 100] * 2, varied(-1.0, 0.5, 14)),
}


def shares(case: tuple[str, int]) -> list[float]:
    """Coverage and mean width: as in an audit, and with independent rates."""
    (rows, rates), runs = CASES[case[0]], case[1]
    rows, rng = np.array(rows), np.random.default_rng([1, list(CASES).index(case[0])])
    inside, widths = [], []
    for _ in range(runs):
        rate = np.asarray(rates(rng) if callable(rates) else rates)
        selected = rng.binomial(rows, rate).astype(float)
        if not selected.any():
            continue
        top = int(np.argmax(selected / rows))
        alone = rng.beta(1.0 + selected, 1.0 + rows - selected, (DRAWS, len(rows)))
        others = np.arange(len(rows)) != top
        for draws in (rate_draws(selected, rows, DRAWS, rng), alone):
            low, high = np.quantile(draws / draws[:, [top]], [0.025, 0.975], axis=0)[:, others]
            truth = (rate / rate[top])[others]
            inside.append(((low <= truth) & (truth <= high)).mean())
            widths.append((high - low).mean())
    found = (np.reshape(values, (-1, 2)).mean(axis=0) for values in (inside, widths))
    return [float(value) for pair in zip(*found, strict=True) for value in pair]


def measure(runs: int = 1000) -> Page:
    found = dict(zip(CASES, each(shares, [(name, runs) for name in CASES]), strict=True))
    audit, alone = (sorted(one[at] for one in found.values()) for at in (0, 2))
    return Page(
        f"In {runs} runs a line, {audit[0]:.1%} to {audit[-1]:.1%} of the 95 % intervals contain "
        f"the ratio; with independent rates, {alone[0]:.1%} to {alone[-1]:.1%}.",
        table(
            "categories: rates | audit: contained | width | independent: contained | width",
            ("{}|{:.1%}|{:.2f}|{:.1%}|{:.2f}".format(name, *one).split("|")
             for name, one in found.items()),
        ),
    )  # fmt: skip

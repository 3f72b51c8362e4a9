"""Posterior summaries against long NUTS runs of three other programs (tests/core/fixtures).

Tolerances are 4 standard errors, ours and theirs together. The NUTS runs have 50 to 100 times more
effective draws, so the errors are mostly ours.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from lightfair.core.data.logit import logit_of
from lightfair.core.data.nodes import CELL_WIDTH, Cells
from lightfair.core.data.rows import score_data
from lightfair.core.data.table import ScoreTable, score_table
from lightfair.core.fit import draw_posterior
from lightfair.core.mcmc.convergence import diagnose, gate, mcse_mean
from lightfair.core.mcmc.sampler import start_chains, take_draws
from lightfair.core.model.curve import Prior, features
from lightfair.core.model.likelihood import labeled_nodes
from lightfair.core.model.scales import curve_scales
from lightfair.core.settings import Settings

FIXTURES = Path(__file__).parents[1] / "fixtures"
LABELS = [100, *(pytest.param(n, marks=pytest.mark.slow) for n in (10, 1000))]
PROBS = {"q2.5": 0.025, "q50": 0.5, "q97.5": 0.975}
ERRORS = 4.0


def fixture(labels):
    return json.loads((FIXTURES / f"reference_L{labels}.json").read_text())


def fit(labels, prior, draws=500):
    """Draws by the names of the reference, (chain, draw) each."""
    rows = fixture(labels)
    positive = np.array(rows["label"], dtype=float)
    nodes = features(logit_of(rows["score"], 0.0), "beta")
    group = np.array(rows["group"])
    seen = labeled_nodes(group, nodes, positive, np.ones(labels), segments=2, groups=2)
    scales = curve_scales(prior)
    chains = start_chains(seen, scales, chains=16, warmup=80, rng=np.random.default_rng(labels))
    kept = take_draws(chains, draws)[1]
    result = {}
    for j, name in enumerate("abc"):
        result[f"mu_{name}"] = kept.mu[0, :, :, j]
        result[f"sigma_{name}"] = kept.sigma[0, :, :, j]
        for g in range(2):
            phi = kept.psi[0, :, :, g, j]
            result[f"{name}[{g}]"] = phi if name == "c" else np.exp(phi)
    return result


def summaries(x):
    """Mean, sd and quantiles of (chain, draw) with their Monte Carlo errors."""
    sd = x.std(ddof=1)
    square = (x - x.mean()) ** 2  # its mean is the variance, and d sd = d variance / (2 sd)
    result = {"mean": (x.mean(), mcse_mean(x)), "sd": (sd, mcse_mean(square) / (2.0 * sd))}
    for name, p in PROBS.items():
        value = np.quantile(x, p)
        error = float(mcse_mean((x <= value).astype(float)))  # of the chance to be below
        # two errors down and up, where the density is lower: the error is an estimate itself
        low, high = np.quantile(x, [max(p - 2.0 * error, 0.0), min(p + 2.0 * error, 1.0)])
        result[name] = (value, max(value - low, high - value) / 2.0)
    return result


def distances(draws, labels):
    """Distance to the reference in standard errors, by (parameter, summary)."""
    result = {}
    for name, x in draws.items():
        known = fixture(labels)["posterior"][name]
        for summary, (value, error) in summaries(x).items():
            theirs = known[f"mcse_{summary}"]
            result[name, summary] = abs(value - known[summary]) / math.hypot(error, theirs)
    return result


@pytest.mark.parametrize("labels", LABELS)
def test_posterior_agrees(labels):
    draws = fit(labels, Prior())
    far = distances(draws, labels)
    assert len(far) == 60
    assert {key: value for key, value in far.items() if value > ERRORS} == {}
    # correlated distances: were our errors half of what they are, the mean square would be 4
    assert np.mean(np.square(list(far.values()))) < 3.0
    assert all(mcse_mean(x) < 0.06 * x.std() for x in draws.values())
    assert gate(diagnose(np.stack(list(draws.values()), axis=-1)), rhat_limit=1.02).ok


def test_other_scales_disagree():
    # the second arguments of the prior read as variances
    roots = {name: math.sqrt(value) for name, value in Prior().to_dict().items()}
    far = distances(fit(100, Prior(**roots), draws=80), 100)
    assert far["mu_a", "sd"] > ERRORS
    assert far["sigma_a", "mean"] > 4 * ERRORS


def labeled_table():
    rows = fixture(100)
    data = score_data(rows["label"], rows["score"], sensitive_features=rows["group"])
    return score_table(data, clip=0.0)


def unlabeled_table():
    """The 10,000 unlabeled rows of L100, stored as cells."""
    stored = json.loads((FIXTURES / "unlabeled_L100.json").read_text())
    assert stored["cell_width"] == CELL_WIDTH
    stratum, cell = (np.array(stored[name], dtype=np.int64) for name in ("stratum", "cell"))
    names = ("rows", "power1", "power2", "power3")
    rows, *powers = (np.array(stored[name], dtype=float) for name in names)
    empty = labeled_table().points._replace(stratum=stratum[:0])
    none = type(empty)(*(column[:0] for column in empty))
    cells = Cells(stratum, cell, rows, rows, rows, *powers)
    return ScoreTable(("0", "1"), 0.0, 0, none, cells, threshold=0.5)


def metric_draws(table, labels):
    options = {"metrics": ("accuracy", "tpr", "fpr"), "target": "expected", "trust": False}
    settings = Settings(chains=16, warmup=80, draws=250, clip=0.0, **options)
    streams = [np.random.default_rng([labels, i]) for i in range(2)]
    theta = draw_posterior(table, settings, streams, None)[1]
    result = {}
    for ours, theirs in (("accuracy", "acc"), ("tpr", "tpr"), ("fpr", "fpr")):
        for g in range(2):
            result[f"{theirs}[{g}]"] = theta[ours][..., g]
        result[f"delta_{theirs}"] = theta[ours][..., 1] - theta[ours][..., 0]
    return result


def test_metrics_agree():
    far = distances(metric_draws(labeled_table() + unlabeled_table(), 100), 100)
    assert len(far) == 45
    assert {key: value for key, value in far.items() if value > ERRORS} == {}

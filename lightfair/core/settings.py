"""Settings: the options of an assessment, validated once and recorded in its result."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .comparison.verdict import parse_check
from .data.groups import crossed
from .data.messages import index_of, lies_in
from .data.nodes import check_clip
from .data.rows import check_cuts
from .data.table import ScoreTable
from .mcmc.sampler import CHAINS, DRAWS, usual_warmup
from .metrics.definitions import DEFAULT_METRICS, Metric, as_metric, is_built_in, resolve_metrics
from .metrics.estimate import check_epsilon, check_prob
from .metrics.imputation import TARGETS
from .model.curve import FAMILIES, Prior, default_prior
from .model.regions import check_trust

NESTED = "nested"

CHOICES: dict[str, tuple[Any, ...]] = {
    "family": FAMILIES,
    "target": TARGETS,
    "hierarchical": (True, False, NESTED),
    "simultaneous": (True, False),
}

COUNTS = {  # least, and most
    "chains": (1, 10_000),
    "draws": (4, None),
    "warmup": (0, None),
    "min_rows": (0, None),
}


@dataclass(frozen=True)
class Settings:
    """The options of `assess`, by the names of its arguments, which are documented there.

    `threshold` and `seed` are recorded by `resolved`, which also fills in chains, draws and warmup.
    `thresholds` are those that the report compares: a list, "all" for a grid, or None. `metrics`
    are given as names and Metric values and become names; user-defined ones are kept in
    `own_metrics`.
    `label_error` is a `LabelError` of `audit.label_error`, or None.

    Raises
    ------
    ValueError
        If an option breaks its rule; the message names the rule and the value.
    """

    metrics: Any = DEFAULT_METRICS
    reference: Any = None
    family: str = "beta"
    hierarchical: bool | str = True
    prior: Any = None
    trust: Any = True
    target: str = "sample"
    prob: float = 0.95
    epsilon: float = 0.05
    min_rows: int = 10
    clip: float = 0.01
    log_odds_cap: float | None = None
    chains: int | None = None
    draws: int | None = None
    warmup: int | None = None
    threshold: float | dict[str, float] | None = None
    thresholds: Any = None
    seed: int | None = None
    own_metrics: tuple[Metric, ...] = ()
    simultaneous: bool = False
    checks: Any = ()
    selection_odds: float | None = None
    label_error: Any = None

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, (str, bool, np.bool_)) or value not in choices:
                known = ", ".join(map(str, choices))
                raise ValueError(f"{name} must be one of {known}; got {value!r}")
        trust = check_trust(self.trust)
        prior = default_prior(trust is not None) if self.prior is None else self.prior
        if not isinstance(prior, Prior):
            raise ValueError(f"prior must be a Prior; got {prior!r}")
        cap, odds = self.log_odds_cap, self.selection_odds
        if cap is not None and not lies_in(cap, 0.0, math.inf):
            raise ValueError(f"log_odds_cap must be above 0, or None; got {cap!r}")
        if isinstance(self.thresholds, str) and self.thresholds != "all":
            raise ValueError(f'thresholds must be a list or "all"; got {self.thresholds!r}')
        if self.label_error is not None and not hasattr(self.label_error, "begin"):
            rule = "label_error must be a LabelError here; two rates are for assess of lightfair"
            raise TypeError(f"{rule}; got {self.label_error!r:.60}")
        check_clip(self.clip)
        check_prob(self.prob)
        given = self.checks if isinstance(self.checks, (list, tuple)) else (self.checks,)
        checks = tuple(dict.fromkeys(map(parse_check, given)))
        metrics = resolve_metrics(self.metrics, self.own_metrics)
        asked = [name for check in checks for name in check.metrics]
        metrics = resolve_metrics([*metrics, *asked], metrics)
        by_name = {metric.name: metric for metric in metrics}
        for check in checks:
            for name in check.metrics:
                check.check_bounds(by_name[name].bounds)
        several = self.thresholds is not None and not isinstance(self.thresholds, str)
        ranges = (high - low for low, high in (m.bounds for m in metrics))
        check_epsilon(self.epsilon, max(1.0, *ranges))
        normal = {
            "metrics": tuple(metric.name for metric in metrics),
            "own_metrics": tuple(one for one in metrics if not is_built_in(one.name)),
            "hierarchical": NESTED if self.hierarchical == NESTED else bool(self.hierarchical),
            "prior": prior,
            "trust": trust,
            "prob": float(self.prob),
            "epsilon": float(self.epsilon),
            "clip": float(self.clip),
            "log_odds_cap": None if cap is None else float(cap),
            "thresholds": check_cuts(self.thresholds) if several else self.thresholds,
            "simultaneous": bool(self.simultaneous),
            "checks": checks,
            "selection_odds": odds if odds is None else check_odds(odds),
        }
        for name, (least, most) in COUNTS.items():
            normal[name] = _checked_count(name, getattr(self, name), least, most)
        for name, value in normal.items():
            object.__setattr__(self, name, value)

    def resolved(self, table: ScoreTable, rng: Any) -> Settings:
        """Fill in what depends on the data: threshold, reference, chains, draws and warm-up.

        The default reference is the group with most rows; with one group there is none. The default
        are 4 chains with 3,200 draws in all. If fewer than two
        attributes have two levels, the nested prior is the hierarchical one.
        """
        at = int(np.argmax(table.sums("rows").sum(axis=(1, 2))))
        if self.reference is not None:
            at = index_of(self.reference, table.groups, "reference")
        nested = self.nested and len(crossed(table.parts)) > 1
        usual = CHAINS if self.label_error is None else self.label_error.chains
        chains = usual if self.chains is None else self.chains
        return replace(
            self,
            hierarchical=NESTED if nested else bool(self.hierarchical),
            chains=chains,
            draws=max(4, -(-DRAWS // chains)) if self.draws is None else self.draws,
            warmup=usual_warmup(chains) if self.warmup is None else self.warmup,
            reference=table.groups[at] if len(table.groups) > 1 else None,
            threshold=table.threshold,
            seed=int(rng) if isinstance(rng, (int, np.integer)) else None,
        )

    @property
    def nested(self) -> bool:
        """Whether the prior has effects of attributes."""
        return self.hierarchical == NESTED

    @property
    def run(self) -> tuple[int, int, int]:
        """Chains, draws of each and sweeps of warm-up, of resolved settings."""
        if self.chains is None or self.draws is None or self.warmup is None:
            raise ValueError("settings must be resolved: their chains, draws or warmup are None")
        return self.chains, self.draws, self.warmup

    def metric(self, name: str) -> Metric:
        """Return the metric of a name: one of `own_metrics`, or a built-in one."""
        return next((own for own in self.own_metrics if own.name == name), None) or as_metric(name)

    @property
    def label_free(self) -> tuple[str, ...]:
        """Metrics that are known without labels: of these very rows, not of a population."""
        if self.target == "population":
            return ()
        return tuple(name for name in self.metrics if self.metric(name).label_free)

    @property
    def cap(self) -> float:
        """Upper bound on the log odds, inf for none."""
        return math.inf if self.log_odds_cap is None else float(self.log_odds_cap)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        plain = dict(self.__dict__)
        del plain["own_metrics"]
        plain["metrics"] = list(self.metrics)
        plain["checks"] = [check.text for check in self.checks]
        if isinstance(self.thresholds, tuple):
            plain["thresholds"] = list(self.thresholds)
        plain["prior"] = self.prior.to_dict()
        plain["trust"] = None if self.trust is None else self.trust.to_dict()
        return plain


def check_odds(odds: Any) -> float:
    """Raise ValueError unless a factor between odds is a number of at least 1."""
    if not (lies_in(odds, 0.0, math.inf) and odds >= 1.0):
        rule = "selection_odds must be a finite number of at least 1"
        raise ValueError(f"{rule}; got {odds!r}; 1.5 is half as large again, or a third less")
    return float(odds)


def check_rng(rng: Any) -> np.random.Generator:
    """Return the generator of a seed, or a given one; raise ValueError for anything else."""
    if isinstance(rng, np.random.RandomState):
        rng = np.random.Generator(rng._bit_generator)
    plain = isinstance(rng, (int, np.integer, np.random.Generator)) and not isinstance(rng, bool)
    if rng is not None and not plain:
        raise ValueError(f"rng must be a seed, a numpy Generator or None; got {rng!r}")
    try:
        return np.random.default_rng(rng)
    except ValueError as error:
        raise ValueError(f"rng must be a seed of at least 0; got {rng!r}") from error


def _checked_count(name: str, value: Any, least: int, most: int | None) -> int | None:
    if value is None:
        return None
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        above = "" if most is None else f" and at most {most:,}"
        raise ValueError(f"{name} must be a whole number of at least {least}{above}; got {value!r}")
    return int(value)

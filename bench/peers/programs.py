"""The programs of the comparison: packages and settings, in one place."""

from __future__ import annotations

from typing import Any, NamedTuple

SHORT = {"warmup": 500, "draws": 200}
LONG = {"warmup": 500, "draws": 1000}
PAPER = {"warmup": 1500, "draws": 200}
MONITORED = {**PAPER, "nodes": True}
STEADY = {"warmup": 1500, "draws": 5000}
COMPILED = {"compiled": True}
ALONE = {"compiled": True, "alone": True, "warmup": 200, "draws": 1000}

PACKAGES: dict[str, tuple[str, ...]] = {  # by environment
    "empty": (),
    "lightfair": ("numpy", "scipy", "numba"),
    "blackjax": ("blackjax",),
    "nutpie": ("nutpie[pymc]",),
    "stan": ("pystan",),
    "numpyro": ("numpyro",),
    "pyjags": ("pyjags",),
}
IMPORTS = {name: f"import {name}" for name in PACKAGES}  # whose seconds are the import time
IMPORTS |= {"lightfair": "from lightfair import assess", "nutpie": "import nutpie, pymc"}


class Program(NamedTuple):
    """A program and how it is run.

    environment: whose Python runs peer_{environment}.py; short: settings of the fit whose seconds
    are counted; long: of the fit whose effective draws are counted; form: what that is, in words.
    """

    environment: str
    short: dict[str, Any]
    long: dict[str, Any]
    form: str

    @property
    def gradients(self) -> bool:
        """Whether it samples by gradients, and takes weighted nodes instead of rows."""
        return self.environment not in ("lightfair", "pyjags")

    @property
    def slow(self) -> bool:
        """Whether one fit is enough; JAGS, which compiles nothing."""
        return self.environment == "pyjags"


PROGRAMS: dict[str, Program] = {
    "lightfair": Program("lightfair", {}, {}, "`assess` at its defaults; small fits in NumPy"),
    "lightfair, compiled": Program("lightfair", COMPILED, COMPILED, "the same, always compiled"),
    "lightfair, sampler": Program(
        "lightfair", ALONE, ALONE, "its sampler and metrics step alone, compiled"
    ),
    "BlackJAX": Program(
        "blackjax", SHORT, LONG, "window adaptation and NUTS, 4 chains by vmap, one jitted function"
    ),
    "nutpie": Program("nutpie", SHORT, LONG, "NUTS on a PyMC model, compiled by numba"),
    "Stan": Program("stan", SHORT, LONG, "NUTS, PyStan"),
    "NumPyro": Program("numpyro", SHORT, LONG, "NUTS, vectorized chains"),
    "JAGS, z monitored": Program(
        "pyjags", MONITORED, MONITORED, "PyJAGS as in the paper: each row's z a monitored node"
    ),
    "JAGS, post hoc": Program(
        "pyjags", PAPER, STEADY, "PyJAGS, unlabeled rows left to the metrics step"
    ),
}

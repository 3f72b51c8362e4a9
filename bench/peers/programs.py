"""The programs of the comparison: files, environments, packages and settings, in one place."""

from __future__ import annotations

from typing import Any, NamedTuple

SHORT = {"warmup": 500, "draws": 200, "target_accept": 0.9}
LONG = {"warmup": 500, "draws": 1000, "target_accept": 0.9}
PAPER = {"warmup": 1500, "draws": 200}
STEADY = {"warmup": 1500, "draws": 5000}
COMPILED = {"compiled": True}
ALONE = {"compiled": True, "alone": True, "warmup": 200, "draws": 1000}


class Program(NamedTuple):
    """A program and how it is run.

    file: it is peer_{file}.py; environment: whose Python runs it; imports: the statement whose
    seconds are the import time; short: settings of the fit whose seconds are counted; long: of the
    fit whose effective draws are counted; form: what that is, in words; compiles: whether the first
    fit of a process is unlike the others; slow: one fit a case is enough; nodes: takes weighted
    nodes instead of rows; variant: of another program, so that one case is enough.
    """

    file: str
    environment: str
    imports: str
    short: dict[str, Any]
    long: dict[str, Any]
    form: str
    compiles: bool = True
    slow: bool = False
    nodes: bool = False
    variant: bool = False


ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "empty": (),
    "lightfair": ("numpy", "scipy", "numba"),
    "blackjax": ("blackjax",),
    "nutpie": ("nutpie[pymc]",),
    "stan": ("pystan",),
    "numpyro": ("numpyro",),
    "pyjags": ("pyjags",),
    "jags": ("numpy",),
}

PROGRAMS: dict[str, Program] = {
    "lightfair": Program(
        "lightfair",
        "lightfair",
        "from lightfair import assess",
        {},
        {},
        "`assess` at its defaults: 3,200 draws, more until convergence; small fits in NumPy",
    ),
    "lightfair, compiled": Program(
        "lightfair",
        "lightfair",
        "from lightfair import assess",
        COMPILED,
        COMPILED,
        "the same, always compiled",
    ),
    "lightfair, sampler": Program(
        "lightfair",
        "lightfair",
        "from lightfair import assess",
        ALONE,
        ALONE,
        "its sampler and metrics step alone, compiled: 4 x (200 + 1000)",
    ),
    "BlackJAX": Program(
        "blackjax",
        "blackjax",
        "import blackjax",
        SHORT,
        LONG,
        "window adaptation and NUTS, 4 chains by vmap, one jitted function, float64",
        nodes=True,
    ),
    "nutpie": Program(
        "nutpie",
        "nutpie",
        "import nutpie, pymc",
        SHORT,
        LONG,
        "NUTS on a PyMC model, compiled by numba",
        nodes=True,
    ),
    "Stan": Program(
        "stan",
        "stan",
        "import stan",
        SHORT,
        LONG,
        "NUTS, PyStan",
        nodes=True,
    ),
    "NumPyro": Program(
        "numpyro",
        "numpyro",
        "import numpyro",
        SHORT,
        LONG,
        'NUTS, `chain_method="vectorized"`, float64',
        nodes=True,
    ),
    "JAGS, z monitored": Program(
        "pyjags",
        "pyjags",
        "import pyjags",
        {**PAPER, "nodes": True},
        {**PAPER, "nodes": True},
        "PyJAGS at the paper's settings: 4 x (1500 + 200), each row's z a monitored node",
        compiles=False,
        slow=True,
    ),
    "JAGS, post hoc": Program(
        "pyjags",
        "pyjags",
        "import pyjags",
        PAPER,
        STEADY,
        "PyJAGS, unlabeled rows left to the metrics step",
        compiles=False,
        slow=True,
    ),
    "JAGS, post hoc, Debian": Program(
        "jags",
        "jags",
        "import numpy",
        PAPER,
        STEADY,
        "the same by Debian's program, through CODA files",
        compiles=False,
        slow=True,
        variant=True,
    ),
}

"""What the tests of the core share. They need numpy, scipy, numba and pytest, nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if os.environ.get("LIGHTFAIR_HIDE_NUMBA") == "1":
    sys.modules["numba"] = None  # type: ignore[assignment]
sys.path.insert(0, str(Path(__file__).parent))  # asking, cases, naive

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from asking import ask, limit, rows, unlimited  # noqa: E402, F401
from cases import CASES, PRIORS  # noqa: E402

from lightfair.core.mcmc.jit import available  # noqa: E402


def pytest_configure(config):
    """Leave slow tests out unless they are selected, also in a copy without configuration."""
    config.addinivalue_line("markers", "slow: replicates, coverage")
    config.option.markexpr = config.option.markexpr or "not slow"


@pytest.fixture(scope="session")
def trio(rows):  # noqa: F811
    """The assessment of groups A and B, and every third row in C."""
    group = np.where(np.arange(400) % 3 == 0, "C", rows.group)
    metrics = ["tpr", "fpr", "selection_rate", "auc"]
    return ask(rows, group=group, metrics=metrics, draws=200, warmup=100)


@pytest.fixture(params=CASES)
def scales(request):
    """The prior of the curve alone, and that of a curve with deviations."""
    return CASES[request.param]


@pytest.fixture(params=PRIORS)
def prior(request):
    """The plain and the nested prior of both."""
    return PRIORS[request.param]


@pytest.fixture(scope="module")
def compiled():
    """Compile where that is possible, for modules that make many fits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIGHTFAIR_JIT", "1" if available() else "0")
        yield

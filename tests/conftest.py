"""What the tests share: rows, a way to hide numba, and a clean environment for children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

if os.environ.get("LIGHTFAIR_HIDE_NUMBA") == "1":
    sys.modules["numba"] = None  # type: ignore[assignment]

import pytest  # noqa: E402
from asking import limit, rows, unlimited  # noqa: E402, F401

import lightfair as lf  # noqa: E402

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell script
    signal.signal(signal.SIGINT, signal.default_int_handler)  # children would ignore it, too

LONG = 5000  # examples of a rule in the profile `long` of hypothesis


@pytest.hookimpl(tryfirst=True)  # before that of pytest-xdist
def pytest_cmdline_main(config):
    """Run on two processes, a file in each, where pytest-xdist is installed."""
    option, worker = config.option, "PYTEST_XDIST_WORKER" in os.environ  # they must not multiply
    if getattr(option, "numprocesses", 0) is None and not (option.usepdb or worker):
        option.numprocesses, option.dist = 2, "loadfile"


@pytest.hookimpl(tryfirst=True)  # before that of hypothesis, which loads the profile
def pytest_configure(config):
    """Register the profile `long`: other examples in each run, many of them, made small."""
    if config.getoption("--hypothesis-profile", None) is not None:
        from hypothesis import HealthCheck, settings

        options = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
        settings.register_profile("long", max_examples=LONG, **options)


@pytest.fixture
def child_env():
    """Environment of a Python child that finds the package under test."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LIGHTFAIR_", "PYTHON"))}
    return {**env, "PYTHONPATH": str(Path(lf.__file__).parents[1])}


@pytest.fixture
def python(child_env):
    """Run code in a Python child that must succeed; return its standard output."""

    def python(*arguments, **options):
        pipes = {"capture_output": True, "text": True, "timeout": 120}
        options = {"env": child_env, **pipes, **options}
        done = subprocess.run([sys.executable, "-c", *arguments], **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return python


def pytest_terminal_summary(terminalreporter):
    """Say why tests were skipped, each reason once."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count}: {reason}")

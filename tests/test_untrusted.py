"""Untrusted input is accepted or refused with an error message: examples drawn at random.

The same in each run, few of them. A longer search, of minutes, with other examples in each run:

    python -m pytest tests/test_untrusted.py --hypothesis-profile=long

with `--hypothesis-seed=7` for the same ones again, and `-k files` for one rule.
"""

from __future__ import annotations

import pytest

for name in ("hypothesis", "duckdb", "pyarrow"):
    pytest.importorskip(name)

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from untrusted import RULES  # noqa: E402

OPTIONS = {"phases": [Phase.generate], "suppress_health_check": list(HealthCheck)}
FEW = settings(derandomize=True, deadline=None, database=None, max_examples=30, **OPTIONS)


@pytest.mark.parametrize("name", RULES)
def test_random_examples(name, pytestconfig):
    rule, strategies = RULES[name]
    long = pytestconfig.getoption("--hypothesis-profile", None)

    @(settings.get_profile(long) if long else FEW)
    @given(st.tuples(*strategies))
    def examples(example):
        rule(*example)

    examples()

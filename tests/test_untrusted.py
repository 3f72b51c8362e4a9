"""Untrusted input is accepted or refused with an error message: examples drawn at random.

The same in each run, few of them; `bench/fuzz.py` draws more.
"""

from __future__ import annotations

import pytest

for name in ("hypothesis", "duckdb", "pyarrow"):
    pytest.importorskip(name)

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from untrusted import RULES  # noqa: E402

OPTIONS = {"phases": [Phase.generate], "suppress_health_check": list(HealthCheck)}


@pytest.mark.parametrize("name", RULES)
def test_random_examples(name):
    rule, strategies = RULES[name]

    @settings(derandomize=True, deadline=None, database=None, max_examples=30, **OPTIONS)
    @given(st.tuples(*strategies))
    def examples(example):
        rule(*example)

    examples()

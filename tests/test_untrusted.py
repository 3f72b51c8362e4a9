"""What comes from other hands is taken as it is or refused in a sentence: examples drawn at random.

The same in each run, few of them; `bench/fuzz.py` draws more.
"""

from __future__ import annotations

import pytest

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from untrusted import RULES  # noqa: E402


@pytest.mark.parametrize("name", RULES)
def test_what_is_drawn(name):
    rule, strategies = RULES[name]

    @settings(
        derandomize=True,
        deadline=None,
        database=None,
        max_examples=30,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*strategies))
    def examples(example):
        rule(*example)

    examples()

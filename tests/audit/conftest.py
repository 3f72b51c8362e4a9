"""Audits are drawn as far as for users."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def as_for_users(unlimited):
    """What is tested here rests on verdicts, and those on convergence."""

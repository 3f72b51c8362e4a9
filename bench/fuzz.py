"""Feed the readers with random input, valid and damaged, for as long as requested.

    python bench/fuzz.py                            # ten minutes
    python bench/fuzz.py --seconds 20 --seed 7 --rule files

The rules are those of tests/untrusted.py: CSV files, the same rows from every kind of source,
stored tables, damaged files of tables, results of queries, Parquet and Arrow files. Input is either
accepted or refused with an error message of this package; accepted tables survive a round trip
through JSON and add up. Anything else is a fault, printed with its smallest known example. Needs
hypothesis, duckdb and pyarrow.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

# without this folder: numba imports any module named coverage, and would find coverage.py
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != HERE]
TESTS = os.path.join(os.path.dirname(HERE), "tests")
sys.path[:0] = [TESTS, os.path.join(TESTS, "core"), os.path.join(TESTS, "io")]

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from untrusted import RULES  # noqa: E402

ROUND = 100  # examples of a rule before the next has its turn
SHRINKING = settings(
    max_examples=ROUND,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


class Count:
    """Numbers of examples of a rule, and of those that it accepted."""

    def __init__(self, rule: Callable[..., Any]) -> None:
        self.rule, self.calls, self.accepted = rule, 0, 0

    def __call__(self, *example: Any) -> None:
        self.calls += 1
        self.accepted += bool(self.rule(*example))


def place(error: BaseException) -> str:
    """The type of a fault and where it arose, to tell faults apart."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {os.path.basename(last.filename)}:{last.lineno}"


def one_round(count: Count, strategies: tuple[Any, ...], number: int) -> BaseException | None:
    """Run some examples of a rule; return the fault, if any."""

    @seed(number)
    @SHRINKING
    @given(st.tuples(*strategies))
    def examples(example: tuple[Any, ...]) -> None:
        count(*example)

    try:
        examples()
    except Exception as error:
        return error
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0, help="duration (600)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (0)")
    parser.add_argument("--rule", choices=RULES, action="append", help="only this rule; repeatable")
    options = parser.parse_args()
    counts = {name: Count(RULES[name][0]) for name in options.rule or RULES}
    faults: dict[str, str] = {}
    end = time.monotonic() + options.seconds
    for number, name in zip(itertools.count(options.seed), itertools.cycle(counts)):
        if time.monotonic() > end:
            break
        error = one_round(counts[name], RULES[name][1], number)
        if error is not None and (what := f"{name}: {place(error)}") not in faults:
            faults[what] = f"{error}\n" + "\n".join(getattr(error, "__notes__", []))
            print(f"== {what}\n{faults[what]}", flush=True)
    print(f"{'rule':<10} {'examples':>9} {'accepted':>9}")
    for name, count in counts.items():
        print(f"{name:<10} {count.calls:>9,} {count.accepted:>9,}")
    total = sum(count.calls for count in counts.values())
    print(f"{total:,} examples, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())

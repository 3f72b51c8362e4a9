"""lightfair beside other programs

The paper's model, without trust, with scores clipped to [0.01, 0.99], on the same simulated rows,
by programs that anybody can install. Quantities are log a, log b and c of each group, mu and sigma
of each, and the differences of accuracy, TPR and FPR to the first group, by expected counts at
threshold 0.5. There are two groups and 10,000 unlabeled rows, unless other numbers are given.

`bench/peers/install.py` installs the newest releases that pip finds. Every program has a virtual
environment and empty folders of caches of its own; BLAS has one thread. Seconds are CPU seconds,
user and system, of all threads and children. Samplers with gradients (BlackJAX, nutpie, Stan,
NumPyro) have the non-centred form and target acceptance 0.9, JAGS has the centred one, as in the
paper. There are 4 chains, of lightfair at its defaults with 800 draws each. After sampling, all
programs but lightfair, and JAGS with z monitored, pass their draws to one NumPy function that
computes the metrics; from 100,000 rows on to one in JAX, if they have it.

One fit, of 100 labels: "cold" is a fresh process with empty caches, "cached" another one, with what
the first has compiled, "warm" the later fits in a process, sampling (warm-up included) + metrics;
"import" is beyond a bare interpreter (lightfair loads scipy and numba only when they are needed).
Memory is that of the largest process, cold (compilers included) / cached, size that of the
environment less an empty one.

Effective draws: the fewest (bulk ESS) of any quantity for each CPU second of sampling, warm-up
included, in a warm fit; seconds of lightfair are those of the whole `assess`, of "sampler" those of
its sampler and metrics step only. Agreement: largest R-hat; divergent transitions; and largest
difference of a posterior mean to that of the other programs with gradients, in standard errors:
about 2 to 3.5 where nothing is wrong, and meaningless where R-hat is far from 1.

A million rows have 1,000 labels, and as many draws as "one fit". Rows: the likelihood has a term
for each label, the metrics step a sigmoid for each row and draw. Nodes: the program is given the
weighted nodes of lightfair's table for both, whose making is a part of `assess` only.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..evidence import Page, table
from .agreement import Summary, largest_z, summary
from .programs import PROGRAMS
from .running import Bench
from .simulated import SIZES, build, table_seconds

SMALLEST = None  # it needs other programs

TIMED, ROWS = "100 labels", "1e6 rows"
RELEASES = ("numpy", "scipy", "numba", "jax", "blackjax", "pymc", "nutpie")
RELEASES += ("pystan", "numpyro", "pyjags")
Found = dict[str, Any]  # figures, by their names


def measure(
    envs: Path,
    repeats: int = 5,
    peers: tuple[str, ...] = tuple(PROGRAMS),
    cases: tuple[str, ...] = tuple(SIZES),
) -> Page:
    install = json.loads((envs / "status.json").read_text())
    figures: Found = {"install": install, "peers": peers, "failures": {}}
    figures |= {"times": {}, "effective": {}, "large": {}}
    drawn: dict[str, dict[str, Summary]] = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(envs, Path(folder), repeats)
        for name in peers:
            try:
                run(name, bench, cases, figures, drawn)
            except RuntimeError as error:
                figures["failures"][name] = str(error)
    for case, fits in drawn.items():
        for name, own in fits.items():
            others = [fits[other] for other in fits if PROGRAMS[other].gradients and other != name]
            figures["effective"][case][name]["z"] = largest_z(own, others) if others else None
    figures["table_seconds"] = table_seconds(build(SIZES[ROWS]))
    return Page(result(figures), body(figures, repeats))


def run(name: str, bench: Bench, cases: Iterable[str], figures: Found, drawn: Found) -> None:
    """Fill in the figures of one program, and the summaries of its draws."""
    program, fits = PROGRAMS[name], min(bench.repeats, 2)
    made = figures["install"].get(program.environment, {"ok": False, "error": "was not tried"})
    if not made["ok"]:
        raise RuntimeError(f"not installed: {made['error']}")
    if TIMED in cases:
        figures["times"][name] = bench.times(program, TIMED)
    for case in cases:
        if not case.startswith(ROWS):
            timed, files = bench.warm(program, case, program.long, fits)
            own = drawn.setdefault(case, {})[name] = summary(files)
            timed |= {"draws": own.draws, "ess_bulk": own.ess_bulk, "rhat": own.rhat}
            figures["effective"].setdefault(case, {})[name] = timed
        elif program.gradients or (program.environment == "lightfair" and case == ROWS):
            timed, _ = bench.warm(program, case, program.short, fits)
            figures["large"].setdefault(case, {})[name] = timed


def result(figures: Found) -> str:
    """The main finding: lightfair beside the best of the other programs."""
    cold = {name: found["cold"] for name, found in figures["times"].items()}
    rates = {name: rate(found) for name, found in figures["effective"].get(TIMED, {}).items()}
    others = [name for name in rates if PROGRAMS[name].environment != "lightfair"]
    if "lightfair" not in rates or not others:
        return "Not all programs were run."
    best, fastest = max(others, key=rates.__getitem__), min(others, key=cold.__getitem__)
    return (
        f"With {TIMED} `assess` makes {rates['lightfair']:,.0f} effective draws in a CPU second; "
        f"{best}, the best of the others, makes {rates[best]:,.0f}. The first fit of all, with "
        f"nothing compiled, takes {number(cold['lightfair'])} s, and {number(cold[fastest])} s in "
        f"{fastest}, the fastest of the others."
    )


def body(figures: Found, repeats: int) -> str:
    """The tables."""
    sections = {
        f"One fit, of {TIMED}": times(figures),
        "Effective draws for each CPU second": by_case(figures["effective"], effective),
        "Agreement: R-hat; divergences; z": by_case(figures["effective"], agreement),
        "A million rows: sampling + metrics, CPU seconds": by_case(figures["large"], seconds),
        "Programs": programs(figures),
    }
    nodes = number(figures["table_seconds"])
    text = "\n".join(f"## {title}\n\n{rows}" for title, rows in sections.items())
    return (
        f"Medians of {repeats} warm fits in the first table, else of at most 2, of JAGS one.\n"
        f"Nodes of a million rows are made in {nodes} s.\n\n{text}"
    )


def times(figures: Found) -> str:
    """Seconds and memory of one fit."""
    sizes = {name: made.get("megabytes", 0.0) for name, made in figures["install"].items()}
    rows = []
    for name, found in figures["times"].items():
        size = sizes[PROGRAMS[name].environment] - sizes["empty"]
        memory = "{cold_megabytes:.0f} / {cached_megabytes:.0f}".format(**found)
        cold, cached, load = (number(found[key]) for key in ("cold", "cached", "import"))
        rows.append([name, cold, cached, seconds(name, found), load, memory, f"{size:.0f}"])
    head = "program | cold s | cached s | warm s | import s | memory MB | size MB"
    return table(head, rows)


def by_case(figures: dict[str, Found], cell: Callable[[str, Found], str]) -> str:
    """A table of programs by cases."""
    rows = [
        [name, *(cell(name, case[name]) if name in case else "-" for case in figures.values())]
        for name in PROGRAMS
        if any(name in case for case in figures.values())
    ]
    return table(" | ".join(["program", *figures]), rows)


def effective(name: str, found: Found) -> str:
    return number(rate(found))


def agreement(name: str, found: Found) -> str:
    """R-hat, divergences and z."""
    divergences, z = found["divergences"], found["z"]
    total = f"{len(divergences) * found['draws']:,}"
    counted = f"{sum(divergences)} of {total}" if PROGRAMS[name].gradients else "-"
    return f"{found['rhat']:.3f}; {counted}; {'-' if z is None else format(z, '.1f')}"


def seconds(name: str, found: Found) -> str:
    """Sampling and metrics; of lightfair, which does both in one, the sum."""
    if PROGRAMS[name].environment == "lightfair":
        return number(found["sampling"] + found["metrics"])
    return f"{number(found['sampling'])} + {number(found['metrics'])}"


def programs(figures: Found) -> str:
    """How each program samples, its releases, or why it did not run."""
    rows = []
    for name in figures["peers"]:
        environment, short, long, form = PROGRAMS[name]
        sizes = ["{warmup} + {draws}".format(**x) if "draws" in x else "-" for x in (short, long)]
        versions = figures["install"].get(environment, {}).get("versions", {})
        releases = ", ".join(f"{key} {versions[key]}" for key in RELEASES if key in versions)
        rows.append([name, form, *sizes, figures["failures"].get(name, releases)])
    return table("program | how | warm-up + draws | for effective draws | releases", rows)


def rate(found: Found) -> float:
    """Effective draws for each CPU second of sampling."""
    return found["ess_bulk"] / found["sampling"]


def number(value: float) -> str:
    """Three digits, two below 1."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"

"""RESULTS.md, from the figures of a run only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from programs import PROGRAMS

HEAD = """# lightfair beside other programs

Made by `bench/peers/run.py`; do not edit. The paper's model (no trust) on simulated rows, by
programs that anybody can install. Seconds are CPU seconds, user and system, of all threads and
child processes. Every program has its own virtual environment and its own empty folders of
caches; BLAS has one thread.
"""
TIMES = """## One fit

{rows}. Deltas of
accuracy, TPR and FPR are part of each fit: after sampling, all programs but lightfair and JAGS with
z monitored pass their draws to one NumPy function (`common.metrics`). A fit is 800 draws, of
lightfair 3,200: its defaults.

- cold: a fresh process with empty caches; cached: another one, with what the first has compiled.
- warm: the second and later fits in a process, sampling (warm-up included) and metrics.
- import: beyond a bare interpreter. lightfair loads scipy and numba only when they are needed.
- memory: the largest process, cold (compilers included) / cached. Size: of the environment, less
  an empty one.
- ESS/s: fewest effective draws (bulk ESS) of any parameter or delta, for each CPU second of
  sampling, warm-up included, in a warm fit of the settings of the next section. lightfair's
  seconds are those of the whole `assess`; the line "sampler" has those of its sampler and metrics
  step only. Its import time as a whole is that of numpy.
"""
EFFECTIVE = """## Effective draws

Fewest effective draws of any parameter or delta for each CPU second of sampling. Bulk ESS is that
of `lightfair.diagnostics` for all programs, and seconds are those of a warm fit with its warm-up.
Medians over fits.
"""
DETAILS = """Each fit in detail. Draws are those of all chains after warm-up. z is the largest
difference of a posterior mean to that of BlackJAX, nutpie, Stan and NumPyro (but itself), pooled
over all fits here, in standard errors of both, over all parameters and deltas: about 2 to 3.5 where
nothing is wrong, and meaningless where R-hat is far from 1.
"""
LARGE = """## A million rows

1,000 labels, 1,000,000 unlabeled rows, 800 draws (lightfair: 3,200). Rows: the likelihood has a
term for each label, the metrics step a sigmoid for each row and draw, in JAX for the two programs
that have it, in NumPy for the others. Nodes: the program is given the weighted nodes of
lightfair's table for both.
"""


def write_results(figures: dict[str, Any], path: Path) -> None:
    """Write RESULTS.md from the figures of `run.py`."""
    path.write_text(results_text(figures))


def results_text(figures: dict[str, Any]) -> str:
    """Return the text of RESULTS.md."""
    parts = [HEAD, _run(figures)]
    if figures.get("note"):
        parts.append(f"**{figures['note']}**\n")
    if figures["times"]:
        parts += [
            TIMES.format(rows="100 labels, 10,000 unlabeled rows, two groups"),
            _times(figures),
        ]
    if figures["effective"]:
        parts += [EFFECTIVE, _effective(figures), DETAILS]
        parts += [_details(case, entry) for case, entry in figures["effective"].items()]
    if figures["large"]:
        parts += [LARGE, _large(figures)]
    parts += [_settings(figures), _installed(figures)]
    return "\n".join(parts)


def _run(figures: dict[str, Any]) -> str:
    repeats = figures["repeats"]
    return (
        f"{figures['date']}, `{figures['command']}`, {figures['cores']} cores, "
        f"{_number(figures['cpu_seconds'])} CPU seconds in all. Medians of {repeats} warm fits in "
        f"the first table and of {min(repeats, 2)} in the others, and of {min(repeats, 3)} cached "
        "processes; JAGS: one of each.\n"
    )


def _times(figures: dict[str, Any]) -> str:
    rows = []
    effective = figures["effective"].get("100 labels", {})
    for name, t in figures["times"].items():
        entry = effective.get(name)
        rows.append(
            (
                name,
                *(_number(t[key]) for key in ("cold", "cached")),
                f"{_number(t['sampling'])} + {_number(t['metrics'])}"
                if not name.startswith("lightfair")
                else _number(t["sampling"]),
                _number(t["import"]),
                f"{t['cold_megabytes']:.0f} / {t['cached_megabytes']:.0f}",
                f"{_size(figures, name):.0f}",
                "-" if entry is None else _number(_rate(entry)),
            )
        )
    heads = ("program", "cold s", "cached s", "warm s", "import s", "memory MB", "size MB", "ESS/s")
    return _table(heads, rows)


def _size(figures: dict[str, Any], name: str) -> float:
    """Megabytes of a program's environment, less those of an empty one."""
    install = figures["install"]
    made = install[PROGRAMS[name].environment]
    return float(made["megabytes"] - install["empty"]["megabytes"])


def _effective(figures: dict[str, Any]) -> str:
    cases = list(figures["effective"])
    names = dict.fromkeys(name for entry in figures["effective"].values() for name in entry)
    rows = []
    for name in names:
        entries = [figures["effective"][case].get(name) for case in cases]
        rows.append((name, *("-" if f is None else _number(_rate(f)) for f in entries)))
    return _table(("program", *cases), rows)


def _details(case: str, entry: dict[str, Any]) -> str:
    heads = (
        f"{case}: program",
        "draws",
        "sampling s",
        "metrics s",
        "ESS, least",
        "of",
        "ESS, least of deltas",
        "R-hat, largest",
        "divergences",
        "z, largest",
        "of",
    )
    rows = [
        (
            name,
            f"{f['draws']:,}",
            _number(f["sampling"]),
            _number(f["metrics"]) if not name.startswith("lightfair") else "in it",
            _number(f["ess_bulk"]),
            f["ess_quantity"],
            _number(f["ess_bulk_delta"]),
            f"{f['rhat']:.3f}",
            "-"
            if f["divergences"] is None
            else f"{f['divergences']} of {f['fits'] * f['draws']:,}",
            f"{f['z']:.1f}" if "z" in f else "-",
            f.get("z_quantity", "-"),
        )
        for name, f in entry.items()
    ]
    return _table(heads, rows)


def _large(figures: dict[str, Any]) -> str:
    rows, nodes = (figures["large"].get(case, {}) for case in ("1e6 rows", "1e6 rows, nodes"))
    body = []
    for name in dict.fromkeys([*rows, *nodes]):
        cells = [name]
        for entry in (rows.get(name), nodes.get(name)):
            if entry is None:
                cells += ["-", "-"]
            elif name.startswith("lightfair"):
                cells += [_number(entry["sampling"]), "in it"]
            else:
                cells += [_number(entry["sampling"]), _number(entry["metrics"])]
        body.append(cells)
    heads = ("program", "rows: sampling s", "metrics s", "nodes: sampling s", "metrics s")
    table = _table(heads, body)
    if "table_seconds" in figures:
        seconds = _number(figures["table_seconds"])
        table += f"\nMaking the nodes takes {seconds} s, a part of `assess` and of no other line.\n"
    return table


def _settings(figures: dict[str, Any]) -> str:
    lines = ["## Settings\n"]
    ran = {*figures["times"], *figures["large"].get("1e6 rows", ())}
    ran.update(*figures["effective"].values())
    for name, program in PROGRAMS.items():
        if name not in ran:
            continue
        short, long = _words(program.short), _words(program.long)
        lines.append(f"- {name}: {program.form}. {short}")
        lines[-1] += "." if short == long else f"; for effective draws {long}."
    lines.append(
        "\nThe samplers with gradients see the non-centred form, JAGS the centred one, as in the "
        "paper. 4 chains each, but 16 where lightfair runs at its defaults.\n"
    )
    return "\n".join(lines)


def _words(settings: dict[str, Any]) -> str:
    if "warmup" not in settings:
        return "The same for seconds and for effective draws"
    text = f"{settings['warmup']} sweeps of warm-up and {settings['draws']} draws"
    accept = settings.get("target_accept")
    return text if accept is None else f"{text}, target acceptance {accept}"


def _installed(figures: dict[str, Any]) -> str:
    rows = []
    for name, entry in figures["install"].items():
        if name == "empty":
            continue
        if entry["ok"]:
            listed = {k.lower(): v for k, v in entry["versions"].items()}
            shown = ("numpy", "scipy", "numba", "jax", "blackjax", "numpyro", "pymc", "nutpie")
            names = [k for k in (*shown, "pystan", "httpstan", "pyjags") if k in listed]
            text = ", ".join(f"{k} {listed[k]}" for k in names)
            rows.append((name, "yes", f"Python {entry['python']}, {text}"))
        else:
            rows.append((name, "no", entry["error"]))
    text = "## Installation\n\n" + _table(
        ("environment", "installed", "releases, or why not"), rows
    )
    for name, error in figures["failures"].items():
        text += f"\n{name} was installed and did not finish: {error}\n"
    return text


def _rate(entry: dict[str, Any]) -> float:
    return float(entry["ess_bulk"] / entry["sampling"])


def _number(value: float) -> str:
    """Three digits, two below 1."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = tuple(heads)
    lines = [heads, tuple("---" if i == 0 else "---:" for i in range(len(heads))), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

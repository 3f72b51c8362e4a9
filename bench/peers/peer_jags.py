"""JAGS as a separate program, such as Debian's: it reads a script and writes CODA files."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import jags_model
import numpy as np
from common import Case, Draws, Fit, Settings, main

SCRIPT = """model in "model.bug"
data in "data.R"
compile, nchains({chains})
{inits}
initialize
update {warmup}
{monitors}
update {draws}
coda *, stem("coda")
"""


def prepare(case: Case, settings: Settings) -> Fit:
    """Write model and data as text; JAGS builds its graph anew in each fit."""
    folder = tempfile.TemporaryDirectory()
    here = Path(folder.name)
    (here / "model.bug").write_text(jags_model.model(settings.nodes))
    columns = jags_model.data(case, settings.nodes)
    (here / "data.R").write_text("".join(_assignment(*pair) for pair in columns.items()))
    monitored = [*jags_model.MONITORED, *(["z"] if settings.nodes else [])]
    numbers = range(1, settings.chains + 1)
    script = SCRIPT.format(
        chains=settings.chains,
        warmup=settings.warmup,
        draws=settings.draws,
        inits="\n".join(f'parameters in "inits{k}.R", chain({k})' for k in numbers),
        monitors="\n".join(f"monitor {name}" for name in monitored),
    )
    (here / "script").write_text(script)

    def fit(seed: int) -> Draws:
        for k in numbers:
            (here / f"inits{k}.R").write_text(
                '".RNG.name" <- "base::Mersenne-Twister"\n'
                f'".RNG.seed" <- {seed * settings.chains + k}\n'
            )
        subprocess.run(["jags", "script"], cwd=folder.name, check=True, capture_output=True)
        return jags_model.named(_read(here, settings), case)

    return fit


def _assignment(name: str, value: np.ndarray | int) -> str:
    if np.ndim(value) == 0:
        return f'"{name}" <- {value}\n'
    return f'"{name}" <- c({",".join(map(repr, np.asarray(value).tolist()))})\n'


def _read(folder: Path, settings: Settings) -> dict[str, np.ndarray]:
    """Read CODA files: one line "sweep value" for each draw, variable after variable."""
    chains = []
    for k in range(1, settings.chains + 1):
        numbers = np.array((folder / f"codachain{k}.txt").read_text().split(), dtype=float)
        chains.append(numbers[1::2].reshape(-1, settings.draws).T)
    values = np.stack(chains)
    names = [line.split("[")[0] for line in (folder / "codaindex.txt").read_text().splitlines()]
    variables = np.array(names)
    return {name: values[..., variables == name] for name in dict.fromkeys(names)}


if __name__ == "__main__":
    raise SystemExit(main(prepare))

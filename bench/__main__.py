"""Run a measurement and write its page, or list them all.

python -m bench                               list: what they need, take and found
python -m bench NAME [--data FOLDER] [...]    measure; --help lists the options
python -m bench smallest [NAME ...]           do all still work?
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import sys
from pathlib import Path

from . import evidence

FILES = sorted(evidence.HERE.rglob("*.py"))
NAMES = [
    ".".join(path.relative_to(evidence.HERE).with_suffix("").parts)
    for path in FILES
    if "\ndef measure(" in path.read_text()
]


def main(words: list[str]) -> int:
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # before NumPy is imported
    if not words:
        print(__doc__.strip(), *map(entry, NAMES), sep="\n\n")
        return 0
    name, *rest = words
    if name == "smallest":
        from .smallest import main as try_all

        return try_all(rest or NAMES)
    if name not in NAMES:
        print(f"NAME is one of {', '.join(NAMES)}, not {name!r}", file=sys.stderr)
        return 2
    parser = evidence.parser(name, importlib.import_module(f".{name}", __package__).measure)
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="default: all cores")
    parser.add_argument("--out", type=Path, help="folder of the page; default: its place here")
    given = vars(parser.parse_args(rest))
    evidence.processes, out = given.pop("processes"), given.pop("out")
    said = shlex.join(["python", "-m", "bench", *words])
    said = re.sub(r" --(processes|out|keep)[ =]\S+", "", said)
    for folder in (value for value in given.values() if isinstance(value, Path)):
        said = said.replace(str(folder), "FOLDER")
    print(evidence.run(name, given, out, said))
    return 0


def entry(name: str) -> str:
    """Return the title, what is needed, and what the head of the page says."""
    path = evidence.page_of(name)
    head = path.read_text() if path.exists() else ""
    facts = re.search(r"^lightfair .*(?=, by$)", head, re.M)
    result = re.search(r"^\*\*Result\.\*\* (.*?)\n\n", head, re.M | re.S)
    needs = "".join(f", needs --{option}" for option in evidence.needs(name))
    lines = [f"{name}: {evidence.about(name)[0]}{needs}", facts[0] if facts else "not measured"]
    return "\n    ".join([*lines, *(result[1].splitlines() if result else [])])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""Run a measurement and write its page, or list them all.

python -m bench                               list: what they need, take and found
python -m bench NAME [--data FOLDER] [...]    measure; --help lists the options
python -m bench smallest [NAME ...]           do all still work?

Some need the extra `bench` of the package; FOLDER is described in bench/paper/README.md.
"""

from __future__ import annotations

import importlib
import os
import re
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
    if not words or words[0] in ("-h", "--help"):
        print(__doc__.strip(), *map(entry, NAMES), sep="\n\n")
        return 0
    name, *rest = words
    wrong = [one for one in (rest if name == "smallest" else [name]) if one not in NAMES]
    if wrong:
        print(f"NAME is one of {', '.join(NAMES)}, not {wrong[0]!r}", file=sys.stderr)
        return 2
    if name == "smallest":
        from .smallest import main as try_all

        return try_all(rest or NAMES)
    parser = evidence.parser(name, importlib.import_module(f".{name}", __package__).measure)
    parser.add_argument(
        "--processes",
        type=evidence.positive(int),
        default=os.cpu_count(),
        help="default: all cores",
    )
    parser.add_argument("--out", type=Path, help="folder of the page; default: its place here")
    given = vars(parser.parse_args(rest))
    evidence.processes, out = given.pop("processes"), given.pop("out")
    try:
        print(evidence.run(name, given, out))
    except FileNotFoundError as error:  # of the folder
        print(error, file=sys.stderr)
        return 2
    return 0


def entry(name: str) -> str:
    """Return the title, what is needed, and the facts in the head of the page."""
    path = evidence.page_of(name)
    head = path.read_text() if path.exists() else ""
    facts = re.search(r"^lightfair .*(?=, by$)", head, re.M)
    result = re.search(r"^\*\*Result\.\*\* (.*?)\n\n", head, re.M | re.S)
    needs = "".join(f", needs --{option}" for option in evidence.needs(name))
    lines = [f"{name}: {evidence.about(name)[0]}{needs}", facts[0] if facts else "not measured"]
    return "\n    ".join([*lines, *(result[1].splitlines() if result else [])])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

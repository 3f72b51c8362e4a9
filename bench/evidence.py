"""What the measurements share: options from a signature, processes, and the head of a page.

A measurement is a module with

    a docstring     the title of its page; below, what is measured and how, which the page repeats
    SMALLEST        the arguments of a run that only shows that it works
    measure(...)    returns a Page; its arguments are the options of the command line

An argument `data` is the folder of real scores; without a default it is needed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
HEAD = """# {title}

lightfair {version}, code of {commit}, {day}, {seconds:,.0f} s of CPU, by

    {command}

{result}

{about}

"""
UNKNOWN = "unknown"  # commit, without git
processes = 1  # of `each`; `python -m bench` sets it
earlier = 0.0  # CPU seconds of the answers that `each` did not compute again


class Page(NamedTuple):
    """A measured page.

    result: what was found, in one or two sentences; body: Markdown; files: others to write into
    the folder of the page, such as long tables, by name.
    """

    result: str
    body: str
    files: dict[str, str | bytes] = {}


def table(head: str, rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; `head` is its titles between bars."""
    lines = [head, " | ".join("---" for _ in head.split("|"))]
    lines += [" | ".join(str(cell) for cell in row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


def each(
    function: Callable[[Any], Any], tasks: Iterable[Any], keep: Path | None = None
) -> Iterator[Any]:
    """Yield function(task) in the order of the tasks, from `processes` processes.

    keep: a file to which answers are added, and from which an interrupted call goes on; answers
    of another commit of the package do not count, nor those of code that is not committed.
    """
    global earlier
    tasks, known, code = list(tasks), {}, commit()
    if keep is not None and keep.exists():
        text = keep.read_text()
        whole = text[: text.rfind("\n") + 1]  # without a line cut off
        lines = [json.loads(line) for line in whole.splitlines()]
        keep.write_text(whole)
        if code.isalnum() and code != UNKNOWN:
            known = {task: rest for made_by, task, *rest in lines if made_by == code}
    left = [task for task in tasks if repr(task) not in known]
    os.environ["LIGHTFAIR_JIT"] = "1"
    with ProcessPoolExecutor(processes, get_context("spawn"), quiet) as pool:
        answers = iter((map if processes == 1 else pool.map)(partial(timed, function), left))
        for at, task in enumerate(tasks):
            if repr(task) in known:
                answer, seconds = known[repr(task)]
                earlier += seconds
            else:
                answer, seconds = next(answers)
                if keep is not None:
                    with keep.open("a") as out:
                        out.write(json.dumps([code, repr(task), answer, seconds]) + "\n")
            if sys.stderr.isatty():
                print(f"\r{at + 1} of {len(tasks)}", end="", file=sys.stderr)
            yield answer


def timed(function: Callable[[Any], Any], task: Any) -> tuple[Any, float]:
    """Return the answer, and the CPU seconds that it took."""
    began = time.process_time()
    return function(task), time.process_time() - began


def quiet() -> None:
    """Ignore warnings of fits: a measurement counts what it needs of them."""
    warnings.simplefilter("ignore")


def about(name: str) -> tuple[str, str]:
    """Return the title of a measurement, and what it measures."""
    title, _, rest = (ast.get_docstring(_tree(name)) or "").partition("\n")
    return title.rstrip("."), rest.strip()


def needs(name: str) -> list[str]:
    """Return the options that a measurement cannot do without."""
    (measure,) = (node for node in _tree(name).body if getattr(node, "name", "") == "measure")
    arguments = measure.args.args
    return [one.arg for one in arguments[: len(arguments) - len(measure.args.defaults)]]


def _tree(name: str) -> ast.Module:
    return ast.parse((HERE / f"{name.replace('.', '/')}.py").read_text())


def page_of(name: str) -> Path:
    """Return the page of a measurement, such as AUDIT.md for audit."""
    *folders, last = name.split(".")
    return HERE.joinpath(*folders, f"{last.upper()}.md")


def parser(name: str, measure: Callable[..., Page]) -> argparse.ArgumentParser:
    """Options from the arguments of a function and their defaults; text is one of the default."""
    about_it = about(name)[0]
    made = argparse.ArgumentParser(f"python -m bench {name}", None, about_it, allow_abbrev=False)
    for option in inspect.signature(measure, eval_str=True).parameters.values():
        default, kind = option.default, option.annotation
        given: dict[str, Any] = {"type": positive(kind), "default": default}
        given["help"] = f"default: {default}"
        if default is option.empty:
            given = {"type": existing, "required": True, "metavar": "FOLDER"}
        elif isinstance(default, tuple):
            given.update(type=positive(type(default[0])), nargs="+")
            given["help"] = f"default: {' '.join(str(value) for value in default)}"
            if isinstance(default[0], str):
                given["choices"] = default
        elif default is None:
            given.update(type=Path, metavar="FILE")
        made.add_argument(f"--{option.name.replace('_', '-')}", **given)
    return made


def positive(kind: type) -> Callable[[str], Any]:
    """Return a reader of text, or of numbers of a type, which must be above 0."""

    def read(text: str) -> Any:
        value = kind(text)
        if kind is not str and not value > 0:
            raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
        return value

    return read


def existing(text: str) -> Path:
    """Read a folder."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"must be a folder, not {text!r}")
    return Path(text)


def command(name: str, given: dict[str, Any], measure: Callable[..., Page]) -> str:
    """Return the command of a call: the options that differ from their defaults, no paths."""
    words = ["python", "-m", "bench", name]
    for option in inspect.signature(measure).parameters.values():
        flag, value = f"--{option.name.replace('_', '-')}", given.get(option.name, option.default)
        if option.default is option.empty:
            words += [flag, "FOLDER"]
        elif option.name != "keep" and value != option.default:
            values = value if isinstance(value, (list, tuple)) else [value]
            words += [flag, *map(str, values)]
    return shlex.join(words)


def run(name: str, given: dict[str, Any], out: Path | None) -> str:
    """Measure, write the page (into `out`, else where it belongs) and return its text."""
    quiet()
    path = page_of(name)
    folder = out or path.parent
    folder.mkdir(parents=True, exist_ok=True)
    measure = importlib.import_module(f".{name}", __package__).measure
    page = measure(**given)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    title, text = about(name)
    core = importlib.import_module("lightfair.core")
    head = HEAD.format(
        title=title,
        version=core.__version__,
        commit=commit(),
        day=date.today().isoformat(),
        seconds=earlier + sum(one.ru_utime + one.ru_stime for one in used),
        command=command(name, given, measure),
        result=fill(f"**Result.** {page.result}".replace(" %", "~%"), 100).replace("~%", " %"),
        about=text,
    )
    (folder / path.name).write_text(f"{head}{page.body.rstrip()}\n")
    for file, content in page.files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content.encode() if isinstance(content, str) else content)
    return (folder / path.name).read_text()


def commit() -> str:
    """Return the last commit that changed the package, with a plus if it was changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words, "--", "lightfair"], cwd=HERE.parent,
                              capture_output=True, text=True)  # fmt: skip
        return done.stdout.strip()

    if shutil.which("git") is None:
        return UNKNOWN
    return git("log", "-1", "--format=%h") + "+" * bool(git("status", "--porcelain")) or UNKNOWN

"""Vendor the package: copy it into a host under another name, without what the host does not want.

    python bench/vendor_check.py                            # checks the set "core"
    python bench/vendor_check.py --set numbers --quick
    python bench/vendor_check.py --strip cli --strip plot --target ../host/src --no-tests
    python bench/vendor_check.py --one-file lightfair.pyz   # checks all, as one file
    python bench/vendor_check.py --list

What a module needs is read from its imports. A set that would not import is refused, with the names
of the modules that are in the way. Modules that only stripped ones use go with them. Functions that
import a stripped module when they are called stay; they are listed, since they will raise
ImportError.

The copy is imported, and makes an assessment, in a new environment with numpy alone. Then pytest
and scipy are added, and the tests of the package run there, rewritten to the new name. Tests that
ask for a stripped part are left out and counted.

The one file is a zip archive, in the form of the standard library's zipapp: Python runs it, and
imports from it.

    python lightfair.pyz assess scores.csv --label label --score score --group race
    import sys; sys.path.insert(0, "lightfair.pyz"); import lightfair

It takes --set, --strip and --name, too. The same tree gives the same bytes. The commands and the
tests run from it, and it assesses with compiled functions, in a folder and with a home that
nobody may write to.
"""

from __future__ import annotations

import argparse
import ast
import functools
import keyword
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "lightfair"
PARTS = {  # what may go, by the modules that lead to the rest of it
    "cli": ("the command line", ("__main__", "cli")),
    "plot": ("plots, which need matplotlib", ("plot",)),
    "html": ("reports in HTML", ("html", "figures")),
    "markdown": ("reports in Markdown", ("markdown",)),
    "tidy": ("tidy rows, CSV, data frames", ("tidy", "frames")),
    "arviz": ("draws for ArviZ", ("arviz_data",)),
    "estimator": ("assess_estimator", ("estimator",)),
    "sql": ("the query for databases, and tables from its result", ("sql", "rows")),
    "planning": (
        "how many labels; checks that lack evidence ask it, too",
        ("planning", "plan_report"),
    ),
    "choosing": ("which rows to label", ("label_choice",)),
    "pairs": ("two models on the same rows", ("paired", "paired_report")),
    "search": ("the threshold that suits a limit", ("threshold_search",)),
    "simulation": ("simulated rows", ("simulation",)),
    "compiled": ("compiled functions, which need numba", ("compiled", "_kernels", "_gather")),
    "report": ("reports as text; results have to_dict()", ("report", "text", "paired_report")),
}
OUTPUTS = ("cli", "plot", "html", "markdown", "tidy", "arviz", "estimator")
SETS = {
    "all": (),
    "core": OUTPUTS,
    "numbers": (*OUTPUTS, "sql", "choosing", "pairs", "search", "report"),
}
# of packaging, and of other packages
NOT_OF_A_COPY = (
    "test_docstrings",
    "test_engines",
    "test_packaging",
    "test_peers",
    "test_readme",
    "test_vendor_check",
)
QUICK = (
    "test_cases",
    "test_compare",
    "test_conjugate",
    "test_data",
    "test_model",
    "test_reading",
    "test_report",
    "test_stored",
    "test_summary",
    "test_table",
)
LOADS = """
import importlib, sys
import {name} as lf
for module in {modules}:
    importlib.import_module("{name}." + module)
y, s, g = [1, 0, None, 1, 0, None], [0.9, 0.2, 0.3, 0.7, 0.6, 0.4], list("aabbab")
result = lf.assess(y, s, sensitive_features=g, chains=4, draws=50, warmup=50, rng=0)
assert result.to_dict()["data"]["rows"] == 6
{show}
assert lf.__file__.startswith({place!r}), lf.__file__
assert "{name}" == "lightfair" or "lightfair" not in sys.modules
"""
MAIN = """# PYTHON_ARGCOMPLETE_OK
from {name}.cli import run

run()
"""
COMPILED = """
import os, sys
os.environ["LIGHTFAIR_JIT"] = "1"
import {name} as lf
result = lf.assess([1, 0, None], [0.9, 0.2, 0.4], sensitive_features=list("abb"), chains=2, draws=4,
                   warmup=4, rng=0)
from {name} import _kernels
hits = sum(_kernels.sweeps.stats.cache_hits.values())
assert _kernels.sweeps.signatures and hits == {hits}, hits
"""
PLUGIN = '''"""Parts that this copy does not have: a test that asks for one is left out."""

import importlib.util
import re
import sys

import pytest

import {name} as package

GONE = {gone}
PUBLIC = {public}  # public name: module
SAID = re.compile(
    r"No module named '{name}\\.([\\w.]+)'|module '{name}' has no attribute '(\\w+)'"
)


class Absent:
    """Anything of a stripped module."""

    def __init__(self, module):
        self.__dict__["module"] = module

    def skip(self, *_, **__):
        module = self.__dict__["module"]
        pytest.skip(f"left out, it is of {{module}}", allow_module_level=True)

    __call__ = __getattr__ = __getitem__ = __iter__ = __len__ = __eq__ = __bool__ = skip
    __hash__ = None


class Finder:
    """Finds a stripped module, in which there is anything, and all of it absent."""

    def find_spec(self, name, path=None, target=None):
        found = name.removeprefix(package.__name__ + ".")
        if found in GONE and name != found:
            return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        absent = Absent(module.__name__.removeprefix(package.__name__ + "."))
        module.__path__ = []
        module.__getattr__ = lambda name: absent if name[:2] != "__" else no_attribute(name)


def no_attribute(name):
    raise AttributeError(name)


sys.meta_path.append(Finder())
for public, module in PUBLIC.items():
    setattr(package, public, Absent(module))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A child process that lacked a stripped module said so."""
    report = (yield).get_result()
    said = SAID.search(str(report.longrepr)) if report.failed else None
    if said and (said[1] in GONE or said[2] in PUBLIC):
        report.outcome = "skipped"
        reason = f"Skipped: left out, it is of {{said[1] or PUBLIC[said[2]]}}"
        report.longrepr = (str(item.path), 0, reason)
'''


class Link(NamedTuple):
    """An import of a module of the package: by whom, in which function, "" for at its import."""

    source: str
    target: str
    function: str


class Choice(NamedTuple):
    """Names of modules, dotted and relative, "" for the package itself."""

    kept: tuple[str, ...]
    gone: tuple[str, ...]
    later: tuple[Link, ...]  # imports of what is gone by functions of what is kept


def package_name(text: str) -> str:
    """A dotted name that a copy can have: identifiers, none of them taken."""
    parts = text.split(".")
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        raise argparse.ArgumentTypeError(f"must be identifiers joined by dots; got {text!r}")
    if parts[0] in {*sys.stdlib_module_names, "lightfair", "tests", "numpy", "scipy", "numba"}:
        raise argparse.ArgumentTypeError(f"is taken: {parts[0]!r}; another name will do")
    return text


def archive_path(text: str) -> Path:
    """A file that can be written, whose name says what it is."""
    path = Path(text)
    if path.suffix not in (".pyz", ".zip"):
        raise argparse.ArgumentTypeError(f"must end in .pyz or .zip; got {text!r}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}; make it first")
    return path


def modules(package: Path) -> dict[str, Path]:
    """All modules of a package, by dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        *parents, stem = path.relative_to(package).with_suffix("").parts
        found[".".join(parents if stem == "__init__" else [*parents, stem])] = path
    return found


def links(name: str, path: Path, known: Iterable[str]) -> Iterator[Link]:
    """Imports of a module, those for type checkers left out."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    package = [part for part in package if part]

    def visit(node: ast.AST, function: str) -> Iterator[Link]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                yield from visit(child, function)
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or (
            isinstance(node, ast.ClassDef) and not function
        ):
            inner = f"{function}.{node.name}".strip(".")
            deferred = not isinstance(node, ast.ClassDef)
            for child in node.body:
                for link in visit(child, inner):
                    yield link if deferred or link.function != inner else link._replace(function="")
            return
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base = [*base, *(node.module or "").split(".")] if node.module else base
            home = ".".join(base)
            for alias in node.names:
                inner = ".".join([*base, alias.name])
                yield Link(name, inner if inner in known else home, function)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(ast.parse(path.read_text()), "")


@functools.cache
def every_link(package: Path) -> tuple[Link, ...]:
    """All imports of a package."""
    known = modules(package)
    return tuple(link for name, path in known.items() for link in links(name, path, known))


def homes(package: Path) -> dict[str, str]:
    """Public names of the package by the module that they are in."""
    tree = ast.parse((package / "__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            found = ast.literal_eval(node.value)
            return {name: home for home, names in found.items() for name in names}
    raise SystemExit("the package must say where its public names are, in _HOMES")


def choose(package: Path, strip: Iterable[str]) -> Choice:
    """What stays and what goes, where modules are stripped.

    Raises
    ------
    SystemExit
        If a module that stays would not import.
    """
    known = modules(package)
    every = every_link(package)
    gone = {name for name in known for one in strip if name == one or name.startswith(f"{one}.")}
    unknown = set(strip) - {name for name in known if name}
    if unknown:
        raise SystemExit(f"there is no module {', '.join(map(repr, sorted(unknown)))}; see --list")
    public = {*homes(package).values(), "", "_version"}
    while True:  # what only stripped modules use
        used = {link.target for link in every if link.source not in gone}
        had = {link.target for link in every if link.source in gone}
        more = {name for name in had - used - gone - public if name}
        if not more:
            break
        gone |= more
    missed = [link for link in every if link.source not in gone and link.target in gone]
    broken: dict[str, set[str]] = {}
    for link in missed:
        if not link.function:
            broken.setdefault(link.target, set()).add(link.source or "__init__")
    if broken:
        said = "; ".join(f"{t} is imported by {', '.join(sorted(s))}" for t, s in broken.items())
        raise SystemExit(f"this set would not import: {said}; strip those, too, or keep it")
    return Choice(
        tuple(name for name in known if name not in gone),
        tuple(sorted(gone)),
        tuple(sorted(set(missed))),
    )


def copy(package: Path, target: Path, choice: Choice) -> None:
    """Copy what is kept; public names that are gone are taken out of the list of public names."""
    for name, path in modules(package).items():
        if name in choice.kept:
            place = target / path.relative_to(package)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    shutil.copyfile(package / "py.typed", target / "py.typed")
    init = target / "__init__.py"
    lines: list[str | None] = [*init.read_text().splitlines(keepends=True)]
    for node in ast.walk(ast.parse(init.read_text())):
        spans: list[tuple[int, int | None]] = []
        if isinstance(node, ast.ImportFrom) and node.module in choice.gone:
            spans = [(node.lineno, node.end_lineno)]
        if isinstance(node, ast.Dict):
            spans = [
                (key.lineno, value.end_lineno)
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value in choice.gone
            ]
        for first, last in spans:
            lines[first - 1 : last] = [None] * ((last or first) - first + 1)
    init.write_text("".join(line for line in lines if line is not None))


def renamed(text: str, name: str) -> str:
    """Python code with imports of the package under another name."""
    before = r"\bimport ((?:\w+(?: as \w+)?, )*)lightfair"
    text = re.sub(r"\bfrom lightfair(?=[.\s])", f"from {name}", text)
    text = re.sub(rf"{before}(?=\.| as )", rf"import \1{name}", text)
    text = re.sub(rf"{before}\b(?!\.)", rf"import \1{name} as lightfair", text)
    return re.sub(r'(-m |"-m", ")lightfair\b', rf"\1{name}", text)


def archive(folder: Path, target: Path, main: str) -> None:
    """Write a folder as one file that Python imports from, and runs where there is a main.

    The form is that of `zipapp`, which takes times and modes from the file system, and files in
    its order: the same tree would not give the same bytes.
    """
    texts = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    texts = {name: path.read_bytes() for name, path in texts.items() if path.is_file()}
    if main:
        texts["__main__.py"] = main.encode()
    with target.open("wb") as file:
        if main:
            file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, text in sorted(texts.items()):
                entry = zipfile.ZipInfo(name)  # of 1980
                entry.create_system, entry.external_attr = 3, 0o100644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                zipped.writestr(entry, text)
    if main:
        target.chmod(0o755)


def copy_tests(tests: Path, target: Path, name: str, choice: Choice) -> None:
    """Copy the tests, rewritten, and the plugin that leaves out those of what is gone."""
    shutil.copytree(tests, target, ignore=shutil.ignore_patterns("__pycache__"))
    for path in target.glob("*.py"):
        path.write_text(renamed(path.read_text(), name))
    public = {each: home for each, home in homes(PACKAGE).items() if home in choice.gone}
    text = PLUGIN.format(name=name, gone=repr(set(choice.gone)), public=repr(public))
    (target / "left_out.py").write_text(text)


def environment(folder: Path) -> str:
    """A new environment with numpy; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    install(python, "numpy")
    return python


def install(python: str, *packages: str) -> None:
    command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]
    subprocess.run(command, check=True)


def run(python: str, command: list[str], env: dict[str, str], folder: Path) -> int:
    """Run Python where warnings are errors, and nothing is printed but these."""
    command = [python, "-W", "error", *command]
    return subprocess.run(command, env=env, cwd=folder, stdout=subprocess.DEVNULL).returncode


def check(choice: Choice, name: str, place: Path, work: Path, quick: bool, tests: bool) -> int:
    """Import a copy from its place, a folder or one file, assess, run the tests: an exit code."""
    python = environment(work / "env")
    of_others = ("PYTHON", "LIGHTFAIR_", "NUMBA_", "XDG_")
    child = {key: value for key, value in os.environ.items() if not key.startswith(of_others)}
    child = {**child, "PYTHONPATH": str(place), "OPENBLAS_NUM_THREADS": "1"}
    with_numba = {"compiled", "_kernels", "_gather", "_cache"}
    others = [one for one in choice.kept if one and one not in {*with_numba, "__main__"}]
    show = "print(result)" if "report" in choice.kept else ""
    code = LOADS.format(name=name, modules=others, show=show, place=str(place))
    if run(python, ["-c", code], child, work):
        return 1
    print(f"imported {len(others)} modules and assessed, with numpy alone", flush=True)
    code = check_one_file(choice, name, place, work, python, child) if place.is_file() else 0
    if code or not tests:
        return code
    install(python, "pytest", "scipy")
    command = [python, "-m", "pytest", "-q", "-p", "left_out", "-p", "no:cacheprovider"]
    if quick:
        command += [f"tests/{one}.py" for one in QUICK]
    else:
        command += [f"--ignore=tests/{one}.py" for one in NOT_OF_A_COPY]
        print(f"left out as tests of packaging or of other packages: {', '.join(NOT_OF_A_COPY)}")
    child["PYTHONPATH"] = os.pathsep.join([str(place), str(work / "tests")])
    return subprocess.run(command, env=child, cwd=work).returncode


def check_one_file(
    choice: Choice, name: str, place: Path, work: Path, python: str, child: dict[str, str]
) -> int:
    """Run the commands from one file, and compiled functions, where nobody may write."""
    rows, home = work / "rows.csv", work / "home"
    rows.write_text("y,s,g\n1,0.9,a\n0,0.2,a\n,0.3,b\n1,0.7,b\n0,0.6,a\n,0.4,b\n")
    read_only = {**child, "HOME": str(rows)}  # no folder
    runs: list[tuple[dict[str, str], list[str]]] = []
    if "cli" in choice.kept:
        code = f"from {name}.cli import _parser; print(*_parser().commands)"
        names = subprocess.check_output(
            [python, "-c", code], env=child, cwd=work, text=True
        ).split()
        of_rows = ["--label", "y", "--score", "s", "--group", "g", "--draws", "50"]
        commands = [["--version"], ["--help"], *([one, "--help"] for one in names)]
        commands += [["demo", "--rows", "500"], ["assess", str(rows), *of_rows]]
        del read_only["PYTHONPATH"]
        runs = [(read_only, [str(place), *command]) for command in commands]
        print(f"running {', '.join(names)} from one file", flush=True)
    if "compiled" in choice.kept:
        install(python, "numba")
        compiled = [(read_only, 0), ({**child, "HOME": str(home)}, 0)]
        compiled += [({**child, "HOME": str(home)}, 1)]
        for env, hits in compiled:
            env = {**env, "PYTHONPATH": str(place)}
            runs.append((env, ["-c", COMPILED.format(name=name, hits=hits)]))
        print("compiling from one file, without a place to keep that, and with one", flush=True)
    place.parent.chmod(0o555)
    return int(any(run(python, command, env, work) for env, command in runs))


def describe(choice: Choice, target: Path) -> None:
    """Print what stays, what goes, and what will miss it."""
    lines = sum(len(path.read_text().splitlines()) for path in target.rglob("*.py"))
    print(f"kept: {len(choice.kept)} modules, {lines:,} lines")
    print(f"stripped: {', '.join(choice.gone) or 'nothing'}")
    for link in choice.later:
        print(f"will raise ImportError: {link.source}.{link.function}, for want of {link.target}")
    sys.stdout.flush()


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument(
        "--set", choices=SETS, help="what to strip (core; all where --strip or --one-file is given)"
    )
    made.add_argument("--strip", action="append", default=[], help="a part or a module; repeatable")
    made.add_argument(
        "--name",
        type=package_name,
        help="new name (host.fairness_core; of one file lightfair)",
    )
    made.add_argument(
        "--one-file", type=archive_path, metavar="FILE", help="zip archive to write, .pyz or .zip"
    )
    made.add_argument("--target", type=Path, help="folder to copy into, which stays")
    made.add_argument("--quick", action="store_true", help="some of the tests")
    made.add_argument("--no-tests", action="store_true", help="import and assess only")
    made.add_argument("--list", action="store_true", help="list parts and sets")
    return made


def main() -> int:
    options = parser().parse_args()
    if options.list:
        for part, (what, entries) in PARTS.items():
            print(f"{part:<11} {what} ({', '.join(entries)})")
        for name, parts in SETS.items():
            print(f"--set {name}: strips {', '.join(parts) or 'nothing'}")
        return 0
    usual = "all" if options.strip or options.one_file else "core"
    name = options.name or ("lightfair" if options.one_file else "host.fairness_core")
    wanted = [*options.strip, *SETS[options.set or usual]]
    strip = [entry for one in wanted for entry in PARTS.get(one, ("", (one,)))[1]]
    choice = choose(PACKAGE, strip)
    goal = None if options.target is None else options.target.joinpath(*name.split("."))
    if goal is not None and goal.exists():
        raise SystemExit(
            f"{goal} is there already; remove it, or choose another --name or --target"
        )
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder).resolve()
        place = work / "copy"
        package = place.joinpath(*name.split("."))
        copy(PACKAGE, package, choice)
        for parent in package.relative_to(place).parents:
            if parent.name:
                (place / parent / "__init__.py").touch()
        describe(choice, package)
        copy_tests(ROOT / "tests", work / "tests", name, choice)
        shutil.copyfile(ROOT / "pyproject.toml", work / "pyproject.toml")
        if options.one_file is not None:
            place = work / "one" / options.one_file.name
            place.parent.mkdir()
            archive(work / "copy", place, MAIN.format(name=name) if "cli" in choice.kept else "")
        code = check(choice, name, place, work, options.quick, not options.no_tests)
        if code == 0 and goal is not None:
            shutil.copytree(package, goal, ignore=shutil.ignore_patterns("__pycache__"))
            print(f"copied to {goal}")
        if code == 0 and options.one_file is not None:
            shutil.copy(place, options.one_file)
            print(f"written to {options.one_file}, {place.stat().st_size / 1000:,.0f} kB")
        if options.one_file is not None:
            place.parent.chmod(0o755)  # to be removed
    return code


if __name__ == "__main__":
    raise SystemExit(main())

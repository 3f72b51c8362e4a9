"""Bad days: odd files, folders without permission, closed pipes: a result, or one sentence."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys

import pytest
from results import PACKAGE

import lightfair as lf

NAMES = {"y_true": "y", "y_score": "s", "sensitive_features": "g"}
COLUMNS = ["--label", "y", "--score", "s", "--group", "g"]
ROWS = "y,s,g\n1,0.9,A\n0,0.2,A\n,0.3,B\n1,0.7,B\n"


def summary(content, **options):
    content = content if isinstance(content, bytes) else content.encode()
    return lf.summarize(io.BytesIO(content), **NAMES, **options).to_dict()


# what is read, and as what

SAME = {  # the table of ROWS
    "a byte order mark": b"\xef\xbb\xbf" + ROWS.encode(),
    "semicolons": ROWS.replace(",", ";"),
    "semicolons, decimal commas": ROWS.replace(",", ";").replace(".", ","),
    "tabs": ROWS.replace(",", "\t"),
    "quotes": '"y","s","g"\n"1","0.9","A"\n"0","0.2","A"\n"","0.3","B"\n"1","0.7","B"\n',
    "quotes after blanks": 'y, s, "g"\n1, 0.9, "A"\n0, 0.2, A\n, 0.3, "B"\n1, 0.7, B\n',
    "CRLF": ROWS.replace("\n", "\r\n"),
    "CR": ROWS.replace("\n", "\r"),
    "line ends of all kinds": b"y,s,g\r\n1,0.9,A\n0,0.2,A\r,0.3,B\n1,0.7,B",
    "blank lines": "\n \n" + ROWS.replace("\n", "\n\n") + "\n   \n\t\n",
    "labels NA, NaN, None, null": ROWS.replace("\n,", "\nNone,"),
    "other columns twice": b"y,x,s,x,g\n1,,0.9,,A\n0,,0.2,,A\n,,0.3,,B\n1,,0.7,,B\n",
    "a column without a name": b",y,s,g\n0,1,0.9,A\n1,0,0.2,A\n2,,0.3,B\n3,1,0.7,B\n",
    "newlines in another column": b'y,s,g,"n\nn"\n1,0.9,A,"a\n\nb"\n0,0.2,A,\n,0.3,B,\n1,0.7,B,x\n',
    "a line of many bytes": ROWS.replace("\n", ",t\n").replace("B,t", f"B,{'t' * 130_000}"),
    "zeros after gzip": gzip.compress(ROWS.encode()) + bytes(100),
}


@pytest.mark.parametrize("chunk_rows", [1, 100])
@pytest.mark.parametrize("content", SAME.values(), ids=SAME)
def test_what_is_read_as_the_same_rows(content, chunk_rows):
    assert summary(content, chunk_rows=chunk_rows) == summary(ROWS)


@pytest.mark.parametrize(
    "cell, name",
    [
        ("größer", "größer"),
        ("日本", "日本"),
        ('"a, b"', "a, b"),
        ("a;b", "a;b"),
        ('"say ""a"""', 'say "a"'),
        ('"two\nlines"', "two\nlines"),
        ("nan", "nan"),
        ("1.0", "1"),
        ("\x1b[31m", "\x1b[31m"),
    ],
)
def test_groups_keep_their_names(cell, name):
    assert [name] in summary(ROWS.replace("A", cell))["groups"]


# what is refused

REFUSED = {
    "Latin-1": (ROWS.replace("B", "größer").encode("latin-1"), "not UTF-8 text: .*; save it as"),
    "UTF-16": (ROWS.encode("utf-16"), "is not UTF-8 text: invalid start byte"),
    "UTF-16 without its mark": (ROWS.encode("utf-16-le"), "has no column y"),
    "null bytes": (ROWS + "\n\n\0\0\0", "must have 3 cells, as its header; got 1 in"),
    "a name twice": ("y,s,g,g\n1,0.9,A,B\n", "source has more than one column g, which differ;"),
    "names in capitals": ("Y,S,G\n1,0.9,A\n", "has no column y.*; its columns are Y, S, G"),
    "another separator": ("y:s:g\n1:0.9:A\n", "must be separated by commas, semicolons or t"),
    "labels of mixed type": (ROWS.replace("0,0.2", "no,0.2"), "must hold 0 and 1; got 'no', 1; or"),
    "a score that says NA": (ROWS.replace("0.7", "NA"), r"1 missing value \(row 3\); drop"),
    "decimal commas": (ROWS.replace("0.7", '"0,7"'), "such as 0.25; got '0,7' at row 3"),
    "short lines": (ROWS + "1,0.5\n", "3 cells, as its header; got 2 in"),
    "long lines": (ROWS + "1,0.5,A,\n", "as its header; got 4 in line 6"),
    "nothing": ("", "is empty; it must have a header line and rows"),
    "a header alone": ("y,s,g", "has a header but no rows"),
    "a quote that stays open": (ROWS + '1,0.5,"A\n', "is not CSV: .* in line 6; look for"),
    "text behind a quote": (ROWS + '1,0.5,"A"B\n', "is not CSV: "),
    "a cell of many bytes": (ROWS + "1,0.5," + "A" * 200_000, "is not CSV: field larger"),
    "the head of gzip": (b"\x1f\x8b\x08", "is not a whole gzip file"),
    "gzip of nothing": (gzip.compress(b""), "is empty; it must have a header line and rows"),
    "gzip of gzip": (gzip.compress(gzip.compress(ROWS.encode())), "is not UTF-8 text"),
    "gzip and other bytes": (gzip.compress(ROWS.encode()) + b"bytes", "is not a whole gzip file"),
    "a zip archive": (b"PK\x03\x04", "source is a zip archive; save it as CSV in UTF-8, or"),
    "a list of JSON": ('[{"y": 1, "s": 0.5, "g": "A"}]', "source is JSON; save it as CSV"),
    "lines of JSON": ('{"y": 1, "s": 0.5}\n{"y": 0, "s": 0.5}\n', "holds a table, not rows"),
    # 1,000 may be 1 and may be 1000
    "a decimal comma in a weight": ("y;s;g;w\n1;0,9;A;1,000\n", "must .*; got '1,000' at row 0"),
}


@pytest.mark.parametrize("content, message", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(content, message):
    weight = {"sample_weight": "w"} if "g;w" in str(content) else {}
    with pytest.raises(ValueError, match=message) as raised:
        summary(content, chunk_rows=2, **weight)
    assert str(raised.value).startswith(("source ", "y_", "column ", "sensitive", "sample"))
    assert "\n" not in str(raised.value)


# files that cannot be read


def test_a_folder_and_an_absent_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder; give a CSV file"):
        lf.summarize(tmp_path, **NAMES)
    with pytest.raises(FileNotFoundError):
        lf.summarize(tmp_path / "absent.csv", **NAMES)


def test_a_file_that_is_replaced_while_it_is_read(tmp_path):
    """The one that was opened is read to its end."""
    path, other = tmp_path / "rows.csv", tmp_path / "other.csv"
    content = ROWS + "1,0.5,A\n" * 1000
    path.write_text(content)

    def change(rows):
        other.write_text("nothing")
        os.replace(other, path)

    got = lf.summarize(path, **NAMES, chunk_rows=100, progress=change)
    assert got.to_dict() == summary(content)


@pytest.mark.parametrize("home", ["/dev/null", ""])
def test_a_home_that_cannot_be_written(home, child_env):
    env = {**child_env, "HOME": home, "XDG_CACHE_HOME": home, "TMPDIR": home}
    words = ["demo", "--rows", "300", "--labeled", "30", "--draws", "4", "--warmup", "9"]
    command = [sys.executable, "-W", "error", "-m", "lightfair", *words]
    done = subprocess.run(command, env=env, cwd=PACKAGE.parent, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

"""Files are written as a whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from lightfair.io.writing import check_target, write_text

resource = pytest.importorskip("resource", reason="files are as those of POSIX systems")
LIMIT = 20_000  # bytes that a file may have in a child whose disk is full


def names(folder):
    return sorted(os.listdir(folder))


def small_disk():
    """In a child: files of more than LIMIT bytes cannot be written."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def python(code, env, **options):
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, **options
    )


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "größe.txt"
    write_text(path, "é\r\nb\n")
    assert path.read_bytes() == "é\r\nb\n".encode()
    write_text(str(path), "shorter")
    assert path.read_bytes() == b"shorter"
    assert names(tmp_path) == ["größe.txt"]


def test_half_a_surrogate_is_written_as_an_escape(tmp_path):
    write_text(tmp_path / "a", "x\udc80")
    assert (tmp_path / "a").read_bytes() == b"x\\udc80"


@pytest.mark.parametrize("mask, mode", [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_permissions_that_the_umask_leaves(mask, mode, tmp_path):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_an_old_file_keeps_its_permissions_and_a_link_stays_one(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to("a")
    write_text(link, "new")
    assert link.is_symlink() and path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_to_what_is_not_there_yet(tmp_path):
    (tmp_path / "link").symlink_to("later")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "later").read_text() == "new"


def test_the_old_file_stays_where_the_disk_is_full(tmp_path, child_env):
    path = tmp_path / "a"
    path.write_text("old")
    code = (
        f"from lightfair.io.writing import write_text; write_text({str(path)!r}, 'x' * 2 * {LIMIT})"
    )
    env = {**child_env, "PYTHONDONTWRITEBYTECODE": "1"}  # modules would be cut short, too
    done = python(code, env, preexec_fn=small_disk)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("OSError: [Errno 27] File too large") and str(path) in last
    assert path.read_text() == "old" and names(tmp_path) == ["a"]


def test_the_old_file_stays_where_it_is_interrupted(tmp_path, child_env):
    path = tmp_path / "a"
    path.write_text("old")
    code = f"""
import os, sys, time
from lightfair.io import writing
def slowly(number):  # the signal arrives here, before the file takes its place
    print("now", flush=True)
    time.sleep(60)
os.fsync = slowly
writing.write_text({str(path)!r}, "new")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=child_env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "now\n"
    assert len(names(tmp_path)) == 2
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert path.read_text() == "old" and names(tmp_path) == ["a"]


def test_readers_see_the_old_file_or_the_new_one(tmp_path):
    path, seen = tmp_path / "a", set()
    write_text(path, "0" * 100_000)
    stop = threading.Event()

    def read():
        while not stop.is_set():
            seen.add(path.read_text())
            time.sleep(0)

    reader = threading.Thread(target=read)
    reader.start()
    for digit in "123":
        write_text(path, digit * 100_000)
    stop.set()
    reader.join()
    assert seen <= {digit * 100_000 for digit in "0123"}


def test_a_named_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write_text(path, "through")
    reader.join(30)
    assert got == [b"through"] and stat.S_ISFIFO(path.stat().st_mode)


def test_devices_are_written_to():
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_device_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_text("/dev/full", "x")


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no /dev/fd")
@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_keeps_what_was_printed(path, tmp_path, child_env):
    code = f"""
from lightfair.io.writing import write_text
print("before")
write_text({path!r}, "text\\n")
print("after")
"""
    assert python(code, child_env).stdout == "before\ntext\nafter\n"
    with open(tmp_path / "file", "w") as file:
        subprocess.run(
            [sys.executable, "-c", code], env=child_env, stdout=file, timeout=60, check=True
        )
    assert (tmp_path / "file").read_text() == "before\ntext\nafter\n"


def test_a_closed_descriptor_is_said():
    with pytest.raises(OSError, match="Bad file descriptor: '/dev/fd/999'"):
        write_text("/dev/fd/999", "x")


def test_bad_targets(tmp_path):
    for bad, message in (
        (tmp_path / "absent" / "a", "absent is not a folder; make it first"),
        (tmp_path, "is a folder; give the name of a file"),
        ("", "the file to write must have a name"),
    ):
        for function in (check_target, lambda path: write_text(path, "x")):
            with pytest.raises(ValueError, match=message):
                function(bad)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "name, why",
    [("a", "it must not be written to"), ("folder/b", "its folder must not be written to")],
)
def test_what_must_not_be_written_to_is_said_before(name, why, child_env):
    """Root may write anywhere, so a child gives that up."""
    code = """
import os, sys
from lightfair.io.writing import check_target
if os.getuid() == 0:
    os.setuid(65534)
try:
    check_target(sys.argv[1])
except PermissionError as error:
    print(error.strerror, error.filename)
"""
    with tempfile.TemporaryDirectory() as top:  # folders of pytest are closed to others
        os.chmod(top, 0o755)
        os.mkdir(f"{top}/folder", 0o555)
        os.close(os.open(f"{top}/a", os.O_CREAT, 0o444))
        done = subprocess.run(
            [sys.executable, "-c", code, name],
            env=child_env,
            cwd=top,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.stdout == f"{why} {name}\n", done.stderr

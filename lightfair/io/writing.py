"""Writing: a file is there as a whole or not at all.

Text goes to a temporary file in the same folder, which takes the place of the old one when all of
it is on the disk. So a full disk, a crash or Ctrl-C leaves the old file as it was. A new file has
the permissions that the umask leaves, an old one keeps its own; a symbolic link stays one. What is
no plain file, such as a named pipe or /dev/stdout, is written to directly.
"""

from __future__ import annotations

import errno
import os
import re
import sys

DESCRIPTORS = re.compile(r"/dev/fd/(\d+)|/proc/self/fd/(\d+)|/dev/(stdout|stderr)")

SLASHES = tuple(filter(None, (os.sep, os.altsep)))  # that names of folders may end in

Path = str | os.PathLike[str]


def write_text(path: Path, text: str) -> None:
    """Write text to a file, as UTF-8 with the ends of lines that it has.

    Raises
    ------
    ValueError
        If the file has no name or is a folder, or its folder is not there.
    OSError
        If it cannot be written; the error names the path. The file is then as it was.
    """
    data = text.encode("utf-8", "backslashreplace")  # names from data may hold half a surrogate
    number = descriptor(path)
    try:
        if number is not None:
            if sys.stdout is not None:  # what was printed before comes before it
                sys.stdout.flush()
            _write(os.dup(number), data)
            return
        target = check_target(path)
        if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device
            _write(os.open(target, os.O_WRONLY), data)
            return
        _replace(target, data)
    except OSError as error:  # it names no file, or the temporary one
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def check_target(path: Path) -> str:
    """Return where a file is to be written: what links lead to.

    Raises
    ------
    ValueError
        If it has no name, or none that files can have, or is a folder, or its folder is not there.
    OSError
        If it, or its folder, must not be written to, or its name is too long.
    """
    name = os.fspath(path)
    if not name:
        raise ValueError("the file to write must have a name; got none")
    if "\0" in name:
        raise ValueError(f"the name of the file to write must hold no null byte; got {name!r}")
    if descriptor(path) is not None:
        return name
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise ValueError(f"{folder} is not a folder; make it first")
    if os.path.isdir(target) or name.endswith(SLASHES):
        raise ValueError(f"{name} is a folder; give the name of a file")
    there = _is_there(target, name)
    if there and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it must not be written to", name)
    if (not there or os.path.isfile(target)) and not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "its folder must not be written to", name)
    return target


def _is_there(target: str, name: str) -> bool:
    """Whether there is such a file; OSError where there can be none, as where its name is long."""
    try:
        os.stat(target)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from error
    return True


def descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path such as /dev/stdout stands for."""
    match = DESCRIPTORS.fullmatch(os.fspath(path))
    if match is None:
        return None
    return {"stdout": 1, "stderr": 2}[match[3]] if match[3] else int(match[1] or match[2])


def _replace(target: str, data: bytes) -> None:
    """Write a temporary file beside the target, and move it there."""
    part = os.path.join(os.path.dirname(target), f".{os.urandom(8).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        _write(os.open(part, flags, 0o666), data, lasting=True)
        if os.path.exists(target):
            os.chmod(part, os.stat(target).st_mode & 0o7777)
        os.replace(part, target)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def _write(number: int, data: bytes, *, lasting: bool = False) -> None:
    """Write to an open file and close it; with `lasting` it is on the disk then."""
    with open(number, "wb") as file:
        file.write(data)
        file.flush()
        if lasting:
            os.fsync(file.fileno())

"""Write a file as a whole or not at all.

Text goes to a temporary file in the same folder, which then replaces the target. So a full disk, an
exception or Ctrl-C leaves the old file as it was. A new file gets the permissions that the umask
leaves, an existing one keeps its own; a symbolic link stays one. Anything other than a plain file,
such as a named pipe or a device, is written to directly.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text to a file, as UTF-8, without changing line ends.

    Raises
    ------
    ValueError
        If the path is empty or a folder, or its folder does not exist.
    OSError
        If the file cannot be written; the error names the path. The file is then unchanged.
    """
    data = text.encode("utf-8", "backslashreplace")  # names from data may hold half a surrogate
    try:
        target = Path(check_target(path))
        if _is_special(target):
            target.write_bytes(data)
        else:
            part = target.with_name(f".{os.urandom(8).hex()}.part")
            try:
                with part.open("xb") as file:
                    file.write(data)
                if target.exists():
                    shutil.copymode(target, part)
                os.replace(part, target)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:  # it names no file, or the temporary one
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def check_target(path: str | os.PathLike[str]) -> str:
    """Return the file to be written, with symbolic links resolved.

    Raises
    ------
    ValueError
        If the path is empty or a folder, or its folder does not exist.
    OSError
        If there is no permission to write the file or to its folder.
    """
    name = os.fspath(path)
    if not name:
        raise ValueError("the file to write must have a name; got none")
    if _is_special(Path(name)):
        return name
    target = Path(name).resolve()
    if not target.parent.is_dir():
        raise ValueError(f"{target.parent} is not a folder; make it first")
    if target.is_dir() or name.endswith(os.sep):
        raise ValueError(f"{name} is a folder; give the name of a file")
    if target.is_file() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it must not be written to", name)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "its folder must not be written to", name)
    return str(target)


def _is_special(path: Path) -> bool:
    """Whether a file exists and is a pipe or a device."""
    return path.exists() and not (path.is_file() or path.is_dir())

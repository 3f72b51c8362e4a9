"""Make an environment for each program, and report failures.

    python -m bench.peers.install --into FOLDER

Each gets a virtual environment of its own, FOLDER/NAME, from the Python that runs this, with the
newest releases that pip finds for it. FOLDER/status.json records for each whether it was made, its
versions, its size in MB, and the error. Use Python 3.12: PyJAGS 2 requires it, and PyStan 3.14.0
cannot load its models on 3.13. PyStan compiles with g++; PyJAGS brings its own JAGS.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from .programs import PACKAGES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, required=True, help="folder of the environments")
    parser.add_argument("--only", nargs="+", choices=list(PACKAGES), default=list(PACKAGES))
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    path = arguments.into / "status.json"
    status = json.loads(path.read_text()) if path.exists() else {}
    for name in arguments.only:
        folder = arguments.into / name
        status[name] = install(name, folder)
        files = (file for file in folder.rglob("*") if not file.is_dir())
        status[name]["megabytes"] = round(sum(file.lstat().st_size for file in files) / 1e6, 1)
        path.write_text(json.dumps(status, indent=1) + "\n")
        print(name, "made" if status[name]["ok"] else f"NOT made: {status[name]['error']}")


def install(name: str, folder: Path) -> dict[str, Any]:
    """Make one environment from scratch; return its status entry."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip"]
    if PACKAGES[name]:
        command = [*pip, "install", "--quiet", *PACKAGES[name]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            errors = re.findall("^error.*", done.stderr, re.MULTILINE | re.IGNORECASE)
            return {"ok": False, "error": (errors or ["pip failed"])[-1]}
    listed = subprocess.check_output([*pip, "list", "--format=json"], text=True)
    versions = {entry["name"].lower(): entry["version"] for entry in json.loads(listed)}
    return {"ok": True, "python": sys.version.split()[0], "versions": versions}


if __name__ == "__main__":
    main()

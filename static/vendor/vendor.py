"""Fetch the page's libraries: the files of VENDOR.json, byte for byte out of npm packages.

    python static/vendor/vendor.py           fetch the pinned versions again, check every hash
    python static/vendor/vendor.py --accept  after a version was changed: write the new hashes

For maintainers, with Node.js and npm. A file with `source: "package:path"` is a copy; the one with
`bundle` is made by esbuild from that entry (assistant-stream, whose modules import packages by
name, which a browser cannot). Nothing of this runs when the page is served.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LIST = HERE / "VENDOR.json"


def main() -> int:
    accept = "--accept" in sys.argv[1:]
    vendored = json.loads(LIST.read_text())
    with tempfile.TemporaryDirectory() as folder:
        for package in vendored["packages"]:
            unpacked = unpack(package, Path(folder))
            for file in package["files"]:
                fetch(file, package, unpacked, Path(folder))
    changed = [
        file["file"]
        for package in vendored["packages"]
        for file in package["files"]
        if file.get("sha256") != take_hash(file)
    ]
    if changed and not accept:
        sys.stderr.write(f"other bytes than pinned: {', '.join(changed)}\n")
        return 1
    for package in vendored["packages"]:
        for file in package["files"]:
            file["sha256"] = take_hash(file)
    LIST.write_text(json.dumps(vendored, indent=1) + "\n")
    return 0


def take_hash(file: dict[str, Any]) -> str:
    return hashlib.sha256((HERE / file["file"]).read_bytes()).hexdigest()


def unpack(package: dict[str, Any], folder: Path) -> Path:
    """Download one package; the value is the folder with its files."""
    name = f"{package['name']}@{package['version']}"
    packed = run(["npm", "pack", name, "--silent"], folder).strip().splitlines()[-1]
    target = folder / "unpacked" / package["name"]
    with tarfile.open(folder / packed) as archive:
        archive.extractall(target, filter="data")
    return target / "package"


def fetch(file: dict[str, Any], package: dict[str, Any], unpacked: Path, folder: Path) -> None:
    target = HERE / file["file"]
    target.parent.mkdir(parents=True, exist_ok=True)
    if "bundle" in file:
        bundle(file["bundle"], package, folder / "bundle", target)
    else:
        shutil.copyfile(unpacked / file["source"], target)


def bundle(about: dict[str, Any], package: dict[str, Any], folder: Path, target: Path) -> None:
    """One ES module of what the page needs of a package and its dependencies."""
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    (folder / "entry.js").write_text("\n".join(about["entry"]) + "\n")
    pins = [f"{name}@{version}" for name, version in about["with"].items()]
    run(["npm", "install", "--silent", f"{package['name']}@{package['version']}", *pins], folder)
    esbuild = str(folder / "node_modules" / ".bin" / "esbuild")
    run([esbuild, "entry.js", *about["options"], f"--outfile={target}"], folder)


def run(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())

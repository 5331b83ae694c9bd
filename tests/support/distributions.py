"""The wheel and the source distribution: `python -m tests.support.distributions` builds both twice,
and once more the wheel from the source distribution, and fails if bytes differ.

The sources are those of the last commit. All files have the time of that commit.
"""

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent
FOLDER = PROJECT / "build" / "dist"
BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, sys.argv[1])(sys.argv[2]))
"""


def commit_time() -> int:
    """Return the time of the last commit, as `SOURCE_DATE_EPOCH`."""
    shown = subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=PROJECT, text=True)
    return int(shown)


def sources(folder: Path) -> Path:
    """Write the files of the last commit to a folder."""
    archive = subprocess.check_output(["git", "archive", "HEAD"], cwd=PROJECT)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def built(hook: str, source: Path, target: Path) -> Path:
    """Build `wheel` or `sdist` from a folder."""
    target.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(commit_time())}
    command = (sys.executable, "-c", BUILD, f"build_{hook}", str(target))
    printed = subprocess.check_output(
        command, cwd=source, env=environment, text=True, stderr=subprocess.DEVNULL
    )
    file = target / printed.splitlines()[-1]
    if hook == "sdist":
        _normalise(file, commit_time())
    return file


def _normalise(archive: Path, seconds: int) -> None:
    """Write a source distribution again: sorted, with one time and no user."""
    with tarfile.open(archive) as tar:
        members = [(each, tar.extractfile(each)) for each in tar.getmembers()]
        contents = [(each, file.read() if file else b"") for each, file in members]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for each, content in sorted(contents, key=lambda one: one[0].name):
            plain = tarfile.TarInfo(each.name)
            plain.size, plain.type, plain.mtime = each.size, each.type, seconds
            plain.mode = 0o755 if each.isdir() or each.mode & 0o100 else 0o644
            tar.addfile(plain, io.BytesIO(content))
    archive.write_bytes(gzip.compress(packed.getvalue(), mtime=seconds))


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main() -> int:
    """Build everything twice into build/dist; return 1 if bytes differ."""
    with tempfile.TemporaryDirectory() as name:
        first, second = sources(Path(name) / "1"), sources(Path(name) / "elsewhere" / "2")
        wheel, sdist = built("wheel", first, FOLDER), built("sdist", first, FOLDER)
        with tarfile.open(sdist) as tar:
            tar.extractall(Path(name) / "3", filter="data")
        (unpacked,) = (Path(name) / "3").iterdir()
        others = [built(hook, second, Path(name) / "again") for hook in ("wheel", "sdist")]
        others.append(built("wheel", unpacked, Path(name) / "from-sdist"))
        for each, other in zip((wheel, sdist, wheel), others, strict=True):
            if digest(each) != digest(other):
                sys.stderr.write(f"{other} differs from {each}\n")
                return 1
    for each in (wheel, sdist):
        sys.stdout.write(f"{digest(each)}  {each.relative_to(PROJECT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

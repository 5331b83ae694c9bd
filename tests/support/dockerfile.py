"""A Dockerfile, and its steps in a folder that stands for the image's root.

Docker is not needed: each step is carried out here. Paths of the image are those below the folder,
but for the programs of the base image, which are this machine's. Packages that a step installs from
an index are those of this environment.
"""

import json
import os
import re
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.serving import PROJECT

DOCKERFILE = PROJECT / "docs" / "deploy" / "Dockerfile"
OF_THE_IMAGE = ("/opt/turnstream", "/build", "/var/lib/turnstream")
"""The folders that the steps make."""
_OPTION = re.compile(r"--[\w-]+(?:=\S+)?")


@dataclass(frozen=True)
class Step:
    word: str
    """`RUN`, `COPY`, `ENV`, ..."""
    text: str


def steps(file: Path) -> Iterator[Step]:
    for line in file.read_text(encoding="utf-8").replace("\\\n", "").splitlines():
        if line and not line.startswith("#"):
            word, _, text = line.partition(" ")
            yield Step(word, text.strip())


@dataclass
class Image:
    """The image as its steps leave it."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    user: str = ""
    entrypoint: list[str] = field(default_factory=list)
    health_check: list[str] = field(default_factory=list)
    working_directory: str = "/"

    def here(self, text: str) -> str:
        """Return a text of the image, with the paths that it has on this machine."""
        for folder in OF_THE_IMAGE:
            text = re.sub(rf"(?<![\w.]){folder}", f"{self.root}{folder}", text)
        return text

    def variables(self) -> dict[str, str]:
        return {name: self.here(value) for name, value in self.environment.items()}

    def build(self) -> None:
        for step in steps(DOCKERFILE):
            self._carry_out(step)

    def _carry_out(self, step: Step) -> None:
        if step.word == "RUN":
            self._run(step.text)
        elif step.word == "COPY":
            self._copy(step.text)
        elif step.word == "ENV":
            name, _, value = step.text.partition("=")
            self.environment[name] = value
        elif step.word == "USER":
            self.user = step.text
        elif step.word == "WORKDIR":
            self.working_directory = step.text
        elif step.word == "ENTRYPOINT":
            self.entrypoint = json.loads(step.text)
        elif step.word == "HEALTHCHECK":
            self.health_check = json.loads(step.text.partition(" CMD ")[2])
        else:
            assert step.word in ("ARG", "FROM", "EXPOSE", "STOPSIGNAL"), step

    def _run(self, command: str) -> None:
        if "--require-hashes" in command:
            (packages,) = self.root.glob("opt/turnstream/lib/*/site-packages")
            # Ahead of what a new environment has, as newer versions that are installed would be.
            ahead = f"import sys; sys.path[0:0] = {site.getsitepackages()!r}"
            (packages / "installed.pth").write_text(ahead)
            return
        if os.geteuid() != 0:
            command = re.sub(r"--(?:owner|group) \d+", "", command)
        user = next(step.text for step in steps(DOCKERFILE) if step.word == "USER")
        made = self.here(command).replace("python -m venv", f"{base_python(user)} -m venv")
        subprocess.run(["bash", "-ec", made], check=True, timeout=120, stdout=subprocess.DEVNULL)

    def _copy(self, text: str) -> None:
        """Copy from the sources that the ignore file leaves; another stage has the same root."""
        if "--from=" in text:
            return
        source, target = _OPTION.sub("", text).split()
        place = Path(self.here(target))
        place.parent.mkdir(parents=True, exist_ok=True)
        if source != ".":
            shutil.copy(PROJECT / source, place)
            return
        for name in sent():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, place / name)


def sent() -> list[str]:
    """Return the tracked files that `Dockerfile.dockerignore` leaves in the context."""
    lines = (PROJECT / "docs/deploy/Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in lines
    kept = [line[1:] for line in lines if line.startswith("!")]
    tracked = subprocess.check_output(["git", "ls-files"], cwd=PROJECT, text=True).splitlines()
    return [name for name in tracked if any(_is_within(name, one) for one in kept)]


def _is_within(name: str, kept: str) -> bool:
    return name == kept or name.startswith(f"{kept}/")


def ids(user: str) -> Mapping[str, int]:
    """Return the arguments by which root starts a process as `uid:gid`; none for anybody else."""
    uid, gid = map(int, user.split(":"))
    return {"user": uid, "group": gid} if os.geteuid() == 0 else {}


def base_python(user: str) -> str:
    """Return a Python of this version that the image's user can start: root's own may be in a
    folder that nobody else can reach."""
    candidates = (os.path.realpath(sys.executable), f"/usr/bin/python3.{sys.version_info.minor}")
    for program in candidates:
        with suppress(OSError):
            subprocess.run([program, "-c", "import ensurepip"], check=True, **ids(user))  # type: ignore[call-overload]
            return program
    raise AssertionError(f"user {user} can start none of {candidates}")

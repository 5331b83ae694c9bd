"""Known vulnerabilities of the pinned packages: `python -m tests.support.advisories PIP_AUDIT`.

pip-audit reads constraints.txt, and npm the lock files. A vulnerability fails the check, unless
EXCEPTIONS has its id with a reason. A package that could not be checked, as on an index without
advisories, fails it too.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent.parent
LOCKED = ("tests/clients", "tests/page")
EXCEPTIONS: Mapping[str, str] = {}
"""Ids of vulnerabilities that do not concern us, with the reason."""


def of_python(pip_audit: str) -> Iterator[tuple[str, str]]:
    """Yield an id and a sentence for each finding in constraints.txt."""
    command = (pip_audit, "--requirement", "constraints.txt", "--no-deps", "--disable-pip")
    report = _json(*command, "--format", "json", "--progress-spinner", "off", folder=PROJECT)
    if report is None:
        yield "", "pip-audit did not answer"
        return
    for package in report["dependencies"]:
        if "skip_reason" in package:
            yield "", f"{package['name']} was not checked: {package['skip_reason']}"
        for found in package.get("vulns", ()):
            fixed = ", ".join(found["fix_versions"]) or "no version"
            yield found["id"], f"{package['name']} {package['version']}: fixed in {fixed}"


def of_npm(folder: str) -> Iterator[tuple[str, str]]:
    """Yield an id and a sentence for each finding in a lock file."""
    command = ("npm", "audit", "--package-lock-only", "--json")
    report = _json(*command, folder=PROJECT / folder)
    if report is None or "vulnerabilities" not in report:
        yield "", f"npm did not check {folder}"
        return
    for name, found in report["vulnerabilities"].items():
        for cause in found["via"]:
            if isinstance(cause, dict):
                advisory = str(cause["url"]).rpartition("/")[2]
                yield advisory, f"{name} {cause['range']} in {folder}: {cause['title']}"


def _json(*command: str, folder: Path) -> Any:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    try:
        return json.loads(ended.stdout)
    except ValueError:
        sys.stderr.write(ended.stderr)
        return None


def main() -> int:
    """Print the findings; return 1 if one of them is no exception."""
    findings = [*of_python(sys.argv[1]), *(each for folder in LOCKED for each in of_npm(folder))]
    for found, sentence in findings:
        reason = EXCEPTIONS.get(found)
        note = f" (exception: {reason})" if reason else ""
        sys.stdout.write(f"{found or 'not checked'}: {sentence}{note}\n")
    unused = {*EXCEPTIONS} - {found for found, _ in findings}
    sys.stdout.write("".join(f"{found} is an exception that nothing needs\n" for found in unused))
    return 1 if unused or any(found not in EXCEPTIONS for found, _ in findings) else 0


if __name__ == "__main__":
    sys.exit(main())

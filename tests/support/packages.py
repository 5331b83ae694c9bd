"""The packages that turnstream depends on, with their licences: `python -m tests.support.packages`
prints them, and `python -m tests.support.packages sbom` writes a bill of materials (CycloneDX)."""

import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

PROJECT = Path(__file__).parent.parent.parent
BILL = PROJECT / "build" / "turnstream.cdx.json"
VENDORED = PROJECT / "static" / "vendor" / "VENDOR.json"
FOR_WORK_ON_IT = ("dev", "docs", "data")
"""Extras that no server needs."""

ACCEPTED = re.compile(
    r"\b(?:MIT|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|Zlib|CC0|CNRI-Python)\b"
)
REFUSED = re.compile(r"GPL|General Public|SSPL|BUSL|Commons Clause|Proprietary")
EXCEPTIONS: Mapping[str, str] = {
    "certifi": "MPL-2.0: a list of certificates that nobody changes",
    "hypothesis": "MPL-2.0: for tests alone",
    "pathspec": "MPL-2.0: for checks and documents alone",
    "psycopg": "LGPL-3.0: imported as it is, with the extra workers alone, and replaceable",
    "psycopg-binary": "LGPL-3.0: as psycopg",
    "psycopg-pool": "LGPL-3.0: as psycopg",
}
"""Packages whose licence is neither accepted nor refused by rule, and why they may be used."""


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package."""

    name: str
    version: str
    licence: str
    """The expression, else the classifiers, else the first line of the field."""
    is_optional: bool
    """Needed by extras alone."""

    @property
    def fault(self) -> str | None:
        """Return why the licence cannot be accepted."""
        if self.name in EXCEPTIONS:
            return None
        if REFUSED.search(self.licence):
            return f"{self.name} {self.version}: {self.licence} is not accepted"
        if not ACCEPTED.search(self.licence):
            return f"{self.name} {self.version} has no licence that is known: {self.licence!r}"
        return None


def installed(*, for_work: bool = False) -> list[Package]:
    """Return the packages that are needed, those of optional extras too, and with `for_work` those
    of tests and documents."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed: dict[str, Distribution] = {}
    for text in project["dependencies"]:
        _collect(Requirement(text), needed)
    required = {*needed}
    for extra, texts in project["optional-dependencies"].items():
        if for_work or extra not in FOR_WORK_ON_IT:
            for text in texts:
                _collect(Requirement(text), needed)
    return [
        Package(name, found.version, licence(found), name not in required)
        for name, found in sorted(needed.items())
    ]


def vendored() -> list[dict[str, Any]]:
    """Return the libraries of the page."""
    packages: list[dict[str, Any]] = json.loads(VENDORED.read_text(encoding="utf-8"))["packages"]
    return packages


def licence(found: Distribution) -> str:
    """Return what a package says of its licence, in one line."""
    fields: Any = found.metadata
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in fields.get_all("Classifier") or []
        if each.startswith("License :: ")
    ]
    said = fields.get("License-Expression") or " or ".join(classifiers) or fields.get("License")
    return (said or "").strip().partition("\n")[0]


def _collect(requirement: Requirement, needed: dict[str, Distribution]) -> None:
    """Add a package and what it needs. One that is not installed here is left out."""
    name = re.sub(r"[-_.]+", "-", requirement.name).lower()
    is_new = name not in needed
    try:
        found = needed.setdefault(name, distribution(name))
    except PackageNotFoundError:
        return
    for text in found.requires or ():
        inner = Requirement(text)
        if inner.marker is None:
            is_needed = is_new
        else:
            is_base = inner.marker.evaluate({"extra": ""})
            is_extra = any(inner.marker.evaluate({"extra": each}) for each in requirement.extras)
            is_needed = (is_new and is_base) or (is_extra and not is_base)
        if is_needed:
            _collect(inner, needed)


def bill() -> dict[str, Any]:
    """Return the bill of materials: the same for the same versions."""
    from turnstream import __version__

    components = [*_components()]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components)).urn,
        "version": 1,
        "metadata": {
            "component": {"type": "application", "name": "turnstream", "version": __version__}
        },
        "components": components,
    }


def _components() -> Iterator[dict[str, Any]]:
    for each in installed():
        yield {
            "type": "library",
            "name": each.name,
            "version": each.version,
            "scope": "optional" if each.is_optional else "required",
            "purl": f"pkg:pypi/{each.name}@{each.version}",
            "licenses": [{"license": {"name": each.licence}}],
        }
    for library in vendored():
        group, _, name = library["name"].rpartition("/")
        purl = f"{group.replace('@', '%40')}/{name}" if group else name
        yield {
            "type": "library",
            "name": library["name"],
            "version": library["version"],
            "scope": "required",
            "purl": f"pkg:npm/{purl}@{library['version']}",
            "licenses": [{"license": {"name": library["licence"]}}],
        }


def main() -> int:
    """Print the licences and return 1 if one cannot be accepted, or write the bill."""
    if sys.argv[1:] == ["sbom"]:
        BILL.parent.mkdir(exist_ok=True)
        BILL.write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
        sys.stdout.write(f"{BILL.relative_to(PROJECT)}: {len(bill()['components'])} packages\n")
        return 0
    packages = installed(for_work=True)
    for each in packages:
        reason = EXCEPTIONS.get(each.name, "")
        sys.stdout.write(f"{each.name} {each.version}: {reason or each.licence}\n")
    faults = [each.fault for each in packages if each.fault]
    sys.stderr.write("".join(f"{fault}\n" for fault in faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

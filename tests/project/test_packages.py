"""The packages that are depended on: each has a licence that is accepted, and is in the bill of
materials."""

from importlib.metadata import requires

from packaging.requirements import Requirement

from tests.support.packages import (
    EXCEPTIONS,
    Package,
    bill,
    installed,
    vendored,
)


def test_every_licence_is_accepted() -> None:
    packages = installed(for_work=True)
    assert len(packages) > 100
    assert [each.fault for each in packages if each.fault] == []
    assert all(Package("a", "1", one["licence"], False).fault is None for one in vendored())


def test_an_exception_is_for_a_package_that_is_used() -> None:
    names = {each.name for each in installed(for_work=True)}
    assert {*EXCEPTIONS} <= names
    assert all(len(reason) > 10 for reason in EXCEPTIONS.values())


def test_a_licence_that_is_unknown_or_copyleft_is_refused() -> None:
    for licence in ("GPL-3.0-only", "GNU Affero General Public License v3", "", "see file"):
        assert Package("a", "1", licence, False).fault, licence
    assert Package("a", "1", "Apache-2.0 OR MIT", False).fault is None


def test_the_bill_of_materials_has_what_the_server_needs_and_is_the_same_twice() -> None:
    made = bill()
    assert made == bill()
    components = {each["name"]: each for each in made["components"]}
    for text in requires("turnstream") or ():
        needed = Requirement(text)
        if needed.marker is None:
            assert components[needed.name]["scope"] == "required"
    assert components["redis"]["scope"] == "optional"
    assert components["dompurify"]["purl"].startswith("pkg:npm/dompurify@")
    assert "pytest" not in components

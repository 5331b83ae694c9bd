"""The wheel and the source distribution of a commit are the same bytes each time."""

import tarfile
import zipfile

import pytest

from tests.support import distributions
from tests.support.versions import floors, set_ups


@pytest.mark.full
def test_wheel_and_source_distribution_are_built_twice_alike_and_have_the_licence() -> None:
    assert distributions.main() == 0
    (wheel,) = distributions.FOLDER.glob("*.whl")
    (sdist,) = distributions.FOLDER.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert all(name.startswith(("turnstream/", "turnstream-")) for name in names)
    with tarfile.open(sdist) as tar:
        assert any(name.endswith("/LICENSE") for name in tar.getnames())


def test_the_oldest_set_up_has_the_floors_of_the_package() -> None:
    oldest = next(each for each in set_ups() if each.name == "oldest")
    assert {*floors()} <= {*oldest.pins}
    assert any(pin.startswith("langgraph==") for pin in floors())
    names = [pin.partition("==")[0] for pin in oldest.pins]
    assert len(names) == len({*names})

"""Callers that a reverse proxy has logged in."""

import pytest

from turnstream.server.callers.addresses import is_within, networks
from turnstream.server.extensions.users.faults import Unauthenticated
from turnstream.server.extensions.users.proxies import ProxyHeaders

TRUSTED = networks(["10.0.0.0/8", "::1"])
PROXY = ProxyHeaders("x-forwarded-user", "x-forwarded-groups", TRUSTED)
ANN = {"x-forwarded-user": "ann", "x-forwarded-groups": "user, admin,,"}


@pytest.mark.parametrize("peer", ["10.1.2.3", "::1", "::ffff:10.1.2.3"])
def test_a_trusted_proxy_names_the_caller_and_their_roles(peer: str) -> None:
    caller = PROXY.authenticate(peer, ANN)
    assert caller is not None
    assert (caller.id, caller.roles, caller.method) == ("ann", ("user", "admin"), "proxy")


@pytest.mark.parametrize(
    "peer", ["11.0.0.1", "127.0.0.1", "::2", "::ffff:11.0.0.1", "", "unix", "10.0.0.1, 11.0.0.1"]
)
def test_nobody_else_does(peer: str) -> None:
    assert PROXY.authenticate(peer, ANN) is None
    assert not is_within(peer, TRUSTED)


def test_a_proxy_that_names_nobody_has_logged_nobody_in() -> None:
    assert PROXY.authenticate("10.0.0.1", {"x-forwarded-groups": "admin"}) is None
    assert PROXY.authenticate("10.0.0.1", {"x-forwarded-user": "  "}) is None


@pytest.mark.parametrize("id", ["local", "a" * 256, "a\x00b", "a\u202eb"])
def test_an_id_that_cannot_be_is_refused(id: str) -> None:
    with pytest.raises(Unauthenticated):
        PROXY.authenticate("10.0.0.1", {"x-forwarded-user": id})


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="proxy"):
        networks(["proxy.example"])

"""JWTs: who comes of a good one, and what is refused. The issuer is real, and counts requests."""

import hashlib
import hmac
import json
import logging
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

from tests.support.issuer import AUDIENCE, LocalIssuer, encoded, rsa_key
from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users.faults import (
    AuthenticationUnavailable,
    AuthSetupError,
    Unauthenticated,
)
from turnstream.server.extensions.users.issuer import KeyTimes
from turnstream.server.extensions.users.tokens import (
    TokenSettings,
    TokenVerifier,
    open_token_verifier,
)

FOREIGN = 99
"""The number of a key that the issuer does not have."""


@pytest.fixture
async def issuer() -> AsyncIterator[LocalIssuer]:
    async with LocalIssuer() as issuer:
        yield issuer


@pytest.fixture
async def verifier(issuer: LocalIssuer) -> AsyncIterator[TokenVerifier]:
    async with open_token_verifier(settings(issuer)) as verifier:
        yield verifier


def settings(issuer: LocalIssuer, **values: Any) -> TokenSettings:
    return TokenSettings(issuer.url, AUDIENCE, **values)


async def caller(issuer: LocalIssuer, token: str, **values: Any) -> Principal:
    """Whom a verifier with these settings takes the sender for."""
    async with open_token_verifier(settings(issuer, **values)) as verifier:
        return await verifier.verify(token)


async def refusal(verifier: TokenVerifier, token: str) -> str:
    """Why the token is refused; the reason has nothing of the token."""
    with pytest.raises(Unauthenticated) as refused:
        await verifier.verify(token)
    assert refused.value.__cause__ is None
    reason = str(refused.value)
    assert not any(part in reason for part in token.split(".") if len(part) > 8)
    return reason


def crafted(header: object, claims: object, signature: bytes = b"", key: bytes = b"") -> str:
    """A token by hand; with a key, signed as HS256 does it."""
    parts = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
    if key:
        signature = hmac.new(key, parts.encode(), hashlib.sha256).digest()
    return f"{parts}.{encoded(signature)}"


# Who comes of a good token


async def test_a_good_token_names_the_caller_the_roles_and_its_end(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    ends = int(time.time()) + 600
    token = issuer.token(sub="ann", roles=["admin", "editor"], name="Ann Lee", exp=ends)
    verified = await verifier.verify(token)
    assert verified == Principal(
        "ann", ("admin", "editor"), "Ann Lee", "token", expires_at=ends + 30
    )
    assert verified.token == token


KEYS: dict[str, Callable[[], Key]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), lambda: rsa_key(1)),
    "ES256": lambda: ECKey.generate_key("P-256", {"kid": "k"}),
    "ES384": lambda: ECKey.generate_key("P-384", {"kid": "k"}),
    "ES512": lambda: ECKey.generate_key("P-521", {"kid": "k"}),
    "EdDSA": lambda: OKPKey.generate_key("Ed25519", {"kid": "k"}),
    "Ed25519": lambda: OKPKey.generate_key("Ed25519", {"kid": "k"}),
}


@pytest.mark.parametrize("algorithm", KEYS)
async def test_every_asymmetric_algorithm_is_verified(
    issuer: LocalIssuer, verifier: TokenVerifier, algorithm: str
) -> None:
    key = KEYS[algorithm]()
    issuer.published = [key.as_dict(private=False)]
    token = issuer.sign(issuer.claims(), key, algorithm)
    assert (await verifier.verify(token)).id == "ann"


@pytest.mark.parametrize(
    ("claim", "claims", "roles"),
    [
        ("roles", {"roles": ["a", 7, None, "b"]}, ("a", "b")),
        ("realm_access.roles", {"realm_access": {"roles": ["a"]}}, ("a",)),
        ("https://a.example/roles", {"https://a.example/roles": ["a"]}, ("a",)),
        ("scope", {"scope": "read  write"}, ("read", "write")),
        ("roles", {"roles": {"a": True}}, ()),
        ("roles.of.nobody", {"roles": ["a"]}, ()),
        ("roles", {}, ()),
    ],
)
async def test_roles_are_found_where_issuers_have_them(
    issuer: LocalIssuer, claim: str, claims: dict[str, Any], roles: tuple[str, ...]
) -> None:
    principal = await caller(issuer, issuer.token(**claims), roles_claim=claim)
    assert principal.roles == roles


async def test_another_claim_can_be_the_id(issuer: LocalIssuer) -> None:
    token = issuer.token(preferred_username="ann.lee")
    assert (await caller(issuer, token, id_claim="preferred_username")).id == "ann.lee"


async def test_an_address_that_the_issuer_has_not_verified_names_nobody(
    issuer: LocalIssuer,
) -> None:
    claims: dict[str, Any] = {"email": "ann@a.example", "email_verified": False}
    with pytest.raises(Unauthenticated, match="not verified"):
        await caller(issuer, issuer.token(**claims), id_claim="email")
    claims["email_verified"] = True
    assert (await caller(issuer, issuer.token(**claims), id_claim="email")).id == "ann@a.example"


@pytest.mark.parametrize("typ", ["JWT", "jwt", "at+jwt", "application/at+jwt", None])
async def test_access_tokens_and_tokens_without_a_type_are_taken(
    issuer: LocalIssuer, verifier: TokenVerifier, typ: str | None
) -> None:
    assert await verifier.verify(issuer.sign(issuer.claims(), typ=typ))


async def test_a_member_of_the_header_that_nobody_knows_is_ignored(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    assert await verifier.verify(issuer.sign(issuer.claims(), cat="cl_1"))


# Claims


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://else.example"},
        {"iss": None},
        {"iss": [AUDIENCE]},
        {"aud": "another"},
        {"aud": ["another", "third"]},
        {"aud": [AUDIENCE, 7]},
        {"aud": []},
        {"aud": None},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": True},
        {"exp": 1},
        {"nbf": 253_402_300_000},
        {"nbf": "now"},
        {"iat": 253_402_300_000},
        {"sub": None},
        {"sub": 7},
        {"sub": ""},
        {"sub": "local"},
        {"sub": "an\nn"},
        {"sub": "a" * 300},
    ],
    ids=str,
)
async def test_a_token_with_a_claim_that_is_wrong_or_missing_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier, claims: dict[str, Any]
) -> None:
    await refusal(verifier, issuer.sign(issuer.claims(**{"sub": "ann"} | claims)))


async def test_the_audience_may_be_one_of_several(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    assert await verifier.verify(issuer.token(aud=["another", AUDIENCE]))


async def test_clocks_may_differ_by_the_leeway_and_no_more(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    now = time.time()
    assert await verifier.verify(issuer.token(exp=now - 10, nbf=now + 10, iat=now + 10))
    assert "expired" in await refusal(verifier, issuer.token(exp=now - 40))
    assert "nbf" in await refusal(verifier, issuer.token(nbf=now + 60))
    assert "iat" in await refusal(verifier, issuer.token(iat=now + 60))


@pytest.mark.parametrize("exp", [10**300, 10**390, 1e300])
async def test_an_end_beyond_all_dates_is_the_last_of_them(
    issuer: LocalIssuer, verifier: TokenVerifier, exp: float
) -> None:
    principal = await verifier.verify(issuer.token(exp=exp))
    assert principal.expires_at == 253_402_300_799


@pytest.mark.parametrize(
    "payload",
    [b"[]", b'"ann"', b"null", b"", b"{", b"[" * 3000, b'{"exp": NaN}', b'{"exp": Infinity}'],
    ids=lambda payload: payload[:20].decode(),
)
async def test_claims_that_are_not_a_json_object_are_refused(
    issuer: LocalIssuer, verifier: TokenVerifier, payload: bytes
) -> None:
    await refusal(verifier, issuer.sign(payload))


# Attacks


async def test_an_unsigned_token_is_refused(issuer: LocalIssuer, verifier: TokenVerifier) -> None:
    for algorithm in ("none", "None", "NONE", ""):
        token = crafted({"alg": algorithm, "kid": issuer.rsa.kid}, issuer.claims())
        await refusal(verifier, token)
    assert not issuer.requests


async def test_the_public_key_is_no_secret_to_sign_with(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    for key in (issuer.rsa.as_pem(private=False), issuer.rsa.as_der(private=False)):
        header = {"alg": "HS256", "typ": "JWT", "kid": issuer.rsa.kid}
        assert "algorithm" in await refusal(verifier, crafted(header, issuer.claims(), key=key))


async def test_a_shared_secret_among_the_keys_is_ignored(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    secret = b"s" * 32
    shared = {"kty": "oct", "kid": "shared", "k": encoded(secret)}
    issuer.published = [shared, issuer.rsa.as_dict(private=False)]
    await refusal(verifier, crafted({"alg": "HS256", "kid": "shared"}, issuer.claims(), key=secret))
    await refusal(verifier, crafted({"alg": "RS256", "kid": "shared"}, issuer.claims(), key=secret))
    assert await verifier.verify(issuer.token())


async def test_a_key_that_the_token_brings_along_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    own = rsa_key(FOREIGN)
    token = issuer.sign(issuer.claims(), own, jwk=own.as_dict(private=False), kid=issuer.rsa.kid)
    assert "header" in await refusal(verifier, token)


@pytest.mark.parametrize("member", ["jku", "x5u"])
async def test_no_address_in_a_token_is_ever_asked(
    issuer: LocalIssuer, verifier: TokenVerifier, member: str
) -> None:
    async with LocalIssuer() as attacker:
        attacker.published = [rsa_key(FOREIGN).as_dict(private=False)]
        header = {member: f"{attacker.url}/keys", "kid": f"rsa-{FOREIGN}"}
        await refusal(verifier, issuer.sign(issuer.claims(), rsa_key(FOREIGN), **header))
        assert not attacker.requests


@pytest.mark.parametrize("crit", [["kid"], ["exp"], [], "exp", 7, ["b64"]], ids=str)
async def test_a_critical_extension_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier, crit: object
) -> None:
    await refusal(verifier, issuer.sign(issuer.claims(), crit=crit, exp=1, b64=True))
    assert await verifier.verify(issuer.sign(issuer.claims(), exp=1, b64=True))


async def test_an_encrypted_token_is_refused(verifier: TokenVerifier) -> None:
    header = encoded(json.dumps({"alg": "RSA-OAEP", "enc": "A256GCM"}).encode())
    await refusal(verifier, f"{header}.a2V5.aXY.dGV4dA.dGFn")


async def test_a_token_of_another_type_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    for typ in ("logout+jwt", "dpop+jwt", "JOSE"):
        assert "typ" in await refusal(verifier, issuer.sign(issuer.claims(), typ=typ))


@pytest.mark.parametrize(
    "header",
    [
        *([], 7, None, "alg", ["alg"], ["alg", "b64"], "alg b64", {}, {"alg": None}),
        *({"alg": ["RS256"]}, {"alg": {}}, {"alg": "RS256", "kid": 7}, {"alg": "RS256", "typ": 7}),
        {"alg": "RS256", "b64": False},
    ],
    ids=str,
)
async def test_a_header_that_makes_no_sense_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier, header: object
) -> None:
    await refusal(verifier, crafted(header, issuer.claims()))
    assert not issuer.requests


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "a.b.c", "é.é.é", "\ud800..", "=.=.=", encoded(b"[" * 3000) + ".e30.e30"],
    ids=ascii,
)
async def test_what_is_not_a_token_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier, token: str
) -> None:
    await refusal(verifier, token)
    assert not issuer.requests


async def test_a_token_with_any_other_character_in_it_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    token = issuer.sign(issuer.claims(), issuer.ec, "ES256")
    for place, char in enumerate(token):
        changed = "A" if char != "A" else "B"
        # Under another id it may be of a key that the issuer is not asked for so soon.
        with pytest.raises((Unauthenticated, AuthenticationUnavailable)):
            await verifier.verify(token[:place] + changed + token[place + 1 :])
    for added in ("=", "A", " ", "."):
        await refusal(verifier, token + added)
    assert await verifier.verify(token)


async def test_a_token_that_is_too_long_is_not_even_read(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    assert await verifier.verify(issuer.token(note="x" * 5000))
    assert "longer" in await refusal(verifier, issuer.token(note="x" * 8000))


async def test_an_algorithm_that_is_not_the_keys_own_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    issuer.published = [issuer.rsa.as_dict(private=False, alg="PS256")]
    await refusal(verifier, issuer.sign(issuer.claims(), algorithm="RS256"))
    assert await verifier.verify(issuer.sign(issuer.claims(), algorithm="PS256"))


async def test_a_curve_that_is_not_the_algorithms_own_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    header = {"alg": "ES384", "kid": issuer.ec.kid}
    await refusal(verifier, crafted(header, issuer.claims(), b"s" * 96))


@pytest.mark.parametrize(
    "unusable",
    [
        {"use": "enc"},
        {"use": None},
        {"key_ops": ["encrypt"]},
        {"key_ops": None},
        {"kty": "EC"},
        {"kty": "ML-DSA"},
        {"n": "AQAB"},
        {"n": "!"},
        {"n": 7},
        {"kid": 7},
    ],
    ids=str,
)
async def test_a_key_that_is_not_for_signatures_is_ignored(
    issuer: LocalIssuer, verifier: TokenVerifier, unusable: dict[str, Any]
) -> None:
    key = rsa_key(FOREIGN)
    issuer.published = [
        key.as_dict(private=False) | unusable,
        *(7, None, [], {}, "key"),  # type: ignore[list-item]
        issuer.rsa.as_dict(private=False),
    ]
    await refusal(verifier, issuer.sign(issuer.claims(), key))
    assert await verifier.verify(issuer.token())


async def test_a_key_whose_private_half_is_published_is_ignored(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    issuer.published = [issuer.rsa.as_dict(private=True), issuer.ec.as_dict(private=False)]
    await refusal(verifier, issuer.token())


async def test_a_weak_key_is_ignored(issuer: LocalIssuer, verifier: TokenVerifier) -> None:
    with pytest.warns(match="2048"):
        weak = RSAKey.generate_key(1024, {"kid": "weak"})
    issuer.published = [weak.as_dict(private=False), issuer.rsa.as_dict(private=False)]
    await refusal(verifier, issuer.sign(issuer.claims(), weak))


async def test_a_token_without_a_key_id_is_taken_only_if_there_is_no_choice(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    token = issuer.sign(issuer.claims(), kid=None)
    assert await verifier.verify(token), "an RSA key and an EC key: only one is for RS256"
    issuer.published = [rsa_key(n).as_dict(private=False) for n in (1, 2)]
    async with open_token_verifier(settings(issuer)) as other:
        await refusal(other, token)


async def test_nothing_of_a_token_is_logged(
    issuer: LocalIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tokens = [issuer.token(), issuer.token(exp=1), issuer.sign(issuer.claims(), rsa_key(FOREIGN))]
    async with open_token_verifier(settings(issuer)) as verifier:
        await verifier.verify(tokens[0])
        await refusal(verifier, tokens[1])
        await refusal(verifier, tokens[2])
    text = caplog.text
    assert "keys" in text, "the requests of httpx are"
    assert not any(part in text for token in tokens for part in token.split("."))


# The start


@pytest.mark.parametrize(
    "url",
    [
        *("", "issuer.example", "http://issuer.example", "ftp://127.0.0.1", "https://"),
        *("https://a.example?x=1", "https://a.example#x", "https://a:b@a.example"),
        *(
            "http://127.0.0.1.a.example",
            "http://[::2]",
            "https://a\n.example",
            "http://[",
            "file:///a",
        ),
    ],
)
async def test_an_issuer_that_could_not_be_trusted_keeps_the_server_from_starting(
    url: str,
) -> None:
    with pytest.raises(AuthSetupError, match="TURNSTREAM_JWT_ISSUER cannot be"):
        async with open_token_verifier(TokenSettings(url, AUDIENCE)):
            pass


def test_without_the_package_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['joserfc'] = None\n"
        "from turnstream.server.extensions.users.faults import *\n"
        "try:\n    import turnstream.server.extensions.users.tokens\n"
        "except AuthSetupError as error:\n    sys.stdout.write(str(error))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install joserfc" in done.stdout


async def test_nobody_is_asked_before_a_token_comes(issuer: LocalIssuer) -> None:
    async with open_token_verifier(settings(issuer, key_times=KeyTimes())):
        pass
    assert not issuer.requests

"""Signed tokens (JWS, RFC 7515), and the public keys that verify them (JWK Set, RFC 7517).

A token's header is the sender's word until the signature is verified. It chooses among the issuer's
keys and says nothing else: `jku`, `x5u` and `x5c` are never read, `jwk` and `crit` are refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwa import JWS_ALGORITHMS, JWSAlgModel
from joserfc.jwk import Key, import_key
from joserfc.jws import JWSRegistry, extract_compact
from joserfc.util import base64_to_int, urlsafe_b64decode

from turnstream.server.extensions.users.faults import Unauthenticated
from turnstream.tools import strict_json

MAX_TOKEN_CHARS = 8192
MAX_KEYS = 100
RSA_BITS = range(2048, 8192 + 1)
"""A shorter key is too weak, and a longer one takes too long."""

ALGORITHMS: Mapping[str, JWSAlgModel] = {
    algorithm.name: algorithm
    for algorithm in JWS_ALGORITHMS
    if algorithm.name
    in (
        *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
        *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
    )
}
"""Asymmetric algorithms alone: with a shared secret, whoever can verify a token can make one."""

TYPES = ("jwt", "at+jwt", "application/at+jwt")
CURVES = {"EC": ("P-256", "P-384", "P-521"), "OKP": ("Ed25519", "Ed448")}

# Members of a header that we do not know are ignored, as RFC 7515 has it.
_registry = JWSRegistry(strict_check_header=False)
# The length of the token is the limit of each of its parts.
_registry.max_header_length = MAX_TOKEN_CHARS
_registry.max_signature_length = MAX_TOKEN_CHARS


@dataclass(frozen=True, slots=True)
class SignedToken:
    """A JWT, taken apart: nothing in it is verified."""

    claims: Mapping[str, Any]
    algorithm: JWSAlgModel
    kid: str | None
    signing_input: bytes
    signature: bytes

    def has_signature_of(self, key: Key) -> bool:
        try:
            return self.algorithm.verify(self.signing_input, self.signature, key)
        except JoseError:
            return False

    def fits(self, key: Key) -> bool:
        """Check that the key is one for this algorithm."""
        try:
            self.algorithm.check_key(key)
        except JoseError:
            return False
        return True


def read_token(token: str) -> SignedToken:
    """Raises Unauthenticated for what is not a JWT with a signature that we verify."""
    if len(token) > MAX_TOKEN_CHARS:
        raise Unauthenticated(f"the token is longer than {MAX_TOKEN_CHARS} characters")
    try:
        parts = extract_compact(token.encode("ascii"), registry=_registry)
        header: object = parts.headers()
        if not isinstance(header, dict) or "crit" in header or "jwk" in header:
            raise Unauthenticated("the token's header cannot be accepted")
        _registry.check_header(header)
        signature = urlsafe_b64decode(parts.segments["signature"])
    except (JoseError, ValueError, TypeError, RecursionError):
        raise Unauthenticated("not a signed JWT") from None
    if header["alg"] not in ALGORITHMS:
        raise Unauthenticated("the token's algorithm is not one of " + ", ".join(ALGORITHMS))
    if header.get("typ", "JWT").lower() not in TYPES:
        raise Unauthenticated("a token of another type (typ)")
    claims = strict_json.read_object(parts.payload)
    if claims is None:
        raise Unauthenticated("the token's claims are not a JSON object")
    signing_input, _, _ = token.rpartition(".")
    return SignedToken(
        claims, ALGORITHMS[header["alg"]], header.get("kid"), signing_input.encode(), signature
    )


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """The keys of an issuer that sign tokens."""

    keys: Sequence[Key]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "PublicKeys":
        """Parse the keys of a JWK Set that can sign tokens; others are ignored, as RFC 7517 has it.
        Raises ValueError if there are none, or too many keys.

        Raises ValueError if there are none, or too many keys.
        """
        listed = document.get("keys")
        if not isinstance(listed, list):
            raise ValueError("it is not a JWK Set")
        if len(listed) > MAX_KEYS:
            raise ValueError(f"it has more than {MAX_KEYS} keys")
        keys = [key for key in map(_signing_key, listed) if key]
        if not keys:
            raise ValueError("it has no key that could sign tokens")
        return cls(keys)

    def fitting(self, token: SignedToken) -> Sequence[Key]:
        """The keys that the token names. One that names none fits if there is no choice."""
        if token.kid is not None:
            return [key for key in self.keys if key.kid == token.kid and token.fits(key)]
        fitting = [key for key in self.keys if token.fits(key)]
        return fitting if len(fitting) == 1 else []

    def verify(self, token: SignedToken) -> bool:
        return any(token.has_signature_of(key) for key in self.fitting(token))


def _signing_key(jwk: object) -> Key | None:
    """None for another kind of key, and for one that is broken, weak, or published with its
    private half."""
    if not isinstance(jwk, dict) or "d" in jwk or jwk.get("use", "sig") != "sig":
        return None
    try:
        if "verify" not in jwk.get("key_ops", ["verify"]) or not _is_strong(jwk):
            return None
        return import_key(jwk)
    except (JoseError, ValueError, TypeError, KeyError):
        return None


def _is_strong(jwk: Mapping[str, Any]) -> bool:
    if jwk.get("kty") == "RSA":
        return base64_to_int(jwk["n"]).bit_length() in RSA_BITS
    return jwk.get("crv") in CURVES.get(str(jwk.get("kty")), ())

"""Cursors of the thread list: a place in it, sealed for its owner.

Activities are counted over all owners, and their numbers would tell each owner how much the others
do. The seal is that of RFC 5297, with keyed BLAKE2b (RFC 7693) in the place of AES: a digest of the
owner and the place, then the place under a mask that is made of the digest. So a cursor says
nothing without the database's secret, is good for one owner, and is the same for the same place.
"""

import hashlib
import hmac
import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

_PLACE = struct.Struct(">QQ?")
_DIGEST_BYTES = 13
CURSOR = r"[A-Za-z0-9_-]{40}"
"""A pattern: `_DIGEST_BYTES` and a `_PLACE`, in base64url."""
_CURSOR = re.compile(CURSOR)


@dataclass(frozen=True, slots=True)
class Place:
    """Behind what a reader has seen: the list as it was at one activity, and one of it."""

    as_of: int
    before: int
    is_pinned: bool = False
    """Among those that come first."""


def seal(place: Place, secret: bytes, owner: str) -> str:
    plain = _PLACE.pack(place.as_of, place.before, place.is_pinned)
    digest = _digest(secret, owner, plain)
    return urlsafe_b64encode(digest + _masked(secret, digest, plain)).decode()


def unseal(cursor: str, secret: bytes, owner: str) -> Place:
    """Raises ValueError for what `seal` has not made with this secret for this owner."""
    if _CURSOR.fullmatch(cursor):
        sealed = urlsafe_b64decode(cursor)
        digest, hidden = sealed[:_DIGEST_BYTES], sealed[_DIGEST_BYTES:]
        plain = _masked(secret, digest, hidden)
        if hmac.compare_digest(digest, _digest(secret, owner, plain)):
            return Place(*_PLACE.unpack(plain))
    raise ValueError(f"{cursor[:50]!r} is not a cursor of the thread list")


def _digest(secret: bytes, owner: str, plain: bytes) -> bytes:
    told = plain + owner.encode()
    return hashlib.blake2b(told, key=secret, digest_size=_DIGEST_BYTES, person=b"place").digest()


def _masked(secret: bytes, digest: bytes, text: bytes) -> bytes:
    mask = hashlib.blake2b(digest, key=secret, digest_size=_PLACE.size, person=b"mask").digest()
    return bytes(a ^ b for a, b in zip(text, mask, strict=True))

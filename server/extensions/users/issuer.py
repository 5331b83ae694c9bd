"""The issuer of tokens, an OpenID Connect provider: its public keys, as they change.

It is asked when a token comes, not at the start, so the server starts while the issuer is down.
"""

import asyncio
import logging
from dataclasses import dataclass
from ipaddress import ip_address
from math import inf
from time import monotonic
from typing import Any

import httpx

from turnstream.server.extensions.users.faults import AuthenticationUnavailable, AuthSetupError
from turnstream.server.extensions.users.public_keys import PublicKeys
from turnstream.tools import strict_json

DISCOVERY = "/.well-known/openid-configuration"
MAX_DOCUMENT_BYTES = 256 * 1024
MAX_REASON_CHARS = 200

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeyTimes:
    """Times of an issuer's keys: until they are too old, and between two requests for them."""

    timeout_seconds: float = 5
    """For discovery and keys together."""
    fresh_seconds: float = 3600
    """After these the keys are fetched again when a token comes."""
    usable_seconds: float = 24 * 3600
    """Seconds for which keys verify tokens while the issuer is down."""
    pause_seconds: float = 30
    """Between two searches for a key that is not known, and after a failure."""


class IssuerFault(Exception):
    """The issuer answered something that cannot be used."""


class Issuer:
    """`url` is its issuer identifier, as tokens have it in `iss`; `failure` is why it could not be
    asked the last time. Raises AuthSetupError if it cannot be the URL of an issuer."""

    def __init__(self, url: str, times: KeyTimes, http: httpx.AsyncClient) -> None:
        _check_issuer(url)
        self.failure: str | None = None
        self._url = url
        self._times = times
        self._http = http
        self._keys: PublicKeys | None = None
        self._fetched_at = self._searched_at = self._failed_at = -inf
        """On the monotonic clock."""
        self._fetching: asyncio.Task[None] | None = None

    async def keys(self) -> PublicKeys:
        """Raises AuthenticationUnavailable."""
        if self._age() > self._times.fresh_seconds:
            await self._fetch_once()
        if self._keys is None or self._age() > self._times.usable_seconds:
            raise AuthenticationUnavailable(self.failure or "the issuer has not been asked")
        return self._keys

    async def newer_keys(self, keys: PublicKeys) -> tuple[PublicKeys | None, bool]:
        """Return the keys after those, if there are any, and whether the issuer was asked: not if
        the last search is less than a pause ago."""
        is_asked = self._keys is not keys or self._fetching is not None or self._may_search()
        if self._keys is keys and is_asked:
            await self._fetch_once()
        return (None if self._keys is keys else self._keys), is_asked

    async def close(self) -> None:
        if self._fetching:
            fetching = self._fetching
            fetching.cancel()
            await asyncio.wait([fetching])

    def _age(self) -> float:
        return monotonic() - self._fetched_at

    def _may_search(self) -> bool:
        """Anybody can send tokens with unknown keys; the issuer is not asked for each."""
        now = monotonic()
        if now - self._searched_at < self._times.pause_seconds:
            return False
        self._searched_at = now
        return True

    async def _fetch_once(self) -> None:
        """Fetch, or wait for the fetch under way, which outlives the request that began it."""
        if self._fetching is None:
            if monotonic() - self._failed_at < self._times.pause_seconds:
                return
            self._fetching = asyncio.create_task(self._fetch())
        await asyncio.shield(self._fetching)

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(self._times.timeout_seconds):
                self._keys = await self._published_keys()
        except TimeoutError:
            self._note_failure(f"it took more than {self._times.timeout_seconds:g} s")
        except (httpx.HTTPError, IssuerFault) as error:
            self._note_failure(str(error)[:MAX_REASON_CHARS] or type(error).__name__)
        else:
            self._fetched_at = monotonic()
            if self.failure:
                logger.info("the issuer of tokens answers again")
            self.failure, self._failed_at = None, -inf
        finally:
            self._fetching = None

    def _note_failure(self, reason: str) -> None:
        known, self.failure = self.failure, f"the issuer {self._url} cannot be asked: {reason}"
        self._failed_at = monotonic()
        if self._keys and not known:
            hours = self._times.usable_seconds / 3600
            named = {"failure": self.failure, "hours": hours}
            logger.warning("%(failure)s; its keys stay in use, %(hours)g h at most", named)

    async def _published_keys(self) -> PublicKeys:
        discovered = await self._document(self._url.rstrip("/") + DISCOVERY)
        if discovered.get("issuer") != self._url:
            name = str(discovered.get("issuer"))[:MAX_REASON_CHARS]
            raise IssuerFault(f"it calls itself {name!r}; TURNSTREAM_JWT_ISSUER must be the same")
        url = discovered.get("jwks_uri")
        if not isinstance(url, str) or not _is_safe(url):
            raise IssuerFault("its jwks_uri is not an https URL")
        document = await self._document(url)
        try:
            return PublicKeys.of(document)
        except ValueError as error:
            raise IssuerFault(f"its keys cannot be used: {error}") from None

    async def _document(self, url: str) -> dict[str, Any]:
        """A JSON object. Nothing is unpacked: a few bytes could become any number."""
        plain = {"Accept": "application/json", "Accept-Encoding": "identity"}
        async with self._http.stream("GET", url, headers=plain, follow_redirects=False) as response:
            if response.status_code != 200:
                raise IssuerFault(f"{url} answered status {response.status_code}")
            body = bytearray()
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > MAX_DOCUMENT_BYTES:
                    raise IssuerFault(f"{url} answered more than {MAX_DOCUMENT_BYTES} bytes")
        document = strict_json.read_object(bytes(body))
        if document is None:
            raise IssuerFault(f"{url} did not answer a JSON object")
        return document


def _check_issuer(url: str) -> None:
    if not _is_safe(url) or "?" in url or "#" in url:
        raise AuthSetupError(
            f"TURNSTREAM_JWT_ISSUER cannot be {url!r}: give the issuer's https URL, as its tokens "
            "have it in iss (http only on this machine, such as http://localhost:8080)"
        )


def _is_safe(url: str) -> bool:
    """Check that nobody on the way can put keys of their own into the answer."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    if parts.userinfo or not parts.host:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.host))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

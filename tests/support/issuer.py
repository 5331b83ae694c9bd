"""An OpenID Connect issuer on a loopback port: discovery, a JWK Set, tokens that it signs.

    async with LocalIssuer() as issuer:
        token = issuer.token(sub="ann", roles=["admin"])

An RSA and an EC key are published at any time; tokens are signed with the RSA key.
"""

import asyncio
import base64
import json
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import cache
from types import TracebackType
from typing import Any, Literal, Self

from joserfc.jwa import JWS_ALGORITHMS
from joserfc.jwk import ECKey, Key, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.support.endpoint.serving import HOST, serve

AUDIENCE = "turnstream"
ALGORITHMS = {algorithm.name: algorithm for algorithm in JWS_ALGORITHMS}
Mode = Literal["well", "slow", "huge", "redirecting", "another name", "no JSON", "failing"]


@cache
def rsa_key(number: int) -> RSAKey:
    """One of the RSA keys of this process: to make one takes a good part of a second."""
    return RSAKey.generate_key(2048, {"kid": f"rsa-{number}", "use": "sig"})


@cache
def ec_key(number: int) -> ECKey:
    return ECKey.generate_key("P-256", {"kid": f"ec-{number}", "use": "sig", "alg": "ES256"})


def encoded(raw: bytes) -> str:
    """As base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class LocalIssuer:
    def __init__(self) -> None:
        self.requests: Counter[Literal["discovery", "keys"]] = Counter()
        self.mode: Mode = "well"
        """How the next requests are answered."""
        self.metadata: dict[str, Any] = {}
        """What discovery says besides, or in place of the truth."""
        self.published: list[Mapping[str, Any]] | None = None
        """The keys as JWKs, in place of those that are."""
        self.released = asyncio.Event()
        """Lets the slow requests be answered."""
        self._number = 1
        self._port = 0
        self._open = AsyncExitStack()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    @property
    def rsa(self) -> RSAKey:
        return rsa_key(self._number)

    @property
    def ec(self) -> ECKey:
        return ec_key(self._number)

    def rotate(self) -> None:
        """Publish and use new keys, under new ids; the old ones are gone."""
        self._number += 1

    def claims(self, sub: str = "ann", **claims: Any) -> dict[str, Any]:
        """Those of a good token, valid for an hour. None takes one away."""
        now = int(time.time())
        good = {"iss": self.url, "aud": AUDIENCE, "sub": sub, "iat": now, "exp": now + 3600}
        return {name: value for name, value in (good | claims).items() if value is not None}

    def token(self, sub: str = "ann", **claims: Any) -> str:
        """A token with these claims besides the usual, or in their place."""
        return self.sign(self.claims(sub, **claims))

    def sign(
        self, claims: object, key: Key | None = None, algorithm: str = "RS256", **header: Any
    ) -> str:
        """A token as it is wanted, right or wrong. None takes a member of the header away."""
        key = key or self.rsa
        usual = {"alg": algorithm, "typ": "JWT", "kid": key.kid}
        members = {name: value for name, value in (usual | header).items() if value is not None}
        payload = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
        parts = f"{encoded(json.dumps(members).encode())}.{encoded(payload)}"
        return f"{parts}.{encoded(ALGORITHMS[algorithm].sign(parts.encode(), key))}"

    async def stop(self) -> None:
        """Refuse connections."""
        await self._open.aclose()

    async def start(self) -> None:
        """Listen, at the same address as before."""
        app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._discovery),
                Route("/keys", self._keys),
            ]
        )
        serving = serve(app, self._port, keep_alive=False)
        self._port = await self._open.enter_async_context(serving)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _discovery(self, _: Request) -> Response:
        self.requests["discovery"] += 1
        name = "https://else.example" if self.mode == "another name" else self.url
        return JSONResponse({"issuer": name, "jwks_uri": f"{self.url}/keys"} | self.metadata)

    async def _keys(self, request: Request) -> Response:
        self.requests["keys"] += 1
        match self.mode:
            case "slow":
                await self._released(request)
            case "huge":
                return Response(b" " * 300_000, media_type="application/json")
            case "redirecting":
                return RedirectResponse(f"{self.url}/keys?again")
            case "no JSON":
                return Response(b"<html>", media_type="application/json")
            case "failing":
                return Response(status_code=500)
            case _:
                pass
        public = [self.rsa.as_dict(private=False), self.ec.as_dict(private=False)]
        return JSONResponse({"keys": public if self.published is None else self.published})

    async def _released(self, request: Request) -> None:
        """Wait until the test lets the request go, or the client has gone."""
        await request.body()
        left = asyncio.ensure_future(request.receive())
        released = asyncio.create_task(self.released.wait())
        await asyncio.wait((left, released), return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        released.cancel()

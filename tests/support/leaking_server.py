"""`python -P -m turnstream.server`, of which each request leaves something behind, for good."""

import asyncio
import os
import sys
from typing import Any

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.server import launch as program
from turnstream.server.app import create_app

LEFT_BYTES = 1024 * 1024
LEFT_TASKS = 4
left: list[Any] = []


class Leaking:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            left.append(os.urandom(LEFT_BYTES))
            left.append(os.open(os.devnull, os.O_RDONLY))
            left.extend(asyncio.create_task(asyncio.Event().wait()) for _ in range(LEFT_TASKS))
        await self._app(scope, receive, send)


def leaking(*arguments: Any, **named: Any) -> Starlette:
    app = create_app(*arguments, **named)
    app.add_middleware(Leaking)
    return app


if __name__ == "__main__":
    vars(program)["create_app"] = leaking
    sys.exit(program.main(sys.argv[1:]))

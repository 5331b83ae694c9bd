"""What this server is: /health."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphs.models import OFFLINE
from graphs.offline import EXAMPLES


def health(model_name: str) -> Any:
    async def endpoint(_request: Request) -> Response:
        return JSONResponse(
            {
                "status": "ok",
                "model": model_name,
                "offline": model_name == OFFLINE,
                "examples": EXAMPLES,
            }
        )

    return endpoint

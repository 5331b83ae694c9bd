"""The statuses that an OpenAI endpoint fails with.

The other wires play them as their providers have them: Anthropic's overload is 529, Gemini's wrong
key 400, and a prompt that Gemini blocks is an answer without words.
"""

import math

from tests.support.endpoint.script import Fail

UNAUTHORIZED = Fail(401, "Incorrect API key provided.", code="invalid_api_key")
MODEL_NOT_FOUND = Fail(404, "The model does not exist.", code="model_not_found")
SERVER_ERROR = Fail(500, "The server had an error.", type="server_error")
OVERLOADED = Fail(503, "The engine is currently overloaded.", type="service_unavailable_error")
CONTEXT_LENGTH_EXCEEDED = Fail(
    400,
    "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
    code="context_length_exceeded",
)
CONTENT_FILTERED = Fail(
    400, "The response was filtered by the content management policy.", code="content_filter"
)


def rate_limited(retry_after: float = 1) -> Fail:
    """429. `retry_after` is in seconds; clients that read `retry-after-ms` take it exactly."""
    return Fail(
        429,
        "Rate limit reached for requests.",
        code="rate_limit_exceeded",
        type="requests",
        headers={
            "retry-after": str(math.ceil(retry_after)),
            "retry-after-ms": str(max(1, round(retry_after * 1000))),
        },
    )

"""/threads/{thread_id}/feedback: what users say about messages of the model."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.extensions.feedback.given import (
    MAX_OF_THREAD,
    FeedbackJson,
    GivenFeedback,
    TooMuchFeedback,
)
from turnstream.server.extensions.requests import read_json, thread_key
from turnstream.server.formats.fields import (
    ClosedFields,
    Fault,
    Otherwise,
    Text,
    read,
)
from turnstream.server.http.operations import Answer, Operation, says
from turnstream.server.http.problems import Problem, unknown_thread
from turnstream.server.turns.problem_codes import STORAGE, pick

MAX_REASON_CHARS = 2_000


def _reason(reason: str) -> str:
    if len(reason) > MAX_REASON_CHARS:
        raise Fault("value_too_long", f"has {len(reason)} characters: send {MAX_REASON_CHARS}.")
    return reason


class FeedbackBody(ClosedFields):
    message_id: Annotated[
        str,
        Field(pattern="^[A-Za-z0-9_.-]{1,128}$"),
        Otherwise("invalid_message_id", "a message's id has 1 to 128 of A-Z, a-z, 0-9, _, - and ."),
        says("It is not looked up in the thread."),
    ]
    value: Annotated[
        Literal["up", "down", "none"],
        Otherwise("invalid_body", "send 'up', 'down', or 'none' to take it back"),
        says("`none` takes the feedback back."),
    ]
    reason: Annotated[
        Text,
        Otherwise("invalid_body", f"send a text of at most {MAX_REASON_CHARS} characters"),
        AfterValidator(_reason),
        Field(json_schema_extra={"maxLength": MAX_REASON_CHARS}),
    ] = ""


class FeedbackListJson(TypedDict):
    feedback: list[FeedbackJson]


def endpoint(given: Callable[[], GivenFeedback]) -> type[HTTPEndpoint]:
    """Return the endpoint over what `given` returns."""

    class Feedback(HTTPEndpoint):
        @Operation(
            "listFeedback",
            Answer("The thread's feedback, the oldest first.", FeedbackListJson),
            STORAGE | pick("thread_not_found"),
        )
        async def get(self, request: Request[Any]) -> Response:
            """List the feedback on a thread's messages."""
            key = thread_key(request)
            if not await given().exists(key):
                raise unknown_thread(key)
            return JSONResponse(FeedbackListJson(feedback=await given().of_thread(key)))

        @Operation(
            "giveFeedback",
            Answer("All feedback on the thread, with this one.", FeedbackListJson),
            STORAGE
            | pick("thread_not_found", "too_much_feedback", "invalid_body", "invalid_text")
            | pick("unknown_key", "value_too_long", "invalid_message_id"),
            body=FeedbackBody,
            examples={
                "a thumb down": {"message_id": "m1", "value": "down", "reason": "A wrong sum."},
                "none any more": {"message_id": "m1", "value": "none"},
            },
        )
        async def post(self, request: Request[Any]) -> Response:
            """Give a message a thumb up or down, or take it back.

            A message has one feedback; another one takes its place.
            """
            key = thread_key(request)
            body: FeedbackBody = await read_json(request, _body)
            try:
                if not await given().give(key, body.message_id, body.value, body.reason):
                    raise unknown_thread(key)
            except TooMuchFeedback:
                raise Problem(
                    409,
                    "too_much_feedback",
                    f"The thread has feedback on {MAX_OF_THREAD} messages. Take some of it back.",
                ) from None
            return JSONResponse(FeedbackListJson(feedback=await given().of_thread(key)))

    return Feedback


def _body(body: Any) -> FeedbackBody:
    return read(FeedbackBody, body)

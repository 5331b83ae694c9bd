"""The operations of AG-UI: what `POST /chat` does, at addresses of their own."""

from typing import Any

from turnstream.server.http.openapi.answers import TEXT
from turnstream.server.http.openapi.operation import Example, Operation
from turnstream.server.http.openapi.turns import START_PARAMETERS, START_PROBLEMS, STARTED
from turnstream.server.protocols.body_schemas import ref

_HELLO = {"id": "m1", "role": "user", "content": "Hello"}
_OTHER = {"role": "assistant", "content": "Hi"}


def _input(*messages: Any, **further: Any) -> dict[str, Any]:
    """As an `HttpAgent` posts it."""
    empty: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return {"threadId": "t1", "runId": "r1", "messages": [*messages], **empty, **further}


OPERATIONS = {
    ("POST", "/ag-ui"): Operation(
        "agUiRun",
        "Start a run and stream it to a client of AG-UI",
        STARTED,
        START_PROBLEMS,
        parameters=START_PARAMETERS,
        body=ref("AgUi.Body"),
        examples={
            "a message": Example(200, _input(_HELLO)),
            "a message of parts": Example(
                200, _input({**_HELLO, "content": [{"type": "text", "text": "Hello"}]})
            ),
            "a run that is read elsewhere": Example(
                202, _input(_HELLO), headers={"Prefer": "respond-async"}
            ),
            "nothing new": Example(409, _input(_HELLO, _OTHER)),
            "an answer to no question": Example(
                409, _input(resume=[{"interruptId": "i1", "status": "resolved", "payload": 1}])
            ),
            "no messages": Example(422, {"threadId": "t1"}),
        },
    ),
    ("POST", "/ag-ui/{graph}"): Operation(
        "agUiRunOfGraph",
        "The same of a graph",
        STARTED,
        START_PROBLEMS,
        "The graph of the address counts before that of the body.",
        parameters=START_PARAMETERS,
        path={"graph": TEXT},
        body=ref("AgUi.Body"),
        examples={
            "a message": Example(200, _input(_HELLO), path={"graph": "chat"}),
            "a graph that there is not": Example(422, _input(_HELLO), path={"graph": "none"}),
        },
    ),
}

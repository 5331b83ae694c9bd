"""The operations of turns: start a run, attach to one, stop one."""

from turnstream.server.http.chat import MAX_KEY_CHARS
from turnstream.server.http.openapi.answers import EVENT_STREAM, PREVIOUS_RUN, RUN_HEADERS, TEXT
from turnstream.server.http.openapi.operation import (
    EVENTS,
    Answer,
    Example,
    Operation,
    header,
    query,
)
from turnstream.server.http.openapi.problems import (
    BODY,
    BODY_FIELDS,
    BRANCHES,
    IDEMPOTENCY,
    PROTOCOL,
    START,
    STILL_BUSY,
    STORAGE,
    STREAMS,
    THREAD,
    VERSION,
)
from turnstream.server.protocols import WIRE_FORMATS
from turnstream.server.protocols.body_schemas import choice, ref

PROTOCOL_PARAMETER = query(
    "protocol", choice(*WIRE_FORMATS), "The wire format of the answer, in place of the body's own."
)
STREAM = Answer(
    "The run as an event stream.",
    EVENT_STREAM,
    EVENTS,
    may_have={**RUN_HEADERS, **PREVIOUS_RUN, "Location": TEXT},
)

STARTED = {
    200: STREAM,
    202: Answer(
        "With `Prefer: respond-async`: where the stream of the run is; where its thread is, if it "
        "has no stream.",
        ref("Accepted"),
        headers={
            "X-Thread-Id": TEXT,
            "X-Run-Id": TEXT,
            "Location": TEXT,
            "Preference-Applied": TEXT,
        },
        may_have={"X-Message-Id": TEXT, **PREVIOUS_RUN},
    ),
}
"""What answers each post that starts a run."""
START_PROBLEMS = (
    *(BODY, BODY_FIELDS, PROTOCOL, IDEMPOTENCY),
    *(*START, VERSION, BRANCHES, STREAMS, STORAGE),
)
START_PARAMETERS = (
    PROTOCOL_PARAMETER,
    query(
        "on_busy",
        choice("reject", "stop"),
        "What a live run of the thread means: a 409, or its end.",
    ),
    header("Prefer", TEXT, "`respond-async`: answer with 202, and stream nothing."),
    header(
        "Idempotency-Key",
        {"type": "string", "maxLength": MAX_KEY_CHARS, "pattern": "[!-~]"},
        "Makes a retry safe: the same key and body attach to the same run.",
    ),
)

OPERATIONS = {
    ("POST", "/chat"): Operation(
        "startRun",
        "Start a run and stream it",
        STARTED,
        START_PROBLEMS,
        parameters=START_PARAMETERS,
        body=ref("ChatBody"),
        examples={
            "a message": Example(200, {"message": "What is 6 * 7?"}),
            "a message of parts": Example(
                200, {"message": {"id": "m1", "parts": [{"type": "text", "text": "Hello"}]}}
            ),
            "a message from assistant-ui": Example(
                200,
                {
                    "commands": [
                        {
                            "type": "add-message",
                            "message": {
                                "role": "user",
                                "parts": [{"type": "text", "text": "Hello"}],
                            },
                        }
                    ],
                    "state": None,
                },
            ),
            "a message from useChat": Example(
                200,
                {
                    "id": "t1",
                    "trigger": "submit-message",
                    "messages": [
                        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}
                    ],
                },
            ),
            "a run that is read elsewhere": Example(
                202, {"message": "Hello"}, headers={"Prefer": "respond-async"}
            ),
            "nothing to do": Example(422, {}),
            "a thread that must exist": Example(
                404, {"thread_id": "no-such-thread", "message": "Hello", "must_exist": True}
            ),
            "nothing to go on with": Example(409, {"continue": True}),
            "a format that there is not": Example(
                422, {"message": "Hello"}, query={"protocol": "soap"}
            ),
        },
    ),
    ("GET", "/chat/{thread_id}/stream"): Operation(
        "attach",
        "Attach to the thread's live run",
        {200: STREAM, 204: Answer("There is nothing to stream.")},
        (PROTOCOL, STREAMS, STORAGE),
        "From its first event, or after the event whose id is given. A cursor that is unknown, or "
        "whose run is held no longer, gets a stream that says so.",
        parameters=(
            PROTOCOL_PARAMETER,
            query("last_event_id", TEXT, "As the header, for clients that cannot set one."),
            header("Last-Event-ID", TEXT, "The id of the last event that the client has."),
        ),
        path={"thread_id": TEXT},
        examples={
            "a thread without a run": Example(204, path={"thread_id": "t1"}),
            "an unknown cursor": Example(
                200, path={"thread_id": "{thread}"}, headers={"Last-Event-ID": "run:3"}
            ),
        },
    ),
    ("POST", "/chat/{thread_id}/stop"): Operation(
        "stop",
        "Stop the thread's live run",
        {200: Answer("The thread is saved and free, also if the run had ended.", ref("Stopped"))},
        (THREAD, STORAGE, STILL_BUSY),
        path={"thread_id": TEXT},
        examples={
            "a thread that there is not": Example(404, path={"thread_id": "t1"}),
            "a run that has ended": Example(200, path={"thread_id": "{thread}"}),
        },
    ),
}

"""What the body of an AG-UI client asks for, and the sentence that says what is wrong with one."""

from dataclasses import replace
from typing import Any

import pytest

from turnstream.server.formats import BODY_FORMATS, WIRE_FORMATS, BodyLimits, PostedTurn, parse
from turnstream.server.turns.requests import (
    ApprovalAnswer,
    Branch,
    ClientTool,
    GraphValues,
    ImageContent,
    InvalidRequest,
    Resume,
    TextContent,
    ToolAnswer,
    TurnRequest,
    UserMessage,
)

Json = dict[str, Any]
LIMITS = BodyLimits(max_message_chars=100)
(AG_UI,) = (format for format in BODY_FORMATS if format.address == "/ag-ui")
HI = {"id": "u1", "role": "user", "content": "Hi"}
SAID = {"id": "a1", "role": "assistant", "content": "Hello."}
CALLED = {
    "id": "a2",
    "role": "assistant",
    "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "ask", "arguments": "{}"}}],
}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
APPROVAL = "approval:call%3A1:call%3A1.2"


def read(body: Json, **address: Any) -> PostedTurn:
    return parse(body, LIMITS, format=AG_UI, **address)


def posted(*messages: Any, **fields: Any) -> Json:
    """As an HttpAgent posts it."""
    return {
        "threadId": "t1",
        "runId": "r1",
        "protocolVersion": "1.0",
        "state": {},
        "messages": list(messages),
        "tools": [],
        "context": [],
        "forwardedProps": {},
        **fields,
    }


def tool_message(id: str, content: Any, **fields: Any) -> Json:
    return {"id": f"t-{id}", "role": "tool", "toolCallId": id, "content": content, **fields}


def entry(id: str, payload: Any = None, status: str = "resolved") -> Json:
    return {"interruptId": id, "status": status, "payload": payload}


def turn(**fields: Any) -> TurnRequest:
    return TurnRequest(thread_id="t1", answers_are_copies=True, **fields)


def said(text: str, id: str | None = "u1") -> Json:
    """A message: asked again if the thread has it."""
    branch = Branch("regenerate", id) if id else None
    return {"message": UserMessage((TextContent(text),), id), "branch": branch}


def answer(id: str, result: Any, *, is_error: bool = False) -> ToolAnswer:
    return ToolAnswer(id, result, is_error, is_any_copy=True)


def text(*texts: str) -> list[Json]:
    return [{"type": "text", "text": text} for text in texts]


PICTURE = {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}
WEB = {"type": "url", "value": "https://a.org/b.png"}
TURNS: list[tuple[Json, TurnRequest]] = [
    (posted(HI), turn(**said("Hi"))),
    (posted(SAID, HI), turn(**said("Hi"))),
    ({"messages": [HI]}, TurnRequest(answers_are_copies=True, **said("Hi"))),
    (posted({"role": "user", "content": "Hi"}), turn(**said("Hi", None))),
    (
        posted(
            {**HI, "content": [{"type": "text", "text": "See"}, {"type": "image", "source": WEB}]}
        ),
        turn(
            message=UserMessage((TextContent("See"), ImageContent("https://a.org/b.png")), "u1"),
            branch=Branch("regenerate", "u1"),
        ),
    ),
    (
        posted({**HI, "content": [{"type": "image", "source": PICTURE}]}),
        turn(
            message=UserMessage((ImageContent("data:image/png;base64,iVBORw0KGgo="),), "u1"),
            branch=Branch("regenerate", "u1"),
        ),
    ),
    (posted(HI, SAID), turn()),
    (posted(), turn()),
    (
        posted(HI, CALLED, tool_message("c1", '{"a": [1]}')),
        turn(answers=(answer("c1", {"a": [1]}),)),
    ),
    (
        posted(HI, CALLED, tool_message("c1", "red"), tool_message("c2", "7")),
        turn(answers=(answer("c1", "red"), answer("c2", 7))),
    ),
    (
        posted(CALLED, tool_message("c1", "No.", error="No.")),
        turn(answers=(answer("c1", "No.", is_error=True),)),
    ),
    (
        posted(CALLED, tool_message("c1", "1"), HI),
        turn(answers=(answer("c1", 1),), **said("Hi")),
    ),
    (posted(CALLED, tool_message("c1", "1"), SAID, HI), turn(**said("Hi"))),
    (posted(CALLED, tool_message("c1", text("re", "d"))), turn(answers=(answer("c1", "red"),))),
    (
        posted(CALLED, tool_message("c1", [*text("See"), {"type": "image"}])),
        turn(answers=(answer("c1", [*text("See"), {"type": "image"}]),)),
    ),
    (
        posted(HI, {"id": "r", "role": "reasoning", "content": "Hm."}),
        turn(**said("Hi")),
    ),
    (
        posted(HI, forwardedProps={"edit": "u0"}),
        turn(message=UserMessage((TextContent("Hi"),), "u1"), branch=Branch("edit", "u0")),
    ),
    (
        posted(HI, forwardedProps={"runConfig": {"edit": "u0", "model": "small"}}),
        turn(
            message=UserMessage((TextContent("Hi"),), "u1"),
            branch=Branch("edit", "u0"),
            model="small",
        ),
    ),
    (
        posted(HI, forwardedProps={"context": {"a": 1}, "graph": "g", "allowed_tools": ["x"]}),
        turn(graph="g", values=GraphValues(context={"a": 1}), allowed_tools=("x",), **said("Hi")),
    ),
    (posted(HI, forwardedProps=None), turn(**said("Hi"))),
    (posted(HI, forwardedProps="any"), turn(**said("Hi"))),
    (posted(HI, forwardedProps={"resume": "red"}), turn(resume=Resume("red"))),
    (
        posted(HI, tools=[{"name": "pick", "description": "Pick.", "parameters": SCHEMA}]),
        turn(client_tools=(ClientTool("pick", "Pick.", SCHEMA),), **said("Hi")),
    ),
    (
        posted(HI, tools=[{"name": "pick", "metadata": {"a": 1}}]),
        turn(
            client_tools=(ClientTool("pick", "", {"type": "object", "properties": {}}),),
            **said("Hi"),
        ),
    ),
    (posted(HI, resume=[]), turn(**said("Hi"))),
    (posted(HI, CALLED, resume=[entry("i1", {"a": 1})]), turn(resume=Resume({"i1": {"a": 1}}))),
    (posted(HI, resume=[entry("i1", "red")]), turn(resume=Resume({"i1": "red"}))),
    (
        posted(HI, CALLED, resume=[entry(APPROVAL, {"approved": True, "editedArgs": {"b": 1}})]),
        turn(approvals=(ApprovalAnswer("call:1", True, None, {"b": 1}, approval_id="call:1.2"),)),
    ),
    (
        posted(CALLED, resume=[entry(APPROVAL, {"approved": False, "reason": "No."})]),
        turn(approvals=(ApprovalAnswer("call:1", False, "No.", approval_id="call:1.2"),)),
    ),
    (
        posted(CALLED, resume=[entry(APPROVAL, status="cancelled")]),
        turn(approvals=(ApprovalAnswer("call:1", False, approval_id="call:1.2"),)),
    ),
    (
        posted(CALLED, resume=[entry("i1", status="cancelled")]),
        turn(resume=Resume({"i1": {"cancelled": True}})),
    ),
    (
        posted(
            CALLED, HI, resume=[entry("i1", status="cancelled"), entry(APPROVAL, None, "cancelled")]
        ),
        turn(**said("Hi")),
    ),
    (
        posted(
            CALLED,
            tool_message("c1", "1"),
            resume=[entry(APPROVAL, {"approved": True}), entry("i1", 2)],
        ),
        turn(
            answers=(answer("c1", 1),),
            approvals=(ApprovalAnswer("call:1", True, approval_id="call:1.2"),),
            resume=Resume({"i1": 2}),
        ),
    ),
]


@pytest.mark.parametrize(("body", "expected"), TURNS)
def test_the_end_of_the_posted_messages_is_the_turn(body: Json, expected: TurnRequest) -> None:
    """A client of 1.0 names the run, and its version."""
    expected = replace(expected, client_run_id=body.get("runId"))
    format = "ag-ui-1.0" if "protocolVersion" in body else "ag-ui"
    asked = PostedTurn(expected, WIRE_FORMATS[format], body["messages"])
    if expected.resume and expected.resume.value == "red":
        # `resume` of the app's own is read as in every body, without the posted copies.
        assert read(body).request == TurnRequest(
            thread_id="t1",
            answers_are_copies=True,
            client_run_id="r1",
            resume=Resume("red"),
        )
    else:
        assert read(body) == asked


@pytest.mark.parametrize(
    ("declared", "format"),
    [
        (None, "ag-ui"),
        ("", "ag-ui"),
        ("0.9", "ag-ui"),
        ("1.0", "ag-ui-1.0"),
        ("1.1", "ag-ui-1.0"),
        ("10.0", "ag-ui-1.0"),
        ("draft", "ag-ui-1.0"),
    ],
)
def test_a_client_that_declares_no_version_gets_the_older_stream(
    declared: str | None, format: str
) -> None:
    asked = read(posted(HI, protocolVersion=declared))
    assert asked.wire_format.name == format
    assert asked.view == [HI]
    older = read(posted(HI, protocolVersion=declared), protocol="ag-ui")
    assert (older.wire_format.name, older.view) == ("ag-ui", [HI])


def test_an_answer_that_is_too_long_is_refused_where_it_is_taken() -> None:
    """Most of what a client posts are copies of results of the server."""
    request = read(posted(CALLED, tool_message("c1", "x" * 101), HI)).request
    assert isinstance(request, TurnRequest)
    (given,) = request.answers
    with pytest.raises(InvalidRequest, match=r"messages\[1\]\.content has 103 char") as caught:
        _ = given.taken
    assert caught.value.code == "value_too_long"


def test_of_a_state_what_no_thread_could_keep_is_left_out_and_named() -> None:
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    asked = read(posted(HI, state={"a": {"b": [1]}, "long": "x" * 101, "deep": deep}))
    assert isinstance(asked.request, TurnRequest)
    assert asked.request.posted_state == {"a": {"b": [1]}}
    assert sorted(asked.ignored) == ["state.deep", "state.long"]
    assert read(posted(HI, state=[1])).ignored == ["state"]


@pytest.mark.parametrize("id", [None, "", 7, "x" * 256])
def test_an_id_that_names_no_run_is_passed_over(id: Any) -> None:
    request = read(posted(HI, runId=id)).request
    assert isinstance(request, TurnRequest)
    assert request.client_run_id is None


def test_the_address_names_the_graph_and_wins() -> None:
    request = read(posted(HI, forwardedProps={"graph": "other"}), graph="mine").request
    assert isinstance(request, TurnRequest)
    assert request.graph == "mine"


def test_the_query_asks_for_another_answer() -> None:
    turn = read(posted(HI), protocol="assistant-transport")
    assert (turn.wire_format.name, turn.view) == ("assistant-transport", None)


def content(*parts: Any) -> Json:
    return posted({**HI, "content": list(parts)})


def image(**source: Any) -> Json:
    return content({"type": "image", "source": source})


BAD: list[tuple[Any, str, str]] = [
    # body, code, what the sentence names
    ([], "invalid_body", "[]"),
    ({}, "invalid_body", "messages is None"),
    (posted(messages={}), "invalid_body", "messages is {}"),
    (posted("Hi"), "invalid_body", "messages[0] is 'Hi'"),
    (posted({"content": "Hi"}), "invalid_body", "messages[0].role is None"),
    (posted({**HI, "content": ""}), "empty_message", "messages[0].content"),
    (posted({**HI, "content": None}), "invalid_body", "messages[0].content is None"),
    (posted({**HI, "content": "x" * 101}), "message_too_long", "101 characters"),
    (posted({**HI, "content": "\ud83d"}), "invalid_text", "messages[0].content"),
    (posted({**HI, "id": "a b"}), "invalid_message_id", "messages[0].id is 'a b'"),
    (content("Hi"), "invalid_body", "messages[0].content[0] is 'Hi'"),
    (content({"type": "audio"}), "unsupported_part", "'audio'"),
    (content({"type": "image"}), "invalid_body", "content[0].source is None"),
    (image(), "invalid_body", "source.type is None"),
    (image(type="file", value="x"), "invalid_image", "source is of the type 'file'"),
    (image(type="data", value="AAAA"), "invalid_body", "source.mimeType is None"),
    (image(type="data", value="AAAA", mimeType="text/html"), "invalid_image", "text/html"),
    (image(type="url", value="ftp://a"), "invalid_image", "'ftp://a'"),
    (posted(CALLED, tool_message("", "1")), "invalid_body", "messages[1].toolCallId is ''"),
    (posted({"role": "tool", "toolCallId": "c"}), "invalid_body", "messages[0].content is None"),
    (posted(HI, threadId="a b"), "invalid_thread_id", "'a b'"),
    (posted(HI, threadId=7), "invalid_thread_id", "7"),
    (posted(HI, tools={}), "invalid_body", "tools is {}"),
    (posted(HI, tools=[1]), "invalid_body", "tools[0] is 1"),
    (posted(HI, tools=[{}]), "invalid_tool", "tools[0].name is None"),
    (posted(HI, tools=[{"name": "a b"}]), "invalid_tool", "'a b'"),
    (posted(HI, tools=[{"name": "a"}] * 2), "invalid_tool", "tools has the name 'a' 2 times"),
    (
        posted(HI, tools=[{"name": "a", "parameters": 7}]),
        "invalid_tool",
        "tools[0].parameters is 7",
    ),
    (posted(HI, resume={}), "invalid_body", "resume is {}"),
    (posted(HI, resume=[1]), "invalid_body", "resume[0] is 1"),
    (posted(HI, resume=[{}]), "invalid_body", "resume[0].interruptId is None"),
    (posted(HI, resume=[entry("i", 1, "done")]), "invalid_resume", "resume[0].status is 'done'"),
    (posted(resume=[entry(APPROVAL, "yes")]), "invalid_body", "resume[0].payload is 'yes'"),
    (posted(resume=[entry(APPROVAL, {})]), "invalid_approval", "resume[0].payload.approved"),
    (posted(resume=[entry("i", "x" * 101)]), "value_too_long", "resume[0].payload"),
    (posted(HI, forwardedProps={"edit": "a b"}), "invalid_message_id", "edit is 'a b'"),
    (posted(HI, forwardedProps={"graph": 7}), "invalid_body", "graph is 7"),
    (posted(HI, forwardedProps={"context": []}), "invalid_body", "context is []"),
]


@pytest.mark.parametrize(("body", "code", "named"), BAD)
def test_a_bad_body_gets_a_code_and_a_sentence_that_names_the_fault(
    body: Any, code: str, named: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(body)
    assert (caught.value.code, caught.value.status) == (code, 422)
    assert named in caught.value.message
    caught.value.message.encode()

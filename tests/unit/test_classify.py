"""Who ends a call: expected by its name, decided on its arguments, read from a history."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from tests.support.run_chunks import ALERT, COMPONENT, QUESTION, SELECTION
from tests.support.sample_tools import CATALOGUE
from turnstream.graphs import stored
from turnstream.graphs.answers import client_view, failed, was_refused
from turnstream.graphs.calls import StreamedCall, safe_name
from turnstream.graphs.classify import (
    MAX_PROBLEM_CHARS,
    Classifier,
    Verdict,
    classify_all,
    ends_turn,
    refuse_all,
)
from turnstream.graphs.dispositions import all_carry, of_history, of_message
from turnstream.graphs.rights import Decision, Refusal
from turnstream.tools.contract import Disposition, ResultLookup, UITool

SUM = '{"a":1,"b":2}'
POINTS = {"x": [1, 2], "series": [{"name": "a", "data": [3, 4]}]}


def accept(args: dict[str, Any], _results: ResultLookup) -> dict[str, Any]:
    return args


def take(_args: Any, answer: Any) -> Any:
    return answer


PICK = UITool("pick_day", "Pick a day.", {"type": "object"}, accept, take)
CLASSIFIER = Classifier(CATALOGUE, (PICK,))
FOREIGN = replace(CLASSIFIER, unknown="server")


def called(name: str, args: str = "{}", id: str = "c1") -> StreamedCall:
    call = StreamedCall(id, safe_name(name), name)
    call.add(args)
    return call


def no_results(_reference: str) -> None:
    """A turn without earlier calls."""


def error_of(verdict: Verdict) -> dict[str, Any]:
    """The error with which an invalid call is answered at once."""
    assert verdict.disposition == "invalid"
    assert verdict.answer is not None
    assert stored.end_of(verdict.answer) == "error"
    assert verdict.answer.tool_call_id == verdict.call.id
    assert was_refused(verdict.answer)
    error: dict[str, Any] = client_view(verdict.answer)["error"]
    return error


NAMED: list[tuple[str, Disposition]] = [
    ("add", "server"),
    (COMPONENT, "shown"),
    (SELECTION, "client"),
    ("pick_day", "client"),
]


@pytest.mark.parametrize(("name", "disposition"), NAMED)
@pytest.mark.parametrize("classifier", [CLASSIFIER, FOREIGN], ids=["built-in", "foreign"])
def test_a_known_name_lets_expect_the_same_in_every_graph(
    classifier: Classifier, name: str, disposition: Disposition
) -> None:
    assert classifier.expected(name) == disposition


@pytest.mark.parametrize("name", ["no_such_tool", "", "pick day", "ADD"])
def test_an_unknown_name_is_invalid_and_in_a_foreign_graph_the_servers(name: str) -> None:
    assert CLASSIFIER.expected(name) == "invalid"
    assert FOREIGN.expected(name) == "server"


def test_a_tool_that_the_client_did_not_bring_is_unknown() -> None:
    assert Classifier(CATALOGUE).expected("pick_day") == "invalid"


@pytest.mark.parametrize(("name", "disposition"), [("add", "server"), (COMPONENT, "shown")])
def test_a_tool_of_the_catalogue_wins_over_a_client_tool_of_its_name(
    name: str, disposition: Disposition
) -> None:
    classifier = Classifier(CATALOGUE, (replace(PICK, name=name),))
    assert classifier.expected(name) == disposition
    verdict = classifier.classify(called(name, '{"anything":1}'), no_results)
    assert error_of(verdict)["code"] == "invalid_arguments", "the catalogue's tool checks"


@pytest.mark.parametrize(
    ("name", "args", "disposition"),
    [
        ("add", SUM, "server"),
        (SELECTION, QUESTION, "client"),
        ("pick_day", '{"day":"Sat"}', "client"),
        ("pick_day", "", "client"),
    ],
)
def test_a_valid_call_has_the_disposition_of_its_name_and_no_answer_yet(
    name: str, args: str, disposition: Disposition
) -> None:
    call = called(name, args)
    assert CLASSIFIER.classify(call, no_results) == Verdict(call, disposition, None)


def test_a_shown_call_is_answered_at_once_with_its_arguments() -> None:
    verdict = CLASSIFIER.classify(called(COMPONENT, ALERT), no_results)
    assert verdict.disposition == "shown"
    assert verdict.answer is not None
    assert stored.end_of(verdict.answer) == "shown"
    assert json.loads(verdict.answer.text) == client_view(verdict.answer) == json.loads(ALERT)


def test_what_the_server_fills_in_is_shown_and_not_told_to_the_model() -> None:
    asked = '{"component":"line_chart","props":{},"data_from":"c0"}'
    verdict = CLASSIFIER.classify(called(COMPONENT, asked), {"c0": POINTS}.get)
    assert verdict.answer is not None
    assert client_view(verdict.answer)["props"] == POINTS
    assert json.loads(verdict.answer.text) == {"status": "shown"}


@pytest.mark.parametrize("name", [name for name, _ in NAMED])
@pytest.mark.parametrize("args", ['{"a": 1', "[1]", "null", '{"a": NaN}'])
def test_arguments_that_are_no_json_object_make_any_call_invalid(name: str, args: str) -> None:
    assert error_of(CLASSIFIER.classify(called(name, args), no_results))["code"] == "invalid_json"


@pytest.mark.parametrize(
    ("name", "args", "named"),
    [
        ("add", '{"a":1,"b":"two"}', "b: "),
        ("add", '{"a":1}', "b: "),
        ("add", '{"a":1,"b":2,"c":3}', "no argument 'c'; there are: a, b"),
        (COMPONENT, '{"component":"none","props":{}}', "component"),
        (COMPONENT, '{"component":"line_chart","props":{},"data_from":"c9"}', "'c9'"),
        (SELECTION, '{"kind":"single","prompt":"Which?"}', "options"),
    ],
)
def test_arguments_that_do_not_fit_make_the_call_invalid_and_the_fault_is_named(
    name: str, args: str, named: str
) -> None:
    error = error_of(CLASSIFIER.classify(called(name, args), no_results))
    assert error["code"] == "invalid_arguments"
    assert named in error["message"]


def test_a_client_tools_own_check_makes_the_call_invalid_in_a_bounded_sentence() -> None:
    def refuse(_args: dict[str, Any], _results: ResultLookup) -> dict[str, Any]:
        raise ValueError("half \ud800" + "x" * 9999)

    classifier = Classifier(CATALOGUE, (replace(PICK, validate=refuse),))
    message = error_of(classifier.classify(called("pick_day"), no_results))["message"]
    assert message.startswith("half \ufffd")
    assert len(message) == MAX_PROBLEM_CHARS


def test_an_unknown_call_is_invalid_whatever_its_arguments_and_is_told_the_near_names() -> None:
    for args in (SUM, "{bad"):
        error = error_of(CLASSIFIER.classify(called("pick_days", args), no_results))
        assert error["code"] == "unknown_tool"
        assert error["message"].endswith("Use one of: pick_day.")
    error = error_of(CLASSIFIER.classify(called("zzz"), no_results))
    known = [*CATALOGUE.real_by_name, "pick_day", COMPONENT, SELECTION]
    assert sorted(error["message"].split(": ")[1].rstrip(".").split(", ")) == sorted(known)


def test_a_name_that_is_only_stored_as_a_tools_name_is_unknown() -> None:
    call = called("request user selection", QUESTION)
    assert call.name == SELECTION
    assert error_of(CLASSIFIER.classify(call, no_results))["code"] == "unknown_tool"


class Restricted:
    """`add` needs an approval; `hang`, components and a day of the client's own are denied; a
    number beyond 100 is too large."""

    def decide(self, name: str) -> Decision:
        denied = ("hang", COMPONENT, "pick_day", "no_such_tool")
        return "approval" if name in ("add", SELECTION) else "deny" if name in denied else "allow"

    async def refusal(self, _name: str, args: Mapping[str, Any]) -> Refusal | None:
        return Refusal("limit_exceeded", "That is too far.") if args.get("to", 0) > 100 else None

    async def allows(self, _name: str, _args: Mapping[str, Any]) -> bool:
        return True


RESTRICTED = replace(CLASSIFIER, rights=Restricted())


def test_what_a_caller_may_not_call_is_expected_to_be_invalid() -> None:
    names = ("add", "hang", "count", COMPONENT, SELECTION, "pick_day", "no_such_tool")
    assert [RESTRICTED.expected(name) for name in names] == [
        *("approval", "invalid", "server", "invalid", "client", "client", "invalid")
    ]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (called("add", "{bad"), "invalid_json"),
        (called("hang"), "tool_not_allowed"),
        (called(COMPONENT, ALERT), "tool_not_allowed"),
        (called("no_such_tool"), "unknown_tool"),
        (called("count", '{"to": 101}'), "limit_exceeded"),
        (called("count", '{"to": "x"}'), "invalid_arguments"),
    ],
)
async def test_a_call_that_its_caller_may_not_make_is_answered_at_once(
    call: StreamedCall, code: str
) -> None:
    verdicts = (await classify_all([call], RESTRICTED, no_results)).verdicts
    assert error_of(verdicts[0])["code"] == code
    assert verdicts[0].answer is not None
    assert was_refused(verdicts[0].answer)


async def test_calls_that_are_allowed_and_the_clients_own_tools_are_not_touched() -> None:
    calls = [called("count", '{"to": 3}'), called("pick_day"), called(SELECTION, QUESTION)]
    verdicts = (await classify_all(calls, RESTRICTED, no_results)).verdicts
    assert [verdict.disposition for verdict in verdicts] == ["server", "client", "client"]


def test_tools_that_the_caller_may_not_use_are_not_suggested() -> None:
    message = error_of(RESTRICTED.classify(called("hng"), no_results))["message"]
    assert "hang" not in message
    assert "count" in message


VALID = called("add", SUM, "c1")
WRONG = called("add", "{bad", "c2")
ALERTED = called(COMPONENT, ALERT, "c3")
ASKED = called(SELECTION, QUESTION, "c4")


@pytest.mark.parametrize(
    ("calls", "dispositions", "answered", "goes_on"),
    [
        ([], [], [], False),
        ([VALID], ["server"], [], True),
        ([WRONG], ["invalid"], ["c2"], True),
        ([VALID, WRONG], ["server", "invalid"], ["c2"], True),
        ([ALERTED, VALID], ["shown", "server"], ["c3"], False),
        ([ASKED], ["client"], [], False),
        ([WRONG, ASKED, ALERTED], ["invalid", "client", "shown"], ["c2", "c3"], False),
    ],
)
async def test_the_calls_of_a_message_are_stored_in_order_and_answered_where_it_is_due(
    calls: list[StreamedCall],
    dispositions: list[Disposition],
    answered: list[str],
    goes_on: bool,
) -> None:
    classified = await classify_all(calls, CLASSIFIER, no_results)
    assert [call["id"] for call in classified.stored] == [call.id for call in calls]
    assert classified.dispositions == dispositions
    assert [answer.tool_call_id for answer in classified.answers] == answered
    assert classified.goes_on == goes_on


def test_refusing_all_answers_every_call_with_the_same_error() -> None:
    refused = refuse_all([VALID, ASKED], "limit_reached", "No more.")
    assert refused.dispositions == ["invalid", "invalid"]
    for verdict in refused.verdicts:
        assert error_of(verdict) == {"code": "limit_reached", "message": "No more."}


def test_what_is_shown_or_waits_for_a_person_ends_the_turn() -> None:
    kinds: tuple[Disposition, ...] = ("server", "shown", "client", "approval", "invalid")
    assert [kind for kind in kinds if ends_turn(kind)] == ["shown", "client", "approval"]


def said(*calls: tuple[str, str], **metadata: Any) -> AIMessage:
    """A model's message with calls of these ids and names."""
    return AIMessage(
        "",
        tool_calls=[{"type": "tool_call", "id": i, "name": n, "args": {}} for i, n in calls],
        response_metadata=metadata,
    )


def carrying(dispositions: Sequence[Disposition], *calls: tuple[str, str]) -> AIMessage:
    return said(*calls, **stored.ai_metadata(run_id="run-1", dispositions=dispositions))


FORMAT_1 = {"run_id": "run-1"}


@pytest.mark.parametrize(("name", "disposition"), NAMED)
@pytest.mark.parametrize("metadata", [FORMAT_1, {}], ids=["format 1", "foreign"])
def test_a_message_without_dispositions_falls_back_to_what_the_name_lets_expect(
    metadata: dict[str, Any], name: str, disposition: Disposition
) -> None:
    for classifier in (CLASSIFIER, FOREIGN):
        assert classifier.fallback(said(("c1", name), **metadata), name) == disposition


def test_in_format_1_every_unknown_name_was_a_client_tools() -> None:
    message = said(("c1", "no_such_tool"), **FORMAT_1)
    assert CLASSIFIER.fallback(message, "no_such_tool") == "client"
    assert FOREIGN.fallback(message, "no_such_tool") == "client"


def test_in_another_graphs_message_an_unknown_name_is_as_the_classifier_says() -> None:
    message = said(("c1", "no_such_tool"), model_name="m")
    assert CLASSIFIER.fallback(message, "no_such_tool") == "invalid"
    assert FOREIGN.fallback(message, "no_such_tool") == "server"


def error_for(id: str, name: str, code: str) -> ToolMessage:
    return failed(called(name, id=id), code, "Said in a test.")


def test_a_history_has_the_dispositions_that_its_messages_carry_whatever_the_names() -> None:
    history: list[AnyMessage] = [
        HumanMessage("Go"),
        carrying(["invalid", "client"], ("c1", "add"), ("c2", COMPONENT)),
        error_for("c1", "add", "tool_error"),
        carrying(["shown"], ("c3", "add")),
        carrying([]),
    ]
    assert of_history(history, {}, CLASSIFIER.fallback) == {
        "c1": "invalid",
        "c2": "client",
        "c3": "shown",
    }


def test_a_call_that_was_refused_is_invalid_and_one_that_failed_is_not() -> None:
    history: list[AnyMessage] = [
        said(("c1", "add"), ("c2", "add"), ("c3", SELECTION), ("c4", "gone"), **FORMAT_1),
        error_for("c1", "add", "invalid_arguments"),
        error_for("c2", "add", "tool_failed"),
        error_for("c3", SELECTION, "client_error"),
        error_for("c4", "gone", "unknown_tool"),
    ]
    assert of_history(history, {}, CLASSIFIER.fallback) == {
        "c1": "invalid",
        "c2": "server",
        "c3": "client",
        "c4": "invalid",
    }


def test_what_is_kept_elsewhere_counts_for_the_calls_of_the_history_alone() -> None:
    history: list[AnyMessage] = [said(("c1", "pick_day"), ("c2", "add"))]
    kept: dict[str, Disposition] = {"c1": "client", "gone": "client"}
    without_client_tools = Classifier(CATALOGUE, unknown="server")
    assert of_history(history, kept, without_client_tools.fallback) == {
        "c1": "client",
        "c2": "server",
    }
    assert of_history(history, {}, without_client_tools.fallback) == {
        "c1": "server",
        "c2": "server",
    }


def test_dispositions_that_are_not_one_a_call_are_not_believed() -> None:
    """A graph that is not ours may have changed the calls of a message of ours."""
    message = carrying(["invalid"], ("c1", "add"), ("c2", SELECTION))
    assert of_message(message, {}, CLASSIFIER.fallback) == {"c1": "server", "c2": "client"}


@pytest.mark.parametrize(
    ("message", "carry"),
    [
        (HumanMessage("Go"), True),
        (AIMessage("Hello."), True),
        (said(("c1", "add"), **FORMAT_1), True),
        (carrying(["server"], ("c1", "add")), True),
        (said(("c1", "add")), False),
    ],
)
def test_only_calls_of_foreign_messages_need_what_is_stored_elsewhere(
    message: AnyMessage, carry: bool
) -> None:
    assert all_carry([carrying(["server"], ("c0", "add")), message]) == carry

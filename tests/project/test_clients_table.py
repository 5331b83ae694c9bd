"""The table of docs/clients.md says what works through which format: each of its cells has a test
that proves it, and each dash has none."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.support.serving import PROJECT

PARTS, STATE, AI_SDK, LANGGRAPH, AG_UI = (
    "parts",
    "assistant-ui's state",
    "AI SDK",
    "LangGraph SDK",
    "AG-UI",
)
EVERY_FORMAT = "http/test_every_format.py::test_progress_custom_events_and_usage_come_in_it"
SUBAGENTS = "http/test_subagents.py::"
CLIENT_STATE = "clients/test_client_state.py::"
STREAM, UI, CHAT = (
    f"clients/test_{name}.py::" for name in ("assistant_stream", "assistant_ui", "use_chat")
)
LG, AG = "clients/test_use_stream.py::", "clients/test_ag_ui.py::"

PROOFS: Mapping[str, Mapping[str, str]] = {
    "tool progress": {
        PARTS: STREAM + "test_progress_of_a_tool_comes_as_data_with_the_id_of_its_call",
        AI_SDK: CHAT + "test_progress_of_a_tool_is_shown_until_its_result_is_there",
        LANGGRAPH: LG + "test_progress_and_custom_events_come_to_those_who_listen",
        AG_UI: EVERY_FORMAT,
    },
    "approvals": {
        PARTS: "http/test_approvals.py::test_a_call_waits_is_approved_runs_and_the_model_goes_on",
        STATE: "clients/test_assistant_ui_approvals.py::"
        "test_an_app_on_assistant_transport_asks_by_the_state_and_answers",
        AI_SDK: "clients/test_use_chat_approvals.py::"
        "test_an_approved_call_runs_and_the_turn_goes_on",
        LANGGRAPH: LG + "test_an_approved_call_runs_and_the_turn_goes_on",
        AG_UI: AG + "test_calls_are_approved_and_declined_as_interrupts",
    },
    "interrupts": {
        PARTS: "http/test_interrupts.py::test_an_answer_by_id_or_alone_goes_on_with_the_graph",
        STATE: "http/test_interrupts.py::test_assistant_ui_resumes_without_commands",
        AI_SDK: "http/test_interrupts.py::test_use_chat_resumes_with_its_history_along",
        LANGGRAPH: LG + "test_an_interrupt_of_a_graph_is_answered",
        AG_UI: "clients/test_ag_ui_interrupts.py::"
        "test_each_question_ends_its_run_and_the_answer_goes_on",
    },
    "images": {
        **dict.fromkeys(
            (PARTS, STATE),
            "formats/test_images.py::test_what_a_format_shows_of_an_image_it_reads_again",
        ),
        AI_SDK: CHAT + "test_an_image_goes_to_the_model_and_comes_back_with_the_thread",
        LANGGRAPH: "http/test_agent_chat_ui.py::"
        "test_a_message_with_made_up_answers_goes_past_what_waits",
        AG_UI: AG + "test_a_picture_is_seen_by_the_model_and_held_as_it_was_sent",
    },
    "files and citations of the model": dict.fromkeys(
        (PARTS, STATE, AI_SDK, LANGGRAPH),
        "runs/test_made_parts.py::"
        "test_what_a_model_makes_is_a_part_in_the_stream_and_in_the_thread",
    ),
    "edit": {
        PARTS: STREAM + "test_a_turn_made_anew_and_an_edit_are_what_hydrate_shows",
        STATE: UI + "test_an_edit_takes_the_place_of_its_source_and_of_all_that_followed",
        AI_SDK: CHAT + "test_an_edit_begins_a_new_branch_and_hydrate_shows_it",
        LANGGRAPH: LG + "test_an_edit_and_an_answer_made_anew_begin_before_their_message",
        AG_UI: AG + "test_a_message_that_is_posted_again_in_other_words_is_an_edit",
    },
    "regenerate": {
        PARTS: STREAM + "test_a_turn_made_anew_and_an_edit_are_what_hydrate_shows",
        AI_SDK: CHAT + "test_an_answer_made_anew_takes_the_place_of_the_old_one",
        LANGGRAPH: LG + "test_an_edit_and_an_answer_made_anew_begin_before_their_message",
        AG_UI: AG + "test_a_message_that_is_posted_again_is_answered_anew",
    },
    "resume after a cut": {
        PARTS: "clients/test_event_source.py::"
        "test_a_line_that_breaks_again_and_again_costs_no_event_and_doubles_none",
        STATE: UI + "test_a_page_that_has_seen_half_of_a_turn_resumes_without_doubling_it",
        AI_SDK: CHAT + "test_leaving_does_not_stop_the_run_and_coming_back_shows_it_whole",
        LANGGRAPH: LG + "test_a_stream_that_is_cut_off_goes_on_where_it_was",
        AG_UI: AG + "test_a_line_that_breaks_loses_and_doubles_nothing",
    },
    "usage": dict.fromkeys((PARTS, AI_SDK, LANGGRAPH, AG_UI), EVERY_FORMAT),
    "reasoning": {
        PARTS: "clients/test_reasoning.py::test_assistant_stream_accumulates_reasoning",
        STATE: "clients/test_reasoning.py::test_assistant_ui_shows_reasoning",
        AI_SDK: "clients/test_reasoning.py::test_use_chat_shows_reasoning",
        LANGGRAPH: "http/test_every_format.py::test_reasoning_comes_in_it",
        AG_UI: "http/test_every_format.py::test_reasoning_comes_in_it",
    },
    "custom events": dict.fromkeys((PARTS, AI_SDK, LANGGRAPH, AG_UI), EVERY_FORMAT),
    "subagents": {
        PARTS: SUBAGENTS + "test_native_streams_it_as_data_and_the_thread_has_it_in_the_call",
        STATE: SUBAGENTS + "test_assistant_uis_state_has_its_messages_by_the_call",
        AI_SDK: SUBAGENTS
        + "test_the_ai_sdk_has_it_as_interim_outputs_which_the_tools_own_replaces",
        LANGGRAPH: SUBAGENTS + "test_langgraphs_sdk_has_it_under_its_namespace_if_it_asks",
        AG_UI: "clients/test_ag_ui_subagents.py::"
        "test_subagents_of_deepagents_are_told_apart_live_and_in_the_loaded_thread",
    },
    "the graph's state": {
        PARTS: "http/test_client_state.py::"
        "test_a_stream_of_parts_has_the_state_as_data_and_the_thread_has_its_values",
        STATE: CLIENT_STATE + "test_assistant_uis_state_has_it_after_every_turn_and_a_reload",
        AI_SDK: CLIENT_STATE
        + "test_use_chats_on_data_has_the_state_and_its_messages_are_the_threads",
        LANGGRAPH: CLIENT_STATE
        + "test_use_streams_values_have_it_after_every_turn_an_edit_and_a_reload",
        AG_UI: CLIENT_STATE + "test_an_ag_ui_agents_state_has_it_after_every_turn_and_an_edit",
    },
    "branches that were left": {
        PARTS: "http/test_branches.py::test_a_message_goes_on_from_the_version_that_it_names",
        AI_SDK: CHAT + "test_a_version_that_is_loaded_is_shown_and_the_chat_goes_on_from_there",
        LANGGRAPH: LG + "test_a_branch_that_was_left_is_picked_again_and_goes_on",
    },
    "stop": {
        PARTS: STREAM + "test_a_stopped_turn_keeps_its_text_and_says_why_it_ended",
        STATE: UI + "test_a_stop_on_the_server_leaves_the_text_on_the_screen",
        AI_SDK: CHAT + "test_a_stop_on_the_server_ends_the_stream_and_keeps_the_text",
        LANGGRAPH: LG + "test_stop_ends_the_run_and_what_was_said_is_kept",
        AG_UI: AG + "test_a_stop_from_anywhere_ends_the_run_and_keeps_the_words",
    },
    "reload in mid-run": {
        PARTS: STREAM + "test_attaching_in_mid_turn_reads_the_run_from_its_start",
        STATE: UI + "test_a_page_that_comes_back_resumes_the_turn_that_goes_on",
        AI_SDK: CHAT + "test_leaving_does_not_stop_the_run_and_coming_back_shows_it_whole",
        LANGGRAPH: LG + "test_a_page_that_is_loaded_again_in_mid_run_goes_on",
        AG_UI: AG + "test_a_page_that_loads_in_mid_run_reads_it_to_its_end",
    },
}


def rows() -> dict[str, dict[str, str]]:
    """The table: by feature, by format, what its cell says."""
    text = (PROJECT / "docs" / "clients.md").read_text()
    section = text.partition("\n## What works through which format\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    (_, *formats), _, *others = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines
    )
    return {feature: dict(zip(formats, cells, strict=True)) for feature, *cells in others}


@cache
def functions_in(module: Path) -> frozenset[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(module.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, functions))


def test_every_cell_that_says_something_has_its_proof_and_every_proof_its_cell() -> None:
    said = {
        feature: {format for format, cell in cells.items() if cell != "—"}
        for feature, cells in rows().items()
    }
    assert said == {feature: {*proofs} for feature, proofs in PROOFS.items()}


def test_no_cell_is_empty_and_every_format_has_a_column() -> None:
    for cells in rows().values():
        assert [*cells] == [PARTS, STATE, AI_SDK, LANGGRAPH, AG_UI]
        assert all(cells.values())


@pytest.mark.parametrize(
    "proof", sorted({proof for proofs in PROOFS.values() for proof in proofs.values()})
)
def test_a_proof_is_a_test_that_there_is(proof: str) -> None:
    module, _, name = proof.partition("::")
    assert name in functions_in(PROJECT / "tests" / module)

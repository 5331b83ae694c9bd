"""Rules of Mistral's API and chat templates for the messages of a request."""

import re

from tests.support.endpoint.refusal import Body, Refusal

_ID = re.compile(r"[a-zA-Z0-9]{9}")


def mistral_refusal(body: Body) -> Refusal | None:
    """Roles alternate between user and assistant, tools apart; the last one is not the model's."""
    before = "system"
    for place, message in enumerate(body["messages"]):
        role = message["role"]
        if role == "user" and before in ("tool", "user"):
            return Refusal(f"Unexpected role 'user' after role '{before}'", f"messages[{place}]")
        if role == "assistant" and before in ("system", "assistant"):
            return Refusal("Conversation roles must alternate user/assistant", f"messages[{place}]")
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        ids += [message["tool_call_id"]] if role == "tool" else []
        for id in ids:
            if not _ID.fullmatch(id):
                return Refusal(
                    f"Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9"
                )
        before = role
    if before == "assistant":
        return Refusal("Expected last role User or Tool, got assistant")
    return None

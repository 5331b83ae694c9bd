"""What Gemini refuses of a body that has the right shape, in its words."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.wires.asked import Asked
from tests.support.endpoint.wires.gemini import body as shape
from tests.support.endpoint.wires.gemini.body import (
    Content,
    FunctionCall,
    FunctionDeclaration,
    FunctionResponse,
    GenerateBody,
    Part,
)
from tests.support.endpoint.wires.gemini.schema import schema_faults
from tests.support.endpoint.wires.gemini.sealed import call_texts
from tests.support.endpoint.wires.seals import Seals
from tests.support.endpoint.wires.shapes import shaped

Rule = Callable[[GenerateBody], Iterator[Refusal]]

SKIP = "skip_thought_signature_validator"
"""In the place of a signature: Google's own way out for calls that another model has made."""
_UNSIGNED = re.compile(r"(models/)?gemini-[12]\b")
"""Models that sign nothing they want back."""


def refusal(asked: Asked) -> Refusal | None:
    """The first thing wrong with a request; None if Gemini would take it."""
    body = shaped(GenerateBody, asked.body, shape.sentence)
    if isinstance(body, Refusal):
        return body
    faults = (refused for rule in RULES for refused in rule(body))
    return next(faults, None) or next(_signature_faults(body, asked), None)


def contents_are_there(body: GenerateBody) -> Iterator[Refusal]:
    if not body.contents:
        yield Refusal("* GenerateContentRequest.contents: contents is not specified")


def parts_have_one_value(body: GenerateBody) -> Iterator[Refusal]:
    for where, parts in _parts(body):
        if not parts:
            yield Refusal(f"* {where}: must include at least one parts field")
        for place, part in enumerate(parts):
            if len(_values(part)) != 1:
                yield Refusal(f"* {where}[{place}].data: required oneof field 'data' must have one")


def texts_are_not_empty(body: GenerateBody) -> Iterator[Refusal]:
    """But for one that carries a signature."""
    for where, parts in _parts(body):
        for place, part in enumerate(parts):
            if part.text == "" and not part.thought_signature:
                yield Refusal(f"* {where}[{place}]: Unable to submit an empty text parameter")


def _parts(body: GenerateBody) -> Iterator[tuple[str, list[Part]]]:
    for place, content in enumerate(body.contents):
        yield f"contents[{place}].parts", content.parts
    if body.system_instruction:
        yield "system_instruction.parts", body.system_instruction.parts


def _values(part: Part) -> list[object]:
    values = (
        part.text,
        part.inline_data,
        part.file_data,
        part.function_call,
        part.function_response,
    )
    return [value for value in values if value is not None]


def the_user_begins_and_is_last(body: GenerateBody) -> Iterator[Refusal]:
    if body.contents[0].role != "user":
        yield Refusal("Please ensure that the first content has the role user.")
    if body.contents[-1].role != "user":
        yield Refusal("Please ensure that the last content has the role user.")


def calls_are_the_models(body: GenerateBody) -> Iterator[Refusal]:
    for content in body.contents:
        if content.role == "user" and _calls(content):
            yield Refusal("Please ensure that function call turns have the role model.")
        if content.role == "model" and _responses(content):
            yield Refusal("Please ensure that function response turns have the role user.")


def calls_follow_a_user(body: GenerateBody) -> Iterator[Refusal]:
    for before, content in zip(body.contents, body.contents[1:], strict=False):
        if _calls(content) and before.role != "user":
            yield Refusal(
                "Please ensure that function call turn comes immediately after a user turn or "
                "after a function response turn."
            )


def responses_are_as_the_calls_before(body: GenerateBody) -> Iterator[Refusal]:
    calls: list[FunctionCall] = []
    for content in body.contents:
        responses = _responses(content)
        if len(responses) != len(calls):
            yield Refusal(
                "Please ensure that the number of function response parts is equal to the number "
                f"of function call parts of the function call turn: {len(calls)}, but got "
                f"{len(responses)}."
            )
        if Counter(call.name for call in calls) != Counter(r.name for r in responses):
            yield Refusal("Please ensure that function responses have the names of their calls.")
        if {r.id for r in responses} - {call.id for call in calls} - {None}:
            yield Refusal("Please ensure that function responses have the ids of their calls.")
        calls = _calls(content)


def _calls(content: Content) -> list[FunctionCall]:
    return [part.function_call for part in content.parts if part.function_call]


def _responses(content: Content) -> list[FunctionResponse]:
    return [part.function_response for part in content.parts if part.function_response]


def functions_are_unique(body: GenerateBody) -> Iterator[Refusal]:
    counted = Counter(function.name for function in _functions(body))
    for name in (name for name, count in counted.items() if count > 1):
        yield Refusal(f"Duplicate function declaration found: {name}")


def parameters_are_objects(body: GenerateBody) -> Iterator[Refusal]:
    for place, function in enumerate(_functions(body)):
        where = f"tools[0].function_declarations[{place}].parameters"
        if function.parameters is not None:
            if (function.parameters.type or "").upper() != "OBJECT":
                yield Refusal(f"{where}: schema type should be OBJECT")
            yield from schema_faults(function.parameters, where)


def _functions(body: GenerateBody) -> list[FunctionDeclaration]:
    return [function for tool in body.tools for function in tool.function_declarations]


RULES: tuple[Rule, ...] = (
    contents_are_there,
    parts_have_one_value,
    texts_are_not_empty,
    the_user_begins_and_is_last,
    calls_are_the_models,
    calls_follow_a_user,
    responses_are_as_the_calls_before,
    functions_are_unique,
    parameters_are_objects,
)


def _signature_faults(body: GenerateBody, asked: Asked) -> Iterator[Refusal]:
    for content in body.contents:
        for part in content.parts:
            if not _is_as_signed(part, asked.seals):
                yield Refusal("Corrupted thought signature.")
    if not _UNSIGNED.match(asked.model):
        yield from _missing_signatures(body)


def _is_as_signed(part: Part, seals: Seals) -> bool:
    if part.thought_signature in (None, SKIP):
        return True
    signed = seals.text_of(part.thought_signature)
    call = part.function_call
    return signed is not None and (call is None or signed in call_texts(call.name, call.args))


def _missing_signatures(body: GenerateBody) -> Iterator[Refusal]:
    """Of the current turn: of each step behind the user's last words the first call is signed."""
    for content in reversed(body.contents):
        if content.role == "user" and not _responses(content):
            return
        first = next((part for part in content.parts if part.function_call), None)
        if first and not first.thought_signature:
            yield Refusal("Function call is missing a thought_signature in functionCall parts.")

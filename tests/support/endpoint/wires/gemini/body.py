"""The body of POST /v1beta/models/{model}:streamGenerateContent, after google-genai's types.

Narrower than the API: of tools only functions, and of parts no code and no video.
"""

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import ErrorDetails

from tests.support.endpoint.wires.gemini.schema import Proto, Schema

NAME = r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$"
BASE64 = r"^[A-Za-z0-9+/_-]+={0,2}$"
"""Both alphabets, as protobuf's JSON takes both."""
MEDIA = r"^[a-z]+/[\w.+-]+$"


class Blob(Proto):
    mime_type: Annotated[str, Field(pattern=MEDIA)]
    data: Annotated[str, Field(pattern=BASE64)]


class FileData(Proto):
    mime_type: str | None = None
    file_uri: Annotated[str, Field(min_length=1)]


class FunctionCall(Proto):
    id: str | None = None
    name: Annotated[str, Field(pattern=NAME)]
    args: dict[str, Any] = Field(default_factory=dict)


class FunctionResponse(Proto):
    id: str | None = None
    name: Annotated[str, Field(pattern=NAME)]
    response: dict[str, Any]


class Part(Proto):
    text: str | None = None
    inline_data: Blob | None = None
    file_data: FileData | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    thought: bool = False
    thought_signature: str | None = None


class Content(Proto):
    role: Literal["user", "model"]
    parts: list[Part]


class SystemInstruction(Proto):
    role: Literal["user", "system"] = "user"
    parts: list[Part]


class FunctionDeclaration(Proto):
    name: Annotated[str, Field(pattern=NAME)]
    description: str = ""
    parameters: Schema | None = None
    parameters_json_schema: dict[str, Any] | None = None


class Tool(Proto):
    function_declarations: list[FunctionDeclaration]


class ThinkingConfig(Proto):
    include_thoughts: bool = False
    thinking_budget: Annotated[int, Field(ge=-1)] | None = None
    thinking_level: Literal["minimal", "low", "medium", "high"] | None = None


class GenerationConfig(Proto):
    candidate_count: Literal[1] = 1
    thinking_config: ThinkingConfig | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: float | None = None
    top_k: float | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    stop_sequences: list[str] | None = None
    seed: int | None = None
    response_mime_type: str | None = None
    response_schema: Schema | None = None
    response_json_schema: dict[str, Any] | None = None


class GenerateBody(Proto):
    contents: list[Content] = Field(default_factory=list)
    system_instruction: SystemInstruction | None = None
    tools: list[Tool] = Field(default_factory=list)
    tool_config: dict[str, Any] | None = None
    safety_settings: list[dict[str, str]] = Field(default_factory=list)
    generation_config: GenerationConfig | None = None


def sentence(fault: ErrorDetails) -> str:
    places = list(fault["loc"])
    if fault["type"] == "extra_forbidden":
        return (
            f'Invalid JSON payload received. Unknown name "{places.pop()}" at '
            f"'{_path(places)}': Cannot find field."
        )
    return f"Invalid value at '{_path(places)}': {fault['msg']}"


def _path(places: list[int | str]) -> str:
    """As `contents[0].parts[1]`."""
    named = (f"[{place}]" if isinstance(place, int) else f".{place}" for place in places)
    return "".join(named).removeprefix(".")

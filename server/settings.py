"""Every knob of the server, with its unit and default.

Read from the environment (prefix `TURNSTREAM_`) and the command line; the OpenAI client's own
`OPENAI_API_KEY` and `OPENAI_BASE_URL` carry no prefix.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PlainValidator,
    PositiveFloat,
    PositiveInt,
    model_validator,
)
from pydantic_settings import CliImplicitFlag, NoDecode, SettingsConfigDict

from turnstream.graphs.client_state import MAX_STATE_BYTES
from turnstream.graphs.factories import RESERVED
from turnstream.graphs.limits import Limits
from turnstream.graphs.loading import BUILT_IN
from turnstream.graphs.result_view import Undeclared
from turnstream.server.callers.addresses import networks
from turnstream.server.logs.formats import LogFormat
from turnstream.server.model_settings import ModelSettings
from turnstream.server.project import with_project
from turnstream.server.storage.location import Location, location
from turnstream.server.system_prompt import DEFAULT_SYSTEM_PROMPT, read_prompt

PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")
"""A path without anything that could lead elsewhere."""
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OFF = "off"
"""The method of TURNSTREAM_AUTH by which nobody is recognised."""


class Settings(ModelSettings):
    """Serve a LangGraph graph to browsers.

    Each option is also an environment variable: --max-steps is TURNSTREAM_MAX_STEPS.
    """

    model_config = SettingsConfigDict(
        env_prefix="TURNSTREAM_",
        env_ignore_empty=True,
        populate_by_name=True,
        extra="ignore",
        hide_input_in_errors=True,
        cli_prog_name="turnstream [GRAPH]",
        cli_kebab_case=True,
        cli_hide_none_type=True,
        cli_avoid_json=True,
    )

    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0: a free one")
    database: Annotated[Location, PlainValidator(location)] = Field(
        Path("turnstream.db"),
        description="SQLite file of all threads; or postgresql://USER@HOST/NAME, for several "
        "workers",
    )
    busy_seconds: PositiveFloat = Field(
        5.0, description="seconds that a write waits while another program has the database locked"
    )
    graph: str = Field(
        BUILT_IN,
        min_length=1,
        description="module:name or file.py:name of a graph or of its factory; or a "
        "langgraph.json, with #name for its default graph",
    )
    context: dict[str, Any] = Field(
        default_factory=dict, description="fields of the graph's own context, as a JSON object"
    )
    client_context: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="names in the graph's context, configurable values and input that clients may "
        "set, comma-separated",
    )
    app_context: Literal["use", "ignore"] | None = Field(
        None,
        description="texts of the app around the chat, which front ends bring for the model: 'use' "
        "or 'ignore' them; unset: used while TURNSTREAM_AUTH is unset",
    )
    client_state: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="keys of the graph's state that clients see beside the messages, "
        "comma-separated",
    )
    hidden_nodes: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="nodes whose text clients see only once the thread has it, comma-separated",
    )
    removed_messages: Literal["show", "hide"] = Field(
        "show",
        description="messages by which a graph shortens its thread, as a summarizing "
        "middleware does: 'show' or 'hide' them",
    )
    undeclared_results: Literal["hide", "show"] | None = Field(
        None,
        description="results of a graph's tools that declare no client fields: 'hide' or 'show'; "
        "unset: those of new turns are shown while TURNSTREAM_AUTH and TURNSTREAM_ALLOWED_HOSTS "
        "are unset",
    )
    substeps: Literal["hide", "show"] | None = Field(
        None,
        description="what subagents say and do under tool calls: 'hide' or 'show' it; unset: shown "
        "where results of tools that declare nothing are",
    )
    max_substeps_bytes: PositiveInt = Field(
        1_000_000,
        description="bytes of what is kept of the subagents under one tool call; the oldest steps "
        "are cut",
    )
    debug: CliImplicitFlag[bool] = Field(
        False, description="show the traceback when a graph cannot be loaded"
    )
    system_prompt: str = Field(
        DEFAULT_SYSTEM_PROMPT, description="text, or @path of a file that holds it"
    )
    offline_word_seconds: NonNegativeFloat = Field(
        0.02, description="pace of the offline model, seconds a word"
    )
    max_steps: PositiveInt = Field(12, description="model calls in one run")
    max_identical_calls: PositiveInt = Field(
        3, description="calls of one tool with the same arguments in one run"
    )
    max_run_seconds: PositiveFloat = Field(300.0, description="seconds a run may take")
    tool_timeout_seconds: PositiveFloat = Field(30.0, description="seconds a tool call may take")
    max_tool_seconds: PositiveFloat = Field(
        120.0, description="seconds that the tool calls of a run may take, added up"
    )
    max_body_bytes: PositiveInt = Field(
        16_000_000, description="bytes of a request's body; some clients post their whole history"
    )
    max_body_values: PositiveInt = Field(
        100_000, description="JSON values in a request's body, names and values of objects apart"
    )
    max_bodies_bytes: PositiveInt = Field(
        200_000_000,
        description="bytes of all bodies that are being read, together; with authentication, each "
        "caller has an eighth of it, or one body",
    )
    max_responses_bytes: PositiveInt = Field(
        200_000_000,
        description="bytes of all large responses that wait to be read, together; with "
        "authentication, each caller has an eighth of it",
    )
    max_message_chars: PositiveInt = Field(
        32_000, description="characters of the new content of a request"
    )
    max_images: PositiveInt = Field(10, description="images in one message")
    max_image_bytes: PositiveInt = Field(
        8_000_000, description="bytes of the images of one message, as data: URLs"
    )
    max_thread_bytes: PositiveInt = Field(
        50_000_000, description="bytes of a thread's texts and images; a longer one takes no more"
    )
    max_queued_requests: PositiveInt = Field(
        20, description="requests that wait for their turn on one thread"
    )
    max_live_runs: PositiveInt = Field(200, description="live runs of the process")
    max_open_streams: PositiveInt = Field(2_000, description="open event streams of the process")
    max_new_threads: PositiveInt = Field(600, description="new threads a minute, of the process")
    max_retained_bytes: PositiveInt = Field(
        200_000_000,
        description="bytes of all runs' logs together; the oldest ended one goes first",
    )
    max_result_chars: PositiveInt = Field(
        20_000, description="characters of one tool result to the model"
    )
    max_result_bytes: PositiveInt = Field(
        1_000_000, description="bytes of one tool result to the client"
    )
    max_message_bytes: PositiveInt = Field(
        1_000_000, description="bytes of one message of the model: text, reasoning, arguments"
    )
    max_state_bytes: PositiveInt = Field(
        MAX_STATE_BYTES, description="bytes of one value of the graph's state to the client"
    )
    max_run_bytes: PositiveInt = Field(
        20_000_000, description="bytes of text, results, progress and state in one run's stream"
    )
    max_history_tokens: PositiveInt = Field(
        100_000, description="estimated tokens of the thread that the model gets, in whole turns"
    )
    remote_tools: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="URLs of servers whose real tools join the catalogue, comma-separated"
    )
    components: Annotated[tuple[Path, ...], NoDecode] = Field(
        (), description="folders of components that the page draws beside its own, comma-separated"
    )
    path_prefix: str = Field(
        "",
        description="path below which everything is served, such as /assistant; addresses without "
        "it are served too",
    )
    page: Path | None = Field(
        None, description="file that makes the page your own: its name, colours, prompts and more"
    )
    mcp: Path | None = Field(
        None, description="file of the MCP servers whose tools join the catalogue"
    )
    ping_seconds: PositiveFloat = Field(
        15.0, le=15, description="seconds between the pings of a silent stream"
    )
    run_retention_seconds: NonNegativeFloat = Field(
        300.0, description="seconds that a run can be read again after its end"
    )
    thread_retention_days: PositiveFloat | None = Field(
        None,
        description="days without a new run after which a thread is deleted; unset: none is",
    )
    unread_seconds: NonNegativeFloat = Field(
        0.0, description="seconds without a reader that end a run; 0: it runs on unread"
    )
    drain_seconds: NonNegativeFloat = Field(
        20.0, description="seconds that live runs may take to finish when the server is stopped"
    )
    header_seconds: PositiveFloat = Field(
        10.0, description="seconds that a client may take to send a request's headers"
    )
    body_seconds: PositiveFloat = Field(
        30.0,
        description="seconds that a request's body may lag behind 4 kB/s; time gained by fast "
        "parts counts up to the same limit",
    )
    keep_alive_seconds: PositiveFloat = Field(
        15.0,
        description="seconds that a connection stays open between requests; behind a proxy, more "
        "than the proxy's own",
    )
    max_connections: NonNegativeInt = Field(
        0, description="open connections; 0: half of the limit of open files (ulimit -n)"
    )
    auth: Annotated[tuple[str, ...], NoDecode] = Field(
        (OFF,),
        description="how callers are recognised, comma-separated: 'keys', 'jwt', 'header', "
        "module:function; 'off': there is one user and no login",
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        ("127.0.0.1", "::1"),
        description="addresses and networks of proxies whose headers are believed, comma-separated",
    )
    approval_seconds: NonNegativeFloat = Field(
        0.0,
        le=3_153_600_000,  # a hundred years: the times are shown as dates
        description="seconds that a call waits for an approval; 0: until it is decided",
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        LOOPBACK, description="host names that requests may be sent to, comma-separated; '*': any"
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="origins of other sites whose pages may call, comma-separated"
    )
    extensions: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="extensions that no installed package registers, comma-separated: "
        "module:class or file.py:class",
    )
    log_format: LogFormat = Field(
        "text", description="the log on stderr: 'text', or 'json' for one object a line"
    )

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, values: dict[str, object]) -> dict[str, object]:
        lists = {name for name, field in cls.model_fields.items() if NoDecode in field.metadata}
        split = {
            key: tuple(item.strip() for item in value.split(",") if item.strip())
            if key in lists and isinstance(value, str)
            else value
            for key, value in values.items()
        }
        return with_project(split)

    @model_validator(mode="after")
    def _check(self) -> "Settings":
        reserved = [name for name in self.client_context if name.startswith(RESERVED)]
        if reserved:
            raise ValueError(
                f"TURNSTREAM_CLIENT_CONTEXT: {', '.join(reserved)} is LangGraph's own; no client "
                "may set it"
            )
        # A graph of the user's own may use that server under names of its own.
        if self.openai_base_url and self.model == "auto" and self.graph == BUILT_IN:
            raise ValueError(
                "TURNSTREAM_MODEL: OPENAI_BASE_URL is set, so name the model that it serves "
                "(or 'offline')"
            )
        if "messages" in self.client_state:
            raise ValueError(
                "TURNSTREAM_CLIENT_STATE: messages are shown as they are; leave the name out"
            )
        self.system_prompt = read_prompt(self.system_prompt)
        return self

    @model_validator(mode="after")
    def _check_prefix(self) -> "Settings":
        self.path_prefix = self.path_prefix.rstrip("/")
        if self.path_prefix and not PREFIX.fullmatch(self.path_prefix):
            raise ValueError(
                f"TURNSTREAM_PATH_PREFIX: {self.path_prefix!r} is not a path such as /assistant"
            )
        return self

    @model_validator(mode="after")
    def _check_callers(self) -> "Settings":
        if not self.auth:
            raise ValueError(
                "TURNSTREAM_AUTH: name a method: off, keys, jwt, header or module:function"
            )
        if OFF in self.auth and self.authenticates:
            raise ValueError("TURNSTREAM_AUTH: 'off' goes with no other method")
        try:
            networks(self.trusted_proxies)
        except ValueError as error:
            raise ValueError(
                f"TURNSTREAM_TRUSTED_PROXIES: {error}; give addresses or networks such as "
                "10.0.0.0/8"
            ) from None
        return self

    @property
    def authenticates(self) -> bool:
        """True if callers are recognised."""
        return self.auth != (OFF,)

    @property
    def names_proxies(self) -> bool:
        """True if the setting names proxies. Its default is for addresses and TLS, not for who
        somebody is."""
        return "trusted_proxies" in self.model_fields_set and bool(self.trusted_proxies)

    @property
    def takes_app_context(self) -> bool:
        if self.app_context:
            return self.app_context == "use"
        return "auth" not in self.model_fields_set

    @property
    def shown_results(self) -> Undeclared:
        """What clients see of the results of tools that declare nothing."""
        if self.undeclared_results:
            return self.undeclared_results
        others_reach = "auth" in self.model_fields_set or set(self.allowed_hosts) - set(LOOPBACK)
        return "hide" if others_reach else "show_marked"

    @property
    def substeps_bytes(self) -> int:
        """Bytes that are told and kept of the subagents under a call; 0: nothing of them."""
        shown = self.substeps or ("hide" if self.shown_results == "hide" else "show")
        return self.max_substeps_bytes if shown == "show" else 0

    @property
    def limits(self) -> Limits:
        return Limits(
            max_steps=self.max_steps,
            max_identical_calls=self.max_identical_calls,
            tool_timeout_seconds=self.tool_timeout_seconds,
            max_tool_seconds=self.max_tool_seconds,
            max_result_chars=self.max_result_chars,
            max_result_bytes=self.max_result_bytes,
            max_message_bytes=self.max_message_bytes,
            max_history_tokens=self.max_history_tokens,
        )

"""The requests of clients, whatever their wire format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

OnBusy = Literal["reject", "stop", "queue", "rollback"]
OnInterrupt = Literal["discard", "reject", "queue"]
MAX_CLIENT_TOOLS = 64
"""Tools that a client may bring with one request."""


class InvalidRequest(Exception):
    """A request that cannot be accepted; it becomes a problem response.

    `code` is stable and for programs, `message` is one sentence that says what is wrong and how
    to fix it, `status` is the HTTP status.
    """

    def __init__(self, code: str, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


@dataclass(frozen=True, slots=True)
class TextContent:
    text: str


@dataclass(frozen=True, slots=True)
class ImageContent:
    url: str
    """An absolute http(s) URL, or a `data:image/...;base64,` URL."""
    alt: str | None = field(default=None, compare=False)
    """A description in the user's words, or the name of the file. Some clients lose it when they
    send a message once more: it is the same image all the same."""


UserContent = TextContent | ImageContent


@dataclass(frozen=True, slots=True)
class UserMessage:
    content: tuple[UserContent, ...]
    id: str | None = None
    """The id that a client has made; None: the server makes one."""

    @property
    def text(self) -> str:
        return "".join(item.text for item in self.content if isinstance(item, TextContent))

    @property
    def title(self) -> str:
        """Its text; of images alone what they show, as far as that is known."""
        images = (item for item in self.content if isinstance(item, ImageContent))
        return self.text or next((image.alt for image in images if image.alt), "Image")


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The client's answer to a pending call."""

    tool_call_id: str
    result: Any
    is_error: bool = False
    is_any_copy: bool = False
    """From a client that keeps the answers of the server as it keeps its own: of a call that has
    its answer this is a copy, whoever gave that."""
    fault: tuple[str, str] | None = None
    """The code and the sentence of why the result cannot be taken. Of a copy it does not matter."""

    @property
    def taken(self) -> Any:
        """The result. Raises InvalidRequest if it cannot be taken."""
        if self.fault:
            raise InvalidRequest(*self.fault)
        return self.result


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """A person's decision on a call that waits for an approval."""

    tool_call_id: str
    approved: bool
    reason: str | None = None
    args: Mapping[str, Any] | None = None
    """Arguments in the place of the model's; only of an approved call."""
    approval_id: str | None = None
    """The question that is answered. None: the one that is open."""
    asked_at: float | None = None
    """When it was asked, in Unix time, if that is known: another branch of the thread may have a
    question of the same id."""


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A UI tool that the client brings along for this run."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AppContext:
    """A text about the app around the chat, for the model of one run."""

    description: str
    value: str


@dataclass(frozen=True, slots=True)
class Branch:
    """Go back to before a message and go on from there.

    `edit`: `message_id` names a user message, which is replaced. `regenerate`: it names the
    assistant message (or the user message before it) to make anew; None names the last one. A
    message that comes along is the question: new if the thread does not hold it, an edit if it says
    something else now.
    """

    kind: Literal["edit", "regenerate"]
    message_id: str | None


@dataclass(frozen=True, slots=True)
class GraphValues:
    """The values that a client gives the graph beside a message: fields of its context,
    configurable values, further keys of its input."""

    context: Mapping[str, Any] = field(default_factory=dict)
    configurable: Mapping[str, Any] = field(default_factory=dict)
    input: Mapping[str, Any] = field(default_factory=dict)


NO_VALUES = GraphValues()


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """A message that a client writes into a thread without asking anybody: in the place of one of
    the same id, or behind all."""

    role: Literal["user", "assistant"]
    content: tuple[UserContent, ...]
    """Text and images of a user; an assistant has text alone."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class StateUpdate:
    """A change of a thread's state by hand: no node runs. Other values of the state are the input
    of the request."""

    messages: tuple[WrittenMessage, ...] = ()
    removed: tuple[str, ...] = ()
    """The ids of messages that go."""
    only: frozenset[str] | None = None
    """The ids of messages that stay, while all others go. None: `removed` says which go."""
    as_node: str | None = None
    """The node that is taken to have written it: what follows it is due. None: nothing becomes
    due, and what is due stays it."""
    ends: bool = False
    """Nothing is due any more: the turn is over, with its questions and its open calls."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of LangGraph that a run has of its client."""

    interrupt_before: Literal["*"] | tuple[str, ...] = ()
    """The nodes ahead of which the run stops; `*`: all."""
    interrupt_after: Literal["*"] | tuple[str, ...] = ()
    recursion_limit: int | None = None
    """Steps of the graph. None: the graph's own."""
    tells_tasks: bool = False
    """Tell which nodes begin and end."""

    @property
    def has_breakpoints(self) -> bool:
        return bool(self.interrupt_before or self.interrupt_after)


NO_OPTIONS = RunOptions()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The assistant and the metadata of a client's run, and what its stream tells, kept while it is
    the last of its thread."""

    assistant_id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    modes: tuple[str, ...] | None = None
    """The names of what the stream tells; None: everything."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Answers to what the graph has stopped to ask: an object, interrupt id to value, or the bare
    value if one interrupt is open."""

    value: Any


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Start a run."""

    thread_id: str | None = None
    message: UserMessage | None = None
    answers: tuple[ToolAnswer, ...] = ()
    approvals: tuple[ApprovalAnswer, ...] = ()
    answers_are_copies: bool = False
    """Answers and approvals are from the client's copy of the history: those that the thread
    already has, or never asked for, are ignored."""
    continue_: bool = False
    """Go on from the last checkpoint, with no new message."""
    branch: Branch | None = None
    head: str | None = None
    """The last checkpoint of a branch that the thread has left: the request is about that one, and
    the thread becomes what follows. Empty: about nothing. None: about the thread as it is."""
    drops_left: bool = False
    """The branch that the request leaves is not shown any more."""
    version: str | None = None
    """The same by the version of a turn, whose branch it is. None: whatever the thread shows."""
    client_tools: tuple[ClientTool, ...] = ()
    needs_tools: bool = False
    """Refuse the request if the graph takes no tools of a client, rather than run it without."""
    app_context: tuple[AppContext, ...] = ()
    values: GraphValues = NO_VALUES
    posted_state: Mapping[str, Any] | None = None
    """The graph's state as the client has it: what it has changed of the keys that it sees and may
    set becomes input."""
    without_messages: bool = False
    """Run a graph of one's own on an empty list of messages, or on nothing if it takes none."""
    options: RunOptions = NO_OPTIONS
    record: RunRecord | None = None
    thread_metadata: Mapping[str, Any] | None = None
    """Metadata of the thread, if the request begins it."""
    graph: str | None = None
    """None: the thread's, or for a new thread the default."""
    model: str | None = None
    """The name of one that is served. None: that of the turn, or for a new one the default."""
    allowed_tools: tuple[str, ...] | None = None
    """The tools that the run may use. None: all that its caller and the thread allow."""
    resume: Resume | None = None
    update: StateUpdate | None = None
    """Change the thread's state, and run nothing."""
    on_interrupt: OnInterrupt = "discard"
    """The effect of a new message on an interrupt that is open."""
    on_busy: OnBusy = "reject"
    after_seconds: float | None = None
    """Begin the run so many seconds later at the earliest. None: as soon as the thread is free."""
    must_exist: bool = False
    """Refuse the request if there is no such thread, rather than begin it."""
    client_run_id: str | None = None
    """The id that the client has given to the run: it goes back to readers whose format has it."""
    based_on: str | None = None
    """The id of the thread's last run, as the client knows it: if there has been another since,
    refuse the request. None: whatever was the last."""

    @property
    def title(self) -> str:
        """The title that a thread gets which begins with this request."""
        if self.message is not None:
            return self.message.title
        written = self.update.messages if self.update else ()
        said = (one for one in written if one.role == "user")
        return next((UserMessage(one.content).title for one in said), "")

    @property
    def answers_questions(self) -> bool:
        """True if it may go on from what the graph or a call waits for. Answers that come with a
        message are copies, if any are."""
        given = bool(self.answers or self.approvals)
        is_new = not self.answers_are_copies or self.message is None
        return self.resume is not None or (given and is_new)

    @property
    def needs_thread(self) -> bool:
        """True if it is refused where there is no such thread."""
        return self.must_exist or self.based_on is not None or self.version is not None

    @property
    def is_input_alone(self) -> bool:
        """True if it runs the graph on input without a message of the user."""
        others = (self.message, self.branch, self.resume, *self.answers, *self.approvals)
        is_more = self.continue_ or self.update is not None or any(others)
        return (bool(self.values.input) or self.without_messages) and not is_more

    @property
    def begins_thread(self) -> bool:
        """True if it makes sense as the first request of a thread."""
        answers = () if self.answers_are_copies else (*self.answers, *self.approvals)
        about_more = self.needs_thread or self.branch is not None or bool(answers)
        return (self.message is not None or self.is_input_alone) and not about_more


@dataclass(frozen=True, slots=True)
class AttachRequest:
    """Read the thread's live run instead of starting one."""

    thread_id: str | None


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A client's name for its request, and the digest of what it asked under that name."""

    key: str
    digest: str

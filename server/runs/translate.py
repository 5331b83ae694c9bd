"""LangGraph's stream, typed (`version="v2"`), to chunks; whatever it opens, it closes.

It reads `messages` (what a model says, as it says it), `updates` (what a node has done: messages
that are whole, the answers to calls), `tasks` (a node has ended), `values` of the root graph (the
thread after each superstep), `tools` and `custom` (progress). It knows no node and no tool by name.

What was told and the thread does not get is withdrawn; what the thread has and was not told is
told; what was told differently is withdrawn and told again. So the message that a client holds at
the end is the thread's.
"""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    RemoveMessage,
    ToolMessage,
)

from turnstream.graphs import stored
from turnstream.graphs.answers import failed
from turnstream.graphs.classify import Classifier
from turnstream.graphs.client_state import ClientState
from turnstream.graphs.execution import INNER
from turnstream.graphs.result_view import ResultView
from turnstream.graphs.stored import Ended
from turnstream.server.runs.asides import is_as_told, new_asides
from turnstream.server.runs.endings import last_reason, run_ended, settled
from turnstream.server.runs.failures import Failure
from turnstream.server.runs.predictions import predictions
from turnstream.server.runs.progress import progress
from turnstream.server.runs.shortening import Removed, shown_ids
from turnstream.server.runs.speakers import (
    RunningTasks,
    Speaker,
    Speakers,
    is_internal,
    speaker_of,
)
from turnstream.server.runs.step import StreamedStep
from turnstream.server.runs.subagents import CallIds, CallsAtWork
from turnstream.server.runs.substeps import Substeps
from turnstream.server.runs.thread_changes import (
    ThreadBefore,
    ThreadNow,
    added_messages,
    ids_in,
    messages_in,
    writes_in,
)
from turnstream.server.runs.told_steps import ToldSteps
from turnstream.server.turns.chunks import (
    Aside,
    Chunk,
    Done,
    Error,
    FinishReason,
    HistoryShortened,
    Interrupt,
    MessagesRemoved,
    TaskFinish,
    TaskStart,
)

INTERRUPT = "__interrupt__"
"""LangGraph's key of an update that says what is asked."""
_UNANSWERED = "The run ended before this call finished."


class Translator:
    """The chunks of one run, in the order of the grammar in `turnstream.server.turns.chunks`.

    `message_id` is the assistant message's, `history` the thread as the run begins.
    """

    def __init__(
        self,
        message_id: str,
        history: ThreadBefore,
        classifier: Classifier,
        results: ResultView,
        speakers: Speakers | None = None,
        *,
        keeps_removed: bool = True,
        calls: CallsAtWork | None = None,
    ) -> None:
        """`keeps_removed`: messages by which the graph shortens its thread are still shown. `calls`
        are those under which the run's graph has subagents; None: it streams none."""
        self._calls = calls
        self.told_values: ClientState | None = None
        """The values that clients are told of what a task writes; None: no task is told."""
        self.state_names: Collection[str] = ()
        """The keys of the graph's state that clients see."""
        self._told_asides = dict[str, Aside]()
        self._history = history
        self._thread = ThreadNow(history, keeps_removed=keeps_removed)
        self._pending = dict(history.pending)
        self._results = results
        self._speakers = speakers or Speakers()
        self._steps = ToldSteps(message_id, history.call_ids, classifier, results)
        self._heard: dict[tuple[str | None, str], StreamedStep] = {}
        """By the task that speaks and the message's id: models that give all their messages one id
        may speak beside each other."""
        self.substeps: Substeps | None = None
        if calls:
            self.substeps = Substeps(
                message_id,
                history.call_ids,
                results,
                self._speakers,
                self._is_open,
                calls.kept_bytes,
            )
        self._tasks = RunningTasks()
        self._saved: frozenset[str] | None = None
        """The messages that the thread has beside its history; None: it was not looked at yet."""
        self.added: Sequence[AnyMessage] | None = None
        self.thread: Sequence[AnyMessage] = ()
        """The saved messages in order, and all messages of the thread as it was looked at last."""
        self._last: AIMessage | None = None
        self.is_interrupted = False
        """True if the graph has stopped to ask."""
        self.is_waiting = False
        """Once it has finished: whether somebody is to answer the graph or a call."""
        self.awaits_approval = False
        """Once it has finished: whether a call of the run waits for an approval."""

    @property
    def removed(self) -> frozenset[str]:
        """The ids of messages that are gone from the thread."""
        return self._thread.removed

    @property
    def shortened(self) -> Sequence[Removed]:
        """The messages that the run's graph has removed, and that are still shown."""
        return self._thread.shortened

    @property
    def unsaved(self) -> list[StreamedStep]:
        """The steps that were told and that the thread, when it was looked at, did not have."""
        return [step for step in self._steps if step.step_id not in (self._saved or ())]

    def feed(self, item: Any) -> list[Chunk]:
        """Translate one item of `astream(..., version="v2")`."""
        kind, namespace, data = item["type"], item.get("ns", ()), item["data"]
        match kind:
            case "messages":
                message, about = data
                return [*self._said(message, about, namespace)]
            case "updates":
                self.is_interrupted |= INTERRUPT in data
                call = self._calls.of_graph(namespace) if self._calls else None
                if call is not None:
                    told = [*self._stored_under(call, added_messages(data), namespace)]
                    if self.substeps and INTERRUPT in data:
                        ids = [one.id for one in data[INTERRUPT]]
                        told += self.substeps.stops_to_ask(call, ids, self._asker(namespace))
                    return told
                return [c for message in added_messages(data) for c in self._stored(message)]
            case "tasks":
                return [*self._task(namespace, data)]
            case "values":
                # With interrupts it is the state ahead of what the step's other tasks do.
                whole = not namespace and not item.get("interrupts") and "messages" in data
                return self.reconcile(data["messages"]) if whole else []
        node = self._tasks.only(namespace)
        return [*progress(kind, data, self._steps.open_calls, node, namespace)]

    def reconcile(self, messages: Sequence[AnyMessage], *, at_rest: bool = False) -> list[Chunk]:
        """Return the chunks that make what was told the same as the thread, whose graph has these
        messages. `at_rest`: the run was broken off, and what it told last is still to be saved;
        only what the thread is not to keep is withdrawn."""
        known = len(self.shortened)
        messages = self._thread.shown(messages)
        removed, new = self._thread.compared(messages)
        by_model = [message for message in new if isinstance(message, AIMessage)]
        spoken = [message for message in by_model if not stored.only_ends_its_run(message)]
        self.thread, self.added = messages, new
        self._saved = frozenset(message.id or "" for message in new)
        self._last = by_model[-1] if by_model else None
        chunks: list[Chunk] = [MessagesRemoved(removed)] if removed else []
        chunks += [c for message in spoken for c in self._steps.tell_as_kept(message)]
        chunks += self._steps.put_in_order(spoken)
        if self._pending or self._steps.open_calls:
            answers = [message for message in new if isinstance(message, ToolMessage)]
            chunks += [c for message in answers for c in self._answered(message)]
        if self.told_values is not None:
            chunks += self._asides(messages, new)
        if ids := shown_ids([one.message for one in self.shortened[known:]]):
            chunks.append(HistoryShortened(ids))
        for step in self.unsaved:
            lasts = bool(step.paths) and self._speakers.is_lasting(step.speaker)
            if not (at_rest and lasts):
                chunks += self._withdraw(step)
        return chunks

    def finish(self, interrupts: Sequence[Interrupt] = ()) -> list[Chunk]:
        """The end of a graph that ran to its end, or stopped to ask."""
        chunks: list[Chunk] = []
        if self._saved is not None:
            chunks += [c for step in self.unsaved for c in self._withdraw(step)]
        last = self._last
        step = self._steps.by_id.get(last.id or "") if last else None
        # Without a message of its own, a run leaves the calls of the last one open.
        open_calls = step.open_calls if step else self._pending if last is None else ()
        waits = bool(interrupts or open_calls)
        reason: FinishReason = last_reason(last, pending=waits) if last else "stop"
        reason = "tool-calls" if interrupts or (waits and not last) else reason
        self.awaits_approval = self._steps.awaits("approval")
        awaits_client = bool(interrupts or self._pending) or self._steps.awaits("client")
        self.is_waiting = awaits_client or self.awaits_approval
        chunks += [*self._close_all(step, reason), *interrupts]
        if last and (ended := stored.ended(last)):
            chunks.append(run_ended(ended))
        return [*chunks, self._steps.message_finish(reason), Done()]

    def finalize(
        self,
        answers: Sequence[ToolMessage],
        *,
        ended: Ended | None = None,
        failed: Failure | None = None,
    ) -> list[Chunk]:
        """The end of a run that was ended from outside or that failed.

        `answers` are the thread's to the calls that are still open; one that it has no answer to,
        because it could not be saved, is cancelled here.
        """
        chunks = [c for step in self._steps for c in self._steps.cut_off(step)]
        answered = {message.tool_call_id for message in answers}
        for message in [*answers, *self._unanswered(answered)]:
            chunks += self._answered(message)
        reason: FinishReason = "error" if failed else "other"
        last = self._steps.by_id.get(self._last.id or "") if self._last else None
        if self._saved is None:
            last = next(reversed([*self._steps]), None)
        chunks += self._close_all(last, reason)
        if ended:
            chunks.append(run_ended(ended))
        if failed:
            chunks.append(Error(failed.code, failed.shown, failed.error_id))
        return [*chunks, self._steps.message_finish(reason), Done()]

    def _said(
        self, message: BaseMessage, about: Mapping[str, Any], namespace: tuple[str, ...]
    ) -> Iterator[Chunk]:
        """A piece of what a model says, or all of it."""
        if not isinstance(message, AIMessage) or message.id is None:
            return
        key = (about.get("langgraph_checkpoint_ns"), message.id)
        step = self._heard.get(key)
        if step is None:
            calls = self._calls
            call = calls.of_message(message, about, namespace) if calls else None
            if call is not None:
                if self.substeps:
                    yield from self.substeps.said(call, message, about, namespace)
                return
            speaker = speaker_of(namespace, about)
            is_inner = INNER in about.get("tags", ()) or is_internal(about)
            if is_inner or self._speakers.is_hidden(speaker):
                return
            id = self._free_id(message)
            if id is None:
                return
            yield from self._steps.open(id, speaker)
            step = self._heard[key] = self._steps.by_id[id]
            step.predictions = predictions(about, self.state_names)
        elif step.is_settled or not isinstance(message, AIMessageChunk):
            return
        yield from self._steps.grow(step, message)

    def _free_id(self, message: AIMessage) -> str | None:
        """The id of a new step; None if the message was told or is of an earlier run."""
        id = message.id or ""
        if id in self._history.ids:
            return None
        known = self._steps.by_id.get(id)
        if known is None:
            return id
        beside = known.message is None and isinstance(message, AIMessageChunk)
        return f"{id}-{len(self._heard)}" if beside else None

    def _task(self, namespace: tuple[str, ...], data: Mapping[str, Any]) -> Iterator[Chunk]:
        """A node of the root graph that has ended: what it said and does not write is withdrawn."""
        self._tasks.take(namespace, data)
        if self._calls:
            self._calls.note_task(namespace, data)
        yield from self._told_task(namespace, data)
        if namespace or "result" not in data or data.get("error") or data.get("interrupts"):
            return
        task = f"{data['name']}:{data['id']}"
        lost = [step for step in self._steps if step.speaker.task == task]
        if lost:
            written = ids_in((data["result"] or {}).get("messages"))
            kept = {step.speaker.names for step in lost if step.step_id in written}
            for step in lost:
                # A node that was tried again speaks to the thread, though not with all its words.
                if step.step_id not in written:
                    known = step.speaker.names in kept
                    yield from (self._steps.withdraw if known else self._withdraw)(step)

    def _told_task(
        self, namespace: tuple[str, ...], data: Mapping[str, Any]
    ) -> Iterator[TaskStart | TaskFinish]:
        """A node that begins or has ended, unless it is one of a subagent."""
        view = self.told_values
        if view is None or (self._calls and self._calls.of_graph(namespace) is not None):
            return
        about = str(data["id"]), str(data["name"]), tuple(namespace)
        if "result" not in data:
            yield TaskStart(*about)
        elif not (data.get("error") or data.get("interrupts")):
            written = {name: writes_in(of_one) for name, of_one in (data["result"] or {}).items()}
            messages = [*messages_in([*written.pop("messages", ())])]
            by_model = (one.id for one in messages if isinstance(one, AIMessage))
            answers = (one.tool_call_id for one in messages if isinstance(one, ToolMessage))
            times = max(map(len, written.values()), default=0)
            # A key of a subgraph is its own, though it has the name of one that clients see.
            writes = (
                view.shown({name: some[n] for name, some in written.items() if n < len(some)})
                for n in range(0 if namespace else times)
            )
            told = (*filter(None, by_model),), (*answers,), (*filter(None, writes),)
            yield TaskFinish(*about, *told)

    def _asides(
        self, messages: Sequence[AnyMessage], new: Sequence[AnyMessage]
    ) -> Iterator[Aside | MessagesRemoved]:
        """Tell asides that were not told yet, and take back told ones that the graph has changed or
        removed since."""
        told, calls = self._told_asides, self._steps.call_ids | self._history.call_ids
        now = {message.id: message for message in new if message.id in told}
        stale = tuple(
            id for id, one in told.items() if not is_as_told(one, now.get(id), calls, self._results)
        )
        if stale:
            for id in stale:
                del told[id]
            yield MessagesRemoved(stale)
        untold = [message for message in new if message.id not in told]
        for aside in new_asides(messages, untold, calls, self._results):
            told[aside.id] = aside
            yield aside

    def _stored(self, message: AnyMessage) -> Iterator[Chunk]:
        """A message that a node has written."""
        if isinstance(message, ToolMessage):
            # One without an id gets it from the thread.
            if message.id is not None:
                yield from self._answered(message)
        elif isinstance(message, AIMessage):
            self._last = message
            step = self._steps.by_id.get(message.id or "")
            if step and step.message is None:
                yield from self._steps.complete(step, message)

    def _stored_under(
        self, call: CallIds, messages: Sequence[AnyMessage], namespace: tuple[str, ...]
    ) -> Iterator[Chunk]:
        for message in messages:
            if self.substeps and isinstance(message, AIMessage | ToolMessage | RemoveMessage):
                if self._calls and isinstance(message, ToolMessage):
                    self._calls.wrote_answer(call, message.tool_call_id)
                yield from self.substeps.stored(call, message, namespace)

    def _asker(self, namespace: tuple[str, ...]) -> Speaker:
        """The agent of a graph under a call that stops to ask."""
        agent = self._calls.agent_of(namespace) if self._calls else None
        return Speaker(namespace=namespace, agent=agent)

    def _is_open(self, call_id: str) -> bool:
        return call_id in self._pending or call_id in self._steps.open_calls

    def _answered(self, message: ToolMessage) -> Sequence[Chunk]:
        if self.substeps and self._is_open(message.tool_call_id):
            id = message.tool_call_id
            answers = self._calls.take_answers(id) if self._calls else {}
            return [*self.substeps.end(id, answers), *self._told_answer(message)]
        return self._told_answer(message)

    def _told_answer(self, message: ToolMessage) -> Sequence[Chunk]:
        told = self._steps.answer(message)
        if told is None and message.tool_call_id in self._pending:
            tool = self._pending.pop(message.tool_call_id)
            took = stored.duration_ms(message)
            if took is not None:
                self._steps.settled_ms[message.tool_call_id] = took
            return [settled(message, self._results(message, tool))]
        return told or ()

    def _withdraw(self, step: StreamedStep) -> Iterator[Chunk]:
        # A node that was interrupted has not ended: its words may be in the thread yet.
        if not self.is_interrupted:
            self._speakers.note_withdrawn(step.speaker)
        return self._steps.withdraw(step)

    def _unanswered(self, known: Container[str | None]) -> list[ToolMessage]:
        """Answers to the open calls that the thread does not know."""
        return [
            failed(call, "run_ended", _UNANSWERED, end="cancelled")
            for step in self._steps
            for call in step.parts.calls
            if call.id in step.open_calls and call.id not in known
        ]

    def _close_all(self, last: StreamedStep | None, reason: FinishReason) -> list[Chunk]:
        closed = [(step, reason if step is last else "tool-calls") for step in self._steps]
        chunks = [*self.substeps.close_all()] if self.substeps else []
        return chunks + [c for step, why in closed for c in self._steps.close(step, why)]

"""The metrics of the server, in Prometheus's library.

A run is counted when it is over, from its chunks; while it streams, the bytes of its readers alone
are. Names and units follow https://prometheus.io/docs/practices/naming/ (times are seconds).
Labels have as many values as the server has graphs, models and tools; of any more it is `other`.
"""

from collections.abc import Iterable, Sequence
from platform import python_version
from time import monotonic

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from turnstream import __version__
from turnstream.server.extensions.base import Opened, Status, WatchedRun
from turnstream.server.storage.write_meter import WriteMeter
from turnstream.server.turns.chunks import (
    Chunk,
    Error,
    MessageFinish,
    PartStart,
    Path,
    Result,
    RunEnded,
    StepFinish,
    ToolCallPart,
    Usage,
)
from turnstream.server.turns.problem_codes import ALL

disable_created_metrics()  # type: ignore[no-untyped-call]  # A time for each series would double them.

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
SHORT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
MAX_VALUES = 100
"""Values of a label, before `other`."""
OF_RUN = ("graph", "model", "setup")
OF_REQUEST = ("method", "route")


class LabelValues:
    """The values of one label so far, `MAX_VALUES` at most."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def __call__(self, value: str | None) -> str:
        """The value itself, `none` or `other`."""
        if value is None:
            return "none"
        if value not in self._known:
            if len(self._known) >= MAX_VALUES:
                return "other"
            self._known.add(value)
        return value


class ServerCounts(Collector):
    """The counts that the server keeps itself, read at each scrape."""

    def __init__(self) -> None:
        self.status: Status | None = None

    def collect(self) -> Iterable[CounterMetricFamily]:
        status = self.status
        events = CounterMetricFamily(
            "turnstream_extension_events",
            "Events that extensions count",
            labels=("extension", "event"),
        )
        for names, count in [*status.events.items()] if status else ():
            events.add_metric(names, count)
        yield events
        for name, help, count in (
            (
                "dropped_chunks",
                "Chunks that watchers of extensions missed, their queue being full",
                status.dropped_chunks if status else 0,
            ),
            (
                "leases_lost",
                "Runs of this worker whose leases lapsed",
                status.leases_lost if status else 0,
            ),
            (
                "takeovers",
                "Claims of other workers that this one took over",
                status.takeovers if status else 0,
            ),
        ):
            yield CounterMetricFamily(f"turnstream_{name}", help, count)


class Metrics:
    """The metrics of one application, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

        def counter(name: str, help: str, labels: Sequence[str] = ()) -> Counter:
            return Counter(f"turnstream_{name}", help, labels, registry=registry)

        def gauge(name: str, help: str) -> Gauge:
            return Gauge(f"turnstream_{name}", help, registry=registry)

        def histogram(
            name: str, help: str, labels: Sequence[str] = (), buckets: Sequence[float] = SECONDS
        ) -> Histogram:
            return Histogram(
                f"turnstream_{name}_seconds", help, labels, registry=registry, buckets=buckets
            )

        self.live_runs = gauge("live_runs", "Runs that are live, or whose request is checked")
        self.oldest_claim = gauge(
            "oldest_claim_seconds", "Age of the oldest claim on a thread; a run may be over before"
        )
        self._counts = ServerCounts()
        registry.register(self._counts)
        build = Gauge(
            "turnstream_build_info",
            "1, with the versions of the server and of Python",
            ("version", "python_version"),
            registry=registry,
        )
        build.labels(__version__, python_version()).set(1)
        self.open_streams = gauge("open_streams", "Event streams that are open")
        self.tasks = gauge("tasks", "Tasks on the event loop")
        self.waiting_bytes = gauge("waiting_bytes", "Bytes of streams that readers have not taken")

        self._runs = counter("runs", "Runs by how they ended", (*OF_RUN, "end"))
        self._limits = counter("run_limits", "Runs that a limit of theirs ended", ("limit",))
        self._errors = counter("run_errors", "Runs that failed, by code", ("code",))
        self._run = histogram("run", "From a run's start to its end", OF_RUN)
        self._first_word = histogram("run_first_word", "From a run's start to its text", OF_RUN)
        self._model = histogram("model_call", "A model call, to its last token", ("model",))
        self._first_token = histogram("model_first_token", "To its first token", ("model",))
        self._tool = histogram("tool_call", "A call of a real tool", ("tool", "end"))
        self._tokens = counter("tokens", "Tokens, as the models count them", ("model", "kind"))
        self._chunks = counter("chunks", "Chunks that runs have said")

        self.sent_bytes = counter("sent_bytes", "Bytes of all answers' bodies")
        self.requests = counter("requests", "Requests, by their status", (*OF_REQUEST, "status"))
        self.headers = histogram("response_headers", "From a request to its headers", OF_REQUEST)
        self.first_chunk = histogram("stream_first_chunk", "To a stream's first event", OF_REQUEST)
        self.problems = counter("problems", "Requests refused, by the problem's code", ("code",))
        for problem in ALL:
            if problem.status == 503:
                self.problems.labels(problem.code)  # At 0: a series that begins at 1 never rises.
        self.request_limits = counter(
            "request_limits", "Requests that a limit refused, by the limit", ("limit",)
        )

        self.lag = histogram("event_loop_lag", "How late the loop is", buckets=SHORT_SECONDS)
        self._commits = histogram(
            "commit", "A write, from its begin to the disk", ("store",), SHORT_SECONDS
        )
        self._writes = Gauge(
            "turnstream_writes_under_way",
            "Writes that wait for their connection or have it",
            ("store",),
            registry=registry,
        )
        self._values = {name: LabelValues() for name in (*OF_RUN, "tool", "code")}

    def watch(self, opened: Opened) -> None:
        """Show the state of the server from now on."""
        status = opened.status
        self.live_runs.set_function(lambda: status.live_runs)
        self.oldest_claim.set_function(lambda: status.oldest_claim_seconds)
        self._counts.status = status
        for store, meter in opened.meters.items():
            self._watch_writes(store, meter)

    def _watch_writes(self, store: str, meter: WriteMeter) -> None:
        """Each store writes on one connection: its use is what is under way."""
        meter.on_write = self._commits.labels(store).observe
        self._writes.labels(store).set_function(lambda: meter.under_way)

    def run_ended(self, run: WatchedRun, chunks: Sequence[Chunk]) -> None:
        """Count a run that is over, from all that it said; a refused request is a problem."""
        if run.state == "refused":
            return
        values, start = self._values, run.spec
        model = values["model"](start.model)
        labels = (values["graph"](start.graph), model, values["setup"](start.setup))
        self._chunks.inc(len(chunks))
        self._run.labels(*labels).observe(monotonic() - run.started)
        if run.first_word is not None:
            self._first_word.labels(*labels).observe(run.first_word - run.started)
        end, names = run.state, _tool_names(chunks)
        for chunk in chunks:
            match chunk:
                case StepFinish(timing=timing) if timing:
                    self._model.labels(model).observe(timing.model_ms / 1000)
                    self._first_token.labels(model).observe(timing.first_token_ms / 1000)
                case Result(path=path, duration_ms=int(took)) if path in names:
                    tool = values["tool"](names[path])
                    self._tool.labels(tool, chunk.end).observe(took / 1000)
                case RunEnded(reason="limit", limit=str(limit)):
                    end = "limit"
                    self._limits.labels(limit).inc()
                case Error(code=code):
                    self._errors.labels(values["code"](code)).inc()
                case MessageFinish(usage=usage):
                    self._count_tokens(model, usage)
        self._runs.labels(*labels, end).inc()

    def _count_tokens(self, model: str, usage: Usage) -> None:
        for kind in ("input", "output", "cached", "reasoning"):
            count: int = getattr(usage, f"{kind}_tokens")
            if count:
                self._tokens.labels(model, kind).inc(count)


def _tool_names(chunks: Sequence[Chunk]) -> dict[Path, str]:
    """Return the names of the tools that a run called, by the path of the call's part."""
    return {
        chunk.path: chunk.part.tool_name
        for chunk in chunks
        if isinstance(chunk, PartStart) and isinstance(chunk.part, ToolCallPart)
    }

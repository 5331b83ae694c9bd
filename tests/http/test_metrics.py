"""`GET /metrics`, as Prometheus reads it."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, call_reply, text_reply
from tests.support.foreign_lock import foreign_lock
from tests.support.serving import Client, endpoint_settings, serving
from tests.support.waiting import eventually
from turnstream import __version__
from turnstream.server.app import create_app
from turnstream.server.extensions.base import ExtensionError
from turnstream.server.extensions.built_in import ServerSettings as Settings
from turnstream.server.extensions.metrics.metrics import MAX_VALUES, LabelValues
from turnstream.server.runs import retries
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.store import SqliteStore

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Scrape:
    def __init__(self, text: str) -> None:
        self.samples: Samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name that have these labels."""
        wanted = frozenset(labels.items())
        return sum(
            value
            for (known, having), value in self.samples.items()
            if known == f"turnstream_{name}" and wanted <= having
        )


class Scraper:
    """Reads the metrics of the server that said last where they are."""

    def __init__(self, log: pytest.LogCaptureFixture) -> None:
        self._log = log

    @property
    def url(self) -> str:
        place = re.findall(r"GET /metrics on (\S+)", self._log.text)[-1]
        return f"http://{place}/metrics"

    async def __call__(self) -> Scrape:
        async with httpx.AsyncClient() as http:
            answer = await http.get(self.url)
        assert answer.headers["content-type"].startswith("text/plain; version=")
        return Scrape(answer.text)

    async def at_rest(self, *, runs: int) -> Scrape:
        """Once so many runs are over, and no stream is open."""
        seen: list[Scrape] = []

        async def over() -> bool:
            seen.append(await self())
            return seen[-1]("runs_total") == runs and not seen[-1]("open_streams")

        await eventually(over)
        return seen[-1]


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def scrape(caplog: pytest.LogCaptureFixture) -> Scraper:
    caplog.set_level("INFO")
    return Scraper(caplog)


def measured(folder: Path, endpoint: StrictEndpoint) -> Settings:
    return endpoint_settings(folder / "t.db", endpoint, metrics_port=0)


async def a_turn(client: Client, thread: str = "t1") -> None:
    async with client.chat({"thread_id": thread, "message": "Hello"}) as reader:
        await reader.rest()


async def test_a_turn_is_counted_with_its_model_calls_its_tools_and_its_tokens(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    endpoint.script(call_reply(("calculator", '{"expression": "6 * 7"}')), text_reply("It is 42."))
    async with serving(measured(tmp_path, endpoint)) as client:
        await a_turn(client)

        seen = await scrape.at_rest(runs=1)
    run = {"graph": "chat", "model": endpoint_model(seen)}
    assert seen("runs_total", **run, end="finished") == 1
    assert seen("run_seconds_count", **run) == seen("run_first_word_seconds_count", **run) == 1
    assert 0 < seen("run_first_word_seconds_sum") <= seen("run_seconds_sum")
    assert seen("model_call_seconds_count") == seen("model_first_token_seconds_count") == 2
    assert seen("tool_call_seconds_count", tool="calculator", end="result") == 1
    assert seen("tokens_total", kind="input") > seen("tokens_total", kind="output") > 0
    assert seen("chunks_total") > 10
    assert seen("sent_bytes_total") > 1000
    posted = {"method": "POST", "route": "/chat"}
    assert seen("requests_total", **posted, status="200") == 1
    assert seen("response_headers_seconds_count", **posted) == 1
    assert seen("stream_first_chunk_seconds_count", **posted) == 1
    assert seen("build_info", version=__version__) == 1
    assert seen("commit_seconds_count", store="checkpoints") > 4
    assert seen("commit_seconds_count", store="thread_list") >= 3
    assert seen("writes_under_way") == 0
    assert seen("live_runs") == seen("open_streams") == seen("waiting_bytes") == 0
    [setup] = {dict(labels)["setup"] for name, labels in seen.samples if "_runs_total" in name}
    assert re.fullmatch("[0-9a-f]{12}", setup)


def endpoint_model(seen: Scrape) -> str:
    [model] = {dict(labels)["model"] for name, labels in seen.samples if "_runs_total" in name}
    return model


async def test_runs_and_streams_are_counted_as_long_as_they_are_open(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    gate = asyncio.Event()
    endpoint.script(Reply((Say("Wait. "), Pause(gate), Say("Done."))))
    async with serving(measured(tmp_path, endpoint)) as client:
        async with client.chat({"thread_id": "t1", "message": "Hello"}) as reader:
            await reader.until("text-delta")
            during = await scrape()
            gate.set()
            await reader.rest()
        after = await scrape.at_rest(runs=1)
    assert (during("live_runs"), during("open_streams"), during("runs_total")) == (1, 1, 0)
    assert (after("live_runs"), after("open_streams"), after("runs_total")) == (0, 0, 1)
    assert during("oldest_claim_seconds") > after("oldest_claim_seconds") == 0


async def test_a_claim_that_cannot_be_released_is_seen_when_its_run_is_over(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0.01)
    endpoint.script(text_reply("Hello."))
    async with serving(measured(tmp_path, endpoint)) as client:
        with monkeypatch.context() as broken:
            broken.setattr(SqliteStore, "end_run", unreachable)
            await a_turn(client)
            during = await scrape.at_rest(runs=1)

        async def released() -> bool:
            return (await scrape())("oldest_claim_seconds") == 0

        await eventually(released)
    assert during("live_runs") == 0 < during("oldest_claim_seconds")


async def unreachable(*_: object) -> None:
    raise StorageUnavailable("storage_unreachable")


async def test_a_write_that_waits_for_the_database_is_seen(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    endpoint.script(text_reply("Hello."))
    async with serving(measured(tmp_path, endpoint)) as client:
        with foreign_lock(tmp_path / "t.db"):
            turn = asyncio.create_task(a_turn(client))

            async def waits() -> bool:
                return (await scrape())("writes_under_way", store="thread_list") >= 1

            await eventually(waits)
        await turn
        seen = await scrape.at_rest(runs=1)
    assert seen("writes_under_way") == 0


async def test_how_runs_end_is_told_apart(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    endpoint.script(
        Reply((Say("Wait. "), Pause(asyncio.Event()))),
        *[call_reply(("calculator", '{"expression": "1"}'))] * 2,
    )
    settings = measured(tmp_path, endpoint)
    settings.max_steps = 1
    async with serving(settings) as client:
        async with client.chat({"thread_id": "t1", "message": "Hello"}) as reader:
            await reader.until("text-delta")
            await client.http.post("/chat/t1/stop")
            await reader.rest()
        await a_turn(client, "t2")
        seen = await scrape.at_rest(runs=2)
    assert seen("runs_total", end="stopped") == 1
    assert seen("runs_total", end="limit") == 1
    assert seen("run_limits_total", limit="max_steps") == 1


async def test_refusals_are_counted_by_their_code(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    async with serving(measured(tmp_path, endpoint)) as client:
        await client.http.post("/chat", content=b"{}")
        await client.http.get("/chat/unheard-of/of")
        await client.http.post("/chat", json={"message": ""})
        seen = await scrape()
    assert seen("problems_total", code="not_json") == 1
    assert seen("problems_total") == 3
    assert seen("requests_total", method="GET", route="none", status="404") == 1
    assert seen("requests_total", method="POST", route="/chat") == 2


async def test_a_limit_that_refuses_requests_is_counted_by_its_name(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    settings = measured(tmp_path, endpoint)
    settings.max_live_runs = 1
    endpoint.script(Reply((Say("Wait. "), Pause(asyncio.Event()))))
    body = {"thread_id": "t1", "message": "Hello"}
    async with serving(settings) as client, client.chat(body) as reader:
        await reader.until("text-delta")
        refused = await client.http.post("/chat", json={"message": "Hello"})
        seen = await scrape()
        await client.http.post("/chat/t1/stop")
    assert refused.status_code == 503
    assert seen("request_limits_total", limit="max_live_runs") == 1
    assert seen("requests_total", method="POST", route="/chat", status="503") == 1


async def test_methods_that_callers_invent_make_one_label(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    async with serving(measured(tmp_path, endpoint)) as client:
        for number in range(5):
            refused = await client.http.request(f"INVENTED{number}", "/chat")
            assert refused.status_code == 405
        seen = await scrape()
    methods = {dict(having).get("method") for _, having in seen.samples} - {None}
    assert methods == {"other"}
    assert seen("response_headers_seconds_count", method="other", route="/chat") == 5


async def test_metrics_are_not_served_to_the_host_of_another_site(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    async with serving(measured(tmp_path, endpoint)), httpx.AsyncClient() as http:
        refused = await http.get(scrape.url, headers={"Host": "rebound.example:9464"})
        assert refused.status_code == 403
        assert "rebound.example" in refused.text
        assert "TURNSTREAM_ALLOWED_HOSTS" in refused.text
        for host in ("10.1.2.3:9464", "[::1]:9464", "localhost"):
            assert (await http.get(scrape.url, headers={"Host": host})).status_code == 200


async def test_the_metrics_are_not_on_the_port_of_the_chat(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    async with serving(measured(tmp_path, endpoint)) as client:
        assert (await client.http.get("/metrics")).status_code == 404
        assert httpx.URL(scrape.url).port != client.http.base_url.port
        assert (await scrape())("event_loop_lag_seconds_count") >= 0
        url = scrape.url
    async with httpx.AsyncClient() as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(url)


async def test_a_port_that_is_taken_keeps_the_server_from_starting(
    tmp_path: Path, endpoint: StrictEndpoint, scrape: Scraper
) -> None:
    async with serving(measured(tmp_path, endpoint)):
        taken = httpx.URL(scrape.url).port
        settings = endpoint_settings(tmp_path / "other.db", endpoint, metrics_port=taken)
        app = create_app(settings)
        with pytest.raises(ExtensionError, match="TURNSTREAM_METRICS_PORT"):
            async with app.router.lifespan_context(app):
                pass


@pytest.mark.full
def test_without_the_library_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['prometheus_client'] = None\n"
        "from turnstream.server.extensions.base import ExtensionError\n"
        "from turnstream.server.extensions.metrics import MetricsExtension\n"
        "try:\n    MetricsExtension(None)\n"
        "except ExtensionError as error:\n    sys.stdout.write(str(error))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install prometheus-client" in done.stdout


def test_what_a_model_invents_makes_no_labels_without_end() -> None:
    values = LabelValues()
    seen = {values(f"tool_{number}") for number in range(10 * MAX_VALUES)}
    assert len(seen) == MAX_VALUES + 1
    assert values("tool_0") == "tool_0"
    assert values(f"tool_{MAX_VALUES}") == "other"
    assert values(None) == "none"

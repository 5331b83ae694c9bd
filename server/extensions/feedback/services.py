"""LangSmith and Langfuse: their credentials, and the requests that keep, change and delete a score.

Each score has an id of ours, so that a request may be repeated.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Protocol

import httpx

from turnstream.server.extensions.base import ExtensionError

NAME = "user_feedback"
"""The name that the scores have at the service."""
SECONDS = 10.0
"""Limit on one request."""


@dataclass(frozen=True, slots=True)
class Score:
    """The feedback on one message."""

    id: str
    """A UUID."""
    trace_id: str
    linked_at: float
    """Unix time; it does not change while there is feedback."""
    value: int | None
    """1: a thumb up; 0: a thumb down; None: the feedback was taken back."""
    reason: str

    @property
    def comment(self) -> str | None:
        return self.reason or None


class Service(Protocol):
    name: str

    def client(self) -> httpx.AsyncClient: ...

    async def send(self, client: httpx.AsyncClient, score: Score) -> None:
        """Make the score at the service equal to `score`. Raises httpx.HTTPError."""


class LangSmith:
    """The feedback of a trace at LangSmith, as of
    https://docs.langchain.com/langsmith/smith-api/feedback/create-feedback and of the requests of
    LangSmith's SDK 0.15 (`Client.create_feedback`, `update_feedback`, `delete_feedback`)."""

    name = "langsmith"

    def __init__(self) -> None:
        """Raises ExtensionError for missing credentials, and if nothing is traced."""
        self._key = _credential("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", service=self.name)
        tracing = ("LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2")
        if "true" not in (_variable(*tracing), _variable("LANGSMITH_TRACING", "LANGCHAIN_TRACING")):
            raise ExtensionError(
                "TURNSTREAM_FEEDBACK_FORWARD=langsmith sends feedback to the traces that LangSmith "
                "has of the runs: set LANGSMITH_TRACING=true"
            )
        self._url = _variable("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT")
        self._workspace = _variable("LANGSMITH_WORKSPACE_ID", "LANGCHAIN_WORKSPACE_ID")
        self._project = _variable("LANGSMITH_PROJECT", "LANGCHAIN_PROJECT") or "default"
        self._project_id: str | None = None
        """None: not asked for yet. A project is made by its first run."""

    def client(self) -> httpx.AsyncClient:
        headers = {"X-Api-Key": self._key}
        if self._workspace:
            headers["X-Tenant-Id"] = self._workspace
        url = self._url or "https://api.smith.langchain.com"
        return httpx.AsyncClient(base_url=url, headers=headers, timeout=SECONDS)

    async def send(self, client: httpx.AsyncClient, score: Score) -> None:
        if score.value is None:
            _check(await client.delete(f"/feedback/{score.id}"), HTTPStatus.NOT_FOUND)
            return
        said = {"score": score.value, "comment": score.comment}
        changed = await client.patch(f"/feedback/{score.id}", json=said)
        if changed.status_code != HTTPStatus.NOT_FOUND:
            _check(changed)
            return
        new = {
            "id": score.id,
            "run_id": score.trace_id,
            "trace_id": score.trace_id,
            "session_id": await self._session(client),
            "key": NAME,
            "feedback_source": {"type": "api"},
        }
        _check(await client.post("/feedback", json=new | said))

    async def _session(self, client: httpx.AsyncClient) -> str:
        """Return the id of the project that has the traces."""
        if self._project_id is None:
            found = await client.get("/sessions", params={"name": self._project, "limit": 1})
            _check(found)
            projects = found.json()
            if not projects:
                raise httpx.RequestError("the project does not exist yet")
            self._project_id = str(projects[0]["id"])
        return self._project_id


class Langfuse:
    """The score of a trace at Langfuse, as of
    https://langfuse.com/docs/evaluation/features/evaluation-methods/custom-scores and of the
    reference in Langfuse's SDK 5 (`CreateScoreRequest`): a score that is sent again with its id and
    its timestamp is changed."""

    name = "langfuse"

    def __init__(self, *, traces: bool) -> None:
        """Raises ExtensionError for missing credentials, and if nothing is traced."""
        key = _credential("LANGFUSE_PUBLIC_KEY", service=self.name)
        self._auth = (key, _credential("LANGFUSE_SECRET_KEY", service=self.name))
        if not traces:
            raise ExtensionError(
                "TURNSTREAM_FEEDBACK_FORWARD=langfuse sends feedback to the OpenTelemetry traces "
                "of the runs: set TURNSTREAM_TRACES=true"
            )
        self._url = _variable("LANGFUSE_BASE_URL", "LANGFUSE_HOST")

    def client(self) -> httpx.AsyncClient:
        url = self._url or "https://cloud.langfuse.com"
        return httpx.AsyncClient(base_url=url, auth=self._auth, timeout=SECONDS)

    async def send(self, client: httpx.AsyncClient, score: Score) -> None:
        if score.value is None:
            deleted = await client.delete(f"/api/public/scores/{score.id}")
            _check(deleted, HTTPStatus.NOT_FOUND)
            return
        said = {
            "id": score.id,
            "traceId": score.trace_id,
            "name": NAME,
            "value": score.value,
            "dataType": "BOOLEAN",
            "comment": score.comment,
            "timestamp": datetime.fromtimestamp(score.linked_at, UTC).isoformat(),
        }
        answer = await self._post(client, [said])
        if answer.status_code == HTTPStatus.BAD_REQUEST:
            # Servers of earlier versions take one score a request.
            answer = await self._post(client, said)
        _check(answer)
        if answer.status_code == HTTPStatus.MULTI_STATUS:
            raise httpx.HTTPStatusError("rejected", request=answer.request, response=answer)

    async def _post(self, client: httpx.AsyncClient, body: Any) -> httpx.Response:
        return await client.post("/api/public/scores", json=body)


def service_of(name: str, *, traces: bool) -> Service:
    """Raises ExtensionError."""
    return LangSmith() if name == LangSmith.name else Langfuse(traces=traces)


def _check(answer: httpx.Response, *accepted: int) -> None:
    """Raises httpx.HTTPStatusError."""
    if answer.status_code not in accepted:
        answer.raise_for_status()


def _variable(*names: str) -> str | None:
    """Return the first variable of the environment that is set."""
    return next(filter(None, map(os.environ.get, names)), None)


def _credential(*names: str, service: str) -> str:
    """Raises ExtensionError."""
    value = _variable(*names)
    if value is None:
        raise ExtensionError(f"TURNSTREAM_FEEDBACK_FORWARD={service} needs {names[0]}: set it")
    return value

"""The caller: GET /me, and DELETE /me, which deletes all that is stored of them but for the ids in
the audit trail."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.callers.principal import Method, Principal
from turnstream.server.callers.rights import Forbidden
from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.recording import overriding
from turnstream.server.http.audited import joining
from turnstream.server.http.operations import Answer, Operation, Time
from turnstream.server.http.problems import Problem, problem
from turnstream.server.http.state import ApiRequest, principal
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.problem_codes import STORAGE, pick

PAGE = 100
KEPT = "A rule of this server keeps a thread of yours. Ask whoever runs it to delete your data."


class MeJson(TypedDict):
    """The caller; `approves` is there if they may decide on calls of others, `extensions` if any
    have routes."""

    id: str
    display_name: str
    roles: list[str]
    method: Method
    session: bool
    expires_at: NotRequired[Time]
    approves: NotRequired[Literal[True]]
    extensions: NotRequired[list[str]]


class Me(HTTPEndpoint):
    @Operation("whoAmI", Answer("The caller.", MeJson))
    async def get(self, request: ApiRequest) -> Response:
        """Name the caller."""
        return JSONResponse(described(request, principal(request)))

    @Operation(
        "deleteEverything",
        {
            204: Answer(
                "All threads, keys and sessions of the caller are deleted.",
                may_have=("Set-Cookie",),
            )
        },
        STORAGE | pick("not_confirmed", "forbidden"),
        body="Confirmation",
        examples={"everything": {"confirm": "local"}},
    )
    async def delete(self, request: ApiRequest) -> Response:
        """Delete all that is the caller's."""
        return Response(status_code=204, headers=await _delete_all(request))


def described(request: ApiRequest, caller: Principal) -> MeJson:
    me: MeJson = {
        "id": caller.id,
        "display_name": caller.display_name or caller.id,
        "roles": [*caller.roles],
        "method": caller.method,
        "session": caller.session is not None,
    }
    if caller.expires_at:
        ends = datetime.fromtimestamp(caller.expires_at, UTC)
        me["expires_at"] = ends.isoformat(timespec="seconds")
    if _approves(request, caller):
        me["approves"] = True
    if served := overriding(request.state["extensions"], Extension.routes):
        me["extensions"] = sorted(each.name for each in served)
    return me


def _approves(request: ApiRequest, caller: Principal) -> bool:
    try:
        return request.state["hooks"].rights(caller).approves
    except Forbidden:
        return False


async def _delete_all(request: ApiRequest) -> Mapping[str, str]:
    """Delete the caller's threads and assistants, then what extensions have of them: a deletion
    that breaks off can be done again. Return the headers that extensions have for the answer.

    Raises Problem without `{"confirm": "<the caller's id>"}`, Refusal, StorageUnavailable.
    """
    caller = principal(request)
    await request.state["bodies"].read(request, lambda body: _check_confirmed(body, caller))
    await _check_deletable(request, caller)
    count = await _delete_owned(request, caller)
    also = [
        *joining(request, "data_deleted", caller, count=count),
        *request.state["hooks"].principal_deleted(caller.id),
    ]
    if not also:
        return {}
    await request.state["store"].perform(also)
    headers: dict[str, str] = {}
    for each in request.state["extensions"]:
        headers.update(each.headers_after_deletion(request))
    # A request that was let in before may have begun a thread.
    await _delete_owned(request, caller)
    return headers


async def _check_deletable(request: ApiRequest, caller: Principal) -> None:
    """Raises Problem, before anything is deleted, if rules keep a thread of the caller."""
    reach, store = request.state["runs"].reach, request.state["store"]
    if not reach.is_limited:
        return
    async for key in _owned(store, caller.owner):
        if not await reach.has(caller, key, "delete"):
            raise Problem(403, "forbidden", KEPT)


async def _owned(store: ThreadStore, owner: str) -> AsyncIterator[ThreadKey]:
    """Yield the threads of an owner, then those that are deleted and can be brought back."""
    cursor = None
    while True:
        page = await store.page(owner, PAGE, cursor)
        for entry in page.entries:
            yield ThreadKey(owner, entry.id)
        cursor = page.cursor
        if cursor is None:
            break
    after = None
    while hidden := await store.hidden(PAGE, owner, after):
        for key, _ in hidden:
            yield key
        after = hidden[-1]


async def _delete_owned(request: ApiRequest, caller: Principal) -> int:
    """Return the number of threads."""
    store, count = request.state["store"], 0
    runs = request.state["runs"]
    while entries := (await store.page(caller.owner, PAGE)).entries:
        for entry in entries:
            await runs.delete(ThreadKey(caller.owner, entry.id), at_once=True)
        count += len(entries)
    while hidden := await store.hidden(PAGE, caller.owner):
        for key, _ in hidden:
            await runs.delete(key, at_once=True)
        count += len(hidden)
    await store.forget_assistants(caller.owner)
    return count


def _check_confirmed(body: Any, caller: Principal) -> None:
    if not isinstance(body, dict) or body != {"confirm": caller.id}:
        raise problem("not_confirmed")

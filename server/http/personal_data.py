"""DELETE /me: all that is stored of the caller, but for the ids in the audit trail."""

from typing import Any

from turnstream.server.callers.principal import Principal
from turnstream.server.http.audited import joining
from turnstream.server.http.problems import problem
from turnstream.server.http.state import ApiRequest, principal
from turnstream.server.turns.header import ThreadKey

PAGE = 100


async def delete_all(request: ApiRequest) -> None:
    """Delete the caller's threads, then their keys and sessions: a deletion that breaks off can be
    done again.

    Raises Problem without `{"confirm": "<the caller's id>"}`, StorageUnavailable.
    """
    caller = principal(request)
    await request.state["bodies"].read(request, lambda body: _check_confirmed(body, caller))
    count = await _delete_threads(request, caller)
    authentication = request.state["authentication"]
    if authentication:
        record = joining(request, "data_deleted", caller, count=count)
        await authentication.forget(caller, record)
        # What was begun with the last good credentials.
        await _delete_threads(request, caller)


async def _delete_threads(request: ApiRequest, caller: Principal) -> int:
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
    return count


def _check_confirmed(body: Any, caller: Principal) -> None:
    if not isinstance(body, dict) or body != {"confirm": caller.id}:
        raise problem("not_confirmed")

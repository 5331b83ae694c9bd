"""The files of ours that a turn passes: `make trace`, or ARGS=--files for their names.

A turn of the built-in graph is held by its model at each of these places, once with no extension
and once with users, a policy, metrics, traces, titles and undo:

    POST    from the request to the header, its message on disk
    delta   a word of the model, to the client
    call    a call of a tool, from the model's first byte to the result
    end     the last word of the model, to the end of the stream

A file is passed when a function of it is called, on whichever thread.
"""

import argparse
import asyncio
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

from tests.support.endpoint import Call, Finish, Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.serving import Stream, endpoint_settings, serving

PROJECT = Path(__file__).parent.parent.parent
OURS = tuple(str(PROJECT / folder) for folder in ("server", "graphs", "tools"))
PLACES = ("POST", "delta", "call", "end")
POLICY = '[roles.user]\ntools = ["*"]\nlimits.tokens_per_day = 1000000\nlimits.live_runs = 9\n'
HEADERS = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "user"}

Passed = Mapping[str, frozenset[str]]
"""Files by place."""


@contextmanager
def followed(passed: set[str]) -> Iterator[None]:
    """Note the files of ours whose functions are called; threads that begin within are followed."""

    def note(frame: FrameType, event: str, _arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            passed.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def extensions(folder: Path) -> dict[str, Any]:
    """Settings that switch on what a turn passes."""
    policy = folder / "policy.toml"
    policy.write_text(POLICY)
    users = {"auth": ("header",), "trusted_proxies": ("127.0.0.1",), "policy": policy}
    watched = {"metrics_port": 0, "traces": True, "title_model": "scripted"}
    return {
        **users,
        **watched,
        "undo_seconds": 30,
        "thread_retention_days": 30,
        "unread_seconds": 60,
    }


@asynccontextmanager
async def client(
    folder: Path, endpoint: StrictEndpoint, **given: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """One that knows nothing of ours."""
    async with (
        serving(endpoint_settings(folder / "t.db", endpoint, **given)) as served,
        httpx.AsyncClient(base_url=served.url, headers=HEADERS, timeout=60, verify=False) as http,
    ):
        yield http


async def a_turn(http: httpx.AsyncClient, endpoint: StrictEndpoint, passed: set[str]) -> Passed:
    """A turn with a word, a call, and a word; empties `passed` at each place."""
    begin, second, calls, ends = (asyncio.Event() for _ in range(4))
    call = Call(0, "c1", "calculator", '{"expression": "6 * 7"}')
    words = (Pause(begin), Say("One "), Pause(second), Say("two. "), Pause(calls))
    replies = iter(
        (Reply((*words, call, Finish())), Reply((Say("It "), Pause(ends), Say("is 42."), Finish())))
    )
    # Whoever makes the title offers no tools.
    endpoint.default = lambda body: next(replies) if "tools" in body else text_reply("A title")
    found: dict[str, frozenset[str]] = {}

    def reached(place: str) -> None:
        found[place] = frozenset(str(Path(name).relative_to(PROJECT)) for name in passed)
        passed.clear()

    passed.clear()
    async with http.stream("POST", "/chat", json={"message": "Hello"}) as answer:
        stream = Stream(answer)
        reached("POST")
        begin.set()
        await stream.until("text-delta")
        passed.clear()
        second.set()
        await stream.until("text-delta")
        reached("delta")
        calls.set()
        await stream.until("result")
        reached("call")
        await stream.until("text-delta")
        passed.clear()
        ends.set()
        await stream.rest()
    reached("end")
    return found


async def measured(given: Mapping[str, Any], folder: Path) -> Passed:
    passed: set[str] = set()
    with followed(passed):
        async with StrictEndpoint() as endpoint, client(folder, endpoint, **given) as http:
            endpoint.default = text_reply("Fine.")
            (await http.post("/chat", json={"message": "Warm up"})).raise_for_status()
            return await a_turn(http, endpoint, passed)


def main(names: bool) -> None:
    with tempfile.TemporaryDirectory() as off, tempfile.TemporaryDirectory() as on:
        # Each with threads of its own: those of a loop are followed from their beginning.
        without = asyncio.run(measured({}, Path(off)))
        with_all = asyncio.run(measured(extensions(Path(on)), Path(on)))
    print(f"{'':8}{'off':>6}{'on':>6}   files of ours")
    for place in PLACES:
        print(f"{place:8}{len(without[place]):6}{len(with_all[place]):6}")
        if names:
            for file in sorted(with_all[place]):
                print(f"    {'' if file in without[place] else '+'}{file}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make trace", description=__doc__)
    parser.add_argument(
        "--files", action="store_true", help="name the files; + those of extensions"
    )
    main(parser.parse_args().files)

"""The bursts of `tests.benchmarks.client` by other means, to check its figures.

Threads with `http.client` take the place of one loop over sockets, and each event is parsed as it
arrives: the first word is the first text of an event.
"""

import http.client
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from urllib.parse import urlsplit

SETTLE_SECONDS = 0.02
"""Time for the server to accept the connections of a burst."""


class Turns:
    """The turns of a worker thread, each sent together with those of the other threads."""

    def __init__(self, load: Mapping[str, Any], together: Barrier) -> None:
        self._load = load
        self._together = together

    def run(self, place: int) -> list[Mapping[str, float]]:
        return [self._turn(f"{place}-{number}") for number in range(self._load["bursts"])]

    def _turn(self, name: str) -> Mapping[str, float]:
        message = f"{os.getpid()}-{name}: {self._load['message']}"
        headers = {"Content-Type": "application/json", "Connection": "close"}
        connection = http.client.HTTPConnection(urlsplit(self._load["url"]).netloc, timeout=120)
        connection.connect()
        time.sleep(SETTLE_SECONDS)
        self._together.wait()
        sent = time.monotonic()
        connection.request("POST", "/chat", json.dumps({"message": message}), headers)
        response = connection.getresponse()
        first_word_at = first_text(response)
        # To parse the rest would take the CPU from the server.
        while response.fp.read1(65536):
            pass
        connection.close()
        return {"first word": first_word_at - sent, "whole turn": time.monotonic() - sent}


def first_text(lines: Iterable[bytes]) -> float:
    """Return the time of the first text that is not a tool call's arguments."""
    parts: list[str] = []
    for line in lines:
        if line.startswith(b"data: {"):
            match json.loads(line[6:]):
                case {"type": "part-start", "part": {"type": str(kind)}}:
                    parts.append(kind)
                case {"type": "text-delta", "path": [int(part)]} if parts[part] == "text":
                    return time.monotonic()
                case {"text": str()}:  # the bare loop's
                    return time.monotonic()
    raise RuntimeError("the turn has no text")


def main() -> None:
    load = json.load(sys.stdin)
    at_once = load["at_once"]
    turns = Turns(load, Barrier(at_once))
    with ThreadPoolExecutor(at_once) as threads:
        done = [*threads.map(turns.run, range(at_once))]
    json.dump([turn for of_thread in done for turn in of_thread], sys.stdout)


if __name__ == "__main__":
    main()

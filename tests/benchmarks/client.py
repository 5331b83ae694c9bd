"""Bursts of requests from a process of its own: `python -m tests.benchmarks.client < load.json`.

All requests of a burst are sent at the same moment, each on a connection that is open already. The
client keeps the bytes with the times of their arrival, and reads them when the burst has ended.
"""

import gc
import json
import os
import selectors
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from urllib.parse import urlsplit

SECONDS = 120
SETTLE_SECONDS = 0.02
"""Time for the server to accept the connections of a burst, and to end the work of the last one."""


@dataclass
class Exchange:
    """One request, and the bytes of its response with the times of their arrival."""

    connection: socket.socket
    sent: float = 0
    received: list[tuple[float, bytes]] = field(default_factory=list)

    def times(self, word: bytes) -> Mapping[str, float]:
        """Seconds from the send of the request; the body's bytes with their HTTP chunk sizes.

        The first word has arrived with the first bytes of the body that complete `word`.
        """
        whole = b"".join(data for _, data in self.received)
        body = whole.find(b"\r\n\r\n") + 4
        found = whole.find(word, body)
        if not whole.startswith(b"HTTP/1.1 200 ") or found < 0 or b"[DONE]" not in whole[-64:]:
            raise RuntimeError(whole.decode())
        ends = accumulate(len(data) for _, data in self.received)
        arrivals = (
            at for (at, _), end in zip(self.received, ends, strict=True) if end >= found + len(word)
        )
        return {
            "headers": self.received[0][0] - self.sent,
            "first word": next(arrivals) - self.sent,
            "whole turn": self.received[-1][0] - self.sent,
            "body bytes": len(whole) - body,
        }


def burst(url: str, requests: Sequence[bytes]) -> list[Exchange]:
    """Send the requests at once, and read until the server has closed every connection."""
    place = urlsplit(url)
    address = (place.hostname, place.port)
    exchanges = [Exchange(socket.create_connection(address)) for _ in requests]
    time.sleep(SETTLE_SECONDS)
    with selectors.DefaultSelector() as selector:
        for exchange, request in zip(exchanges, requests, strict=True):
            selector.register(exchange.connection, selectors.EVENT_READ, exchange)
            exchange.sent = time.perf_counter()
            exchange.connection.sendall(request)
        while selector.get_map():
            ready = selector.select(SECONDS)
            if not ready:
                raise TimeoutError(f"no byte for {SECONDS} seconds")
            for key, _ in ready:
                _receive(selector, key.data)
    return exchanges


def _receive(selector: selectors.BaseSelector, exchange: Exchange) -> None:
    at, data = time.perf_counter(), exchange.connection.recv(65536)
    if data:
        exchange.received.append((at, data))
    else:
        selector.unregister(exchange.connection)
        exchange.connection.close()


def requests(url: str, message: str, headers: Mapping[str, str]) -> Iterator[bytes]:
    """Yield turns on new threads with different titles: equal titles cost the server time."""
    named = {"Host": urlsplit(url).netloc, "Content-Type": "application/json"}
    for number in range(sys.maxsize):
        body = json.dumps({"message": f"{os.getpid()}-{number}: {message}"})
        sized = {**named, "Content-Length": str(len(body)), "Connection": "close", **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in sized.items())
        yield f"POST /chat HTTP/1.1\r\n{head}\r\n{body}".encode()


def main() -> None:
    load = json.load(sys.stdin)
    made = requests(load["url"], load["message"], load["headers"])
    gc.disable()
    done = [
        exchange
        for _ in range(load["bursts"])
        for exchange in burst(load["url"], [next(made) for _ in range(load["at_once"])])
    ]
    json.dump([exchange.times(load["first_word"].encode()) for exchange in done], sys.stdout)


if __name__ == "__main__":
    main()

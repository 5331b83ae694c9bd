"""Asks a server for /health every 20 ms: `python health_poller.py PORT PID`.

A process of its own that imports next to nothing, so that neither the interpreter's lock nor the
work of a test delays it. For each line on stdin it prints what it saw since the line before, as
JSON: `hold` and `wait`, the longest, in seconds, `answers`, and `fault`, null or what was wrong.

A hold is what of a wait the server itself computed. It is the lesser of two times, from the
sending of the request to the end of its answer: the CPU time of the server's process, all threads
together, and the time that passed, less what this process waited for a core when the answer had
come. A loaded machine makes both of them no longer than they are on an idle one.
"""

import json
import os
import select
import socket
import sys
import time

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAUSE_SECONDS = 0.02
PATIENCE_SECONDS = 60
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def queued_seconds() -> float:
    """How long this process was ready to run and had no core."""
    try:
        with open("/proc/self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except FileNotFoundError:  # a kernel that does not count it
        return 0.0


def ask(server: socket.socket) -> None:
    """One request and its answer. Raises OSError or ValueError."""
    server.sendall(HEALTH)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += received(server)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += received(server)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise ValueError(head.partition(b"\r\n")[0].decode())


def received(server: socket.socket) -> bytes:
    data = server.recv(65536)
    if not data:
        raise ConnectionError("the server has closed")
    return data


def report(hold: float, wait: float, answers: int, fault: str | None) -> None:
    said = {"hold": hold, "wait": wait, "answers": answers, "fault": fault}
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def main(port: int, pid: int) -> None:
    hold, wait, answers, fault = 0.0, 0.0, 0, None
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as server:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            if fault is None:
                cpu, queued, start = cpu_seconds(pid), queued_seconds(), time.monotonic()
                try:
                    ask(server)
                    answers += 1
                except (OSError, ValueError) as error:
                    fault = f"{type(error).__name__}: {error}"
                took = time.monotonic() - start - (queued_seconds() - queued)
                hold = max(hold, min(took, cpu_seconds(pid) - cpu))
                wait = max(wait, took)
            if select.select([0], [], [], None if fault else PAUSE_SECONDS)[0]:
                if not os.read(0, 1):
                    return
                report(hold, wait, answers, fault)
                hold, wait, answers = 0.0, 0.0, 0


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

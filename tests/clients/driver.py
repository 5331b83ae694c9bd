"""A real client in a Node process, told what to do over its pipe."""

import asyncio
import json
import subprocess
import threading
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ANSWER_SECONDS = 20
"""How long a client may take over one command."""


class ClientFailed(Exception):
    """The client threw, died, or did not answer in time."""


class ClientProcess:
    """One process serves many clients, one after the other: each `open` begins a new one."""

    def __init__(self, script: str) -> None:
        """`script` may have arguments."""
        self.script = script
        self._process = subprocess.Popen(
            ["node", *script.split()],
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def do(self, name: str, /, **args: Any) -> Any:
        """Raises ClientFailed with what the client threw."""
        command = json.dumps({"do": name, **args})
        reply = json.loads(await asyncio.to_thread(self._ask, command))
        if "failure" in reply:
            raise ClientFailed(reply["failure"])
        return reply["value"]

    async def report(self) -> dict[str, Any]:
        told: dict[str, Any] = await self.do("report")
        return told

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def _ask(self, command: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watch = threading.Timer(ANSWER_SECONDS, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
            reply = self._process.stdout.readline()
        finally:
            watch.cancel()
        if not reply:
            raise ClientFailed(f"{self.script} died, or took too long, over {command[:200]}")
        return reply

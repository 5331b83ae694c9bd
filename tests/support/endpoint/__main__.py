"""The endpoint in a process of its own, for measuring: its base URL is the only line it prints."""

import argparse
import asyncio
import signal
import sys

from tests.support.endpoint.endpoint import StrictEndpoint
from tests.support.endpoint.paces import tool_then_words, words
from tests.support.endpoint.script import Scripted


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.endpoint", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--words", type=int, default=200, help="words in a reply")
    parser.add_argument("--delay", type=float, default=0, help="seconds before each word")
    parser.add_argument(
        "--tool-call", action="store_true", help="call an offered tool before the words"
    )
    options = parser.parse_args()
    turns = tool_then_words if options.tool_call else words
    asyncio.run(serve_alone(turns(options.words, options.delay), options.port))


async def serve_alone(default: Scripted, port: int = 0) -> None:
    """Print the base URL, and serve until a signal."""
    endpoint = StrictEndpoint(port=port, keep_alive=True)
    endpoint.default = default
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with endpoint:
        sys.stdout.write(f"{endpoint.base_url}\n")
        sys.stdout.flush()
        await stopped.wait()


if __name__ == "__main__":
    main()

"""`make fuzz`: a server with the offline model, and requests made of its OpenAPI document, until
one shows a defect. Arguments go to `st fuzz`."""

import sys
import tempfile
from pathlib import Path

from tests.fuzz.served import fuzzed, in_thread, schemathesis


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with in_thread(fuzzed(folder)) as (client, _):
            return schemathesis(client.url, folder, "fuzz", sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

"""`python -P -m turnstream.server`, on which an hour passes in `SOAK_HOUR_SECONDS`: old threads are
looked for once an hour, and no soak waits for one."""

import os
import sys

from turnstream.server.__main__ import main
from turnstream.server.runs import retention

HOUR = "SOAK_HOUR_SECONDS"

if __name__ == "__main__":
    retention.CHECK_SECONDS = float(os.environ[HOUR])
    sys.exit(main())

"""Runs a command in its own place, as a process that ends with the one that started it.

`python -I -S launcher.py PARENT COMMAND [ARGUMENT ...]`, PARENT the process id of who starts it.
Linux alone tells a process that its parent is gone; elsewhere the command runs as it is.
"""

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(parent):
            sys.exit(1)  # it was gone before it could be asked for
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()

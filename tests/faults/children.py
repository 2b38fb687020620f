"""Forked children, and how they end."""

from __future__ import annotations

import os
import signal
import time
import traceback


def in_child(work):
    """Process number of a child that does some work and ends."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def ended(child):
    """Exit code of a child; a negative one is a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(work, seconds):
    """Let a child work for a while and kill it."""
    child = in_child(work)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return ended(child)

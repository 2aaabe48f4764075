"""Runs a Java process and ends it when whoever asked for it is gone, however that happened.

Started by path with an isolated interpreter, so only the standard library is imported and nothing of Seamark. It stays
between the two processes: stdin is a pipe from the owner, which ends when the owner closes it or dies, even by SIGKILL.
A pipe alone would be kept open by children that the owner forked, so the parent's process id is watched as well. (The
kernel's parent-death signal would not do for the owner: it fires when the *thread* that started us ends.) For Java the
signal is right, because this process has one thread: if it is killed itself, Java ends too.

Usage: ``supervisor.py <stop timeout in seconds> <descriptors to pass on, comma separated> <command ...>``
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys

PARENT_POLL_S = 0.5
PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def main(arguments: list[str]) -> int:
    """Run the command; its exit code is ours."""
    stop_timeout_s, descriptors, command = float(arguments[0]), arguments[1], arguments[2:]
    owner = os.getppid()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    asked_to_stop = False
    # A mask of the thread that started us is inherited, also by Java, which could not be stopped then.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def stop(*_: object) -> None:
        nonlocal asked_to_stop
        asked_to_stop = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake the select below at once when Java ends
    passed = [int(number) for number in descriptors.split(",") if number]
    java = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=passed, preexec_fn=_end_with_parent)  # noqa: PLW1509
    for number in passed:
        os.close(number)  # what they hold must be free the moment Java is gone, not when we are
    while java.poll() is None:
        readable, _, _ = select.select([sys.stdin, wake_read], [], [], PARENT_POLL_S)
        if wake_read in readable:
            os.read(wake_read, 512)
        if sys.stdin in readable and not os.read(sys.stdin.fileno(), 512):
            asked_to_stop = True
        if asked_to_stop or os.getppid() != owner:
            java.terminate()
            try:
                java.wait(stop_timeout_s)
            except subprocess.TimeoutExpired:
                java.kill()
                java.wait()
    return java.returncode if java.returncode >= 0 else 128 - java.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

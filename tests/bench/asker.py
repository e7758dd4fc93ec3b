# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that would have the agent work for them: `asker.py KIND ARGUMENT...`, until ended.

  status SOCKET PORT MS  status at the socket and /metrics without a token, so many ms between
  exact SOCKET DAY       the exact stacks of a day (since 1970), again and again, by eight at once
  deaf PORT N            N connections from two other addresses of this machine that ask and do not read
"""
import contextlib
import os
import select
import socket
import sys
import time

S, DAY_NS = 10**9, 86400 * 10**9


def ask(path, words):
    """The size of the answer."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(f"soprof1 {words}\n".encode())
        return sum(map(len, iter(lambda: s.recv(1 << 20), b"")))


def get(port, path):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n".encode())
        return sum(map(len, iter(lambda: s.recv(1 << 20), b"")))


def status(path, port, ms):
    while True:
        with contextlib.suppress(OSError):
            ask(path, "status")
        with contextlib.suppress(OSError):
            get(int(port), "/metrics")
        time.sleep(int(ms) / 1000)


def exact(path, day):
    begin = int(day) * DAY_NS
    words = f"query from={begin} to={begin + DAY_NS} source=cpu uid={os.getuid()} exact=1"
    for _ in range(7):
        if not os.fork():
            break
    while True:
        began = time.monotonic()
        with contextlib.suppress(OSError):
            ask(path, words)
        time.sleep(max(0, 0.05 - (time.monotonic() - began)))


def deaf_one(port, i):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.bind((f"127.0.0.{2 + i % 2}", 0))
    s.settimeout(5)
    s.connect(("127.0.0.1", port))
    s.sendall(f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode() * 50)
    return s


def deaf(port, n):
    held = {}
    poll = select.poll()
    while True:
        while len(held) < int(n):
            with contextlib.suppress(OSError):
                s = deaf_one(int(port), len(held))
                held[s.fileno()] = s
                poll.register(s, select.POLLRDHUP)
                continue
            break
        for fd, _ in poll.poll(100):  # turned away: again
            poll.unregister(fd)
            held.pop(fd).close()


if __name__ == "__main__":
    {"status": status, "exact": exact, "deaf": deaf}[sys.argv[1]](*sys.argv[2:])

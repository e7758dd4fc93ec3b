#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Between a client and a server, and makes trouble: `proxy.py PORT SERVER-PORT TROUBLE [CERTIFICATE KEY]`.

What becomes of a connection says the file TROUBLE when it begins: `pass`; `cut N` and `cut-answer N`: it ends after a
random number of bytes below N of what is sent, or answered; `delay SECONDS`: for each piece; `hold`: nothing is ever
answered. With a certificate the client speaks TLS."""
import random
import socket
import ssl
import sys
import threading
import time

port, server, trouble = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
context = None
if len(sys.argv) > 4:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4], sys.argv[5])


def copy(source, to, left, delay):
    """Until either ends, or so many bytes have come; then both end."""
    try:
        while left > 0:
            data = source.recv(min(65536, left))
            if not data:
                break
            time.sleep(delay)
            to.sendall(data)
            left -= len(data)
    except OSError:
        pass
    for one in (source, to):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(connection):
    with open(trouble) as f:
        what, number = (f.read().split() + ["0"])[:2]
    up = random.randrange(int(number)) if what == "cut" else sys.maxsize
    down = random.randrange(int(number)) if what == "cut-answer" else sys.maxsize
    delay = float(number) if what == "delay" else 0
    try:
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        if what == "hold":
            time.sleep(3600)
        there = socket.create_connection(("127.0.0.1", server))
    except OSError:
        connection.close()
        return
    threading.Thread(target=copy, args=(connection, there, up, delay), daemon=True).start()
    copy(there, connection, down, delay)


listener = socket.create_server(("127.0.0.1", port), backlog=64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

#!/usr/bin/env python3
"""Many clients at once, each with its own connection: many.py PORT PICTURE CLIENTS. Prints the
number of each status and the waiting times; exit status 1 if one got no response. A single
process, because clients and server share the machine."""
import collections
import selectors
import socket
import sys
import time

port, picture, clients = int(sys.argv[1]), open(sys.argv[2], "rb").read(), int(sys.argv[3])
request = b"POST /detect HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(picture) + picture
loop = selectors.DefaultSelector()
statuses, waits = collections.Counter(), []


class Client:
    def __init__(self):
        self.sent, self.got, self.began = 0, b"", time.monotonic()
        self.socket = socket.socket()
        self.socket.setblocking(False)
        try:
            self.socket.connect(("127.0.0.1", port))
        except BlockingIOError:
            pass
        loop.register(self.socket, selectors.EVENT_WRITE, self)

    def end(self, status):
        loop.unregister(self.socket)
        self.socket.close()
        statuses[status] += 1
        waits.append(time.monotonic() - self.began)

    def go_on(self, events):
        try:
            if events & selectors.EVENT_WRITE:
                self.sent += self.socket.send(request[self.sent:])
                if self.sent == len(request):
                    loop.modify(self.socket, selectors.EVENT_READ, self)
            else:
                more = self.socket.recv(65536)
                self.got += more
                head, end, body = self.got.partition(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]) if end else -1
                if len(body) == length:
                    self.end(int(head.split(b" ")[1]))
                elif not more:
                    self.end("cut off")
        except BlockingIOError:
            pass
        except OSError as error:
            # Refused while still sending: the response may have arrived.
            try:
                self.got += self.socket.recv(65536)
            except OSError:
                pass
            self.end(int(self.got.split(b" ")[1]) if self.got.startswith(b"HTTP/1.1 ") else str(error))


for i in range(clients):
    Client()
until = time.monotonic() + 300
while sum(statuses.values()) < clients and time.monotonic() < until:
    for key, events in loop.select(1):
        key.data.go_on(events)
waits.sort()
print(" ".join("%s:%d" % pair for pair in sorted(statuses.items(), key=str)), "p50 %.2f s, p99 %.2f s, most %.2f s" %
      (waits[len(waits) // 2], waits[len(waits) * 99 // 100], waits[-1]) if waits else "nothing")
sys.exit(0 if sum(statuses.values()) == clients and set(statuses) <= {200, 429} else 1)

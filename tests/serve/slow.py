#!/usr/bin/env python3
"""Slow clients while others are served: slow.py PORT PICTURE ROOM, for a mafat_serve with --timeout 1
and a room of ROOM bytes. Prints a line for each check."""
import http.client
import re
import socket
import sys
import time

PORT, PICTURE = int(sys.argv[1]), open(sys.argv[2], "rb").read()
ROOM = int(sys.argv[3])
REQUEST = b"POST /detect HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(PICTURE) + PICTURE
failed = 0


def check(name, holds, found=""):
    global failed
    failed = failed or not holds
    print("ok serve slow:" if holds else "FAIL serve slow:", name + ("" if holds else ": found %.300s" % (found,)))


def connect(receive=None):
    s = socket.socket()
    if receive:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    s.settimeout(30)
    s.connect(("127.0.0.1", PORT))
    return s


def rest(s):
    got = b""
    while True:
        try:
            more = s.recv(65536)
        except ConnectionResetError:
            return got
        if not more:
            return got
        got += more


def answered(body=PICTURE):
    c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    c.request("POST", "/detect", body)
    status = c.getresponse().status
    c.close()
    return status == 200


def room_used():
    c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    c.request("GET", "/metrics")
    text = c.getresponse().read().decode()
    c.close()
    return re.search(r"^mafat_room_used_bytes (\S+)", text, re.M).group(1)


def given_up(name, part, status):
    s, began = connect(), time.monotonic()
    s.sendall(part)
    good = answered()
    got = rest(s)
    took = time.monotonic() - began
    s.close()
    statuses = [int(n) for n in re.findall(rb"HTTP/1\.1 (\d{3}) ", got)]
    check(name, statuses == status and took > 0.9, (got, took))
    check(name + ": others are answered meanwhile", good)


given_up("half a head", REQUEST[:30], [408])
given_up("half a body", REQUEST[:len(REQUEST) // 2], [408])
given_up("nothing at all", b"", [])

given_up("empty lines and no request", b"\r\n\r\n\r", [])
given_up("a byte of a large body", b"POST /detect HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n." % ROOM, [408])

# Bodies that are announced and not sent, and others that need the same memory.
stalled = [connect() for i in range(20)]
for s in stalled:
    s.sendall(b"POST /detect HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n." % ROOM)
check("20 bodies of a byte, and a picture", answered())
check("20 bodies of a byte, and a picture of all memory", answered(PICTURE + bytes(ROOM - len(PICTURE))))
for s in stalled:
    s.close()
most = [connect() for i in range(20)]
for s in most:
    s.sendall(b"POST /detect HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (ROOM // 10) + bytes(ROOM // 10 - 1))
check("20 bodies that lack a byte, and a picture", answered())
for s in most:
    s.close()

# Byte by byte without an end.
s, began, ended = connect(), time.monotonic(), False
try:
    for byte in REQUEST[:200]:
        s.sendall(bytes([byte]))
        time.sleep(.05)
except OSError:
    ended = True
check("a trickle ends", ended or b"408" in rest(s), time.monotonic() - began)
s.close()

# Unread responses: 20 maps, of which sockets hold a part.
readers = []
for i in range(20):
    s = connect(4096)
    s.sendall(b"GET /map HTTP/1.1\r\nHost: a\r\n\r\n" * 20)
    readers.append(s)
check("others are answered while answers are not read", answered())
time.sleep(4)
for s in readers:
    s.close()
used, until = room_used(), time.monotonic() + 60
while used != "0" and time.monotonic() < until:
    time.sleep(.05)
    used = room_used()
check("and room is given back", used == "0", used)

# All connections are taken by slow clients: they are closed in time.
stuck = []
for i in range(70):
    s = connect()
    s.sendall(REQUEST[:30])
    stuck.append(s)
check("70 that are stuck, and one that is not", answered())
for s in stuck:
    s.close()
sys.exit(failed)

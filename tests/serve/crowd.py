#!/usr/bin/env python3
"""Measures mafat_serve while other clients hold connections and memory: crowd.py PORT PICTURE SECONDS
[HEADS BODIES COSTLY WHOLE]. These are the numbers of clients whose heads never end (default 200),
whose bodies never end (20), that send pictures that are costly to decode (3), and that send
complete requests without pause (0). Each connects again when its connection is closed. Two others ask
for /healthz and for a picture of 30 KB, each on
a new connection; they are threads of a process of their own. Prints figures; exit status 1 if
/healthz took more than a second or had another status than 200, or the picture took more than twice
its time alone and two seconds, or had another status than 200 and 429. The variable PATIENCE
multiplies these times, for busy machines."""
import asyncio
import collections
import json
import os
import signal
import socket
import sys
import threading
import time

import costly

PORT, SECONDS, PATIENCE = int(sys.argv[1]), float(sys.argv[3]), float(os.environ.get("PATIENCE", 1))
HEADS, BODIES, COSTLY, WHOLE = [int(n) for n in sys.argv[4:]] + [200, 20, 3, 0][len(sys.argv) - 4:]
PICTURE = open(sys.argv[2], "rb").read()[:30 << 10].ljust(30 << 10, b"\0")


def get(path):
    return b"GET /%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path


def post(body, length=None):
    length = len(body) if length is None else length
    return b"POST /detect HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length + body


# ---- the crowd ----

async def connect():
    while True:
        await asyncio.sleep(.05)
        try:
            return await asyncio.open_connection("127.0.0.1", PORT)
        except OSError:
            pass


async def wait_for_end(reader):
    try:
        while await reader.read(1 << 16):
            pass
    except OSError:
        pass


async def send_head(i, writer, end):
    writer.write(b"GET /heal" if i % 4 else b"")
    while not (await asyncio.wait([end], timeout=.3))[0]:
        writer.write(b"x")


async def slow_head(counts, i):
    while True:
        reader, writer = await connect()
        counts["heads"] += 1
        end = asyncio.ensure_future(wait_for_end(reader))
        try:
            await send_head(i, writer, end)
        except OSError:
            pass
        end.cancel()
        writer.close()


async def stalled_body(counts, i, room):
    length, sent = [(room, 1), (100 << 10, (100 << 10) - 1), (room, room // 2), (30 << 10, 1)][i % 4]
    while True:
        reader, writer = await connect()
        counts["bodies"] += 1
        try:
            writer.write(post(bytes(min(sent, room)), min(length, room)))
        except OSError:
            pass
        await wait_for_end(reader)
        writer.close()


async def repeat(counts, name, body):
    while True:
        reader, writer = await connect()
        try:
            writer.write(post(body))
            status = (await reader.readuntil(b"\r\n")).split(b" ")[1].decode()
        except (OSError, asyncio.IncompleteReadError):
            status = "cut off"
        counts["%s: %s," % (name, status)] += 1
        writer.close()


async def crowd(room, pipe):
    works = [costly.progressive(1900, 1900, 490), costly.large_png(16000, 16000), costly.progressive(1400, 1400, 30)]
    counts = collections.Counter()
    tasks = [slow_head(counts, i) for i in range(HEADS)] + [stalled_body(counts, i, room) for i in range(BODIES)]
    tasks += [repeat(counts, "costly %d" % (i % 3), works[i % 3]) for i in range(COSTLY)]
    tasks += [repeat(counts, "whole", PICTURE) for _ in range(WHOLE)]
    tasks = [asyncio.ensure_future(t) for t in tasks]
    await asyncio.sleep(.5)
    os.write(pipe, b"connected\n")
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    os.write(pipe, " ".join("%s %d" % pair for pair in sorted(counts.items())).encode() + b"\n")
    os._exit(0)


# ---- the two that measure ----

def ask(data):
    """One request on a new connection: seconds from before it connects, status, body."""
    began, got = time.monotonic(), b""
    try:
        s = socket.create_connection(("127.0.0.1", PORT), timeout=30)
        s.sendall(data)
        while b"\r\n\r\n" not in got or len(got) < length:
            more = s.recv(1 << 16)
            if not more:
                raise ConnectionError("it ends")
            got += more
            head = got.partition(b"\r\n\r\n")[0]
            length = len(head) + 4 + int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]) if b"\r\n\r\n" in got else 0
        status = int(got.split(b" ")[1])
        s.close()
    except OSError as error:
        status = type(error).__name__
    return time.monotonic() - began, status, got.partition(b"\r\n\r\n")[2]


def probe(found, data, pause, until):
    while time.monotonic() < until:
        found.append(ask(data)[:2])
        time.sleep(pause)


def show(name, found, statuses, most):
    times = sorted(took for took, _ in found)
    print("%s: %d, median %.3f s, most %.3f s, bound %.3f s; status %s" % (
        name, len(found), times[len(times) // 2], times[-1], most,
        " ".join("%s: %d" % pair for pair in sorted(collections.Counter(str(status) for _, status in found).items()))))
    return times[-1] <= most and {status for _, status in found} <= statuses


room = json.loads(ask(get(b"plan"))[2])["room_bytes"]
alone = sorted(ask(post(PICTURE))[0] for _ in range(9))[4]
out, into = os.pipe()
child = os.fork()
if child == 0:
    asyncio.run(crowd(room, into))
os.close(into)
lines = os.fdopen(out)
lines.readline()
healths, pictures, until = [], [], time.monotonic() + SECONDS
threads = [threading.Thread(target=probe, args=(healths, get(b"healthz"), .05, until)),
           threading.Thread(target=probe, args=(pictures, post(PICTURE), .1, until))]
for t in threads:
    t.start()
for t in threads:
    t.join()
os.kill(child, signal.SIGTERM)
others = lines.readline().strip()
os.waitpid(child, 0)
good = show("healthz", healths, {200}, PATIENCE)
good = show("a picture, alone %.3f s" % alone, pictures, {200, 429}, (2 * alone + 2) * PATIENCE) and good
print("beside:", others)
sys.exit(0 if good else 1)

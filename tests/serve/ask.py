#!/usr/bin/env python3
"""Checks build/mafat_serve's answers to valid and invalid requests: ask.py PORT PICTURE ROOM [TOKEN]. Prints a line for each check."""
import http.client
import json
import os
import re
import socket
import struct
import sys
import threading
import time

import costly

PORT, PICTURE, ROOM = int(sys.argv[1]), open(sys.argv[2], "rb").read(), int(sys.argv[3])
TOKEN = sys.argv[4] if len(sys.argv) > 4 else None
GREETING = "Host: a\r\n" + ("Authorization: Bearer %s\r\n" % TOKEN if TOKEN else "")
failed = 0


def check(name, holds, found=""):
    global failed
    if holds:
        print("ok serve", name)
    else:
        failed = 1
        print("FAIL serve %s: found %.300s" % (name, found))


def soon(holds):
    """True if the condition holds within a minute: the server notices later what clients leave."""
    until = time.monotonic() + 60
    while not holds() and time.monotonic() < until:
        time.sleep(.05)
    return holds()


def ask(method, path, body=None, headers=None):
    """One request on its own connection: status, headers, body."""
    c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    headers = dict(headers or {})
    if TOKEN:
        headers.setdefault("Authorization", "Bearer " + TOKEN)
    c.request(method, path, body, headers)
    r = c.getresponse()
    answer = r.status, r.headers, r.read()
    c.close()
    return answer


def speak(data, finish=False, patience=60):
    """Sends raw bytes, and returns everything until the other end closes."""
    s = socket.create_connection(("127.0.0.1", PORT), timeout=patience)
    try:
        s.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass
    if finish:
        s.shutdown(socket.SHUT_WR)
    got = b""
    while True:
        try:
            more = s.recv(65536)
        except (socket.timeout, ConnectionResetError):
            break
        if not more:
            break
        got += more
    s.close()
    return got


def statuses(data):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]


def post(path="/detect", body=PICTURE, more="", close=True):
    return ("POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n%s%s\r\n" % (path, GREETING, len(body), "Connection: close\r\n" if close else "", more)).encode() + body


def get(path, more=""):
    return ("GET %s HTTP/1.1\r\n%s%s\r\n" % (path, GREETING, more)).encode()


def is_error(answer, status):
    """True for a JSON line with an error message."""
    try:
        told = json.loads(answer[2])
        return answer[0] == status and told["status"] == status and len(told["error"]) > 3
    except (ValueError, KeyError):
        return False


def refused(name, status, method, path, body=None, headers=None):
    answer = ask(method, path, body, headers)
    check(name, is_error(answer, status), (answer[0], answer[2]))


def broken(name, status, data):
    """Checks an invalid request: one answer, then the end of the connection."""
    got = speak(data)
    head, _, body = got.partition(b"\r\n\r\n")
    good = statuses(got) == [status] and b"Connection: close" in head and json.loads(body)["status"] == status
    check(name, good, got)


def metric(name):
    for line in ask("GET", "/metrics")[2].decode().splitlines():
        if line.startswith(name + " "):
            return float(line.rsplit(" ", 1)[1])
    return None


# ---- valid requests ----

status, headers, body = ask("POST", "/detect", PICTURE)
found = json.loads(body)
check("a picture", status == 200 and headers["Content-Type"] == "application/json" and len(found["detections"]) >= 4, body)
check("its boxes", all({"label", "class", "confidence", "box"} == set(d) for d in found["detections"]) and found["width"] == 400, body)
first = found["detections"]
check("the same at /", json.loads(ask("POST", "/", PICTURE)[2])["detections"] == first)
check("a higher threshold", len(json.loads(ask("POST", "/detect?thresh=0.999", PICTURE)[2])["detections"]) < len(first))
pixels = bytes(range(256)) * 3 * 40 * 30
pixels = pixels[:40 * 30 * 3]
ppm = json.loads(ask("POST", "/detect?thresh=0.01", b"P6 40 30 255\n" + pixels)[2])
frame = json.loads(ask("POST", "/detect?thresh=0.01&size=40x30&format=rgb24", pixels)[2])
check("a frame is what a PPM of it is", frame["detections"] == ppm["detections"] and frame["width"] == 40, frame)
grey = ask("POST", "/detect?size=40x30&format=gray", pixels[:1200])
check("a grey frame", grey[0] == 200, grey)
luma, blue, red = pixels[:1200], pixels[1200:1500], pixels[1500:1800]
planar = ask("POST", "/detect?thresh=0.01&size=40x30&format=yuv420p", luma + blue + red)
check("a frame of Y, U and V", planar[0] == 200 and json.loads(planar[2])["width"] == 40 and json.loads(planar[2])["detections"], planar)
mixed = luma + bytes(byte for two in zip(blue, red) for byte in two)
packed = b"".join(bytes((luma[y * 40 + x], blue[y // 2 * 20 + x // 2], luma[y * 40 + x + 1], red[y // 2 * 20 + x // 2]))
                  for y in range(30) for x in range(0, 40, 2))
for name, body, caps in (("nv12", mixed, "NV12"), ("yuyv", packed, "YUY2"), ("yuv420p", luma + blue + red, "I420")):
    one = ask("POST", "/detect?thresh=0.01&size=40x30&format=" + name, body)
    check("a frame of %s is what one of yuv420p is" % name, json.loads(one[2]).get("detections") == json.loads(planar[2])["detections"], one)
    one = ask("POST", "/detect?thresh=0.01", body, {"Content-Type": "video/x-raw; width=40; height=30; format=" + caps})
    check("and as video/x-raw, %s" % caps, json.loads(one[2]).get("detections") == json.loads(planar[2])["detections"], one)
one = ask("POST", "/detect?thresh=0.01", pixels, {"Content-Type": "video/x-raw, format=(string)RGB, width=(int)40, height=(int)30"})
check("a frame with GStreamer's caps", json.loads(one[2]).get("detections") == frame["detections"], one)
check("the page", ask("GET", "/")[2].lstrip().lower().startswith(b"<!doctype html>"))
status, headers, body = ask("HEAD", "/")
check("HEAD tells a length, and sends nothing", status == 200 and int(headers["Content-Length"]) > 50 and body == b"", (headers, body))
check("healthz", ask("GET", "/healthz")[::2] == (200, b"ok\n"))
plan = json.loads(ask("GET", "/plan")[2])
check("plan", plan["predicted_charge_bytes"] <= plan["memory_budget_bytes"] and plan["budgets"] and plan["room_bytes"] == ROOM, plan)
check("budgets rise", all(a["memory_bytes"] < b["memory_bytes"] and a["latency_ms"] > b["latency_ms"] for a, b in zip(plan["budgets"], plan["budgets"][1:])), plan)
other = json.loads(ask("GET", "/plan?memory=%d" % plan["budgets"][0]["memory_bytes"])[2])
check("another plan", other["fits"] and other["plan"] == plan["budgets"][0]["plan"] and other["breakdown"]["activations"] > 0, other)
check("what does not fit", json.loads(ask("GET", "/plan?memory=4K")[2])["fits"] is False)
status, headers, body = ask("GET", "/map?memory=8M")
check("map", status == 200 and headers["Content-Type"] == "image/svg+xml" and b"<svg" in body and body.rstrip().endswith(b"</svg>"), body)
check("metrics", metric("mafat_pictures_total") >= 5 and metric("mafat_connections") == 1, ask("GET", "/metrics")[2])

# ---- invalid requests ----

refused("no picture", 422, "POST", "/detect", b"these are no pixels")
refused("half a picture", 422, "POST", "/detect", PICTURE[:len(PICTURE) // 2])
refused("nothing", 400, "POST", "/detect", b"")
refused("a frame of another size", 400, "POST", "/detect?size=40x31&format=rgb24", pixels)
refused("a frame of Y, U and V of another size", 400, "POST", "/detect?size=40x30&format=nv12", pixels[:1799])
refused("half a pair of pixels", 400, "POST", "/detect?size=3x4&format=yuyv", pixels[:24])
refused("raw video of no size", 400, "POST", "/detect", pixels, {"Content-Type": "video/x-raw"})
refused("raw video of a format that is not known", 400, "POST", "/detect", pixels, {"Content-Type": "video/x-raw; width=40; height=30; format=P010"})
refused("no name", 404, "GET", "/none")
refused("another method", 405, "DELETE", "/")
check("405 says which", ask("PUT", "/plan")[1]["Allow"] == "GET, HEAD")
refused("a form", 415, "POST", "/detect", b"--a\r\n", {"Content-Type": "multipart/form-data; boundary=a"})
answer = ask("POST", "/detect", PICTURE.translate(None, b"\r\n\0"),
             {"Content-Type": "application/x-www-form-urlencoded"})
check("a picture without its line ends, as curl -d sends it",
      is_error(answer, 422) and b"curl --data-binary @FILE" in answer[2], answer)
answer = ask("POST", "/detect", PICTURE, {"Content-Type": "application/x-www-form-urlencoded"})
check("a whole picture of that type", answer[0] == 200, answer)
answer = ask("GET", "/detect")
check("GET /detect says how to send a picture",
      is_error(answer, 405) and b"POST: curl --data-binary @FILE" in answer[2], answer)
refused("a page of another host", 403, "POST", "/detect", PICTURE, {"Origin": "http://elsewhere"})
refused("an image in a page of another site", 403, "GET", "/map", None,
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"})
check("a link of another site",
      ask("GET", "/", None, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0] == 200)
refused("no budget", 400, "GET", "/plan?memory=much")
huge = b"P5 60000 60000 255\n" + b"0" * 1000
answer = ask("POST", "/detect", huge)
check("a picture that claims to be huge", answer[0] in (400, 413, 415, 422) and is_error(answer, answer[0]), answer)
refused("a JPEG of more scans than its pixels allow", 415, "POST", "/detect", costly.progressive(700, 700, 490))
broken("larger than there is room for", 413, post(body=b"")[:-2].replace(b"Content-Length: 0", b"Content-Length: %d" % (ROOM + 1)) + b"\r\n")
broken("larger than can be counted", 413, post(body=b"").replace(b"Content-Length: 0", b"Content-Length: 99999999999999999999"))
got = speak(post(body=b"").replace(b"Content-Length: 0", b"Content-Length: %d" % (8 << 30)) + bytes(1 << 20))
check("413 while it is being sent", statuses(got) == [413], got)

broken("TLS", 400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
broken("HTTP/2", 505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
broken("HTTP/0.9", 400, b"GET /\r\n\r\n")
broken("no host", 400, b"GET / HTTP/1.1\r\n\r\n")
broken("two lengths", 400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc")
broken("pieces", 411, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
broken("a head of 5000 bytes", 431, get("/", "X: %s\r\n" % ("a" * 5000)))
broken("a line that never ends", 431, b"G" * 5000)
broken("noise", 400, os.urandom(64).replace(b"G", b"\x00") + b"\n")

# ---- HTTP ----

got = speak(get("/healthz") + post(close=False) + get("/none") + post())
check("four at once, in order", statuses(got) == [200, 200, 404, 200], got)
got = speak(post(body=b"P5 2 2 255\n0123", close=False) + b"\r\n" + get("/healthz", "Connection: close\r\n"))
check("a line behind a body", statuses(got) == [200, 200], got)
check("half closed", statuses(speak(post(close=False), finish=True)) == [200])
check("close wins over keep-alive",
      statuses(speak(get("/healthz", "Connection: close, keep-alive\r\n") + get("/healthz"))) == [200])
check("HTTP/1.0 ends", statuses(speak(b"GET /healthz HTTP/1.0\r\n\r\n")) == [200])
c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
c.connect()
port = c.sock.getsockname()[1]
for i in range(5):
    c.request("GET", "/healthz")
    c.getresponse().read()
check("kept alive", c.sock is not None and c.sock.getsockname()[1] == port)
c.close()


def one_by_one():
    s = socket.create_connection(("127.0.0.1", PORT), timeout=60)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = post()
    head = data.index(b"\r\n\r\n") + 4
    for i in range(head):
        s.sendall(data[i:i + 1])
    s.sendall(data[head:])
    got = s.recv(65536)
    s.close()
    return got


check("byte by byte", statuses(one_by_one()) == [200])


def expect(length, status):
    """True if the server asks for the body, and not before."""
    s = socket.create_connection(("127.0.0.1", PORT), timeout=60)
    data = post(more="Expect: 100-continue\r\n")
    head = data.index(b"\r\n\r\n") + 4
    s.sendall(data[:head].replace(b"Content-Length: %d" % len(PICTURE), b"Content-Length: %d" % length))
    got = s.recv(65536)
    if status == 100:
        s.sendall(data[head:])
        while b"HTTP/1.1 200" not in got:
            more = s.recv(65536)
            if not more:
                break
            got += more
    s.close()
    return got


check("100 before the body", statuses(expect(len(PICTURE), 100)) == [100, 200])
check("413 in place of it", statuses(expect(ROOM + 1, 413)) == [413])

# ---- connections ----

before = metric("mafat_connections_lost_total")
for cut in (10, 60, 2000):
    s = socket.create_connection(("127.0.0.1", PORT))
    s.sendall(post()[:cut])
    s.close()
for i in range(8):  # a reset while the request waits or runs
    s = socket.create_connection(("127.0.0.1", PORT))
    s.sendall(post())
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
check("who leaves is counted", soon(lambda: metric("mafat_connections_lost_total") > before))
check("and no matter", json.loads(ask("POST", "/detect", PICTURE)[2])["detections"] == first)
part = b"P5 40 30 255\n" + pixels[:20]  # would be the rest of an unread response
whole = []
for i in range(300):
    s = socket.create_connection(("127.0.0.1", PORT))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.sendall(get("/metrics"))
    s.close()
    answer = ask("POST", "/detect", part)
    whole += [answer] if answer[0] != 422 else []
check("an answer that is lost is in no other's picture", not whole, (len(whole), whole))
# more than the server holds
idle = [socket.create_connection(("127.0.0.1", PORT)) for i in range(80)]
time.sleep(1.5)
check("idle ones make room", ask("GET", "/healthz")[0] == 200)
for s in idle:
    s.close()
check("room is given back", soon(lambda: metric("mafat_room_used_bytes") == 0), metric("mafat_room_used_bytes"))


# Bodies of half the buffer each, at once: they wait for each other.
answers = []
half = PICTURE + bytes(ROOM // 2 - len(PICTURE))
threads = [threading.Thread(target=lambda: answers.append(ask("POST", "/detect", half)[0])) for i in range(12)]
for t in threads:
    t.start()
for t in threads:
    t.join()
check("more than there is room for, one after the other", answers == [200] * 12, answers)
sys.exit(failed)

#!/usr/bin/env python3
"""Makes frames from a picture for tests/cli/video.sh, and compares results."""
import json
import sys


def read_ppm(path):
    data = open(path, "rb").read()
    words = data.split(None, 4)
    return int(words[1]), int(words[2]), data[len(data) - int(words[1]) * int(words[2]) * 3:]


def clamp(x):
    return 0 if x < 0 else 255 if x > 255 else int(x + .5)


def planes_of(w, h, rgb):
    """Y, U and V of BT.601, limited range; U and V from the first of each 2 x 2 pixels."""
    ys, us, vs = bytearray(), bytearray(), bytearray()
    for y in range(h):
        for x in range(w):
            r, g, b = rgb[3 * (y * w + x):3 * (y * w + x) + 3]
            ys.append(clamp(16 + (65.481 * r + 128.553 * g + 24.966 * b) / 255))
            if y % 2 == 0 and x % 2 == 0:
                us.append(clamp(128 + (-37.797 * r - 74.203 * g + 112 * b) / 255))
                vs.append(clamp(128 + (112 * r - 93.786 * g - 18.214 * b) / 255))
    return bytes(ys), bytes(us), bytes(vs)


def back(w, h, ys, us, vs):
    """RGB of the planes in floating point, each pixel with the nearest chroma."""
    rgb, half = bytearray(), (w + 1) // 2
    for y in range(h):
        for x in range(w):
            c = (y // 2) * half + x // 2
            luma, u, v = (ys[y * w + x] - 16) * 255 / 219, (us[c] - 128) * 255 / 224, (vs[c] - 128) * 255 / 224
            rgb += bytes((clamp(luma + 1.402 * v), clamp(luma - .344136 * u - .714136 * v), clamp(luma + 1.772 * u)))
    return bytes(rgb)


def make(ppm, folder):
    w, h, rgb = read_ppm(ppm)
    ys, us, vs = planes_of(w, h, rgb)
    half = (w + 1) // 2
    uv = b"".join(bytes(two) for two in zip(us, vs))
    yuyv = bytearray()
    for y in range(h):
        for x in range(0, w, 2):
            c = (y // 2) * half + x // 2
            yuyv += bytes((ys[y * w + x], us[c], ys[y * w + x + 1], vs[c]))
    files = {"rgb24": rgb, "yuv420p": ys + us + vs, "nv12": ys + uv, "yuyv": bytes(yuyv),
             "y4m": b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\nFRAME\n" % (w, h) + ys + us + vs,
             "back.ppm": b"P6\n%d %d\n255\n" % (w, h) + back(w, h, ys, us, vs)}
    for name, data in files.items():
        open(f"{folder}/frame.{name}", "wb").write(data)
    print(f"{w}x{h}")


def found(path, number=0):
    return json.loads(open(path).read().splitlines()[number])["detections"]


def same(a, b, number=0):
    """True if frame `number` of b has a's boxes, to the bit."""
    return len(found(a)) > 0 and found(a) == found(b, int(number))


def near(a, b):
    """True if labels are equal, confidences within 0.02 and edges within two pixels."""
    one, other = found(a), found(b)
    if not one or len(one) != len(other):
        return False
    for p, q in zip(one, other):
        if p["label"] != q["label"] or abs(p["confidence"] - q["confidence"]) > .02:
            return False
        if any(abs(p["box"][k] - q["box"][k]) > 2 for k in p["box"]):
            return False
    return True


def numbered(path, n):
    """True for the lines of n frames in order, each complete."""
    lines = [json.loads(line) for line in open(path)]
    return [line["frame"] for line in lines] == list(range(int(n))) and all(
        line["dropped"] == 0 and line["latency_ms"] >= line["image_ms"] + line["layers_ms"] and line["wait_ms"] >= 0 for line in lines)


def dropped(path, n):
    """True for one line, of a frame after n skipped ones."""
    lines = [json.loads(line) for line in open(path)]
    return [line["dropped"] for line in lines] == [int(n)]


def holds(path):
    """Resident bytes at the end match the prediction: at most 2 % and 256 KB less."""
    r = json.loads(open(path).read().splitlines()[-1])
    predicted, measured = r["predicted_resident_bytes"], r["measured_resident_bytes"]
    print(f"predicted {predicted}, measured {measured}, charge {r['predicted_charge_bytes']}, {r['frame_ms']:.2f} ms a frame", file=sys.stderr)
    return measured <= predicted <= measured * 1.02 + (256 << 10)


def drawn(before, after):
    """True if two y4m files have the same frames, with some but not many pixels changed."""
    a, b = open(before, "rb").read(), open(after, "rb").read()
    a, b = a[a.index(b"\n"):], b[b.index(b"\n"):]
    changed = sum(x != y for x, y in zip(a, b))
    return len(a) == len(b) and 0 < changed < len(a) / 4


def decoded(jpeg, y4m, n):
    """True for n frames with the JPEG's content: 4:2:0, full range, chroma the mean of 2 x 2
    pixels, within libjpeg's rounding."""
    import PIL.Image
    w, h, rgb = (image := PIL.Image.open(jpeg).convert("RGB")).width, image.height, image.tobytes()
    half, high = (w + 1) // 2, (h + 1) // 2
    header, data = open(y4m, "rb").read().split(b"\n", 1)
    frame = data[:len(data) // int(n)]
    if data != frame * int(n) or frame[:6] != b"FRAME\n" or len(frame) != 6 + w * h + 2 * half * high:
        return False
    if not all(word in header.split() for word in (b"W%d" % w, b"H%d" % h, b"C420jpeg", b"XCOLORRANGE=FULL")):
        return False
    ys, us, vs = frame[6:6 + w * h], frame[6 + w * h:6 + w * h + half * high], frame[6 + w * h + half * high:]
    for y in range(h):
        for x in range(w):
            r, g, b = rgb[3 * (y * w + x):3 * (y * w + x) + 3]
            if abs(ys[y * w + x] - (.299 * r + .587 * g + .114 * b)) > 1:
                return False
    for y in range(high):
        for x in range(half):
            four = [3 * (min(2 * y + j, h - 1) * w + min(2 * x + i, w - 1)) for j in (0, 1) for i in (0, 1)]
            r, g, b = (sum(rgb[at + k] for at in four) / 4 for k in range(3))
            luma = .299 * r + .587 * g + .114 * b
            if abs(us[y * half + x] - 128 - (b - luma) / 1.772) > 2 or abs(vs[y * half + x] - 128 - (r - luma) / 1.402) > 2:
                return False
    return True


def long_jpeg(path):
    """256 x 256 pixels of noise in more than 12 bits each, and less than 16."""
    import io
    import random
    import PIL.Image
    random.seed(1)
    image = PIL.Image.frombytes("RGB", (256, 256), random.randbytes(3 * 256 * 256))
    for quality in range(60, 100):
        image.save(file := io.BytesIO(), "JPEG", quality=quality, subsampling=0)
        if 100000 < len(file.getvalue()) < 128000:
            open(path, "wb").write(file.getvalue())
            return True
    return False


if __name__ == "__main__":
    answer = globals()[sys.argv[1]](*sys.argv[2:])
    sys.exit(0 if answer in (None, True) else 1)

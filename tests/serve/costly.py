"""Pictures of few bytes that take long to decode, for crowd.py and tests/cli/serve.sh.
As a program: costly.py FILE WIDTH HEIGHT SCANS [CHANNELS] writes a progressive JPEG, or with
SCANS 0 a PNG."""
import struct
import sys
import zlib


def segment(marker, data):
    return struct.pack(">BBH", 0xff, marker, len(data) + 2) + data


def runs_of_empty_blocks(n):
    """Entropy-coded end-of-band runs for n blocks; the code of EOBk is k in 4 bits."""
    bits = ""
    while n:
        k = min(n.bit_length() - 1, 14)
        run = min(n, (2 << k) - 1)
        bits += format(k, "04b") + (format(run - (1 << k), "0%db" % k) if k else "")
        n -= run
    bits += "1" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")


def progressive(width, height, scans, channels=1):
    """A black progressive JPEG: a scan of averages, then of empty bands, which have a few bytes
    each. All but the first refine: the decoder visits every coefficient."""
    blocks = -(-width // 8) * -(-height // 8)
    ids = range(1, channels + 1)
    out = b"\xff\xd8" + segment(0xdb, b"\0" + bytes([1]) * 64)
    out += segment(0xc2, struct.pack(">BHHB", 8, height, width, channels) + b"".join(bytes([i, 0x11, 0]) for i in ids))
    out += segment(0xc4, b"\0" + bytes([1]) + bytes(15) + b"\0")  # category 0 is the bit 0
    out += segment(0xc4, b"\x10" + bytes([0, 0, 0, 15]) + bytes(12) + bytes(16 * k for k in range(15)))
    out += segment(0xda, bytes([channels]) + b"".join(bytes([i, 0]) for i in ids) + b"\0\0\0")
    out += bytes(-(-blocks * channels // 8))
    empty = runs_of_empty_blocks(blocks)
    for i in range(scans - 1):
        out += segment(0xda, bytes([1, i % channels + 1, 0, 1, 63, 0 if i < channels else 0x10])) + empty
    return out + b"\xff\xd9"


def large_png(width, height):
    """A black grey PNG: a thousand pixels for each byte."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    packer, rows = zlib.compressobj(9), b""
    for _ in range(height):
        rows += packer.compress(bytes(width + 1))
    rows += packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) +
            chunk(b"IEND", b""))


if __name__ == "__main__":
    name, width, height, scans, *channels = sys.argv[1:]
    width, height, scans = int(width), int(height), int(scans)
    open(name, "wb").write(progressive(width, height, scans, int(*channels or [1])) if scans else
                           large_png(width, height))

"""boxes.py BOXES BOXES THRESHOLD: compares two lists of boxes, which must not be empty: labels must
be equal, edges within a pixel. A box a line: label, probability, left, top, width, height (or
right, bottom). Boxes close to the threshold may be missing in one."""
import sys

CLOSE, PIXEL = 0.002, 1


def read(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file]
    return [(" ".join(words[:-5]), *map(float, words[-5:])) for words in lines]


def missing(boxes, others, threshold):
    def same(a, b):
        return a[0] == b[0] and all(abs(p - q) <= PIXEL for p, q in zip(a[2:], b[2:]))
    return [a for a in boxes if a[1] > threshold + CLOSE and not any(same(a, b) for b in others)]


a, b, threshold = read(sys.argv[1]), read(sys.argv[2]), float(sys.argv[3])
differ = missing(a, b, threshold) + missing(b, a, threshold)
print(f"{len(a)} and {len(b)} boxes, {len(differ)} differ", *differ[:1])
sys.exit(1 if differ or not a else 0)

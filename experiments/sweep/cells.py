"""Networks, programs and limits; a Cell is one run."""

import os
import re
import shlex

from workloads import CFGS, PICTURE, read_text, split_sections

PROGRAMS = ("mafat", "mafat-packed", "darknet", "opencv", "onnxruntime")
# option of a peer: private copies of its libraries, charged to its group
COLD_LIBRARIES = "--cold-libraries"
PAGE = os.sysconf("SC_PAGE_SIZE")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Misuse(Exception):
    """The options, the files or this machine do not allow it; the message is one line."""


def tidy(text):
    """A name for the CSV: one line, single spaces."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())


def read_size(text, what):
    """Parses 10M, 10.5M, 16384K or bytes. Returns bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size = float(match.group(1)) * UNITS[match.group(2).upper()] if match else 0
    if not 1 <= size < 1 << 60:
        raise Misuse("%s expects a size such as 64M, 16384K or bytes, found '%s'" % (what, text))
    return int(size)


def read_limits(text, what="--limits"):
    """Parses a list of sizes; "none" is None. Rounded to whole pages as in the kernel, without
    duplicates."""
    limits = []
    for word in text.split(","):
        limit = None if word.strip() == "none" else read_size(word, what) // PAGE * PAGE
        if limit == 0:
            raise Misuse("%s: '%s' is less than a page" % (what, word.strip()))
        if limit not in limits:
            limits.append(limit)
    return limits


def limit_text(limit):
    """The shortest text for a limit: none, 64M, 10.5M, 16388K."""
    if limit is None:
        return "none"
    for unit in ("G", "M"):
        if limit % (UNITS[unit] // 8) == 0 and limit >= UNITS[unit]:
            return "%g%s" % (limit / UNITS[unit], unit)
    return "%dK" % (limit >> 10) if limit % 1024 == 0 else "%d" % limit


class Network:
    """cfg, weights and picture. layers: the first N only; None: all. weights None: made by
    make_weights."""

    def __init__(self, cfg, weights, image, layers=None, name=None):
        self.cfg, self.weights, self.image = cfg, weights, image
        self.name = tidy(name or os.path.splitext(os.path.basename(cfg))[0])
        self.part = layers
        for path, what in ((cfg, "cfg"), (weights, "weights"), (image, "picture")):
            if path and not os.path.isfile(path):
                raise Misuse("%s: no such file; the %s is expected there" % (path, what))
        try:
            n_layers = len(split_sections(read_text(cfg))) - 1
        except OSError as error:
            raise Misuse("%s: cannot be read as a cfg (%s)" % (cfg, error)) from None
        if n_layers < 1:
            raise Misuse("%s: expected a Darknet cfg, found no layers" % cfg)
        if layers is not None and not 1 <= layers <= n_layers:
            raise Misuse("--layers expects a number from 1 to the %d of %s, found %d" % (n_layers, os.path.basename(cfg), layers))
        self.layers = layers or n_layers   # as in rows

    def __str__(self):
        return self.name if not self.part else "%s, first %d layers" % (self.name, self.part)


def yolov2(layers=None):
    """Debian's cfg and picture, with generated weights. Raises Misuse if the package is missing."""
    cfg = os.path.join(CFGS, "yolov2.cfg")
    for path in (cfg, PICTURE):
        if not os.path.isfile(path):
            raise Misuse("%s is missing; apt-get install darknet" % path)
    return Network(cfg, None, PICTURE, layers)


class Program:
    """Parses 'WHO OPTION...' or 'LABEL: WHO OPTION...'. Without a label the words are the label."""

    def __init__(self, text):
        match = re.match(r"([^:]+):\s+(.*)", text, re.DOTALL)
        try:
            words = shlex.split(match.group(2) if match else text)
        except ValueError as error:
            raise Misuse("--program '%s': %s" % (text, error)) from None
        if not words or words[0] not in PROGRAMS:
            raise Misuse("--program expects one of %s and its options, found '%s'" % (", ".join(PROGRAMS), text))
        self.who, self.options = words[0], words[1:]
        if not self.who.startswith("mafat") and self.options not in ([], [COLD_LIBRARIES]):
            raise Misuse("--program '%s': %s takes no options but %s" % (text, self.who, COLD_LIBRARIES))
        self.label = tidy(match.group(1) if match else " ".join(words))
        self.options_text = tidy(" ".join(self.options))


def read_programs(texts):
    programs = [Program(text) for text in texts]
    labels = [program.label for program in programs]
    for label in labels:
        if labels.count(label) > 1:
            raise Misuse("two programs are called '%s'; 'LABEL: WORDS' names one" % label)
    return programs


class Cell:
    """One run. limit: bytes, or None for a group without one; repeat: 1, 2 ..."""

    def __init__(self, network, program, limit, repeat=1):
        self.network, self.program, self.limit, self.repeat = network, program, limit, repeat

    def key(self):
        """The key of a row of the CSV (rows.key())."""
        return self.network.name, self.network.layers, self.program.label, self.limit, self.repeat

    def point(self):
        """The key without the repeat."""
        return self.key()[:-1]

    def __str__(self):
        return "%s, %s, %s, run %d" % (self.network, self.program.label, limit_text(self.limit), self.repeat)


def grid(networks, programs, limits, repeats):
    """Every network by every program at every limit, `repeats` times."""
    return [Cell(network, program, limit, repeat) for repeat in range(1, repeats + 1)
            for network in networks for program in programs for limit in limits]

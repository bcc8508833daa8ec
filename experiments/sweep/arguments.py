"""Command-line options that all experiments share."""

import argparse
import os

from sweep import ROOT
from sweep.cells import Misuse


class Parser(argparse.ArgumentParser):
    """A parser that reports misuse in one line, does not accept abbreviations and prints a given
    help."""

    def __init__(self, name):
        super().__init__(prog=name, add_help=False, allow_abbrev=False)

    def error(self, message):
        raise Misuse("%s; --help lists the options" % message)


def number(kind, least, what):
    """Reads an int or a float."""
    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= 1e9:
            raise argparse.ArgumentTypeError("expects %s, found '%s'" % (what, text))
        return value
    return read


COUNT = number(int, 1, "an integer from 1")
WHOLE = number(int, 0, "an integer")
SECONDS = number(float, 0.01, "seconds")


def build_folder():
    """The build folder: the variable BUILD, or build/."""
    return os.path.abspath(os.environ.get("BUILD") or os.path.join(ROOT, "build"))

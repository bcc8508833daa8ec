#!/usr/bin/env python3
"""Writes networks of publications as ONNX files, with random weights that are the same each time.

    write_networks.py [--folder FOLDER] [--int8 | --zeros] [NETWORK...]
    write_networks.py --facts [NETWORK...]

Without names, all of them."""

import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True   # nothing but networks is written

import memory
import networks

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUANTISER = os.path.join(ROOT, "experiments", "peers", "quantize_onnx.py")
DEBIAN_PYTHON = "/usr/bin/python3"   # python3-onnx is Debian's; another python3 may come first in PATH
HEADING = ("network", "operators", "peak A", "peak B", "peak F", "multiply-adds", "weights")
INPUTS = 2   # inputs from which a twin's ranges are measured


class Parser(argparse.ArgumentParser):
    """Reports misuse in one line."""

    def error(self, message):
        self.exit(2, "write_networks.py: %s\n" % message)


class Failed(Exception):
    """Raised for what cannot be quantised; the message has the reason."""


def facts(graph):
    """Number of operators; peaks A (nothing in place), B (elementwise in place) and F (B in the
    forward order); multiply-adds, weights."""
    back, forward = memory.order_back(graph), memory.order_forward(graph)
    return (len(graph.nodes), memory.peak(graph, back), memory.peak(graph, back, True), memory.peak(graph, forward, True),
            sum(node.macs for node in graph.nodes), sum(node.weights for node in graph.nodes))


def show(names):
    rows = [HEADING] + [(name,) + tuple("%d" % fact for fact in facts(networks.build(name))) for name in names]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0])] + [text.rjust(width) for text, width in zip(row[1:], widths[1:])]))


def quantise(graph, path, folder):
    """Writes an 8-bit twin, with ranges measured on generated inputs."""
    inputs = [os.path.join(folder, "%s-%d.raw" % (graph.name, seed)) for seed in range(INPUTS)]
    try:
        for seed, name in enumerate(inputs):
            with open(name, "wb") as file:
                file.write(graph.example_input(seed))
        done = subprocess.run([DEBIAN_PYTHON, QUANTISER, "--activations", "int8", "--ends", path, path.replace(".onnx", "-int8.onnx"), *inputs],
                              capture_output=True, text=True, check=False)
    finally:
        for name in inputs:
            if os.path.exists(name):
                os.unlink(name)
    if done.returncode != 0:
        raise Failed("%s: %s" % (graph.name, (done.stderr.strip().splitlines() or ["exit status %d" % done.returncode])[-1]))


def quantiser_is_there(build):
    """Reports a missing package: what quantizing needs is heavy, and nothing else needs it."""
    found = os.path.isdir(os.path.join(build, "peers", "node_modules", "onnxruntime-node")) and subprocess.run(
        [DEBIAN_PYTHON, "-c", "import onnx"], capture_output=True, check=False).returncode == 0
    if not found:
        print("write_networks.py: no networks of 8 bits: onnxruntime or python3-onnx is missing; experiments/peers/install.sh", file=sys.stderr)
    return found


def write(names, options):
    os.makedirs(options.folder, exist_ok=True)
    has_twins = options.int8 and quantiser_is_there(options.build)
    for name in names:
        graph, path = networks.build(name), os.path.join(options.folder, name + ".onnx")
        graph.write(path, options.zeros)
        print(path, flush=True)
        if has_twins:
            quantise(graph, path, options.folder)


def read_options():
    build = os.environ.get("BUILD", os.path.join(ROOT, "build"))
    parser = Parser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--folder", default=os.path.join(build, "networks"), help="default: networks in the folder that BUILD names, build")
    parser.add_argument("--int8", action="store_true", help="beside each, NETWORK-int8.onnx (needs experiments/peers/install.sh)")
    parser.add_argument("--zeros", action="store_true", help="weights are zeros, which takes no time: to plan with")
    parser.add_argument("--facts", action="store_true", help="write nothing; show what can be counted")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(networks.NETWORKS))
    options = parser.parse_args()
    options.build = build
    for name in options.networks:
        if name not in networks.NETWORKS:
            parser.error("expected networks of the help's list, found '%s'" % name)
    if options.int8 and options.zeros:
        parser.error("expected one of --int8 and --zeros: zeros have no ranges")
    return options


def main():
    options = read_options()
    names = options.networks or list(networks.NETWORKS)
    if options.facts:
        show(names)
        return 0
    try:
        write(names, options)
    except (Failed, OSError) as error:
        print("write_networks.py: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Sweeps: networks x programs x memory limits, each run in a memory group of its own, into a CSV; and the figures.

    cells.py      what is run: Network, Program, Cell, grid()
    files.py      private copies of what runs and of what it reads
    place.py      the work folder, the swap file, and who removes them
    rows.py       the CSV: COLUMNS, read_rows(), points()
    runs.py       run(cells, csv, options): files, swap, one memory_limit a cell, progress, resuming
    plot.py       figures by gnuplot; figure.py: a sweep's own
    arguments.py  what all command lines have in common
    __main__.py   the command line, experiments/sweep.sh

Other experiments put the folder experiments/ into sys.path, and then `from sweep import cells, plot, rows, runs`.
"""

import os
import sys

sys.dont_write_bytecode = True   # nothing but results is written into the tree

EXPERIMENTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(EXPERIMENTS)
sys.path.append(os.path.join(EXPERIMENTS, "peers"))   # programs, workloads, machine

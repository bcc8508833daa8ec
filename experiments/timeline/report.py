"""Writes README.md of a timeline's folder from its CSVs, and a summary."""

from pages import wrapped
from sweep.cells import limit_text
from timeline import figure
from timeline.figure import duration, named, size


def known(value, text):
    return "" if value is None else text(value)


def line(trace):
    row = trace.row
    return [named(trace), "`%s`" % row["plan"] if row["plan"] else "", figure.outcome(trace), known(row["load_ms"], duration),
            size(trace.most("usage_bytes")), size(trace.most("swap_bytes")), known(row["swap_in_bytes"], size),
            known(row["system_swap_out_bytes"], size), known(row["major_faults"], lambda n: "%d" % n)]


def table(traces):
    heads = ["program", "plan", "latency", "opening the network", "peak memory", "peak in swap", "read back", "swapped out by the whole machine", "major faults"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 2)]
    return "\n".join(lines + ["| " + " | ".join(line(trace)) + " |" for trace in traces]) + "\n"


def slowest_layers(trace):
    """The slowest layers of programs that run one layer after the other."""
    turns = sorted(((end - start, low) for low, high, cut, start, end in trace.groups() if not cut), reverse=True)[:3]
    return "The slowest layers of %s are %s." % (named(trace), ", ".join("%d (%s)" % (layer, duration(ms)) for ms, layer in turns)) if len(turns) == 3 else ""


HOW = """## How to read it

- Each panel has its own time axis, from the start of the process; memory and swap have the same axes in all panels. **Memory** is the charge of the group: anonymous memory, page cache and the kernel's share. **In swap** is the group's memory in swap.
- The lower part shows **which layer runs**; -1 is decoding the picture. Darknet runs a layer at a time. With tiles and rows, layers alternate, and layers computed in another layer's step (a convolution before its maxpool) are shown with it. In the upper part, layers or groups of the plan are shaded alternately.
- Before the first layer the program opens the network; Darknet then reads all weights. Its first layers touch new memory, and the kernel swaps other pages out.

Every program has a fresh control group and one CPU, its files are not in the page cache, and swap is available: the protocol of [experiments/sweep](%(sweep)s). The group is sampled from outside (`build/memory_limit --timeline`), by default every millisecond for mafat, every 10 for others; `samples.csv` has at most 1000 samples of a program. MB are 1048576 bytes. The programs write the marks (`run_inference --marks`, `peer_darknet --marks`) on the same clock.

"""


def markdown(traces):
    row = traces[0].row
    parts = ["# Memory and swap over one inference\n",
             "This page shows the memory and swap of each program over the time of one inference. To repeat it, or for another network:\n",
             "    experiments/timeline.sh --limit %s                   # --help: other limits, networks, programs\n"
             "    experiments/timeline.sh --draw --folder FOLDER       # figure and this file again, from the CSVs\n" % limit_text(row["limit_bytes"]), "![Memory and swap over time](timeline.png)\n",
             "%s, %d layers, in %s. Written by `experiments/timeline.sh` from the CSVs beside it.\n" % (
                 row["network"], row["layers"], "a memory limit of %s" % limit_text(row["limit_bytes"]) if row["limit_bytes"] else "a group without a limit"),
             table(traces)]
    parts += [text + "\n" for text in map(slowest_layers, traces) if text]
    parts.append(HOW % {"sweep": "../sweep/README.md"} +
                 "Machine: %s; Linux %s; %s; swap: %s; commit %s, %s." % (row["machine"], row["kernel"], row["cgroup"], row["swap"], row["commit"], row["date"][:10]) + "\n")
    return wrapped("\n".join(parts))


def summary(traces):
    return "".join(figure.title(trace) + "\n" for trace in traces)

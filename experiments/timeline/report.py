"""README.md of a timeline's folder, from its CSVs alone; and the same in few words."""

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
    heads = ["program", "plan", "latency", "opening the network", "memory, most", "in swap, most", "read back", "swapped out by the whole machine", "major faults"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 2)]
    return "\n".join(lines + ["| " + " | ".join(line(trace)) + " |" for trace in traces]) + "\n"


def slowest_layers(trace):
    """Where the time went, for programs that run a layer at a time."""
    turns = sorted(((end - start, low) for low, high, cut, start, end in trace.groups() if not cut), reverse=True)[:3]
    return "%s takes longest for layers %s." % (named(trace), ", ".join("%d (%s)" % (layer, duration(ms)) for ms, layer in turns)) if len(turns) == 3 else ""


HOW = """## How to read it

- Each panel has its own time, from the start of the process; memory and swap have the same axes in all. **Memory** is what the group is charged: anonymous memory, page
  cache and the kernel's share. **In swap** is what the group has there.
- Below, **which layer runs**. -1 is the picture: decoding it. Darknet runs a layer at a time. In tiles and rows layers take turns, and layers that are computed inside
  another one's step (a convolution before its maxpool) stand together with it. Above, layers or the groups of the plan are shaded in turn.
- Before the first layer the program opens the network: Darknet reads all weights then. Its first layers touch memory that it had never used, and the kernel makes room.

Every program has a fresh memory group and one CPU, its files are in no page cache, and swap is at hand: the protocol is that of [experiments/sweep](%(sweep)s).
The group is sampled from outside (`build/memory_limit --timeline`), if not told otherwise every millisecond for ours, every 10 for others; `samples.csv` has 1000 of a
program at most. MB are 1048576 bytes. Marks are
the programs' own (`run_inference --marks`, `peer_darknet --marks`), on the same clock.

    experiments/timeline.sh --limit %(limit)s                   # --help: other limits, networks, programs
    experiments/timeline.sh --draw --folder FOLDER       # figure and this file again, from the CSVs

"""


def markdown(traces):
    row = traces[0].row
    parts = ["# Memory and swap over one inference\n", "![Memory and swap over time](timeline.png)\n",
             "%s, %d layers, in %s. Written by `experiments/timeline.sh` from the CSVs beside it.\n" % (
                 row["network"], row["layers"], "a memory limit of %s" % limit_text(row["limit_bytes"]) if row["limit_bytes"] else "a group without a limit"),
             table(traces)]
    parts += [text + "\n" for text in map(slowest_layers, traces) if text]
    parts.append(HOW % {"sweep": "../sweep/README.md", "limit": limit_text(row["limit_bytes"])} +
                 "Machine: %s; Linux %s; %s; swap: %s; commit %s, %s." % (row["machine"], row["kernel"], row["cgroup"], row["swap"], row["commit"], row["date"][:10]) + "\n")
    return "\n".join(parts)


def summary(traces):
    return "".join(figure.title(trace) + "\n" for trace in traces)

"""Writes README.md and the figure from this folder's CSV files."""

import csv
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from pages import wrapped   # noqa: E402

FAST = "65536"
KERNELS = ("dw_pw_rows", "pw_dw_channels", "pw_dw_rows", "bottleneck_rows")


def read(name):
    path = os.path.join(HERE, name)
    if not os.path.exists(path):
        return []
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def thousands(value):
    return "{:,}".format(int(value))


def lines(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def fused(row):
    parts = ["%s x %s" % (row[k], k.replace("_", " ")) for k in KERNELS if int(row[k])]
    return ", ".join(parts) or "none"


def of(choices, network, fast, choice):
    return next(r for r in choices if r["network"] == network and r["fast"] == fast and r["choice"] == choice)


def table_2(published, choices):
    rows = []
    for p in published:
        for choice, amt in (("baseline", "base_amt"), ("latency", "latency_amt"), ("transfers", "transfers_amt")):
            r = of(choices, p["network"], FAST, choice)
            copied = "yes" if r["copied"] == r["activations"] and r["copied_weights"] == r["weights"] else "no"
            rows.append([p["name"] if choice == "baseline" else "", choice, thousands(p[amt]), thousands(r["activations"]),
                         thousands(of(choices, p["network"], "36700", choice)["activations"]), thousands(r["again"]), thousands(r["weights"]),
                         copied, fused(r), "%.3f" % float(r["predicted_ms"])])
    return lines(["network", "choice", "published", "at 64 KB", "at 36,700 B", "of them again", "weights", "copied as many", "fused", "predicted ms"], rows)


def times(published, choices):
    rows = []
    for p in published:
        own = {c: of(choices, p["network"], FAST, c) for c in ("baseline", "latency", "transfers")}
        apart = float(own["baseline"]["apart_ms"])
        columns = [own["baseline"]["today_ms"], own["latency"]["ms"], own["transfers"]["ms"], own["baseline"]["rows4_ms"]]
        rows.append([p["name"], p["base_ms"], p["latency_ms"], p["transfers_ms"], "%.3f" % apart] +
                    ["%.3f, %s" % (float(ms), percent(float(ms) / apart)) for ms in columns])
    return lines(["network", "published baseline", "lowest latency", "lowest transfers", "here: nothing fused", "plan `1x1`", "`objective=latency`", "`objective=transfers`", "plan `rows4`"], rows)


def bounds(published, choices):
    rows = []
    for p in published:
        r = of(choices, p["network"], FAST, "transfers")
        rows.append([p["name"], thousands(p["one_pass"]), thousands(p["best_pairs"]), thousands(r["activations"]),
                     "%+.1f %%" % (100 * (int(r["activations"]) / int(p["best_pairs"]) - 1))])
    return lines(["network", "one pass", "best pairs, no limit", "least at 64 KB", "relative to best pairs"], rows)


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def shape_rows(shapes):
    """For each order and side: number of fused shapes, the way, the extent (FD), and the saving."""
    cases = {}
    for r in shapes:
        key = (r["order"], r["side"], r["stride"], r["c"], r["k"])
        cases.setdefault(key, {"baseline": [], "transfers": []})[r["choice"]].append(r)
    groups = {}
    for key, case in cases.items():
        moved = [sum(int(r["input"]) + int(r["output"]) for r in case[c]) for c in ("baseline", "transfers")]
        unit = case["transfers"][0]
        groups.setdefault(key[:2], []).append((unit["how"], int(unit["extent"]), moved[1] / moved[0] - 1))
    rows = []
    for key, found in groups.items():
        hows = sorted({h for h, _, _ in found})
        rows.append([key[0], key[1], str(len(found)), ", ".join("%d x %s" % (sum(h == how for h, _, _ in found), how) for how in hows),
                     "%d to %d" % (min(e for h, e, _ in found if h != "alone"), max(e for h, e, _ in found if h != "alone")) if any(h != "alone" for h, _, _ in found) else "",
                     "%+.1f %%" % (100 * median([s for _, _, s in found]))])
    return lines(["order", "side", "shapes", "chosen", "FD", "median activations relative to unfused"], rows)


PUBLISHED = {("dw-pw rows", "16"): "+5.13 %", ("dw-pw rows", "4"): "+11 %", ("pw-dw rows", "20"): "+7.15 %", ("pw-dw channels", "8"): "+19.27 %"}


def cases_of(kernels):
    """{(type, order, side): [{(how, extent): ms}]}, a dictionary for each shape."""
    shapes = {}
    for r in kernels:
        key = (r["type"], r["order"], r["side"], r["stride"], r["c"], r["k"])
        shapes.setdefault(key, {})[r["how"], int(r["extent"])] = float(r["ms"])
    groups = {}
    for key, case in shapes.items():
        groups.setdefault(key[:3], []).append(case)
    return groups


def percent(ratio):
    return "%+.1f %%" % (100 * (ratio - 1))


def best_of(case, how=None):
    """(how, extent) of the fastest fused plan."""
    return min((k for k in case if k[0] != "apart" and how in (None, k[0])), key=lambda k: case[k])


def kernel_summary(kernels):
    rows = []
    for (kind, order, side), cases in cases_of(kernels).items():
        together = [best_of(case) for case in cases]
        ratios = [case[k] / case["apart", 0] for case, k in zip(cases, together)]
        hows = sorted({how for how, _ in together})
        rows.append([kind, order, side, "%d of %d" % (sum(r < 0.99 for r in ratios), len(cases)), percent(median(ratios)), percent(min(ratios)), percent(max(ratios)),
                     ", ".join("%d x %s" % (sum(how == h for h, _ in together), how) for how in hows),
                     "%d" % median(sorted(extent for _, extent in together))])
    return lines(["type", "order", "side", "fused is faster", "median", "best", "worst", "fastest variant", "median FD"], rows)


def kernel_extents(kernels):
    """The median of each way and extent over the shapes that have it, relative to separate layers."""
    found = {}
    for (kind, _, _), cases in cases_of(kernels).items():
        for case in cases:
            for (how, extent), ms in case.items():
                if how != "apart":
                    found.setdefault((how, extent), {}).setdefault(kind, []).append(ms / case["apart", 0])
    rows = []
    for (how, extent), ratios in sorted(found.items()):
        if len(ratios["int8"]) < 6:
            continue
        rows.append([how, str(extent), str(len(ratios["int8"]))] + [percent(median(ratios[kind])) for kind in ("int8", "float")] + [PUBLISHED.get((how, str(extent)), "")])
    return lines(["variant", "FD", "shapes", "int8", "float", "published, int8 on GAP8"], rows)


def cache(cached):
    return lines(["network", "plan", "D1 fills, bytes", "LL fills, bytes"],
                 [[r["network"], "`%s`" % r["plan"], thousands(r["d1_bytes"]), thousands(r["ll_bytes"])] for r in cached])


def figure(published, choices):
    """Bars: our activations and the published baseline's."""
    width, row, left, scale = 900, 60, 110, 640
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">' % (width, 40 + row * len(published)),
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="10" y="20">Activations moved at 64 KB, relative to the published baseline: grey published, blue here; dark: lowest transfers</text>']
    for i, p in enumerate(published):
        y, base = 34 + row * i, int(p["base_amt"])
        values = [(base, "#cccccc"), (int(of(choices, p["network"], FAST, "baseline")["activations"]), "#9ecae1"),
                  (int(p["transfers_amt"]), "#888888"), (int(of(choices, p["network"], FAST, "transfers")["activations"]), "#08519c")]
        out.append('<text x="10" y="%d">%s</text>' % (y + 28, p["name"]))
        for k, (value, color) in enumerate(values):
            out.append('<rect x="%d" y="%d" width="%.1f" height="10" fill="%s"/>' % (left, y + 12 * k, scale * value / base, color))
            out.append('<text x="%.1f" y="%d" font-size="10">%s</text>' % (left + 4 + scale * value / base, y + 9 + 12 * k, thousands(value)))
    with open(os.path.join(HERE, "transfers.svg"), "w") as f:
        f.write("\n".join(out + ["</svg>", ""]))


def write():
    published, choices, shapes, cached, kernels = (read(n) for n in ("published.csv", "choices.csv", "shapes.csv", "cachegrind.csv", "kernels.csv"))
    figure(published, choices)
    text = ["# Depthwise and 1x1 layers together: bytes", "",
            "This page compares fused depthwise and 1x1 layers with Daghero et al. (2024): bytes moved between a fast memory and the rest, and milliseconds. To measure it again:", "",
            "    make networks NETWORKS='%s'" % " ".join(p["network"] for p in published), "    make separable             # --report: only this page, from the CSV files here", "",
            "The published rows are of another machine, a GAP8 at 100 MHz. Networks are the 8-bit ones of `make networks`. The last layer's sums count 4 bytes each, as in the publication.", "",
            "## Transfers", "",
            "Activation bytes moved between a fast memory and the rest, both ways; weights are separate. Both choices are plans that run: `run_inference --search separable:objective=`.", "",
            "- `latency`: the fastest by the latency model. If the fastest FD does not fit the memory, the bytes are those of the best that fits.",
            "- `transfers`: the least bytes.",
            "- `copied as many`: [copying.c](copying.c) moves the same tiles through an arena of that size and counts, independently of the formula.", ""]
    text += table_2(published, choices)
    text += ["![activations moved](transfers.svg)", "",
             "The published tiles leave space for buffers of a library that copies columns. Kernels here take pointers to rows, so tiles may be larger; the column of 36,700 bytes shows the memory without these buffers.", "",
             "A sequence 1x1, depthwise, 1x1 is computed as one unit of three layers, so it may move less than the best pairs:", ""]
    text += bounds(published, choices)
    text += ["## Milliseconds", "",
             "Published: GAP8. Here: int8, one thread, least of alternating runs of all plans.", "",
             "- *nothing fused*: whole maps, shortcuts as steps of their own.",
             "- `1x1`: depthwise layers inside 1x1s, with the default number of rows.",
             "- `objective=`: the plans of both objectives, found at 64 KB.",
             "- `rows4`: pairs and bottlenecks by rows through the whole network.", ""]
    text += times(published, choices)
    text += ["## The 36 shapes, at 64 KB", "", "int8; the choice with the least bytes, weights included.", ""]
    text += shape_rows(shapes)
    text += ["## The 36 shapes, milliseconds", "",
             "Both layers, int8 and float, one thread: each FD relative to the same two layers unfused (`1x1:dw0`), least of alternating runs; kernels.csv has all. `dw-pw rows` is `1x1:dwN`, `pw-dw rows` `rowsN`, `pw-dw channels` `split(cN)`. The fastest variant and FD of each shape:", ""]
    text += kernel_summary(kernels)
    text += ["Medians by FD, over the shapes with so many rows (FD of `pw-dw rows`: rows of the 1x1 in a window; of `channels`: channels):", ""]
    text += kernel_extents(kernels)
    if cached:
        text += ["## Caches", "",
                 "Cache lines filled in one run by Cachegrind (D1 64 KB, last level 512 KB; AVX2 kernels), times 64 bytes: weights, activations, scratch; no write-backs.", ""]
        text += cache(cached)
    text += ["units.csv lists each unit.", ""]
    with open(os.path.join(HERE, "README.md"), "w") as f:
        f.write(wrapped("\n".join(text)))

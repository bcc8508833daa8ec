"""README.md and the figure, of the CSV files beside this one."""

import csv
import os

HERE = os.path.dirname(os.path.abspath(__file__))
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
                         copied, fused(r), r["predicted_ms"] and "%.3f" % float(r["predicted_ms"]) or "not yet"])
    return lines(["network", "choice", "published", "at 64 KB", "at 36,700 B", "of them again", "weights", "copied as many", "fused", "predicted ms"], rows)


def times(published, choices):
    rows = []
    for p in published:
        r = of(choices, p["network"], FAST, "baseline")
        rows.append([p["name"], p["base_ms"], p["latency_ms"], p["transfers_ms"], "%.3f" % float(r["apart_ms"]), "%.3f" % float(r["today_ms"]),
                     "%+.1f %%" % (100 * (float(r["today_ms"]) / float(r["apart_ms"]) - 1)), "%.3f" % float(r["rows4_ms"])])
    return lines(["network", "published baseline", "lowest latency", "lowest transfers", "here: nothing inside another", "here: depthwise inside 1x1", "", "here: plan `rows4`"], rows)


def bounds(published, choices):
    rows = []
    for p in published:
        r = of(choices, p["network"], FAST, "transfers")
        rows.append([p["name"], thousands(p["one_pass"]), thousands(p["best_pairs"]), thousands(r["activations"]),
                     "%+.1f %%" % (100 * (int(r["activations"]) / int(p["best_pairs"]) - 1))])
    return lines(["network", "one pass", "best pairs, no limit", "least at 64 KB", "beside best pairs"], rows)


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def shape_rows(shapes):
    """Of each order, side: how many of the shapes are fused, how, at which FD, and what it saves."""
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
    return lines(["order", "side", "shapes", "chosen", "FD", "median activations beside unfused"], rows)


def cache(cached):
    return lines(["network", "plan", "D1 fills, bytes", "LL fills, bytes"],
                 [[r["network"], "`%s`" % r["plan"], thousands(r["d1_bytes"]), thousands(r["ll_bytes"])] for r in cached])


def figure(published, choices):
    """Bars: activations beside the published baseline's."""
    width, row, left, scale = 900, 60, 110, 640
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">' % (width, 40 + row * len(published)),
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="10" y="20">Activations moved at 64 KB, beside the published baseline: grey published, blue here; dark: lowest transfers</text>']
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
    published, choices, shapes, cached = (read(n) for n in ("published.csv", "choices.csv", "shapes.csv", "cachegrind.csv"))
    figure(published, choices)
    text = ["# Depthwise and 1x1 layers together: bytes", "",
            "Written by `make separable` ([run.py](run.py), [report.py](report.py)) from the CSV files here: `--report` writes it anew. The published rows are those of",
            "Daghero et al. (2024), of another machine: GAP8, 100 MHz. Networks are `make networks`' of 8 bits; the last layer's sums count 4 bytes each, as there.", "",
            "    make networks NETWORKS='%s'" % " ".join(p["network"] for p in published), "    make separable", "",
            "## Transfers", "",
            "Activation bytes moved between a fast memory and the rest, both ways; weights are apart. `latency`: the fastest by the latency model, of what can be executed",
            "today: layers by themselves, or depthwise ones inside their 1x1. `transfers`: the least bytes. Of the other fusions the latency model has no price for one unit: `not yet`.", ""]
    text += table_2(published, choices)
    text += ["![activations moved](transfers.svg)", "",
             "`copied as many`: [copying.c](copying.c) takes the same tiles through an arena of that size and counts; its loops know nothing of the formula.",
             "The published tiles leave room for buffers of a library that copies columns; here kernels take pointers to rows, so tiles may be larger: hence 36,700 bytes, too.", "",
             "Three layers are computed together where they are 1x1, depthwise, 1x1, which is no pair, so less may be moved than by the best of pairs:", ""]
    text += bounds(published, choices)
    text += ["## Milliseconds", "",
             "Published: GAP8. Here: least of interleaved runs of plan `1x1`, int8, one thread; and of plan `rows4`, in which pairs and bottlenecks go by rows through the whole network.", ""]
    text += times(published, choices)
    text += ["## The 36 shapes, at 64 KB", "", "int8; the choice of least bytes, with weights.", ""]
    text += shape_rows(shapes)
    if cached:
        text += ["## Caches", "",
                 "Lines that Cachegrind fills (D1 64 KB, last level 512 KB; AVX2 kernels) in one run, times 64 bytes: weights, activations, scratch; no write-backs.", ""]
        text += cache(cached)
    text += ["What each unit is: units.csv.", ""]
    with open(os.path.join(HERE, "README.md"), "w") as f:
        f.write("\n".join(text))

"""A soak's CSV rows and the summary table."""

FAULTS_LATER = 10     # major faults after the first picture, at most
TIME_RATIO = 1.25     # limit relative to the time without a limit

COLUMNS = ("run", "case", "plan", "input", "state", "starter", "lock", "swap", "neighbour", "limit_bytes", "predicted_charge_bytes",
           "peak_bytes", "limit_hits", "kernel_bytes", "rss_bytes", "cache_bytes", "locked_bytes", "swapped_pages", "faults_first",
           "faults_later", "latency_ms", "free_ms", "ratio", "disturbed", "disturbed_pages", "outcome", "message")
BY = ("state", "starter", "input", "lock", "swap", "neighbour", "plan", "case")


def problems(row, sample=False):
    """Problems of a run; the first ones decide, the others are figures."""
    found = []
    if row["outcome"] != "done":
        found.append("%s%s" % (row["outcome"], ": " + row["message"] if row["message"] else ""))
    if row["swapped_pages"]:
        found.append("%d pages swapped" % row["swapped_pages"])
    # in a sample only a figure, like times: one cold run in 70 has up to 15
    if not sample and (row["faults_later"] or 0) > FAULTS_LATER:
        found.append("%d major faults after the first picture" % row["faults_later"])
    return found


def slow(row):
    return ["%.2f times the time without a limit" % row["ratio"]] if (row["ratio"] or 0) > TIME_RATIO else []


def sums(rows):
    return {"runs": len(rows), "killed": sum(r["outcome"] == "killed" for r in rows),
            "failed": sum(r["outcome"] not in ("done", "killed") for r in rows),
            "swapped": sum(bool(r["swapped_pages"]) for r in rows), "pages": sum(r["swapped_pages"] for r in rows),
            "disturbed": sum(r["disturbed"] for r in rows), "locked": sum(bool(r["locked_bytes"]) for r in rows),
            "most faults": max((r["faults_later"] for r in rows if r["faults_later"] is not None), default=None),
            "worst ratio": max((r["ratio"] for r in rows if r["ratio"]), default=None)}


def shown(value):
    return "-" if value is None else "%.2f" % value if isinstance(value, float) else str(value)


def table(rows):
    """Lines: for all runs, and for each value of each factor."""
    lines = [["", *sums(rows)], ["all", *map(shown, sums(rows).values())]]
    for factor in BY:
        lines.append([factor])
        for value in sorted({row[factor] for row in rows}):
            lines.append(["  " + value, *map(shown, sums([r for r in rows if r[factor] == value]).values())])
    width = max(len(line[0]) for line in lines)
    return ["%-*s" % (width, line[0]) + "".join("%12s" % cell for cell in line[1:]) for line in lines]

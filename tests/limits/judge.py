"""Reads what limit.sh left of its runs, and says what they come to.

judge.py run JSON FOLDER                                        one process
judge.py verdict JSON RUNS N TIME ONLY_LIMITED BAR SWAP         all of them; exit status 0: it passes
JSON 1: objects instead of text."""

import json
import os
import re
import statistics
import sys

FAULTS_LATER = 10          # limit of major faults in a later inference
TIME_RATIO = 1.25          # limit relative to the same run without a memory limit
NO_BITS = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"   # sha256 of nothing


def text(folder, name):
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def swap_of(report):
    """The largest proven swap of the group in bytes: seen, or swapped out and back in between two
    samples."""
    seen = [report[k] or 0 for k in ("swap_peak_bytes", "swap_in_bytes", "swap_out_bytes")]
    return max(seen + [(report["refaults_anon"] or 0) * os.sysconf("SC_PAGESIZE")])


def outcome_of(report):
    if report["oom_kills"] or report["outcome"] == "oom":
        return "killed: out of memory"
    if report["outcome"] == "exit":
        return "exit %d" % report["exit_status"]
    return report["outcome"] + (" %d" % report["signal"] if report["outcome"] == "signal" else "")


def read_run(folder):
    what = dict(line.split(" ", 1) for line in text(folder, "what").splitlines())
    report = json.loads(text(folder, "report"))
    page = os.sysconf("SC_PAGESIZE")
    run = {"kind": what["kind"], "limit_bytes": report["limit_bytes"], "outcome": outcome_of(report), "message": None,
           "oom_kills": report["oom_kills"] or 0, "elapsed_ms": report["wall_ms"], "swap_seen_bytes": report["swap_peak_bytes"],
           "pswpin": (report["system_swap_in_bytes"] or 0) // page, "pswpout": (report["system_swap_out_bytes"] or 0) // page,
           "swap_bytes": swap_of(report), "process_major_faults": report["major_faults"]}
    for key in ("peak_bytes", "limit_hits", "vm_hwm_bytes", "anon_bytes", "cache_bytes", "refaults_file", "refaults_anon", "read_bytes"):
        run[key] = report[key]
    answers = []
    for line in text(folder, "out").splitlines():
        try:
            answers.append(json.loads(line))
        except ValueError:
            pass
    good = [a for a in answers if "latency_ms" in a]
    run["plan"] = good[0]["plan"] if good else None
    run["algorithm"] = good[0]["algorithm"] if good else None
    run["cpu"] = good[0].get("cpu") if good else None
    run["latencies_ms"] = [a["latency_ms"] for a in good]
    run["latency_ms"] = statistics.median(run["latencies_ms"]) if good else None
    run["load_ms"] = good[0].get("load_ms") if good else None
    run["major_faults"] = [a["major_faults"] for a in good]
    run["predicted_charge_bytes"] = good[0].get("predicted_charge_bytes") if good else None
    run["weights_read_bytes"] = good[-1].get("weights_read_bytes") if good else None
    answer = [{k: a[k] for k in ("detections", "classes") if k in a} for a in good]
    run["answers_agree"] = all(a == answer[0] for a in answer)
    run["answer"] = answer[0] if answer else None
    digest = text(folder, "bits").split()
    run["bits"] = digest[0] if digest and digest[0] != NO_BITS else None
    if run["outcome"] == "exit 0" and len(good) == int(what["repeat"]):
        run["outcome"] = "done"
    elif run["outcome"] == "exit 3":
        run["outcome"] = "does not fit"
    if run["outcome"] != "done":
        lines = [line for line in text(folder, "err").splitlines() if line.strip()]
        run["message"] = lines[-1] if lines else None
    return run


def mebibytes(value):
    return "-" if value is None else "%.2f" % (value / 1048576)


def describe(run):
    parts = ["%-14s" % run["kind"], run["outcome"]]
    if run["latencies_ms"]:
        parts.append("%.1f ms (first %.1f)" % (run["latency_ms"], run["latencies_ms"][0]))
    parts.append("peak %s MiB" % mebibytes(run["peak_bytes"]))
    if run["vm_hwm_bytes"]:
        parts.append("resident %s" % mebibytes(run["vm_hwm_bytes"]))
    if run["anon_bytes"] is not None:
        parts.append("at exit anon %s cache %s" % (mebibytes(run["anon_bytes"]), mebibytes(run["cache_bytes"])))
    parts.append("swap %s" % mebibytes(run["swap_bytes"]))
    parts.append("pswpin/out %d/%d" % (run["pswpin"], run["pswpout"]))
    parts.append("major faults %s" % (",".join(map(str, run["major_faults"])) or run["process_major_faults"]))
    parts.append("limit hit %s" % run["limit_hits"])
    parts.append("read %s" % mebibytes(run["read_bytes"]))
    if run["plan"]:
        parts.append("plan %s %s" % (run["plan"], run["algorithm"]))
    if run["message"]:
        parts.append(run["message"])
    return "; ".join(parts)


def faults_later(run):
    return max(run["major_faults"][1:], default=0)


def shown(run):
    """The run without long fields."""
    return {k: v for k, v in run.items() if k not in ("answer", "answers_agree")}


def complaints(run, unlimited, time_decides):
    """Reasons why this run inside the limit fails."""
    if run["outcome"] != "done":
        return [run["outcome"] + (": " + run["message"] if run["message"] else "")]
    found = []
    if run["swap_bytes"]:
        found.append("swapped %s MiB" % mebibytes(run["swap_bytes"]))
    if faults_later(run) > FAULTS_LATER:
        found.append("%d major faults in an inference after the first" % faults_later(run))
    if not run["answers_agree"]:
        found.append("its inferences differ in what they find")
    good = [u for u in unlimited if u["outcome"] == "done"]
    if good and (run["plan"], run["algorithm"]) != (good[0]["plan"], good[0]["algorithm"]):
        found.append("without a limit the plan is %s" % good[0]["plan"])
    if good and run["answer"] != good[0]["answer"]:
        found.append("finds something else than without a limit")
    if good and time_decides:
        ratio = run["latency_ms"] / statistics.median(u["latency_ms"] for u in good)
        if ratio > TIME_RATIO:
            found.append("%.2f times the time without a limit" % ratio)
    return found


def compare_bits(by_kind):
    """Direct convolution gives one result for every plan: rule 2 of doc/architecture.md."""
    found = []
    for ours in by_kind.get("limited-bits", []):
        if ours["outcome"] != "done" or ours["swap_bytes"]:
            found += complaints(ours, [], False)
        for kind, name in (("unlimited-bits", "without a limit"), ("against-bits", "that it is measured against")):
            for other in by_kind.get(kind, []):
                if other["outcome"] != "done":
                    found.append("the run %s: %s" % (name, other["message"] or other["outcome"]))
                elif kind == "against-bits" and not ours["algorithm"] == other["algorithm"] == "direct":
                    continue
                elif ours["outcome"] == "done" and (not ours["bits"] or ours["bits"] != other["bits"]):
                    found.append("other bits than the run " + name)
    return found


def once(reasons):
    """Prints reasons that differ only in their numbers once."""
    return list({re.sub(r"[0-9.,]+", "#", reason): reason for reason in reversed(reasons)}.values())[::-1]


def median_of(runs):
    found = [r["latency_ms"] for r in runs if r["outcome"] == "done"]
    return statistics.median(found) if found else None


def ratio(above, below):
    return above / below if above and below else None


def verdict(folder, n_wanted, time, only_limited, bar, swap_note):
    runs = [read_run(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]
    by_kind = {}
    for run in runs:
        by_kind.setdefault(run["kind"], []).append(run)
    limited, unlimited, against = (by_kind.get(kind, []) for kind in ("limited", "unlimited", "against"))
    reasons, passed = [], 0
    for run in limited:
        found = complaints(run, unlimited, time == "fail")
        passed += not found
        reasons += found
    for name, others in (("without a limit", unlimited), ("against", against)):
        reasons += ["the run %s: %s" % (name, o["message"] or o["outcome"]) for o in others if o["outcome"] != "done"][:1]
    if not only_limited and not unlimited and passed:
        reasons.append("nothing to compare with")
    last = limited[-1]
    result = {"verdict": "fail", "passed": passed, "of": n_wanted, "reasons": reasons, "limit_bytes": last["limit_bytes"],
              "outcome": last["outcome"], "plan": last["plan"], "algorithm": last["algorithm"], "cpu": last["cpu"]}
    result["latency_ms"] = median_of(limited)
    result["first_ms"] = statistics.median(r["latencies_ms"][0] for r in limited if r["latencies_ms"]) if result["latency_ms"] else None
    result["unlimited_ms"] = median_of(unlimited)
    result["ratio"] = ratio(result["latency_ms"], result["unlimited_ms"])
    result["against_ms"] = median_of(against)
    result["against_ratio"] = ratio(result["latency_ms"], result["against_ms"])
    result["bar"] = bar or None
    for key in ("swap_bytes", "peak_bytes", "anon_bytes", "cache_bytes", "vm_hwm_bytes", "read_bytes", "limit_hits", "oom_kills"):
        result[key] = max((r[key] for r in limited if r[key] is not None), default=None)
    for key in ("predicted_charge_bytes", "weights_read_bytes"):
        result[key] = last[key]
    result["unlimited_peak_bytes"] = max((r["peak_bytes"] for r in unlimited if r["peak_bytes"]), default=None)
    result["faults_first"] = max((r["major_faults"][0] for r in limited if r["major_faults"]), default=None)
    result["faults_later"] = max((faults_later(r) for r in limited if r["major_faults"]), default=None)
    result["swap"] = swap_note
    bits = compare_bits(by_kind)
    reasons += bits
    result["same_bits"] = not any(b.startswith("other bits") for b in bits) if "limited-bits" in by_kind else None
    if bar and time == "fail" and result["against_ratio"] and result["against_ratio"] > bar:
        reasons.append("%.2f times the time of the run that it is measured against; the bar is %.2f" % (result["against_ratio"], bar))
    if passed == n_wanted and not reasons:
        result["verdict"] = "pass"
    result["reasons"] = once(reasons)
    return result


def tell(result):
    line = "%s: %d of %d" % (result["verdict"], result["passed"], result["of"])
    if result["latency_ms"]:
        line += "; %.1f ms" % result["latency_ms"]
    if result["ratio"]:
        line += ", %.2f times the %.1f ms without a limit" % (result["ratio"], result["unlimited_ms"])
    if result["against_ratio"]:
        line += ", %.2f times the %.1f ms of the other run" % (result["against_ratio"], result["against_ms"])
        line += " (bar %.2f)" % result["bar"] if result["bar"] else ""
    return "\n".join([line] + ["  " + reason for reason in result["reasons"]])


def main():
    as_json = sys.argv[2] == "1"
    if sys.argv[1] == "run":
        run = read_run(sys.argv[3])
        print(json.dumps(shown(run)) if as_json else describe(run), flush=True)
        return 0
    folder, n_wanted, time, only_limited, bar, swap_note = sys.argv[3:9]
    result = verdict(folder, int(n_wanted), time, only_limited == "1", float(bar), swap_note)
    print(json.dumps(result) if as_json else tell(result))
    return 0 if result["verdict"] == "pass" else 1


if __name__ == "__main__":
    sys.exit(main())

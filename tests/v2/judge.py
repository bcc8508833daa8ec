#!/usr/bin/env python3
"""Checks the results of inside.sh: reports of memory_limit and outputs of run_inference.

usage: judge.py BUILD PICTURE RESULTS"""
import json
import subprocess
import sys

MIB = 1 << 20
SLACK = 64 << 10  # the kernel allows a few pages more while it kills

# Conditions on the report of this name, for each layout.
REPORTS = {
    "unlimited": ["r['outcome'] == 'exit'", "r['limit_bytes'] is None", "r['anon_peak_bytes'] > 0 or r['peak_bytes'] > 20 * MIB"],
    "limit": [
        "r['outcome'] == 'exit' and r['exit_status'] == 0 and r['signal'] is None",
        "r['limit_bytes'] == 64 * MIB and r['swap_limit_bytes'] == 0",
        "20 * MIB < r['peak_bytes'] < 24 * MIB",
        "r['oom_kills'] == 0 and r['limit_hits'] == 0",
        "20 * MIB < r['vm_hwm_bytes'] < 24 * MIB",
        "r['swap_peak_bytes'] == 0",
        "r['means'] == 'root'",
    ],
    "killed": ["r['outcome'] == 'oom'", "r['oom_kills'] >= 1 and r['limit_hits'] > 0", "r['swap_peak_bytes'] == 0", "r['peak_bytes'] <= 16 * MIB + SLACK"],
    "swapping": [
        "r['outcome'] == 'exit' and r['exit_status'] == 0",
        "r['oom_kills'] == 0 and r['limit_hits'] > 0",
        "r['peak_bytes'] <= 16 * MIB + SLACK",
        "r['swap_peak_bytes'] > 16 * MIB",
        "r['system_swap_out_bytes'] > 16 * MIB",
        "r['swap_limit_bytes'] is None",
    ],
    "swap-limit": ["r['outcome'] == 'oom'", "r['swap_limit_bytes'] == 8 * MIB", "r['swap_peak_bytes'] <= 8 * MIB"],
    "timeout": ["r['outcome'] == 'timeout'", "900 < r['wall_ms'] < 5000"],
    "failed": ["r['outcome'] == 'exit' and r['exit_status'] == 3"],
    "signal": ["r['outcome'] == 'signal' and r['signal'] == 11 and r['exit_status'] is None"],
    "cpus": ["r['cpus'] == '1' and r['cpus_by'] == 'cpuset'"],
    "interrupted": ["r['outcome'] == 'interrupted'"],
    "inference": [
        "r['outcome'] == 'exit' and r['exit_status'] == 0",
        "r['swap_peak_bytes'] == 0 and r['oom_kills'] == 0",
        "r['peak_bytes'] <= 8 * MIB + SLACK",
        "r['read_bytes'] > 0",
    ],
    "swap_cost": ["r['outcome'] == 'exit'", "r['swap_peak_bytes'] > 16 * MIB", "r['major_faults'] > 100"],
    "cost": ["r['device'] == '/dev/vda' and r['type'] == 'partition'", "r['out_us'] > 0 and r['in_us'] > 0 and r['in_random_us'] > 0"],
    "check": ["r['possible'] and r['swap_accounting'] and r['memory_peak'] and r['cpuset']"],
    "v1-check": ["r['possible'] and r['swap_accounting'] and r['cgroup'] == 'v1' and r['layout'] == 'hybrid'"],
    "a user with a group: --parent": ["r['means'] == 'delegated' and r['limit_bytes'] == 64 * MIB"],
    "a user with a group: a swapping command": ["r['means'] == 'delegated'", "r['outcome'] == 'exit' and r['swap_peak_bytes'] > 16 * MIB"],
    "alone": ["r['means'] == 'delegated' and r['limit_bytes'] == 64 * MIB"],
}
LAYOUTS = {"v1: ": ("v1", "hybrid"), "v2 beside v1: ": ("v2", "hybrid"), "": ("v2", "v2")}


def verdict(name, problems):
    if problems:
        print(f"FAIL {name}: {'; '.join(problems)}")
    else:
        print(f"ok {name}")
    return not problems


def judge_report(name, report):
    prefix = next(p for p in LAYOUTS if name.startswith(p))
    kind = name[len(prefix):]
    rules = REPORTS.get(kind, ["False"])
    problems = []
    if "outcome" in report and (report["cgroup"], report["layout"]) != LAYOUTS[prefix]:
        problems.append(f"control groups {report['cgroup']}, layout {report['layout']}")
    for rule in rules:
        try:
            holds = eval(rule, {"r": report, "MIB": MIB, "SLACK": SLACK})
        except TypeError as e:  # null
            holds, rule = False, f"{rule} ({e})"
        if not holds:
            problems.append(f"not true: {rule}")
    if problems:
        problems.append(json.dumps(report))
    return verdict(f"report: {name}", problems)


def same(a, b):
    return a["class"] == b["class"] and a["confidence"] == b["confidence"] and a["box"] == b["box"]


def judge_inference(name, answer, build, picture):
    """The same plan on this machine gives the same result, to the bit."""
    command = [f"{build}/run_inference", "--json", "--quiet", "--cpu", answer["cpu"], "--plan", answer["plan"], "--algorithm", answer["algorithm"],
               "--names", "models/shapes/shapes.names", "models/shapes/shapes.cfg", "models/shapes/shapes.weights", picture]
    here = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    problems = []
    if answer["memory_budget_bytes"] != 8 * MIB:
        problems.append(f"budget {answer['memory_budget_bytes']}, not the group's limit")
    if answer["swap_in_bytes"] or answer["swap_out_bytes"]:
        problems.append(f"swapped {answer['swap_in_bytes']} bytes in, {answer['swap_out_bytes']} out ({answer['swap_scope']})")
    if not answer["detections"] or len(answer["detections"]) != len(here["detections"]) or not all(map(same, answer["detections"], here["detections"])):
        problems.append(f"detections there {answer['detections']}, here ({here['cpu']}) {here['detections']}")
    return verdict(f"{name}: budget, swap and detections", problems)


def main(build, picture, results):
    good = True
    for line in open(results, errors="replace"):
        word, _, rest = line.rstrip().partition(" ")
        at = rest.find("{")
        name, text = rest[:at].strip(), rest[at:]
        if word not in ("report", "inference"):
            continue
        try:
            value = json.loads(text) if at >= 0 else None
        except ValueError:
            value = None
        if value is None:
            good = verdict(rest[:60], ["no JSON"]) and good
        elif word == "report":
            good = judge_report(name, value) and good
        else:
            good = judge_inference(name, value, build, picture) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

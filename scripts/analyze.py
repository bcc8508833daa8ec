#!/usr/bin/env python3
"""Static analysis of the sources: gcc -fanalyzer, clang-tidy and cppcheck.

    analyze.py [--jobs N] [--tool NAME] [--write] [FILE.c...]

Checks the library and the programs, or the named files, with make's flags; readers of foreign bytes also with
clang's analyzer. Fails on a finding that scripts/analyze_reasons.txt does not list, and on a line there that nothing
finds any more. A line has tool, check, file, function and reason, separated by " | "; "*" is any function.
--write prints the missing lines without their reasons.

Exit status 77: a tool is not installed.
"""

import argparse
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REASONS = os.path.join("scripts", "analyze_reasons.txt")
FLAGS = ["-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", '-DMAFAT_VERSION="x"', "-I.", "-std=c11", "-pthread"]  # as the Makefile's
TIDY = ["bugprone-*",
        "-bugprone-easily-swappable-parameters",  # as many as there are functions of two numbers
        "-bugprone-reserved-identifier", "-bugprone-narrowing-conversions",  # -Wconversion's affair, and style
        "-bugprone-implicit-widening-of-multiplication-result",  # sizes are checked where they come from, by overflow builtins
        "-bugprone-branch-clone", "-bugprone-assignment-in-if-condition",  # the house's way of `if ((code = f())) return code;`
        "-bugprone-macro-parentheses",  # macros that make declarations
        "misc-redundant-expression", "misc-unused-parameters", "cert-flp30-c", "cert-mem57-cpp"]
CPPCHECK = ["--std=c11", "--quiet", "--enable=warning,portability,performance", "--inline-suppr", "--suppress=missingIncludeSystem",
            # A number's or a row's bytes through a pointer of another type is what the kernels do, by memcpy where it matters.
            "--suppress=invalidPointerCast", "-D__GNUC__=12", "-D__x86_64__", "-D__linux__", "-D__BYTE_ORDER__=1234",
            "-D__ORDER_LITTLE_ENDIAN__=1234", "--template={file}:{line}:{column}: warning: {message} [{id}]"]
FINDING = re.compile(r"^([^\s:]+):(\d+):\d+: (?:warning|error|style|portability|performance): (.*) \[([-\w.,]+)\]$")


def sources():
    """All but the kernels of other processors and the files that need MPI."""
    found = []
    for folder in ("base", "network", "formats", "transform", "predictor", "search", "runner", "api", "programs"):
        found += glob.glob(os.path.join(folder, "**", "*.c"), recursive=True)
    return sorted(f for f in found if "/arm/" not in f and "/mafat_ranks/mpi" not in f and "/kernels/x86/" not in f)


# Unrolled vector loops take gcc's analyzer gigabytes. These files allocate and open nothing.
UNROLLED = {"gcc": ["runner/kernels/portable.c", "runner/kernels/integer_portable.c"]}


def packages(file):
    if "/annotate/" not in file:
        return []
    return shlex.split(subprocess.run(["pkg-config", "--cflags", "gdlib", "json-c", "libexif"], capture_output=True, text=True, check=False).stdout)


def gcc(file):
    # Without the checks that fail for allocations returned through a pointer argument.
    return ["gcc", *FLAGS, *packages(file), "-O1", "-fanalyzer", "-fdiagnostics-plain-output", "-S", "-o", "/dev/null", file]


def tidy(file):
    return ["clang-tidy", "--quiet", "--checks=-*," + ",".join(TIDY), file, "--", *FLAGS, *packages(file)]


def analyzer(file):
    return ["clang-tidy", "--quiet", "--checks=-*,clang-analyzer-*,-clang-analyzer-security.insecureAPI.*,-clang-analyzer-optin.*", file, "--", *FLAGS, *packages(file)]


def cppcheck(file):
    return ["cppcheck", *CPPCHECK, *[f for f in FLAGS if f.startswith(("-D", "-I"))], file]


TOOLS = {"gcc": gcc, "clang-tidy": tidy, "clang-analyzer": analyzer, "cppcheck": cppcheck}
# Paths through functions, seconds for a file: where foreign bytes come in.
READERS = ("base/", "formats/", "runner/image/", "runner/weights/", "programs/annotate/")


def function_at(file, line):
    """The function of a line. Function names begin lines, and bodies end with a brace in the first column."""
    with open(file, encoding="utf-8") as text:
        lines = text.readlines()[:line]
    for one in reversed(lines):
        found = re.match(r"^[A-Za-z_].*?\b(\w+)\(", one)
        if found and not one.rstrip().endswith(";"):
            return found.group(1)
        if one.startswith("}") and one is not lines[-1]:
            return "-"
    return "-"


def analyze(tool, file):
    done = subprocess.run(TOOLS[tool](file), capture_output=True, text=True, check=False, cwd=ROOT)
    found = set()
    for line in (done.stdout + "\n" + done.stderr).splitlines():
        match = FINDING.match(line)
        if match:
            where, number, message, check = match.groups()
            where = os.path.relpath(os.path.join(ROOT, where), ROOT)
            if not where.startswith(".."):
                found.add((tool, check.lstrip("-W"), where, function_at(os.path.join(ROOT, where), int(number)), int(number), message))
    if done.returncode and not found:
        found.add((tool, "failure", file, "-", 0, (done.stderr or done.stdout).strip().replace("\n", " ")[-300:]))
    return found


def read_reasons():
    reasons = []
    with open(os.path.join(ROOT, REASONS), encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                words = [word.strip() for word in line.split(" | ", 4)]
                if len(words) < 5 or not words[4]:
                    sys.exit("analyze.py: %s: expected tool | check | file | function | reason, found %s" % (REASONS, line.strip()))
                reasons.append(words)
    return reasons


def covers(reason, finding):
    return all(word in ("*", found) for word, found in zip(reason[:4], finding))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tool", choices=sorted(TOOLS))
    parser.add_argument("--write", action="store_true")
    o = parser.parse_args()
    os.chdir(ROOT)
    tools = [o.tool] if o.tool else list(TOOLS)
    for tool in tools:
        if not shutil.which("clang-tidy" if tool == "clang-analyzer" else tool):
            print("skip analyze: %s is not installed (scripts/packages.sh analyze)" % tool)
            return 77
    reasons, used, new = read_reasons(), set(), {}
    files = o.file or sources()
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        jobs = [(tool, file) for tool in tools for file in files if file not in UNROLLED.get(tool, ()) and (tool != "clang-analyzer" or file.startswith(READERS))]
        for found in pool.map(lambda job: analyze(*job), jobs):
            for finding in sorted(found):
                covering = [i for i, reason in enumerate(reasons) if covers(reason, finding)]
                used.update(covering)
                if not covering:
                    new.setdefault(finding[:4], []).append(finding[4:])
    for finding, places in sorted(new.items()):
        print(" | ".join(finding) + " | " if o.write else "FAIL analyze: %s:%d: %s [%s, %s]" % (finding[2], places[0][0], places[0][1], finding[0], finding[1]))
    stale = [] if o.file else [r for i, r in enumerate(reasons) if i not in used and r[0] in tools]
    for reason in stale:
        print("FAIL analyze: nothing finds this any more: %s" % " | ".join(reason))
    if not new and not stale:
        print("ok analyze: %d files, %s: nothing without a reason; reasons for %d" % (len(files), ", ".join(tools), len(used)))
    return 1 if new or stale else 0


if __name__ == "__main__":
    sys.exit(main())

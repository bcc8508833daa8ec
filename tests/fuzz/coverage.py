#!/usr/bin/env python3
"""Measures which lines of each reader are reached by fuzzing, and by fuzzing and fault tests
together.

  coverage.py [--verbose] [--keep]          after make (make check-coverage)

The fuzz targets run their corpora: the inputs of tests/fuzz/corpus (unpacked in BUILD/inputs),
seeds, and what past runs of `make fuzz` kept in build/fuzz/corpus. The readers' unit tests fail
allocations and calls in turn, damage files byte by byte, and read invalid files. At least 95 % of
each reader's lines must be reached. The others are in tests/fuzz/unreached.txt, function by
function, with a reason: file, function, reason, separated by " | ". Lines in neither are printed,
and so are reasons for lines that are reached: other machines keep other inputs. --verbose prints
all lines; --keep does not run anything again. Kernels are not optimised here, and need too much
stack for one test of threads (activations).

Exit status: 0, 1, or 77 if clang's tools are missing."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", "build/cover")
KEPT = os.environ.get("FUZZ_BUILD", "build/fuzz")
REASONS = "tests/fuzz/unreached.txt"
BAR = 95
# Suites that read files, damage them, or fail calls.
SUITES = ("cfg packed packed_graph onnx onnx_import onnx_meaning onnx_quantized tflite tflite_import tflite_meaning tflite_quantized tflite_hybrid integer_graphs "
          "spec reads weights constants streaming narrow activations packed_integers names calibration allocation api api_runs api_packs model heads detect classify raw_input ports http route image image_damage "
          "image_memory pictures frames output ranks").split()
READERS = {
    "cfg": ["formats/darknet/*.c"],
    "ONNX": ["formats/onnx/*.c"],
    "TFLite": ["formats/tflite/*.c"],
    "what ONNX and TFLite mean": ["formats/graph/*.c"],
    "packed": ["formats/packed/*.c"],
    "arrays": ["formats/npy/*.c", "runner/image/npy.c"],
    "pictures": ["runner/image/%s.c" % f for f in ("image", "jpeg", "png", "ppm", "source", "frame", "input", "raw_input")],
    "video": ["programs/shared/video/frames.c", "programs/shared/video/jpeg_split.c"],
    "weights": ["runner/weights/%s.c" % f for f in ("weights", "weights_file", "weights_open")],
    "plans": ["predictor/plan/spec.c"],
    "calibrations": ["runner/calibrate/calibrate_file.c"],
    "heads": ["runner/detect/heads/*.c"],
    "labels": ["programs/run_inference/names.c"],
    "command lines": ["programs/run_inference/%s.c" % f for f in ("options", "words")],
    "JSON": ["programs/annotate/json.c"],
    "requests": ["programs/mafat_serve/http.c", "programs/mafat_serve/route.c"],
    "files": ["base/text_file.c", "base/model_file.c", "base/open_file.c", "base/number.c", "base/embedded_graph.c"],
}


def function_at(lines, number):
    """The function that contains a line."""
    for one in reversed(lines[:number]):
        found = re.match(r"^[A-Za-z_].*?\b(\w+)\(", one)
        if found and not one.rstrip().endswith(";"):
            return found.group(1)
    return "-"


def run_all(profiles):
    """Profiles of the fuzz targets, each with its corpora, and of the unit tests."""
    shutil.rmtree(profiles, ignore_errors=True)
    os.makedirs(profiles)
    seeds = os.path.join(BUILD, "seeds")
    shutil.rmtree(seeds, ignore_errors=True)
    subprocess.run(["tests/fuzz/make_seeds.sh", seeds], check=True)
    for program in sorted(glob.glob(os.path.join(BUILD, "fuzz_*"))):
        target = os.path.basename(program)[5:]
        corpora = [f for f in (os.path.join(seeds, target), os.path.join(BUILD, "inputs", target), os.path.join(KEPT, "corpus", target)) if os.path.isdir(f)]
        run = subprocess.run([program, "-runs=0", "-timeout=600", "-rss_limit_mb=4000", *corpora], capture_output=True, text=True, check=False,
                             env=dict(os.environ, LLVM_PROFILE_FILE=os.path.join(profiles, "fuzz-%s.profraw" % target)))
        if run.returncode:
            sys.exit("FAIL coverage: fuzz_%s: %s" % (target, run.stderr[-400:]))
    tests = subprocess.run([os.path.join(BUILD, "unit_tests"), *SUITES], capture_output=True, text=True, check=False,
                           env=dict(os.environ, LLVM_PROFILE_FILE=os.path.join(profiles, "unit-%4m.profraw"), CK_TIMEOUT_MULTIPLIER="20"))
    print(tests.stdout.strip().splitlines()[-1] if tests.stdout.strip() else "unit tests: no output")
    for name, pattern in (("fuzz", "fuzz-*.profraw"), ("all", "*.profraw")):
        subprocess.run(["llvm-profdata-14", "merge", "-sparse", "-o", os.path.join(profiles, name + ".profdata"), *glob.glob(os.path.join(profiles, pattern))], check=True)


def read_counts(profile):
    """Counts of the lines of each file."""
    programs = [os.path.join(BUILD, "unit_tests")] + [word for name in ("fuzz_json",) if os.path.exists(os.path.join(BUILD, name))
                                                      for word in ("-object", os.path.join(BUILD, name))]
    text = subprocess.run(["llvm-cov-14", "export", "-format=lcov", "-instr-profile=" + profile, *programs], capture_output=True, text=True, check=True).stdout
    counts, lines = {}, None
    for line in text.splitlines():
        if line.startswith("SF:"):
            lines = counts.setdefault(os.path.relpath(line[3:], ROOT), {})
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            lines[int(number)] = max(lines.get(int(number), 0), int(count))
    return counts


def read_reasons():
    reasons = {}
    with open(REASONS, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                words = [word.strip() for word in line.split(" | ", 2)]
                if len(words) < 3 or not words[2]:
                    sys.exit("coverage.py: %s: expected file | function | reason, found %s" % (REASONS, line.strip()))
                reasons[tuple(words[:2])] = words[2]
    return reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", action="store_true")
    o = parser.parse_args()
    os.chdir(ROOT)
    if not shutil.which("llvm-cov-14"):
        print("skip coverage: llvm-14 is not installed")
        return 77
    profiles = os.path.join(BUILD, "profiles")
    if not o.keep:
        run_all(profiles)
    fuzzed, together = (read_counts(os.path.join(profiles, name + ".profdata")) for name in ("fuzz", "all"))
    reasons, used, failed = read_reasons(), set(), False
    for reader, patterns in READERS.items():
        files = sorted(f for pattern in patterns for f in glob.glob(pattern) if f in together)
        lines = [(f, n) for f in files for n in together[f]]
        by_fuzz, by_all = (sum(counts.get(f, {}).get(n, 0) > 0 for f, n in lines) for counts in (fuzzed, together))
        missing = {}
        for f in files:
            with open(f, encoding="utf-8") as file:
                text = file.readlines()
            for n in sorted(n for n, count in together[f].items() if count == 0):
                missing.setdefault((f, function_at(text, n)), []).append(n)
        print("%-26s %5d lines, %5.1f %% by fuzzing, %5.1f %% together, %d not in %d functions" %
              (reader, len(lines), 100 * by_fuzz / max(len(lines), 1), 100 * by_all / max(len(lines), 1), len(lines) - by_all, len(missing)))
        if not lines or 100 * by_all < BAR * len(lines):
            failed = True
            print("FAIL coverage: %s: expected %d %%" % (reader, BAR))
        for place, numbers in missing.items():
            used.add(place)
            if o.verbose or place not in reasons:
                print("   %s | %s | lines: %s%s" % (*place, " ".join(map(str, numbers)), "" if place in reasons else ": no reason"))
    for place in sorted(set(reasons) - used):
        print("   all of this is reached: %s | %s" % place)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

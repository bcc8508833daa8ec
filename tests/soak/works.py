"""Runs of a soak: the cases of tests/limits/cases.txt with several plans and kinds of inputs."""

import os
import re
import shlex
import subprocess

import inputs
from beside import ROOT
from groups import text

PLANS = ("given", "searched", "least", "kept")
INPUTS = ("jpeg", "png", "ppm", "raw", "list")
AMPLE = "1G"         # budget with kept weights, or with a given plan
LATER_SAMPLES = 2    # pictures after the first


class Impossible(Exception):
    """Not possible on this machine, or at all."""


class Case:
    """A line of cases.txt."""

    def __init__(self, line):
        self.name, self.cfg, _, self.layers, weights, _, self.plan, self.mib, self.goal = line.split()[:9]
        self.n_files = 1 if weights == "own" else 2   # files of the model
        self.words, self.why = None, None

    def chance(self):
        """Weight of a case: small ones are frequent, large ones rare."""
        return 48 if "/" in self.cfg else 3 if self.layers != "-" else 1

    def prepare(self):
        """The command's words, from run.sh, which makes missing files."""
        if self.words or self.why:
            return
        made = subprocess.run(["bash", ROOT + "/tests/limits/run.sh", "--command", self.name], cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
        words = shlex.split(made.stdout) if made.returncode == 0 and " -- " in made.stdout else []
        if not words:
            lines = (made.stdout + made.stderr).strip().splitlines() or ["?"]
            self.why = lines[-1].replace("skipped: ", "").replace("run.sh: ", "")
            return
        words = words[words.index("--") + 2:]
        self.words = words[:words.index("--against")] if "--against" in words else words


def read_cases():
    lines = text(ROOT + "/tests/limits/cases.txt").splitlines()
    cases = (Case(line) for line in lines if line.strip() and not line.startswith("#"))
    return [case for case in cases if case.goal != "caught"]


def without(words, option, n_values):
    """The words without an option."""
    if option not in words:
        return words
    at = words.index(option)
    return words[:at] + words[at + 1 + n_values:]


class Work:
    """Arguments of run_inference: a case with a plan and a kind of input."""

    def __init__(self, case, plan, kind, folder):
        case.prepare()
        if case.why:
            raise Impossible(case.why)
        self.list = b""
        self.kind = kind
        words = without([os.path.join(ROOT, word) if os.path.exists(os.path.join(ROOT, word)) else word for word in case.words],
                        "--best-effort", 0)
        picture = words.pop()
        options, self.files = words[:-case.n_files], words[-case.n_files:]
        if plan != "given":
            options = without(options, "--plan", 1)
        self.memory = {"given": AMPLE, "kept": AMPLE, "least": None, "searched": case.mib + "M"}[plan]
        if case.plan == "-" and plan == "given":
            self.memory = case.mib + "M"
        self.options = options + self.files + self.input_words(picture, folder)

    def input_words(self, picture, folder):
        """Three pictures, so that there are faults after the first."""
        times = 1 + LATER_SAMPLES
        if self.kind == "raw":
            source = inputs.floats_in(folder, self.files[0])
            words = ["--repeat", str(times), "--input", source]
        else:
            source = {"png": inputs.png_in, "ppm": inputs.ppm_in}.get(self.kind, lambda _: picture)(folder)
            words = [source] * times
        self.files = self.files + [source]
        if self.kind == "list":
            self.list = ("%s\n" % source * times).encode()
            words = ["-"]
        return words

    def arguments(self, lock, repeat=None):
        words = ["--json", "--quiet", "--lock", lock, "--memory", self.memory or "1M"] + self.options
        if repeat:
            words[words.index("--repeat") + 1] = str(repeat)
        return words

    def take_least(self, message):
        """The sufficient budget that a run with less memory reports."""
        found = re.search(r"--memory (\d+K) would do", message)
        if not found:
            raise Impossible(message or "no least memory")
        self.memory = found.group(1)

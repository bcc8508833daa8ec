#!/usr/bin/env python3
"""Measures how well latency is predicted: times random plans of real networks in turns, and
compares with the model and this machine's calibration (run_inference --calibrate), which is
independent of these networks. Disturbed runs do not count. Prints, for each network and over
all, the median and largest error, the share of pairs of plans more than 8 % apart that are
ordered right, and how much slower the model's favourite is than the best measured plan.

  check_latency.py [--seed N] [--plans N] [--rounds N] [--weights kept|packed|darknet]
                   [--cpu LEVEL] [--threads N] [--limits] [--worst N] [NETWORK...]

NETWORK: NAME of Debian's darknet package, NAME:LAYERS, CFG,WEIGHTS, or an ONNX or TFLite file.
--limits: fails if the median is beyond 5 %, the largest beyond 15 %, or more than 5 % of pairs are
wrong."""
import argparse, json, os, random, statistics, subprocess, sys

BUILD = os.environ.get("BUILD", "build")
CFGS = "/usr/share/darknet/cfg"
DEFAULT = ["models/shapes/shapes.cfg,models/shapes/shapes.weights", "yolov3-tiny", "yolov2:16", "darknet19", "resnet50"]
MODELS = os.environ.get("MAFAT_MODELS")
if MODELS:
    DEFAULT.append(f"{MODELS}/yolo-fastest-1.1-xl.cfg,{MODELS}/yolo-fastest-1.1-xl.weights")


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def files_of(name, weights):
    """cfg, weights and layers, made once in the build folder."""
    folder = f"{BUILD}/latency"
    os.makedirs(folder, exist_ok=True)
    name, _, layers = name.partition(":")
    if name.endswith((".onnx", ".tflite")):
        told = json.loads(run(f"{BUILD}/run_inference", "--predict", "--json", "--quiet", name))
        return name, None, told["network"]["layers"]
    if "," in name:
        cfg, path = name.split(",")
    else:
        cfg, path = f"{CFGS}/{name}.cfg", f"{folder}/{name}.weights"
        if not os.path.exists(path):
            run(f"{BUILD}/make_weights", "--quiet", cfg, path)
    if weights == "packed":
        packed = f"{folder}/{os.path.basename(path)}.packed"
        if not os.path.exists(packed):
            run(f"{BUILD}/pack_weights", "--quiet", cfg, path, packed)
        path = packed
    n_layers = sum(1 for line in open(cfg) if line.startswith("[")) - 1
    return cfg, path, int(layers) if layers else n_layers


def random_plan(r, n_layers, kept):
    def group():
        kind = r.random()
        if kind < .5:
            text = f"rows{r.choice([1, 2, 2, 3, 4, 4, 6, 8, 16])}"
        elif kind < .75:
            text = "panels"
        elif kind < .92:
            text = "1x1"
        else:
            text = r.choice(["2x2", "3x3", "5x5", "4x1"])
        if kept:
            return text
        if text[0].isdigit():
            return text + r.choice(["", ":loaded"])
        return text + r.choice(["", ":loaded", ":streamed", ":streamed4", ":loaded300"])

    n_groups = min(r.choice([1, 2, 2, 2, 3, 4]), n_layers)
    text = group()
    for cut in sorted(r.sample(range(1, n_layers), n_groups - 1)):
        text += f"/{cut}/{group()}"
    return r.choice(["direct", "auto", "auto"]), text if n_groups > 1 else text + "/NoCut"


def measure(name, options):
    cfg, weights, n_layers = files_of(name, options.weights)
    r = random.Random(options.seed)
    plans = [("auto", "1x1/NoCut"), ("auto", "rows2/NoCut"), ("auto", "panels/NoCut")]
    plans += [random_plan(r, n_layers, options.weights == "kept") for _ in range(options.plans)]
    command = [f"{BUILD}/time_plans", "--rounds", str(options.rounds), "--threads", str(options.threads)]
    command += ["--cpu", options.cpu] if options.cpu else []
    command += ["--layers", str(n_layers)] if ":" in name else []
    output = run(*command, cfg, *([weights] if weights else []), input="".join(f"{a} {p}\n" for a, p in plans), stderr=subprocess.DEVNULL)
    seen = {}
    for line in output.splitlines():
        j = json.loads(line)
        seen.setdefault((j["algorithm"], j["plan"]), (j["predicted_ms"], j["ms"], j["pace"]))
    # Other load only slows runs down, often for minutes. A run counts if plain arithmetic just
    # before it was fast, and only the faster half of these.
    best = min(min(pace) for _, _, pace in seen.values())
    good = {}
    for key, (predicted, ms, pace) in seen.items():
        quiet = sorted(m for m, p in zip(ms, pace) if p < 1.1 * best)
        if len(quiet) > 1:
            good[key] = predicted, statistics.median(quiet[:(len(quiet) + 1) // 2])
    if len(good) < len(seen):
        print(f"{name}: {len(seen) - len(good)} of {len(seen)} plans were never timed undisturbed")
    return good, best


def judge(seen):
    pairs = right = 0
    values = list(seen.values())
    for i, (predicted, measured) in enumerate(values):
        for other_predicted, other_measured in values[:i]:
            if max(measured, other_measured) > 1.08 * min(measured, other_measured):
                pairs += 1
                right += (predicted < other_predicted) == (measured < other_measured)
    errors = [p / m - 1 for p, m in values]
    return errors, right, pairs


def line(name, errors, right, pairs, chosen=""):
    sizes = sorted(map(abs, errors))
    print(f"{name:24s} {len(errors):4d} plans  error median {statistics.median(sizes) * 100:4.1f} %  worst {sizes[-1] * 100:4.1f} %"
          f"  bias {statistics.median(errors) * 100:+5.1f} %  pairs {100 * right / max(pairs, 1):5.1f} % of {pairs}{chosen}")
    sys.stdout.flush()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=77)
    p.add_argument("--plans", type=int, default=20)
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--weights", choices=["kept", "packed", "darknet"], default="kept")
    p.add_argument("--cpu")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--limits", action="store_true")
    p.add_argument("--worst", type=int, default=0)
    p.add_argument("networks", nargs="*", default=DEFAULT)
    options = p.parse_args()
    all_errors, all_right, all_pairs, everything = [], 0, 0, []
    for name in options.networks:
        seen, pace = measure(name, options)
        errors, right, pairs = judge(seen)
        best = min(m for _, m in seen.values())
        chosen = min(seen.values())[1] / best - 1
        short = os.path.basename(name.split(",")[0]).removesuffix(".cfg")
        line(short, errors, right, pairs, f"  chosen {chosen * 100:+.1f} %  pace {pace:.2f}")
        everything += [(abs(pr / m - 1), pr, m, short, *key) for key, (pr, m) in seen.items()]
        all_errors, all_right, all_pairs = all_errors + errors, all_right + right, all_pairs + pairs
    line("all", all_errors, all_right, all_pairs)
    for _, predicted, measured, name, algorithm, plan in sorted(everything, reverse=True)[:options.worst]:
        print(f"  {name} {algorithm} {plan}: {measured:.2f} ms, predicted {predicted:.2f}")
    sizes = sorted(map(abs, all_errors))
    if options.limits and (statistics.median(sizes) > .05 or sizes[-1] > .15 or all_right < .95 * all_pairs):
        sys.exit("check_latency: beyond the limits")


main()

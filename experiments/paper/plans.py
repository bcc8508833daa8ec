"""The paper's limits, plans and Table 1, and the plans that are measured here."""

LAYERS = 16
PAPER_LIMITS = (256, 192, 128, 96, 80, 64, 48, 32, 16)   # MB
PAPER_FLOOR = 66          # MB: below it the authors' 5x5/8/2x2 swaps
PAPER_DARKNET_SWAPS = 192  # MB: below it the authors' Darknet swaps
PAPER_SLOWER = 6.5        # factor by which the authors' Darknet slows down at 16 MB
SPEED_UPS = {64: 1.37, 16: 2.78}   # over Darknet, on the authors' Raspberry Pi 3
BIAS = 31                 # MB: what Algorithm 1 adds

# limit: (best measured plan, ms, Algorithm 2's plan, ms) on the authors' Raspberry Pi 3
TABLE_1 = {
    256: ("1x1/NoCut", 15065, "1x1/NoCut", 15065),
    192: ("1x1/NoCut", 15023, "1x1/NoCut", 15023),
    128: ("2x2/12/2x2", 16757, "2x2/NoCut", 16795),
    96: ("3x3/4/2x2", 17048, "2x2/12/2x2", 17543),
    80: ("3x3/8/2x2", 16968, "3x3/8/2x2", 16968),
    64: ("4x4/8/2x2", 17753, "5x5/8/2x2", 18679),
    48: ("5x5/8/3x3", 19749, "5x5/8/2x2", 19991),
    32: ("5x5/8/2x2", 22215, "5x5/8/2x2", 22215),
    16: ("5x5/8/2x2", 31095, "5x5/8/2x2", 31095),
}

TOPS = (1, 2, 3, 4, 5)
CUTS = (4, 8, 12)      # cuts after maxpools; the paper's tables never show 2
BOTTOMS = (2, 3, 1)

DARKNET, SEARCH = "Darknet", "Algorithm 2"
OURS = {   # label: program and options, with all of mafat's features
    "mafat, direct": "mafat --algorithm direct --best-effort",
    "mafat, direct, packed": "mafat-packed --algorithm direct --best-effort",
    "mafat": "mafat --best-effort",
    "mafat, packed": "mafat-packed --best-effort",
}


def plan_text(top, cut=None, bottom=2):
    return "%dx%d/%s" % (top, top, "%d/%dx%d" % (cut, bottom, bottom) if cut else "NoCut")


def cut_of(plan):
    """None for one group."""
    word = plan.split("/")[1]
    return None if word == "NoCut" else int(word)


def top_of(plan):
    return int(plan.split("x", 1)[0])


def bottom_of(plan):
    """None for one group."""
    parts = plan.split("/")
    return int(parts[2].split("x")[0]) if len(parts) > 2 else None


def is_plan(text):
    """True for a measured plan: the paper's notation, at most one cut."""
    return text in ALL_PLANS


def all_plans():
    return [plan_text(top) for top in TOPS] + [plan_text(top, cut, bottom) for bottom in BOTTOMS for cut in CUTS for top in TOPS]


ALL_PLANS = all_plans()
FIGURE_2 = {"NoCut": [plan_text(top) for top in TOPS], "8/2x2": [plan_text(top, 8) for top in TOPS]}


def quick_plans():
    """The fewest plans for which every figure has all its lines."""
    return [plan_text(top) for top in (1, 2, 5)] + [plan_text(top, 8) for top in TOPS] + [plan_text(top, cut) for cut in (4, 12) for top in (2, 5)]


def program_of_plan(plan):
    return "mafat --plan %s --algorithm direct --best-effort" % plan


SEARCH_PROGRAM = "mafat --search greedy --algorithm direct --best-effort"

#!/usr/bin/env python3
"""The rules for includes and folders (doc/architecture.md, "Folders").

Rooms are layered: a file includes its own room and the rooms below it. Folders inside the rooms
form no include cycle, and neither do files (x.c and x.h count as one). No folder holds more than
25 .c files, except folders with one file for each kind, head or operator; no room and no folder
is larger than its share of the product. No constant of an enum has the name of a macro of a system
header that the tree includes: the macro would silently replace it where the header comes later.

Prints every violation and exits 1; --sizes prints the share of each room and folder.
"""

import os
import re
import subprocess
import sys

# From the ground up: what files of a room may include beside their own room.
MAY_INCLUDE = {
    "include": (),
    "base": ("include",),
    "network": ("include", "base"),
    "formats": ("include", "base", "network"),
    "transform": ("include", "base", "network"),
    "predictor": ("include", "base", "network", "transform"),
    "search": ("include", "base", "network", "transform", "predictor"),
    "runner": ("include", "base", "network", "formats", "transform", "predictor", "search"),
    "api": ("include", "base", "network", "formats", "transform", "predictor", "search", "runner"),
    "programs": ("include", "base", "network", "formats", "transform", "predictor", "search", "runner", "api"),
}

# Programs that use the library as any other program does: the public header, headers of base/ that
# have no .c file, and tables of names.
PUBLIC = ("include/", "base/utf8.h", "base/part.h", "base/mebibytes.h", "base/levels.def", "base/tags.def", "network/dtypes.def")
ALONE = {
    "programs/run_inference": PUBLIC + ("programs/run_inference/", "programs/shared/"),
    "programs/shared/video": ("include/", "programs/shared/video/"),
    "programs/shared/sandbox": ("programs/shared/sandbox/",),
}

# Folders with a file for each kind, head or operator may hold more than 25.
ONE_FILE_EACH = ("kinds", "heads", "onnx", "tflite")
MOST_FILES = 25
ROOM_SHARE, FOLDER_SHARE = 0.27, 0.10

OTHER_PRODUCT = ("python", "examples", "darknet_patch", "experiments")
OTHER_CHECKED = ("tests", "experiments")
SYSTEM = re.compile(r"^\s*#\s*include\s+<([^>]+)>", re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
ENUM = re.compile(r"\benum\b[\w\s]*\{([^}]*)\}")
CONSTANT = re.compile(r"(?:^|,)\s*(\w+)")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def files_below(folder, endings):
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.join(path, name)


def folder_of(path):
    """The room and the folder in it: runner/engine for runner/engine/kinds/pool.c."""
    return "/".join(os.path.dirname(path).split("/")[:2])


def included_by(path):
    """Paths that a file includes, seen from the root; what is not in the tree is left out."""
    with open(path, encoding="utf-8") as file:
        for name in INCLUDE.findall(file.read()):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            for found in (name, beside):
                if os.path.exists(found):
                    yield found
                    break


def find_cycles(graph):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, cycles = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                cycles.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return cycles


def check_rooms(includes):
    for path, targets in includes.items():
        room = path.split("/")[0]
        if room not in MAY_INCLUDE:
            continue
        for target in targets:
            if target.split("/")[0] not in MAY_INCLUDE[room] + (room,):
                yield f"{path}: includes {target}, which stands above {room}/"
            for folder, allowed in ALONE.items():
                if path.startswith(folder + "/") and not target.startswith(allowed):
                    yield f"{path}: includes {target}; {folder}/ may include only {', '.join(allowed)}"


def check_cycles(includes):
    folders, files = {}, {}
    for path, targets in includes.items():
        for target in targets:
            a, b = os.path.splitext(path)[0], os.path.splitext(target)[0]
            if a != b:
                files.setdefault(a, set()).add(b)
            a, b = folder_of(path), folder_of(target)
            if a != b and path.split("/")[0] in MAY_INCLUDE:
                folders.setdefault(a, set()).add(b)
    for cycle in find_cycles(files):
        yield f"files include each other: {' '.join(cycle)}"
    for cycle in find_cycles(folders):
        yield f"folders include each other: {' '.join(cycle)}"
        for path, targets in includes.items():
            for target in targets:
                if folder_of(path) in cycle and folder_of(target) in cycle and folder_of(path) != folder_of(target):
                    yield f"  {path} includes {target}"


def find_macros(headers):
    """Macros of those of the headers that are installed; an empty set without a compiler."""
    lines = ["#include <stdio.h>"] + [f"#if __has_include(<{h}>)\n#include <{h}>\n#endif" for h in sorted(headers)]
    command = [os.environ.get("CC", "gcc"), "-D_GNU_SOURCE", "-E", "-dM", "-x", "c", "-"]
    try:
        found = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False).stdout
    except OSError:
        found = ""
    return set(re.findall(r"^#define (\w+)", found, re.M))


def check_macros(paths):
    headers, constants = set(), []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = COMMENT.sub(" ", file.read())
        headers.update(SYSTEM.findall(text))
        constants += [(path, name) for body in ENUM.findall(text) for name in CONSTANT.findall(body)]
    macros = find_macros(headers)
    for path, name in constants:
        if name in macros:
            yield f"{path}: the constant {name} has the name of a macro of a system header"


def count_lines(path):
    with open(path, encoding="utf-8") as file:
        return sum(1 for _ in file)


def measure():
    """Lines of the product by room and by folder."""
    rooms, folders = {}, {}
    for room in tuple(MAY_INCLUDE) + OTHER_PRODUCT:
        for path in files_below(room, (".c", ".h", ".hpp", ".cpp", ".py")):
            lines = count_lines(path)
            rooms[room] = rooms.get(room, 0) + lines
            folder = folder_of(path)
            if folder != room:
                folders[folder] = folders.get(folder, 0) + lines
    return rooms, folders


def check_sizes():
    counts = {}
    for room in tuple(MAY_INCLUDE) + OTHER_CHECKED:
        for path in files_below(room, ".c"):
            folder = os.path.dirname(path)
            counts[folder] = counts.get(folder, 0) + 1
    for folder, n in sorted(counts.items()):
        if n > MOST_FILES and os.path.basename(folder) not in ONE_FILE_EACH:
            yield f"{folder}: {n} .c files, expected at most {MOST_FILES}"
    rooms, folders = measure()
    total = sum(rooms.values())
    for sizes, most in ((rooms, ROOM_SHARE), (folders, FOLDER_SHARE)):
        for name, lines in sorted(sizes.items()):
            if lines > most * total:
                yield f"{name}: {lines} lines, {100 * lines / total:.1f} % of the product, expected at most {100 * most:.0f} %"


def print_sizes():
    rooms, folders = measure()
    total = sum(rooms.values())
    for name, lines in sorted({**rooms, **folders}.items()):
        print(f"{name:28} {lines:6} {100 * lines / total:5.1f} %")
    print(f"{'product':28} {total:6}")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if sys.argv[1:] == ["--sizes"]:
        print_sizes()
        return 0
    includes = {}
    for room in tuple(MAY_INCLUDE) + OTHER_CHECKED:
        for path in files_below(room, (".c", ".h")):
            includes[path] = list(included_by(path))
    problems = list(check_rooms(includes)) + list(check_cycles(includes)) + list(check_sizes()) + list(check_macros(includes))
    for problem in problems:
        print(problem)
    if problems:
        print("check_includes: see above; the rules are in doc/architecture.md, Folders", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

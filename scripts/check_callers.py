#!/usr/bin/env python3
"""Compares the callers that opening comments name with the #include lines.

usage: check_callers.py [--missing] [FOLDER...]

Reads the sentences "Called by", "Included by" and "Used by" of opening comments. A name is a path
from the root, from the file's folder, from its top folder, or from the folder of the name before;
"mafat_serve's work.c" and mafat_serve.c are in programs/mafat_serve. Text after "through", "which"
or "after" names no callers. Prints PATH: expected ..., found ... and exits with 1 if
  - a header names no callers;
  - a name does not exist;
  - a named file, or every file of a named folder, neither includes the header, itself or through
    headers of its own folder, nor uses its functions or names. For a .c file, a header that
    declares its functions counts; called "through" a table, any header of its top folder that it
    includes;
  - a folder (two levels) includes a header but is not named. "all" and "every" name every folder,
    and more than six need no names.
--missing: prints only the headers that name no callers.
"""
import collections
import os
import pathlib
import re
import sys

PRODUCT = ("base/", "network/", "formats/", "transform/", "predictor/", "search/", "runner/", "api/", "programs/")
CALLERS = re.compile(r"(?:\b(?:Called|Included|Used) by|; (?:called|included|used) by)\b(.*?)(?=[.;](?:\s|$)|$)", re.S)
NAME = re.compile(r"(?<![\w/.-])(?:[\w-]+/)*(?:[\w-]+\.(?:c|h|hpp|def)|[\w-]+/|(?<=/)[\w-]+|api)(?![\w/])")
ASIDE = re.compile(r",?\s(?:(?:through|which|after)\s|of include/)[^,;()]*(?:\([^()]*\))?")
OWN = re.compile(r"^(?!static|typedef|extern)\w[\w \t*]*?\b(\w+)(?:\(|(?:\[[^\n]*\])? =)|^#define \w+ (mafat_\w+)$", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|define \w+) "([^"]+)"', re.M)
FEW_FOLDERS = 6


def read_tree():  # without build folders
    texts = {}
    builds = {"build", os.environ.get("BUILD", "build"), ".git", "__pycache__"}
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if name not in builds and not name.startswith("build-")]
        for name in names:
            path = os.path.normpath(os.path.join(folder, name))
            if path.endswith((".c", ".h", ".hpp", ".cpp", ".def")):
                texts[path] = pathlib.Path(path).read_text(encoding="utf-8")
    return texts


def level(path):
    return "/".join(os.path.dirname(path).split("/")[:2])


class Tree:
    def __init__(self):
        self.texts = read_tree()
        self.words = {path: set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text, flags=re.S)))
                      for path, text in self.texts.items()}
        self.folders = {os.path.dirname(path)[:end] for path in self.texts
                        for end in [m.start() for m in re.finditer("/|$", os.path.dirname(path))]} - {""}
        self.includes = {path: {self.included(path, name) for name in INCLUDE.findall(text)} - {None}
                         for path, text in self.texts.items()}
        self.headers_with = collections.defaultdict(set)  # word: headers
        for path in self.texts:
            for word in self.words[path] if not path.endswith(".c") else ():
                self.headers_with[word].add(path)

    def included(self, path, name):
        places = name, os.path.normpath(os.path.join(os.path.dirname(path), name)), "include/" + name
        return next((place for place in places if place in self.texts), None)

    def reached(self, path, everywhere=False):
        """Headers that a file includes, itself or through headers of its folder (or everywhere)."""
        seen, open_paths = set(), [path]
        while open_paths:
            for header in self.includes[open_paths.pop()] - seen:
                seen.add(header)
                if everywhere or os.path.dirname(header) == os.path.dirname(path):
                    open_paths.append(header)
        return seen

    def names(self, path, sentence):
        """(name, path or None) of each file or folder that the sentence names."""
        here = before = os.path.dirname(path)
        top = path.split("/")[0]
        for name in NAME.findall(re.sub(r"(\w)'s (?=[\w/]+\.[ch]\b)", r"\1/", sentence)):
            bases = "", here, before, top, os.path.join(top, name.split(".")[0])
            places = [os.path.normpath(os.path.join(base, name)) for base in bases]
            found = next((place for place in places if place in self.texts or place in self.folders), None)
            if found or name.endswith(("/", ".c", ".h", ".hpp", ".def")):
                yield name, found
            if found:
                before = found if found in self.folders else os.path.dirname(found)

def check(tree, path, findings, missing):
    opening = re.match(r"\s*/\*(.*?)\*/", tree.texts[path], re.S)
    text = " ".join(re.sub(r"\n[ \t]*\*?", " ", opening[1]).split()) if opening else ""
    is_header, places, top = path.endswith(".h"), set(), path.split("/")[0] + "/"
    sentences = CALLERS.findall(text)
    defined = set() if is_header else {word for pair in OWN.findall(tree.texts[path]) for word in pair} - {"", "main"}
    headers = {path[:-1] + "h"}.union(*(tree.headers_with[word] for word in defined))
    own = {word for word in tree.words[path] if is_header and tree.headers_with[word] == {path}}
    own |= defined | set(re.findall(r"(?:\b(?=mafat_)|^static [\w *]*?\b)(\w+)\(", tree.texts.get(path[:-1] + "h", ""), re.M))
    for sentence in sentences:
        shared = {header for header in tree.reached(path, True) if header.startswith(top)} if " through " in sentence else set()
        for name, place in tree.names(path, ASIDE.sub("", sentence)):
            if not place:
                findings.append("%s: expected a file or folder, found no %s" % (path, name))
                continue
            places.add(place)
            if not any(tree.reached(file) & headers or tree.words[file] & own or shared and tree.reached(file, True) & shared
                       for file in tree.texts if (file == place or file.startswith(place + "/")) and file != path):
                findings.append("%s: expected that %s includes its header, found no #include" % (path, place))
    general = any(re.search(r"\b(all|every)\b", sentence, re.I) for sentence in sentences)
    if is_header and not places and not general:
        missing.append(path)
    elif is_header and not general:
        callers = {level(file) for file in tree.texts if path in tree.includes[file] and file.startswith(PRODUCT)} - {level(path)}
        named = {level(place if place in tree.texts else place + "/") for place in places}
        unnamed = {folder for folder in callers - named if not any((folder + "/").startswith(place + "/") for place in places)}
        if len(callers) <= FEW_FOLDERS and unnamed:
            findings.append("%s: expected no other callers, found %s" % (path, ", ".join(sorted(unnamed))))


def main():
    tree, findings, missing = Tree(), [], []
    chosen = tuple(word.rstrip("/") + "/" for word in sys.argv[1:] if word != "--missing") or PRODUCT
    for path in sorted(tree.texts):
        if path.endswith((".c", ".h")) and path.startswith(chosen):
            check(tree, path, findings, missing)
    none = ["%s: expected callers in the opening comment, found none" % path for path in missing]
    for line in none if "--missing" in sys.argv else findings + none:
        print(line)
    print("check_callers: %d findings; %d headers name no callers" % (len(findings), len(missing)))
    return 1 if findings or missing else 0


sys.exit(main())

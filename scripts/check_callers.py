#!/usr/bin/env python3
"""Compares the callers that opening comments name with #include lines and calls.

usage: check_callers.py [--missing] [FOLDER...]

Reads "Called by", "Included by" and "Used by" in opening comments. A name is a path from the root,
the file's folder, its top folder, or the folder of the name before; "mafat_serve's work.c" and
mafat_serve.c are in programs/mafat_serve. Text after "through", "which" or "after" names none.
Prints PATH: expected ..., found ... and exits with 1 if
  - a header names no callers (--missing: prints only these), or a name does not exist;
  - a named file, or every file of a named folder, neither includes the header, itself or through
    headers of its own folder, nor uses its names. For a .c file, headers that declare its functions
    count; called "through" a table, all headers of its top folder that it includes;
  - a folder (two levels) includes a header, or uses functions that it declares, but is not named.
    "all" and "every" name every folder, and more than six need no names;
  - a .c file that names callers leaves out a .c file of the product that uses its functions. Calls
    "through" a table need no names, and "all" and "every" name every folder.
"""
import collections
import os
import pathlib
import re
import sys

PRODUCT = ("base/", "network/", "formats/", "transform/", "predictor/", "search/", "runner/", "api/", "programs/")
SOURCES = (".c", ".h", ".hpp", ".cpp", ".def")
CALLERS = re.compile(r"(?:\b(?:Called|Included|Used) by|; (?:called|included|used) by)\b(.*?)(?=[.;](?:\s|$)|$)", re.S)
NAME = re.compile(r"(?<![\w/.-])(?:[\w-]+/)*(?:[\w-]+\.(?:c|h|hpp|def)|[\w-]+/|(?<=/)[\w-]+|api)(?![\w/])")
ASIDE = re.compile(r",?\s(?:(?:through|which|after)\s|of include/)[^,;()]*(?:\([^()]*\))?")
OWN = re.compile(r"^(?!static|typedef|extern)\w[\w \t*]*?\b(\w+)(?:\(|(?:\[[^\n]*\])? =)|^#define \w+ (mafat_\w+)$", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|define \w+) "([^"]+)"', re.M)
FUNCTION = re.compile(r"^(?!static|typedef|extern)\w[\w \t*]*?\b(mafat_\w+)\(", re.M)
DECLARED = re.compile(r"^(?!typedef|extern)\w[\w \t*]*?\b(mafat_\w+)\(", re.M)
# Comments, literals, included paths, tags and fields: a name in them is no use of a function.
NO_USE = re.compile(r"""/\*.*?\*/|^[ \t]*#[ \t]*include[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'"""
                    r"|\b(?:struct|union|enum)\s+\w+|(?:->|\.)\s*mafat_\w+", re.M | re.S)


def is_in(path, place):
    """True if the place, a file (a header stands for its .c file) or a folder, names the path."""
    return path in (place, place[:-1] + "c") or path.startswith(place + "/")


def level(path):
    return "/".join(os.path.dirname(path).split("/")[:2])


class Tree:
    def __init__(self):
        self.texts = {}
        builds = {"build", os.environ.get("BUILD", "build"), ".git", "__pycache__"}
        for folder, folders, names in os.walk("."):
            folders[:] = [name for name in folders if name not in builds and not name.startswith("build-")]
            paths = [os.path.normpath(os.path.join(folder, name)) for name in names]
            self.texts.update((path, pathlib.Path(path).read_text(encoding="utf-8")) for path in paths if path.endswith(SOURCES))
        self.words = {path: set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text, flags=re.S)))
                      for path, text in self.texts.items()}
        self.uses = {path: set(re.findall(r"\bmafat_\w+", NO_USE.sub(" ", text)))
                     for path, text in self.texts.items() if path.endswith(".c") and path.startswith(PRODUCT)}
        self.folders = {path[:match.start()] for path in self.texts for match in re.finditer("/", path)}
        self.includes = {path: {self.included(path, name) for name in INCLUDE.findall(text)} - {None}
                         for path, text in self.texts.items()}
        self.headers_with = collections.defaultdict(set)  # word: headers
        for word, path in ((word, path) for path in self.texts if not path.endswith(".c") for word in self.words[path]):
            self.headers_with[word].add(path)

    def included(self, path, name):
        places = name, os.path.normpath(os.path.join(os.path.dirname(path), name)), "include/" + name
        return next((place for place in places if place in self.texts), None)

    def reached(self, path, everywhere=False):
        """Headers that a file includes, itself or through headers of its folder (or everywhere)."""
        seen, open_paths = set(), [path]
        while open_paths:
            new = self.includes[open_paths.pop()] - seen
            seen |= new
            open_paths += [header for header in new if everywhere or os.path.dirname(header) == os.path.dirname(path)]
        return seen

    def names(self, path, sentence):
        """(name, path or None) of each file or folder that the sentence names."""
        here, top, before = os.path.dirname(path), path.split("/")[0], ""
        for name in NAME.findall(re.sub(r"(\w)'s (?=[\w/]+\.[ch]\b)", r"\1/", sentence)):
            bases = "", here, before, top, os.path.join(top, name.split(".")[0])
            places = (os.path.normpath(os.path.join(base, name)) for base in bases)
            found = next((place for place in places if place in self.texts or place in self.folders), None)
            if found or name.endswith(("/",) + SOURCES):
                yield name, found
            before = found if found in self.folders else os.path.dirname(found) if found else before

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
                findings.append("%s: expected a file or folder, found no %s\n" % (path, name))
                continue
            places.add(place)
            if not any(tree.reached(file) & headers or tree.words[file] & own or shared and tree.reached(file, True) & shared
                       for file in tree.texts if (file == place or file.startswith(place + "/")) and file != path):
                findings.append("%s: expected that %s includes its header, found no #include\n" % (path, place))
    general = any(re.search(r"\b(all|every)\b", sentence, re.I) for sentence in sentences)
    if not is_header and places and not general and not any(" through " in sentence for sentence in sentences):
        functions = set(FUNCTION.findall(tree.texts[path]))
        unnamed = [file for file in sorted(tree.uses) if file != path and tree.uses[file] & functions
                   and not any(is_in(file, place) for place in places)]
        if unnamed:
            findings.append("%s: expected no other callers, found %s\n" % (path, ", ".join(unnamed)))
    if is_header and not places and not general:
        missing.append(path)
    elif is_header and not general:
        declared = set(DECLARED.findall(re.sub(r"/\*.*?\*/", "", tree.texts[path], flags=re.S)))
        callers = {level(file) for file in tree.texts if file.startswith(PRODUCT) and (path in tree.includes[file] or
                   tree.uses.get(file, set()) & declared and file[:-1] != path[:-1])} - {level(path)}
        named = {level(place if place in tree.texts else place + "/") for place in places}
        unnamed = {folder for folder in callers - named if not any((folder + "/").startswith(place + "/") for place in places)}
        if len(callers) <= 6 and unnamed:
            findings.append("%s: expected no other callers, found %s\n" % (path, ", ".join(sorted(unnamed))))


def main():
    tree, findings, missing = Tree(), [], []
    chosen = tuple(word.rstrip("/") + "/" for word in sys.argv[1:] if word != "--missing") or PRODUCT
    for path in sorted(tree.texts):
        if path.endswith((".c", ".h")) and path.startswith(chosen):
            check(tree, path, findings, missing)
    none = ["%s: expected callers in the opening comment, found none\n" % path for path in missing]
    sys.stdout.writelines(none if "--missing" in sys.argv else findings + none)
    print("check_callers: %d findings; %d headers name no callers" % (len(findings), len(missing)))
    return 1 if findings or missing else 0


sys.exit(main())

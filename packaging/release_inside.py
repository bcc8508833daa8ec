#!/usr/bin/env python3
"""Writes down what the programs of a release hold of other libraries, and under which licences, by the maps of their links:
FOLDER/INSIDE.md, and the copyright file of each library's Debian package in FOLDER/licences. An archive whose licence is not
known here is a failure: then there is no release. Run by packaging/release.sh."""

import argparse
import os
import re
import shutil
import subprocess
import sys

# Of an archive's file: the library, and its licence.
LICENCES = [
    (r"lib(c|m|m-[0-9.]+|mvec)\.a", "glibc", "LGPL-2.1 or later"),
    (r"libgcc(_eh)?\.a", "GCC's runtime library", "GPL-3 or later with the GCC Runtime Library Exception"),
    (r"libjpeg\.a", "libjpeg-turbo", "IJG, BSD-3-Clause and Zlib"),
    (r"libpng(16)?\.a", "libpng", "libpng-2.0"),
    (r"libz\.a", "zlib", "Zlib"),
    (r"liburing\.a", "liburing", "MIT, of the licences it offers"),
    (r"libcgroup\.a", "libcgroup", "LGPL-2.1"),
    (r"libproc2\.a", "libproc2", "LGPL-2.1 or later"),
]

HEAD = """\
# What is inside mafat {version} for {machine}

The programs need no shared library: each holds parts of the libraries of this table. mafat itself is under the MIT licence (LICENSE).
The files in licences/ are those of the Debian packages that the archives are from; `apt-get source SOURCE=VERSION`, or
snapshot.debian.org, has their sources. run_inference is based in part on the work of the Independent JPEG Group. What is under the
LGPL may be replaced: mafat's source is all that it takes to link the programs again, with other versions, or shared (`make STATIC=`).

| library | licence | in | package, version | source, version | text |
|---|---|---|---|---|---|
"""


def archives_of(room, machine, program):
    """The archives that a link took something from, as paths in the room; not mafat's own."""
    with open(os.path.join(room, "mafat/build", machine, program + ".map"), encoding="utf-8") as file:
        taken = {os.path.normpath(line.split("(")[0]) for line in file if re.match(r"/[^ (]+\.a\(", line)}
    return {os.path.realpath(room + path)[len(os.path.realpath(room)):] for path in taken}


def ask(room, *command):
    return subprocess.run(["chroot", room, *command], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def package_of(room, path):
    for owned in (path, path.removeprefix("/usr")):  # where /lib is /usr/lib a package may have either
        try:
            return ask(room, "dpkg", "-S", owned).split(": ")[0].split(", ")[0]
        except subprocess.CalledProcessError:
            pass
    sys.exit(f"release_inside.py: {path} is of no package")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", required=True, help="the root of the Debian that the programs were built in")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("folder")
    parser.add_argument("programs", nargs="+")
    o = parser.parse_args()
    os.makedirs(os.path.join(o.folder, "licences"), exist_ok=True)
    rows = {}
    for program in o.programs:
        for path in archives_of(o.room, o.machine, program):
            known = [row[1:] for row in LICENCES if re.fullmatch(row[0], os.path.basename(path))]
            if not known:
                sys.exit(f"release_inside.py: {program} holds parts of {path}, whose licence is not in LICENCES")
            rows.setdefault((*known[0], package_of(o.room, path)), set()).add(program)
    with open(os.path.join(o.folder, "INSIDE.md"), "w", encoding="utf-8") as file:
        file.write(HEAD.format(version=o.version, machine=o.machine))
        for (library, licence, package), programs in sorted(rows.items()):
            name = package.split(":")[0]
            shutil.copy(os.path.join(o.room, "usr/share/doc", name, "copyright"), os.path.join(o.folder, "licences", name + ".txt"))
            version, source = ask(o.room, "dpkg-query", "-W", "-f", "${Version}|${source:Package} ${source:Version}", package).split("|")
            within = ", ".join(p for p in o.programs if p in programs)
            file.write(f"| {library} | {licence} | {within} | {name} {version} | {source} | licences/{name}.txt |\n")


if __name__ == "__main__":
    main()

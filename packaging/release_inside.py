#!/usr/bin/env python3
"""Lists the libraries that are linked into the programs of a release, with their licences. Run by release.sh.

Reads the link maps and writes FOLDER/INSIDE.md, and the copyright file of each library's Debian package into
FOLDER/licences. Fails if an archive's licence is not in its table.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

# Pattern of an archive's name, its library and its licence.
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
# Libraries in mafat {version} for {machine}

The programs need no shared library: each contains parts of the libraries in this table. mafat itself is under the MIT licence
(LICENSE). The files in licences/ are from the Debian packages of these libraries. Their sources are available by
`apt-get source SOURCE=VERSION` or from snapshot.debian.org. run_inference is based in part on the work of the Independent JPEG
Group. Libraries under the LGPL can be replaced: mafat's source is enough to link the programs again with other versions, or with
shared libraries (`make STATIC=`).

| library | licence | in | package, version | source, version | text |
|---|---|---|---|---|---|
"""


def archives_of(room, machine, program):
    """Paths of the archives that were used in a link, without mafat's own."""
    with open(os.path.join(room, "mafat/build", machine, program + ".map"), encoding="utf-8") as file:
        taken = {os.path.normpath(line.split("(")[0]) for line in file if re.match(r"/[^ (]+\.a\(", line)}
    return {os.path.realpath(room + path)[len(os.path.realpath(room)):] for path in taken}


def ask(room, *command):
    return subprocess.run(["chroot", room, *command], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def package_of(room, path):
    for owned in (path, path.removeprefix("/usr")):  # if /lib is a link to /usr/lib, a package may list either
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

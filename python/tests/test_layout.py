"""The structs of this package are those of the headers, to the byte, and so are the functions: a C program prints the length of each
struct and the offsets of its fields."""
import ctypes
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from mafat import _library

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include")
HEADERS = [os.path.join(INCLUDE, f"mafat{name}.h") for name in ("", "_plan", "_video", "_pack", "_ranks", "_file")]
COMPILER = shlex.split(os.environ.get("CC", "cc"))
STRUCTS = {"mafat_" + re.sub("(?<!^)([A-Z])", r"_\1", name).lower(): kind for name, kind in vars(_library).items()
           if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and kind not in (ctypes.Structure, _library.Sized)}


def fields_of(kind):
    """Python's names, and C's: a keyword has an underscore behind it."""
    inherited = _library.Sized._fields_ if issubclass(kind, _library.Sized) else []
    return [(name, name.rstrip("_")) for name, _ in inherited + kind._fields_]


def read_headers():
    """Without comments."""
    text = ""
    for header in HEADERS:
        with open(header, encoding="utf-8") as file:
            text += file.read()
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


@unittest.skipUnless(os.path.exists(HEADERS[0]) and shutil.which(COMPILER[0]), "no mafat.h beside it, or no compiler")
class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lines = ['#include <stddef.h>', '#include <stdio.h>', *(f'#include "{header}"' for header in HEADERS), "int main(void) {"]
        for struct, kind in STRUCTS.items():
            lines.append(f'printf("{struct} %zu\\n", sizeof(struct {struct}));')
            lines += [f'printf("{struct}.{name} %zu %zu\\n", offsetof(struct {struct}, {name}), sizeof(((struct {struct} *)0)->{name}));'
                      for _, name in fields_of(kind)]
        lines.append("return 0; }")
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
            with open(source, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            subprocess.run([*COMPILER, "-std=c11", "-o", program, source], check=True)
            said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        cls.lengths = {words[0]: [int(n) for n in words[1:]] for words in map(str.split, said.splitlines())}

    def test_structs_are_as_long(self):
        for struct, kind in STRUCTS.items():
            self.assertEqual([ctypes.sizeof(kind)], self.lengths[struct], struct)

    def test_fields_lie_where_the_header_has_them(self):
        for struct, kind in STRUCTS.items():
            for name, name_in_c in fields_of(kind):
                field = getattr(kind, name)
                self.assertEqual([field.offset, field.size], self.lengths[f"{struct}.{name_in_c}"], f"{struct}.{name}")

    def test_functions_have_as_many_arguments(self):
        header = read_headers()
        for name, (_, *arguments) in _library.FUNCTIONS.items():
            declared = re.search(rf"MAFAT_API [^;]*\b{name}\(([^;]*)\);", header)
            self.assertIsNotNone(declared, name)
            self.assertEqual(len(arguments), 0 if declared[1] == "void" else declared[1].count(",") + 1, name)

    def test_codes_are_the_headers(self):
        codes = dict(re.findall(r"MAFAT_(E\w+) = (-\d)", read_headers()))
        self.assertEqual({name: str(getattr(_library, name)) for name in codes}, codes)
        self.assertEqual(len(codes), 7)


if __name__ == "__main__":
    unittest.main()

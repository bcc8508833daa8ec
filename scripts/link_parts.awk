# The linker script of a static program: awk -f link_parts.awk parts.def template. Where parts.def includes
# base/levels.def, its rows are read, too. Replaces in the template @PARTS@ by a section for
# each part, @TABLES@ by the constants that runs read, @OPENING@ by the tables of addresses of parts that no run enters.

function fail(text) { print "link_parts.awk: " text > "/dev/stderr"; failed = 1; exit 1 }

# Of a row's text the arguments from the second on, without quotes; strings side by side are one.
function split_row(text) {
  sub(/^[A-Z]+\(/, "", text); sub(/\)$/, "", text)
  gsub(/"[ \t]*"/, "", text); gsub(/"/, "", text)
  n_fields = split(text, field, /,[ \t]*/)
}

function part(name, begins) {
  names[++n_parts] = name; starts[name] = begins
  body[name] = "    *(.text.." name ".*)\n"
}

# Patterns for the objects of own files, all of which must be there.
function objects(paths,   i, n, p, out) {
  n = split(paths, p, " ")
  for (i = 1; i <= n; i++) {
    if (p[i] != "*") files = files " " p[i] ".c"
    out = out " */obj/" p[i] ".o"
  }
  return substr(out, 2)
}

# Each pattern with the sections that are taken.
function take(patterns, sections,   i, n, p, line) {
  n = split(patterns, p, " ")
  for (i = 1; i <= n; i++) line = line "    " p[i] "(" sections ")\n"
  return line
}

function members(library, list,   i, n, m, out) {
  n = split(list, m, " ")
  for (i = 1; i <= n; i++) out = out " *" library ".a:" m[i] (m[i] ~ /\*$/ ? "" : ".o")
  return substr(out, 2)
}

function add(name, text, patterns) {
  if (!(name in body)) fail("no part is named " name)
  body[name] = body[name] text
  if (never[name]) opening = opening take(patterns, RELOCATED)
}

function row(text,   kind, name, p) {
  kind = text; sub(/\(.*/, "", kind)
  split_row(text)
  name = field[1]
  if (kind == "PART") { part(name, field[2]); never[name] = field[3] == "false" }
  else if (kind == "FILES") { p = objects(field[2]); add(name, take(p, OWN " .rodata.*"), p) }
  else if (kind == "CODE") add(name, take(objects(field[2]), OWN " .rodata.cst*"), "")
  else if (kind == "COLD") add(name, "    EXCLUDE_FILE(" objects(field[2]) ") */obj/*.o(.text.unlikely .text.unlikely.*)\n", "")
  else if (kind == "FROM") add(name, take(members(field[2], field[3]), ".text .text.* .rodata .rodata.*"), "")
  else if (kind == "UNREAD") opening = opening take(members(field[1], field[2]), RELOCATED)
  else if (kind == "TABLE") tables = tables "    . = ALIGN(0x1000);\n    mafat_linked_" name " = .;\n" take(members(field[2], field[3]), ".rodata") \
                                     "    mafat_linked_" name "_end = mafat_linked_" name " + " field[4] ";\n"
  else fail("unknown row " text)
}

function sections(   i, name, out) {
  for (i = 1; i <= n_parts; i++) {
    name = names[i]
    late = starts[name] == "WINDOW" || starts[names[i - 1]] == "WINDOW"
    out = out "  .text." name " : ALIGN(" (late ? WINDOW : "0x1000") ")\n  {\n    mafat_linked_" name " = .;\n" body[name] \
          "    mafat_linked_" name "_end = .;\n  }\n"
  }
  return out
}

# A row of base/levels.def, LEVEL(name, NAME, machine, ...) or INTEGERS(name, level, machine, ...):
# its kernels are parts of its name.
function level(text,   name, folder) {
  split(text, field, /[(,] */)
  name = field[2]
  folder = field[4] == "X86" ? "x86/" : field[4] ~ /^ARM/ ? "arm/" : ""
  if (field[1] == "LEVEL") {
    part(name "_winograd_6", "PAGE"); part(name "_winograd_4", "PAGE"); part(name "_depthwise", "PAGE")
  } else name = "integer_" name
  part(name, "PAGE")
  add(name, take(objects("runner/kernels/" folder name), OWN " .rodata.cst*"), "")
}

BEGIN {
  RELOCATED = ".data.rel.ro .data.rel.ro.*"
  OWN = ".text .text.[!.]* .rodata"
  WINDOW = "DEFINED(mafat_window) ? mafat_window : 0x10000"
}

FNR == NR {
  if (/^#define (LEVEL|INTEGERS)\(/) rows = "^" substr($2, 1, index($2, "(") - 1) "\\("
  if (/^#include "base\/levels.def"/) {
    while ((getline line < "base/levels.def") > 0) if (line ~ rows) level(line)
    close("base/levels.def")
  }
  if (!pending && $0 !~ /^[A-Z]+\(/) next # comments
  sub(/^[ \t]+/, "")
  pending = pending $0
  if (pending ~ /\)$/) { row(pending); pending = "" }
  next
}
FNR == 1 && system("ls -d" files " >/dev/null") != 0 { fail("parts.def names files that are not there") }
/@PARTS@/ { printf "%s", sections(); next }
/@TABLES@/ { printf "%s", tables; next }
/@OPENING@/ { printf "%s", opening; next }
{ print }
END { exit failed }

# Prints the linker script of a static program: awk -v window=BYTES -v page=BYTES -f link_parts.awk
# parts.def TEMPLATE. A part begins and ends at a multiple of these bytes. In the template, @PARTS@
# becomes one section for each part, @TABLES@ the library constants that runs read, @UNREAD@ the
# address tables that no run reads. Where parts.def includes base/levels.def, it reads the rows for
# which a macro was just defined.

function fail(text) { print "link_parts.awk: " text >"/dev/stderr"; failed = 1; exit 1 }

# The arguments of a row, without quotes; adjacent strings are joined.
function split_row(text) {
  sub(/^[A-Z]+\(/, "", text)
  sub(/\)$/, "", text)
  gsub(/"[ \t]*"/, "", text)
  gsub(/"/, "", text)
  split(text, field, /,[ \t]*/)
}

function add_part(name, begins) {
  names[++n_parts] = name
  at[name] = begins
  body[name] = "    mafat_linked_" name " = .;\n    *(.text.." name ".*)\n"
}

# Patterns of the source files' objects; every source must exist.
function objects(paths,   i, n, p, out) {
  n = split(paths, p, " ")
  for (i = 1; i <= n; i++) {
    if (p[i] != "*") files = files " " p[i] ".c"
    out = out " */obj/" p[i] ".o"
  }
  return out
}

function members(library, list,   i, n, m, out) {
  n = split(list, m, " ")
  for (i = 1; i <= n; i++) out = out " *" library ".a:" m[i] (m[i] ~ /\*$/ ? "" : ".o")
  return out
}

# Statements that place these sections of each pattern.
function place(patterns, sections,   i, n, p, out) {
  n = split(patterns, p, " ")
  for (i = 1; i <= n; i++) out = out "    " p[i] "(" sections ")\n"
  return out
}

function add(name, text) {
  if (!(name in body)) fail("expected a part, found " name)
  body[name] = body[name] text
}

function row(text,   kind, name, except) {
  kind = text
  sub(/\(.*/, "", kind)
  split_row(text)
  name = field[1]
  if (kind == "PART") {
    add_part(name, field[2])
    never[name] = field[3] == "false"
  } else if (kind == "FILES") {
    add(name, place(objects(field[2]), OWN " .rodata.*"))
    if (never[name]) unread = unread place(objects(field[2]), ADDRESSES)
  } else if (kind == "CODE") {
    add(name, place(objects(field[2]), CODE))
  } else if (kind == "COLD") {
    except = objects(field[2])
    add(name, "    EXCLUDE_FILE(" except ") */obj/*.o(.text.unlikely .text.unlikely.*)\n")
  } else if (kind == "FROM") {
    add(name, place(members(field[2], field[3]), ".text .text.* .rodata .rodata.*"))
  } else if (kind == "UNREAD") {
    unread = unread place(members(field[1], field[2]), ADDRESSES)
  } else if (kind == "TABLE") {
    tables = tables "    . = ALIGN(0x1000);\n    mafat_linked_" name " = .;\n" \
             place(members(field[2], field[3]), ".rodata") \
             "    mafat_linked_" name "_end = mafat_linked_" name " + " field[4] ";\n"
  } else fail("expected a row, found " text)
}

function sections(   i, name, align, next_align, out) {
  next_align = page
  for (i = 1; i <= n_parts; i++) {
    name = names[i]
    align = next_align
    next_align = i < n_parts && (at[name] == "WINDOW" || at[names[i + 1]] == "WINDOW") ? window : page
    if (i == n_parts) body[name] = body[name] "    KEEP(*(SORT_NONE(.fini)))\n" # ends each run
    # filled to the next part: no hole, at which mprotect and munlock would stop
    out = out "  .text." name " : ALIGN(" align ")\n  {\n" body[name] \
          "    mafat_linked_" name "_end = .;\n    . = ALIGN(" next_align ");\n  }\n"
  }
  return out
}

# A row of base/levels.def, LEVEL(name, NAME, machine, ...) or INTEGERS(name, level, machine, ...):
# the parts of its name, and its file.
function level(text,   name, folder) {
  split(text, field, /[(,] */)
  name = field[2]
  folder = field[4] == "X86" ? "x86/" : field[4] ~ /^ARM/ ? "arm/" : ""
  if (field[1] == "LEVEL") {
    add_part(name "_winograd_6", "PAGE")
    add_part(name "_winograd_4", "PAGE")
    add_part(name "_depthwise", "PAGE")
  } else name = "integer_" name
  add_part(name, "PAGE")
  add(name, place(objects("runner/kernels/" folder name), CODE))
}

BEGIN {
  OWN = ".text .text.[!.]* .rodata" # two dots: base/part.h
  CODE = OWN " .rodata.cst*"
  ADDRESSES = ".data.rel.ro .data.rel.ro.*"
}
FNR == NR {
  if (/^#define (LEVEL|INTEGERS)\(/) rows = "^" substr($2, 1, index($2, "(") - 1) "\\("
  if (/^#include "base\/levels.def"/) {
    while ((getline line < "base/levels.def") > 0) if (line ~ rows) level(line)
    close("base/levels.def")
  }
  if (!pending && $0 !~ /^[A-Z]+\(/) next # comments and macros
  sub(/^[ \t]+/, "")
  pending = pending $0
  if (pending ~ /\)$/) {
    row(pending)
    pending = ""
  }
  next
}
FNR == 1 && system("ls -d" files " >/dev/null") != 0 { fail("expected the files of parts.def") }
/@PARTS@/ { printf "%s", sections(); next }
/@TABLES@/ { printf "%s", tables; next }
/@UNREAD@/ { printf "%s", unread; next }
{ print }
END { exit failed }

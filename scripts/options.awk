# Prints text from the tables of options and searches:
#   awk -v mode=list -f scripts/options.awk TABLES
#     PROGRAM NAME ARGUMENT VALUES GROUP a line, with tabs between; of searches: search NAME, word SEARCH NAME
#   awk -v mode=page -f scripts/options.awk TABLES PAGE
#     the manual page, with entries for options, searches and words that it lacks, made from their help
#   awk -v mode=complete -f scripts/options.awk TABLES scripts/completion/mafat.bash
#     the completion, with the words that values are one of
# TABLES: programs/shared/options.def and files of search/ with rows of searches. Programs: run, serve, ranks, pack, make, annotate,
# limit.

# String literals of a piece of C: into literals[1..], neighbours joined; returns how many.
function take_literals(text, literals, n, joined, piece) {
  n = 0
  joined = 0
  while (match(text, /"([^"\\]|\\.)*"/)) {
    if (n && substr(text, 1, RSTART - 1) ~ /^[ \t\n]*$/) joined = 1
    else joined = 0
    piece = substr(text, RSTART + 1, RLENGTH - 2)
    gsub(/\\n/, "\n", piece); gsub(/\\"/, "\"", piece); gsub(/\\\\/, "\\", piece)
    if (joined) literals[n] = literals[n] piece
    else literals[++n] = piece
    text = substr(text, RSTART + RLENGTH)
  }
  return n
}

function trim(text) { sub(/^[ \t\n]+/, "", text); sub(/[ \t\n]+$/, "", text); return text }

# The program that has a row, of those whose bits the row names; section is that of a program alone.
function has_program(who, one) {
  if (section != "RUN") return one == tolower(section)
  return index(" " who " ", " " toupper(one) " ") > 0
}

function add_option(name, argument, values, who, help, i, all, n) {
  n_before = n_options
  if (name == "") return
  n = split("run serve ranks pack make annotate limit", all, " ")
  for (i = 1; i <= n; i++) {
    if (!has_program(who, all[i])) continue
    n_options++
    option_program[n_options] = all[i]; option_name[n_options] = name; option_argument[n_options] = argument
    option_values[n_options] = values; option_help[n_options] = help; option_group[n_options] = group
    option_shared[n_options] = all[i] == "ranks" && index(who, "RUN") # its page names run_inference's for them
  }
}

# The variable of the option above.
function add_variable(variable, i) {
  for (i = n_before + 1; i <= n_options; i++) option_help[i] = option_help[i] "Default: the environment\047s " variable ".\n"
}

# A row of options.def, whole.
function take_row(row, kind, texts, n, who) {
  kind = row; sub(/\(.*/, "", kind)
  n = take_literals(row, texts)
  who = row; gsub(/"([^"\\]|\\.)*"/, "", who); gsub(/[^A-Z_]+/, " ", who)
  if (kind == "GROUP") group = texts[1]
  else if (kind == "ENVIRONMENT") add_variable(texts[1])
  else if (kind == "OPTION") add_option(texts[1], texts[2], texts[3], who, texts[5])
}

FILENAME ~ /options\.def$/ {
  if (/^#ifdef OPTIONS_OF_/) { section = $2; sub(/OPTIONS_OF_/, "", section) }
  if (/^(GROUP|OPTION|ALSO|SAYS|BRIEF|RENAMED|EXCLUDES|ENVIRONMENT|OF_PICTURES|OF_MACHINE)\(|^#/) {
    if (row != "") take_row(row)
    row = ""
  }
  if (/^(GROUP|OPTION|ENVIRONMENT)\(/) row = $0
  else if (row != "") row = row "\n" $0
  next
}

FILENAME ~ /search\/.*\.c$/ {
  if (/^ *WORD\(/) { word = $0 }
  else if (word != "") word = word "\n" $0
  if (word != "" && /\)[,}]/ ) {
    take_literals(word, texts)
    n_pending++; pending_name[n_pending] = texts[1]; pending_help[n_pending] = ""
    for (i = 2; i in texts; i++) pending_help[n_pending] = texts[i]
    delete texts; word = ""
  }
  if (/^const struct mafat_search mafat_searching_/) { in_search = 1; search = "" }
  if (in_search) search = search "\n" $0
  if (in_search && /};$/) {
    match(search, /\.name = "[a-z]+"/); name = substr(search, RSTART + 9, RLENGTH - 10)
    help = search; sub(/.*\.help = /, "", help); sub(/\n *\.[a-z_]+ = .*/, "", help)
    take_literals(help, texts)
    n_searches++; search_name[n_searches] = name; search_help[n_searches] = texts[1]
    delete texts
    for (i = 1; i <= n_pending; i++) {
      n_words++; word_search[n_words] = name; word_name[n_words] = pending_name[i]; word_help[n_words] = pending_help[i]
    }
    n_pending = 0; in_search = 0
  }
  next
}

FNR == 1 { program = program_of(FILENAME) }
{ page[++n_lines] = $0 }

# ---- pages ----

function program_of(path) {
  sub(/.*\//, "", path); sub(/\..*/, "", path)
  if (path == "run_inference") return "run"
  sub(/^mafat_/, "", path); sub(/^memory_/, "", path); sub(/_weights$/, "", path)
  return path
}

# Text of a page: no backslash is a request, nor is a line's first dot.
function escape(text, lines, n, i) {
  text = trim(text)
  gsub(/\\/, "\\e", text)
  n = split(text, lines, "\n")
  text = ""
  for (i = 1; i <= n; i++) text = text (i > 1 ? "\n" : "") (lines[i] ~ /^['.]/ ? "\\&" : "") lines[i]
  return text
}

function page_has(option, i) {
  for (i = 1; i <= n_lines; i++)
    if (page[i] ~ ("^\\.It .*-" option "( |$)")) return 1
  return 0
}

function entry_of(i, text) {
  text = ".It Fl -" option_name[i]
  if (option_argument[i] != "") text = text " Ar " option_argument[i]
  return text "\n" escape(option_help[i]) "\n"
}

# The line of the last .El below a heading; 0: there is none.
function end_of_list(title, i, inside, last, depth) {
  for (i = 1; i <= n_lines; i++) {
    if (page[i] ~ /^\.S[sh] /) {
      if (inside && last) return last
      inside = title == "" || page[i] == ".Ss " title
    }
    if (page[i] ~ /^\.Bl /) depth++
    if (page[i] ~ /^\.El/ && --depth == 0 && inside) {
      last = i
      if (title == "") return last
    }
  }
  return last
}

# The line of the .El of the list that has an item; 0: there is none.
function end_of_list_with(item, i, depth, inside) {
  for (i = 1; i <= n_lines; i++) {
    if (page[i] ~ /^\.Bl /) depth++
    if (page[i] ~ /^\.It / && index(page[i], item)) inside = depth
    if (page[i] ~ /^\.El/) { if (inside && inside == depth) return i; depth-- }
  }
  return 0
}

function has_item(item, i) {
  for (i = 1; i <= n_lines; i++) if (page[i] ~ /^\.It / && index(page[i] " ", item)) return 1
  return 0
}

function write_page(i, at, more, k) {
  for (i = 1; i <= n_options; i++) {
    if (option_program[i] != program || option_shared[i] || option_help[i] == "" || page_has(option_name[i])) continue
    at = end_of_list(option_group[i])
    if (!at) at = end_of_list("")
    more[at] = more[at] entry_of(i)
  }
  at = program == "run" ? end_of_list_with(".It Cm " search_name[1]) : 0
  for (i = 1; at && i <= n_searches; i++)
    if (!has_item(".It Cm " search_name[i] " ")) more[at] = more[at] ".It Cm " search_name[i] "\n" escape(search_help[i]) "\n"
  at = program == "run" ? end_of_list_with(word_search[1] ":" word_name[1]) : 0
  for (i = 1; at && i <= n_words; i++)
    if (!has_item(word_search[i] ":" word_name[i]))
      more[at] = more[at] ".It Li " word_search[i] ":" word_name[i] "\n" escape(word_help[i]) "\n"
  for (i = 1; i <= n_lines; i++) {
    if (i in more) printf "%s", more[i]
    print page[i]
  }
}

# ---- all ----

function write_words(i, text) {
  for (i = 1; i <= n_options; i++)
    if (option_values[i] ~ /^[a-z][a-z0-9-]*(\|[a-z0-9-]+)+$/) {
      text = option_values[i]
      gsub(/\|/, " ", text)
      print "  " option_program[i] ":--" option_name[i] ") echo " text " ;;"
    }
  text = ""
  for (i = 1; i <= n_searches; i++) text = text (i > 1 ? " " : "") search_name[i]
  print "  run:--search) echo " text " ;;"
}

END {
  if (row != "") take_row(row)
  if (mode == "list") {
    for (i = 1; i <= n_options; i++)
      print option_program[i] "\t" option_name[i] "\t" option_argument[i] "\t" option_values[i] "\t" option_group[i]
    for (i = 1; i <= n_searches; i++) print "search\t" search_name[i]
    for (i = 1; i <= n_words; i++) print "word\t" word_search[i] "\t" word_name[i]
  }
  for (i = 1; mode == "complete" && i <= n_lines; i++)
    if (page[i] ~ /^ *# WORDS$/) write_words()
    else print page[i]
  if (mode == "page") write_page()
}

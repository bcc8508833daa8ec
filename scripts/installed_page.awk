# A Markdown page as `make install` installs it: links to files that are not installed become plain
# text.
#   awk -v page=doc/serve.md -v installed="README.md doc/serve.md doc/dog.jpg" -f scripts/installed_page.awk doc/serve.md
# Paths in `installed` start at the project's root, which is DOCDIR after the installation.

# The path that a link of this page leads to, from the root, without ./, .. and #anchor.
function resolve(target, parts, n, i, stack, depth, path) {
  sub(/#.*/, "", target)
  path = page
  sub(/[^\/]*$/, "", path)
  n = split(path target, parts, "/")
  depth = 0
  for (i = 1; i <= n; i++) {
    if (parts[i] == ".." && depth > 0) depth--
    else if (parts[i] != "" && parts[i] != ".") stack[++depth] = parts[i]
  }
  path = ""
  for (i = 1; i <= depth; i++) path = path (i > 1 ? "/" : "") stack[i]
  return path
}

BEGIN {
  RS = "\001" # the page is one record
  n_installed = split(installed, names, " ")
  for (i = 1; i <= n_installed; i++) is_installed[names[i]] = 1
}

{
  rest = $0
  while (match(rest, /!?\[[^][]*\]\([^() \n]+\)/)) {
    link = substr(rest, RSTART, RLENGTH)
    printf "%s", substr(rest, 1, RSTART - 1)
    rest = substr(rest, RSTART + RLENGTH)
    target = text = link
    sub(/.*\]\(/, "", target); sub(/\)$/, "", target)
    sub(/^!?\[/, "", text); sub(/\]\([^()]*\)$/, "", text)
    if (target ~ /^(https?:|#)/ || resolve(target) in is_installed) printf "%s", link
    else printf "%s", text
  }
  printf "%s", rest
}

"""Wraps the Markdown that experiments write at 100 columns."""

import re

WIDTH = 100
KEPT = re.compile(r"\||#|!\[|    |<|\[SVG\]|$")   # tables, headings, pictures, code, comments


def filled(words, first, rest):
    """Lines of words. The first starts with `first`, the others with `rest`."""
    lines = [first + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= WIDTH or re.fullmatch(r"[-+*]|1\.|#+|>", word):
            lines[-1] += " " + word
        else:
            lines.append(rest + word)
    return lines


def words(text):
    """Splits at blanks, except inside code and links."""
    return re.findall(r"(?:`[^`]*`|!?\[[^]]*\]\([^)]*\)|\S)+", text)


def wrapped(text):
    """A page with its paragraphs and list items wrapped."""
    lines, paragraph, first, rest = [], [], "", ""

    def end():
        if paragraph:
            lines.extend(filled(words(" ".join(paragraph)), first, rest))
            paragraph.clear()

    for line in text.split("\n"):
        item = re.match(r" *(?:[-*]|\d+\.) +", line)
        if item:
            end()
            first, rest = item.group(), " " * len(item.group())
            paragraph.append(line[len(first):])
        elif not line.strip() or KEPT.match(line) and not (paragraph and line.startswith("  ")):
            end()
            lines.append(line)
            first = rest = ""
        else:
            paragraph.append(line.strip())
    end()
    return "\n".join(lines)

"""Formats numbers and tables for a report."""

MEGABYTE = 1048576


def ms(value):
    if value is None:
        return ""
    return "%.1f" % value if value < 100 else "%.0f" % value


def duration(value):
    """Milliseconds for running text."""
    if value < 1000:
        return ms(value) + " ms"
    return "%.1f s" % (value / 1000) if value < 100e3 else "%.0f s" % (value / 1000)


def mb(value, decimals=1):
    """Bytes as MB."""
    return "" if value is None else "%.*f" % (decimals, value / MEGABYTE)


def limit(value):
    """A limit in MB as text."""
    return "none" if value is None else "%g" % value


def limits(values):
    """Limits as texts, descending."""
    return [limit(value) for value in reversed(values)]


def times(value):
    return "%.2f" % value if value < 10 else "%.0f" % value


def percent(value, base):
    """Percent more than the base."""
    return "%+.0f %%" % (100 * (value / base - 1)) if value and base else ""


def span(values):
    low, high = min(values), max(values)
    return "%d" % low if low == high else "%d to %d" % (low, high)


def listed(words):
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def named(name, value):
    """A plan and its milliseconds in one cell."""
    return "%s: %s" % (name, ms(value)) if name and value else ""


def table(heads, lines):
    rows = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(rows + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def paragraph(*sentences):
    return " ".join(sentence for sentence in sentences if sentence) + "\n"


def parts(*texts):
    """Paragraphs, tables and headings with an empty line between them."""
    return "\n".join(text for text in texts if text)

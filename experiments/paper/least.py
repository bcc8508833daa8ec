"""Finds the least limit in which a program does not swap, as in the paper, but by bisection. The
next limit depends only on the limits tried, so an interrupted search continues."""

from sweep import rows as sweep_rows


def is_dry(row):
    """True if the run succeeded and its group swapped nothing."""
    return row["outcome"] == "exit" and row["exit_status"] == 0 and not sweep_rows.swapped(row)


class Search:
    """The search for one label's least limit. start: a guess in bytes, rounded up to steps; step:
    bytes; confirmations: dry runs besides the first; most: bytes at which it gives up, for
    programs that never succeed."""

    def __init__(self, start, step, confirmations=2, most=1 << 50):
        self.step, self.confirmations, self.most = step, confirmations, most
        self.start = -(-start // step) * step
        self.tried = {}   # limit -> rows

    def add(self, row):
        self.tried.setdefault(row["limit_bytes"], []).append(row)

    def bounds(self):
        """(the largest limit with a run that swapped, the least one above in which none did); None:
        unknown."""
        wet = max((limit for limit, rows in self.tried.items() if not all(map(is_dry, rows))), default=None)
        dry = min((limit for limit, rows in self.tried.items() if all(map(is_dry, rows)) and (wet is None or limit > wet)), default=None)
        return wet, dry

    def stride(self):
        """Doubles the step while only one bound is known."""
        return self.step << max(0, len(self.tried) - 1)

    def next(self):
        """(limit, number of the run) to try next, or None when done."""
        wet, dry = self.bounds()
        if dry is None and wet is not None and wet >= self.most:
            return None
        if dry is None:
            limit = self.start if wet is None else wet + self.stride()
        elif wet is None:
            if dry <= self.step:
                return None
            limit = max(self.step, dry - self.stride())
        elif dry - wet > self.step:
            limit = wet + (dry - wet) // (2 * self.step) * self.step
        elif len(self.tried[dry]) <= self.confirmations:
            limit = dry
        else:
            return None
        return limit, len(self.tried.get(limit, [])) + 1

    def found(self):
        return None if self.next() else self.bounds()[1]

    def below(self):
        """The outcome one step below the least limit, as text."""
        wet = self.bounds()[0]
        if wet is None:
            return ""
        row = next(row for row in self.tried[wet] if not is_dry(row))
        if row["outcome"] != "exit":
            return {"oom": "killed: out of memory", "timeout": "time-out"}.get(row["outcome"], row["outcome"])
        if row["exit_status"] != 0:
            return "failed"
        return "%.1f MB in swap at once, %.1f MB read back" % tuple((row[column] or 0) / 1048576 for column in ("swap_peak_bytes", "swap_in_bytes"))

    def runs(self):
        """(all runs, runs in the least limit)"""
        return sum(map(len, self.tried.values())), len(self.tried.get(self.found(), []))

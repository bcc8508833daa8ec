/* A way goes on for as long as operators are compatible. It forks where a version ends before an operator: one that sums
 * up, or one whose tiles overlap. Each version is cut at the operator of the least buffer, of equals the nearest. */
#include "search/fdt/paths.h"

static bool is_overlapping(const struct mafat_fdt_operator *o, struct mafat_fdt_tiling t)
{
  return (t.h > 1 && mafat_fdt_overlaps(o->kernel_h, o->stride_h)) || (t.w > 1 && mafat_fdt_overlaps(o->kernel_w, o->stride_w));
}

/* Has its output so many rows, columns and channels? */
static bool has_parts(const struct mafat_fdt_operator *o, struct mafat_fdt_tiling t)
{
  return o->h >= t.h && o->w >= t.w && o->c >= t.c;
}

int mafat_fdt_reach_up(const struct mafat_fdt_operator *line, int at, struct mafat_fdt_tiling t, int *reaches)
{
  int n = 0;
  for (int i = at; i >= 0; i--) {
    const struct mafat_fdt_operator *o = &line[i];
    bool ends = t.c > 1 && (o->roles & MAFAT_FDT_FAN_OUT);
    bool goes = ends || (o->roles & (t.c > 1 ? MAFAT_FDT_PART : MAFAT_FDT_MAPS));
    if (goes && !has_parts(o, t)) return n; /* what would go through it is no path */
    if (i < at && (!goes || (t.c == 1 && is_overlapping(o, t)))) reaches[n++] = i + 1;
    if (!goes) return n;
    if (ends || i == 0) {
      reaches[n++] = i;
      return n;
    }
  }
  return n;
}

int mafat_fdt_reach_down(const struct mafat_fdt_operator *line, int n, int at, struct mafat_fdt_tiling t, int *reaches)
{
  int found = 0;
  for (int i = at + 1; i < n; i++) {
    const struct mafat_fdt_operator *o = &line[i];
    bool sums = t.c > 1 && (o->roles & MAFAT_FDT_FAN_IN);
    bool goes = sums || (o->roles & (t.c > 1 ? MAFAT_FDT_PART : MAFAT_FDT_MAPS));
    if (goes && !sums && !has_parts(o, t)) return found;
    if (i > at + 1 && (!goes || sums || (t.c == 1 && is_overlapping(o, t)))) reaches[found++] = i - 1;
    if (!goes) return found;
    if (sums || i == n - 1) {
      reaches[found++] = i;
      return found;
    }
  }
  return found;
}

static int cut_up(const struct mafat_fdt_operator *line, int at, int first)
{
  int best = at;
  for (int i = at - 1; i >= first; i--)
    if (line[i].in_bytes < line[best].in_bytes) best = i;
  return best;
}

static int cut_down(const struct mafat_fdt_operator *line, int at, int last)
{
  int best = at + 1;
  for (int i = at + 2; i <= last; i++)
    if (line[i].out_bytes < line[best].out_bytes) best = i;
  return best;
}

static struct mafat_fdt_path path_of(const struct mafat_fdt_operator *line, int first, int last, struct mafat_fdt_tiling t)
{
  return (struct mafat_fdt_path){.first = first, .last = last, .fans_out = t.c > 1 && (line[first].roles & MAFAT_FDT_FAN_OUT),
                                 .fans_in = t.c > 1 && (line[last].roles & MAFAT_FDT_FAN_IN)};
}

/* The further a version goes, the further the place where it is cut: those that are the same come one behind the other. */
int mafat_fdt_paths(const struct mafat_fdt_operator *line, int n, int at, struct mafat_fdt_tiling t, struct mafat_fdt_path *list,
                    int most)
{
  enum { MOST_VERSIONS = 256 }; /* of a way, nearest first */
  int ups[MOST_VERSIONS], downs[MOST_VERSIONS], found = 0;
  int from = at < MOST_VERSIONS ? 0 : at - MOST_VERSIONS + 1;
  int until = n - at <= MOST_VERSIONS ? n : at + MOST_VERSIONS;
  int n_ups = mafat_fdt_reach_up(line + from, at - from, t, ups), n_downs = mafat_fdt_reach_down(line, until, at, t, downs);
  for (int u = 0, before = -1; u < n_ups; u++) {
    int first = cut_up(line, at, ups[u] + from);
    if (first == before) continue;
    before = first;
    for (int v = 0, last_before = -1; v < n_downs; v++) {
      int last = cut_down(line, at, downs[v]);
      if (last != last_before && found < most) list[found++] = path_of(line, first, last, t);
      last_before = last;
    }
  }
  return found;
}

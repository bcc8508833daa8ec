#include "search/fdt/tiling.h"

static int least(int a, int b)
{
  return a < b ? a : b;
}

int mafat_fdt_tilings(int h, int w, int c, struct mafat_fdt_tiling *list)
{
  int n = 0;
  for (int i = 2; i <= least(c, MAFAT_FDT_MOST_PARTS); i++) list[n++] = (struct mafat_fdt_tiling){1, 1, i};
  for (int i = 2; i <= least(h, MAFAT_FDT_MOST_PARTS); i++) list[n++] = (struct mafat_fdt_tiling){i, 1, 1};
  for (int i = 2; i <= least(w, MAFAT_FDT_MOST_PARTS); i++) list[n++] = (struct mafat_fdt_tiling){1, i, 1};
  for (int i = 2; i <= least(least(h, w), MAFAT_FDT_MOST_SIDE); i++) list[n++] = (struct mafat_fdt_tiling){i, i, 1};
  return n;
}

struct mafat_span mafat_fdt_part(int extent, int n, int i)
{
  int size = extent / n, larger = extent % n;
  int begin = i * size + least(i, larger);
  return (struct mafat_span){begin, begin + size + (i < larger)};
}

struct mafat_span mafat_fdt_input(struct mafat_span out, int kernel, int stride, int pad, int extent)
{
  int begin = out.begin * stride - pad, end = (out.end - 1) * stride - pad + kernel;
  return (struct mafat_span){begin < 0 ? 0 : begin, least(end, extent)};
}

#include "search/searches.h"

#include <stdio.h>
#include <string.h>

#include "search/best.h"
#include "search/fdt/fdt.h"
#include "search/motes/motes.h"

/* What fused depthwise tiling finds instead, where that has a smaller arena and computes nothing twice. */
static int take_fused(struct mafat_front **front, const struct mafat_search_request *request, enum mafat_fused_tiling tiling,
                      struct mafat_diagnostic *d)
{
  struct mafat_search_request fused = *request;
  struct mafat_front *found;
  fused.tiling = tiling;
  int code = mafat_search_fdt(&found, &fused, d);
  if (code) return code;
  bool less = found->list[0].arena_bytes < (*front)->list[0].arena_bytes && found->list[0].redundant_macs == 0;
  mafat_front_close(less ? front : &found);
  if (less) *front = found;
  return MAFAT_OK;
}

static int find_least(struct mafat_front **out, const struct mafat_search_request *request, struct mafat_diagnostic *d)
{
  struct mafat_search_request least = *request;
  least.least = true;
  least.plan_seconds = request->plan_seconds / 2;
  int code = mafat_search_front(out, &least, d);
  least.plan_seconds = request->plan_seconds / 4;
  if (code == MAFAT_OK) code = take_fused(out, &least, MAFAT_FUSED_FDT, d);
  if (code == MAFAT_OK) code = take_fused(out, &least, MAFAT_FUSED_BOTH, d);
  if (code) mafat_front_close(out);
  return code;
}

static const struct mafat_search searches[] = {
    {.name = "best", .finds = "the best there is", .unfit = "no plan needs less", .timed = true, .find = mafat_search_front},
    {.name = "least", .finds = "the least arena", .unfit = "it is what --search least takes, which keeps all weights", .one_plan = true,
     .timed = true, .find = find_least},
    {.name = "fdt", .finds = "fused depthwise tiling's", .unfit = "it is what --search fdt takes, which keeps all weights",
     .one_plan = true, .timed = true, .tiles = true, .find = mafat_search_fdt},
    {.name = "motes", .finds = "MOTES'", .unfit = "it is what --search motes takes, which keeps all weights",
     .one_plan = true, .timed = true, .find = mafat_search_motes},
    {.name = "greedy", .finds = "the paper's greedy search", .unfit = "it is what --search greedy takes", .by_paper = true},
};

enum { N_SEARCHES = sizeof searches / sizeof *searches };

const struct mafat_search *mafat_search_at(int index) { return index >= 0 && index < N_SEARCHES ? &searches[index] : NULL; }

int mafat_search_named(const struct mafat_search **search, const char *name, struct mafat_diagnostic *d)
{
  char names[128] = "";
  size_t length = 0;
  for (int i = 0; i < N_SEARCHES; i++) {
    *search = &searches[i];
    if (!name || strcmp(name, searches[i].name) == 0) return MAFAT_OK;
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", searches[i].name);
  }
  *search = NULL;
  return mafat_fail(d, MAFAT_EINVAL, "expected a search (%s), found %.60s", names, name);
}

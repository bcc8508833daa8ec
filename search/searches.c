#include "search/searches.h"

#include <stdio.h>
#include <string.h>

#include "search/best/best.h"
#include "search/fdt/fdt.h"
#include "search/motes/motes.h"
#include "search/separable/separable.h"

/* Of two plans that compute nothing twice the one with the smaller arena; of equal ones the faster. */
static bool is_less(const struct mafat_candidate *a, const struct mafat_candidate *b)
{
  if (a->redundant_macs || a->arena_bytes != b->arena_bytes) return !a->redundant_macs && a->arena_bytes < b->arena_bytes;
  return a->ms < b->ms;
}

/* What another search finds instead, where that is less; *arena_bytes: of what it finds, or 0. */
static int take_other(struct mafat_front **front, const struct mafat_search_request *request,
                      int (*find)(struct mafat_front **, const struct mafat_search_request *, struct mafat_diagnostic *), size_t *arena_bytes,
                      struct mafat_diagnostic *d)
{
  struct mafat_front *found;
  int code = find(&found, request, d);
  *arena_bytes = 0;
  if (code) return code == MAFAT_ELIMIT ? MAFAT_OK : code; /* it has none, and ours stays */
  bool less = is_less(&found->list[0], &(*front)->list[0]);
  *arena_bytes = found->list[0].arena_bytes;
  mafat_front_close(less ? front : &found);
  if (less) *front = found;
  return MAFAT_OK;
}

static int take_fused(struct mafat_front **front, const struct mafat_search_request *request, enum mafat_fused_tiling tiling,
                      struct mafat_diagnostic *d)
{
  struct mafat_search_request fused = *request;
  size_t arena_bytes;
  fused.tiling = tiling;
  return take_other(front, &fused, mafat_search_fdt, &arena_bytes, d);
}

/* How far MOTES' search goes, and that it goes further only where what it has come to needs no more than so many percent of ours. All
 * of it takes a minute of networks of hundreds of layers; its beginning some hundredths of a second, and all of a small network. What it
 * has come to may still become a little less, so that near ours is near enough: of MCUNetV2 it has ended at 249 KiB where ours were 253. */
static const struct {
  long long looks; /* 0: as many as are usual */
  int worth_percent;
} stages[] = {{60000, 200}, {600000, 110}, {0, 0}};

/* Takes what it finds where that is a smaller arena, as any other. Of a time that is given one stage has all. */
static int take_motes(struct mafat_front **front, const struct mafat_search_request *request, struct mafat_diagnostic *d)
{
  struct mafat_search_request staged = *request;
  size_t ours = (*front)->list[0].arena_bytes, theirs = 0;
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    staged.looks = stages[i].looks;
    int code = take_other(front, &staged, mafat_search_motes, &theirs, d);
    if (code || theirs == 0 || (double)theirs * 100 > (double)ours * stages[i].worth_percent || request->plan_seconds > 0) return code;
  }
  return MAFAT_OK;
}

/* Of the time that there is, where it is given, half is our own search's, and the published ones share the rest. */
static int find_least(struct mafat_front **out, const struct mafat_search_request *request, struct mafat_diagnostic *d)
{
  struct mafat_search_request least = *request;
  least.least = true;
  least.plan_seconds = request->plan_seconds / 2;
  int code = mafat_search_front(out, &least, d);
  least.plan_seconds = request->plan_seconds / 6;
  if (code == MAFAT_OK) code = take_fused(out, &least, MAFAT_FUSED_FDT, d);
  if (code == MAFAT_OK) code = take_fused(out, &least, MAFAT_FUSED_BOTH, d);
  if (code == MAFAT_OK) code = take_motes(out, &least, d);
  if (code) mafat_front_close(out);
  return code;
}

static const struct mafat_search searches[] = {
    {.name = "best", .finds = "the best that is found", .unfit = "no plan was found that needs less", .timed = true, .find = mafat_search_front},
    {.name = "least", .finds = "the least arena", .unfit = "it is what --search least takes, which keeps all weights", .one_plan = true,
     .timed = true, .find = find_least},
    {.name = "fdt", .finds = "fused depthwise tiling's", .unfit = "it is what --search fdt takes, which keeps all weights",
     .one_plan = true, .timed = true, .tiles = true, .find = mafat_search_fdt},
    {.name = "motes", .finds = "MOTES'", .unfit = "it is what --search motes takes, which keeps all weights",
     .one_plan = true, .timed = true, .beams = true, .find = mafat_search_motes},
    {.name = "separable", .finds = "layers that are computed together", .unfit = "it is what --search separable takes, which keeps all weights",
     .one_plan = true, .separable = true, .find = mafat_search_separable},
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

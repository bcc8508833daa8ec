/* The search "least": finds the least arena, by this project's own search or by a published one if
 * that finds less. Called through its row in search/searches.c. Runs the other searches, each in a
 * heap of its own. */
#include "search/best/best.h"
#include "search/fdt/fdt.h"
#include "search/motes/motes.h"

/* Among plans that compute nothing twice, the smaller arena; ties go to the faster plan. */
static bool is_less(const struct mafat_candidate *a, const struct mafat_candidate *b)
{
  if (a->redundant_macs || a->arena_bytes != b->arena_bytes)
    return !a->redundant_macs && a->arena_bytes < b->arena_bytes;
  return a->ms < b->ms;
}

/* Runs another search and takes its plan if it is better; *arena_bytes: what it found, or 0. */
static int take_other(struct mafat_front **front, const struct mafat_search_request *request,
                      int (*find)(struct mafat_front **, const struct mafat_search_request *,
                                  struct mafat_diagnostic *),
                      size_t *arena_bytes, struct mafat_diagnostic *d)
{
  struct mafat_front *found;
  int code = find(&found, request, d);
  *arena_bytes = 0;
  /* the other search found no plan; the current one is kept */
  if (code) return code == MAFAT_ELIMIT ? MAFAT_OK : code;
  bool less = is_less(&found->list[0], &(*front)->list[0]);
  *arena_bytes = found->list[0].arena_bytes;
  mafat_front_close(less ? front : &found);
  if (less) *front = found;
  return MAFAT_OK;
}

static int take_fused(struct mafat_front **front, const struct mafat_search_request *request,
                      const char *words, struct mafat_diagnostic *d)
{
  struct mafat_search_request fused = *request;
  size_t arena_bytes;
  fused.words = words;
  return take_other(front, &fused, mafat_search_fdt, &arena_bytes, d);
}

/* Stages of MOTES' search. A later stage only runs if the previous result is within this percentage
 * of the current arena. The whole search takes a minute for networks with hundreds of layers; the
 * first stage takes some hundredths of a second, and completes small networks. Nearly equal results
 * are worth continuing: for MCUNetV2 it ended at 249 KiB, where the own search had 253. */
static const struct {
  long long evaluations; /* 0: the default effort */
  int worth_percent;
} stages[] = {{60000, 200}, {600000, 110}, {0, 0}};

/* Takes its plan if the arena is smaller. With a time limit, a single stage gets all the time. */
static int take_motes(struct mafat_front **front, const struct mafat_search_request *request,
                      struct mafat_diagnostic *d)
{
  struct mafat_search_request staged = *request;
  staged.words = NULL;
  size_t ours = (*front)->list[0].arena_bytes, theirs = 0;
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    staged.evaluations = stages[i].evaluations;
    int code = take_other(front, &staged, mafat_search_motes, &theirs, d);
    if (code || theirs == 0 || (double)theirs * 100 > (double)ours * stages[i].worth_percent ||
        request->plan_seconds > 0)
      return code;
  }
  return MAFAT_OK;
}

/* With a time limit, half is for the own search, and the published searches share the rest. */
static int find_least(struct mafat_front **out, const struct mafat_search_request *request,
                      struct mafat_diagnostic *d)
{
  struct mafat_search_request least = *request;
  least.least = true;
  least.plan_seconds = request->plan_seconds / 2;
  int code = mafat_search_front(out, &least, d);
  least.plan_seconds = request->plan_seconds / 6;
  if (code == MAFAT_OK) code = take_fused(out, &least, "tiling=fdt", d);
  if (code == MAFAT_OK) code = take_fused(out, &least, "tiling=both", d);
  if (code == MAFAT_OK) code = take_motes(out, &least, d);
  if (code) mafat_front_close(out);
  return code;
}

const struct mafat_search mafat_searching_least = {
    .name = "least",
    .finds = "the least arena",
    .unfit = "it is what --search least takes, which keeps all weights",
    .help = "of those that keep all weights and compute nothing twice the\n"
            "one whose maps and scratch are the fewest bytes, however\n"
            "little the whole process gains\n",
    .one_plan = true,
    .timed = true,
    .find = find_least};

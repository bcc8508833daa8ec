/* The search "least": finds the plan with the smallest arena. Runs the searches "best", "fdt" and
 * "motes", each in a heap of its own, and chooses the smallest of their plans. Called through
 * search/searches.c. The front that it returns has a heap of its own. */
#include "search/best/best.h"
#include "search/fdt/fdt.h"
#include "search/motes/motes.h"

/* True if a is better than b: it computes nothing twice, and has a smaller arena or an equal one
 * and is faster. */
static bool is_less(const struct mafat_candidate *a, const struct mafat_candidate *b)
{
  if (a->redundant_macs || a->arena_bytes != b->arena_bytes)
    return !a->redundant_macs && a->arena_bytes < b->arena_bytes;
  return a->ms < b->ms;
}

/* Runs another search and replaces *front by its front if that is better. *arena_bytes: the arena
 * of the plan that it found; 0: it found none. */
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

/* Stages of the search "motes", each from the beginning. A stage runs only if the previous result
 * was at most worth_percent of the arena of the search "best". The last stage takes a minute for
 * networks with hundreds of layers; the first takes some hundredths of a second and finishes small
 * networks. Continuing after a result that is only nearly as good is worthwhile: for MCUNetV2,
 * motes reached 249 KiB where "best" had 253 KiB. */
static const struct {
  long long evaluations; /* 0: the default effort */
  int worth_percent;
} stages[] = {{60000, 200}, {600000, 110}, {0, 0}};

/* Runs the stages, and takes their plan if it is better. With a time limit, only the first stage
 * runs, with all the time. */
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

/* With a time limit, "best" gets half of it, and the three other searches a sixth each. */
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

/* The search "least": finds the plan with the smallest arena. Runs the searches "best", "fdt" and
 * "motes" and chooses the smallest of their plans. Called by api/ through search/searches.c. Each
 * search allocates from a heap of its own, which it frees; the caller closes the front. */
#include "search/best/best.h"
#include "search/fdt/fdt.h"
#include "search/motes/motes.h"

/* True if a is better than b: a computes nothing twice, and its arena is smaller, or equal and a is
 * faster. */
static bool is_less(const struct mafat_candidate *a, const struct mafat_candidate *b)
{
  if (a->redundant_macs || a->arena_bytes != b->arena_bytes)
    return !a->redundant_macs && a->arena_bytes < b->arena_bytes;
  return a->ms < b->ms;
}

/* Runs another search and replaces *front by its front if that is better. *arena_bytes: bytes of
 * the arena of the plan that it found; 0: it found no plan. */
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

/* Stages of the search "motes". Each stage starts again, with more effort. The next stage runs only
 * if the arena that a stage found has at most worth_percent of the bytes of the arena that "best"
 * found. The first stage takes some hundredths of a second and is enough for small networks; the
 * last one takes a minute for networks with hundreds of layers. A later stage may still find a
 * smaller arena if that of a stage is a little larger than that of "best": for MCUNetV2 the last
 * stage found 249 KiB, and "best" 253 KiB. */
static const struct {
  long long evaluations; /* limit of effort, in layers (common/effort.h); 0: the default */
  int worth_percent;
} stages[] = {{60000, 200}, {600000, 110}, {0, 0}};

/* Runs the stages, and takes their best plan if it is better than *front. With a time limit, only
 * the first stage runs; it gets all of the time. */
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

/* Runs all searches. If there is a time limit, "best" gets half of the time, and each of the three
 * others a sixth. */
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
    .unfit = "this is what the plan of --search least needs, which keeps all weights in memory",
    .help = "of those that keep all weights and compute nothing twice the\n"
            "one whose maps and scratch are the fewest bytes, however\n"
            "little the whole process gains\n",
    .one_plan = true,
    .timed = true,
    .find = find_least};

/* The least arena: by our own search for it, or by a published one where that finds less. */
#include "search/best/best.h"
#include "search/fdt/fdt.h"
#include "search/motes/motes.h"

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

static int take_fused(struct mafat_front **front, const struct mafat_search_request *request,
                      const char *words, struct mafat_diagnostic *d)
{
  struct mafat_search_request fused = *request;
  size_t arena_bytes;
  fused.words = words;
  return take_other(front, &fused, mafat_search_fdt, &arena_bytes, d);
}

/* How far MOTES' search goes, and that it goes further only where what it has come to needs no more than so many percent of ours. All
 * of it takes a minute of networks of hundreds of layers; its beginning some hundredths of a second, and all of a small network. What it
 * has come to may still become a little less, so that near ours is near enough: of MCUNetV2 it has ended at 249 KiB where ours were 253. */
static const struct {
  long long evaluations; /* 0: as many as are usual */
  int worth_percent;
} stages[] = {{60000, 200}, {600000, 110}, {0, 0}};

/* Takes what it finds where that is a smaller arena, as any other. Of a time that is given one stage has all. */
static int take_motes(struct mafat_front **front, const struct mafat_search_request *request, struct mafat_diagnostic *d)
{
  struct mafat_search_request staged = *request;
  staged.words = NULL;
  size_t ours = (*front)->list[0].arena_bytes, theirs = 0;
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    staged.evaluations = stages[i].evaluations;
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

/* Makes the plans of a network for the golden hashes. Called by golden.c and outputs.c. */
#include "tests/golden/plans.h"

#include "search/greedy/greedy.h"

#include <stdio.h>
#include <string.h>

/* Origin of a plan's text. */
enum origin {
  WRITTEN,
  GREEDY,  /* search "greedy" with a budget of 48 MB */
  LEAST,   /* smallest plan of the Pareto front */
  TWICE,   /* fastest plan of the front with at most twice the smallest plan's bytes */
  /* fastest plan with at most the mean of the bytes of the smallest and the fastest plan */
  MIDDLE,
  FASTEST
};

/* Capital letters in texts are replaced by numbers: A and B by the layers at a third and two
 * thirds of the network, L by the last layer, Y and Z by rows and X by a column of the output of
 * A's group. */
static const struct golden_entry {
  enum origin origin;
  const char *text;
  enum mafat_algorithm algorithm;
  int threads;
  bool packed, transposed, keep_all, runs;
} entries[GOLDEN_N_PLANS] = {
    {.text = "1x1/NoCut", .runs = true},
    {.text = "5x5/A/2x2", .algorithm = MAFAT_DIRECT, .keep_all = true},
    {.text = "3x3:balanced/A/2x2:balanced/B/1x1", .runs = true},
    {.text = "[Y,Z]x[X]/A/1x1", .algorithm = MAFAT_WINOGRAD, .threads = 2},
    {.text = "rows1/A/1x1:direct", .threads = 2},
    {.text = "rows4/NoCut", .threads = 2, .runs = true},
    {.text = "rows2:loaded/A/panels:streamed", .packed = true},
    {.text = "rows4:streamed/A/panels:streamed", .threads = 2, .packed = true, .runs = true},
    {.text = "rows4:streamed/A/panels:streamed", .runs = true},
    {.text = "panels/NoCut", .algorithm = MAFAT_DIRECT},
    {.text = "panels:apart/NoCut", .threads = 2},
    {.text = "panels:streamed4/NoCut", .packed = true},
    {.text = "rows2:winograd/A/panels:loaded/B/panels:apart:streamed", .transposed = true},
    {.text = "rows4:loaded300:direct/A/panels:loaded300:directB-L",
     .algorithm = MAFAT_WINOGRAD,
     .packed = true},
    {.text = "2x2:loaded/A/rows2:streamed5/B/panels:streamed:winograd",
     .algorithm = MAFAT_DIRECT,
     .threads = 2},
    {.origin = GREEDY, .algorithm = MAFAT_DIRECT},
    {.origin = LEAST},
    {.origin = MIDDLE},
    {.origin = TWICE, .packed = true},
    {.origin = FASTEST, .packed = true},
    {.text = "rows2:streamed/A/panels:streamed/B/1x1",
     .algorithm = MAFAT_WINOGRAD_LARGE,
     .threads = 2,
     .packed = true,
     .runs = true},
};

/* ---- texts ---- */

static int number_of(char letter, const struct mafat_network *n)
{
  int a = n->n_layers / 3, b = 2 * n->n_layers / 3;
  struct mafat_shape out = n->layers[a > 0 ? a - 1 : 0].out;
  switch (letter) {
  case 'A': return a;
  case 'B': return b;
  case 'L': return n->n_layers - 1;
  case 'Y': return out.h / 3;
  case 'Z': return 2 * out.h / 3;
  case 'X': return out.w / 2;
  default: return -1;
  }
}

static void expand(const char *pattern, const struct mafat_network *n, char *text, size_t capacity)
{
  size_t length = 0;
  for (; *pattern && length < capacity - 16; pattern++) {
    int number = strncmp(pattern, "NoCut", 5) == 0 ? -1 : number_of(*pattern, n);
    if (number < 0) text[length++] = *pattern;
    else length += (size_t)sprintf(text + length, "%d", number);
  }
  text[length] = '\0';
}

static void set_options(struct golden_request *r, const struct golden_entry *e)
{
  mafat_plan_defaults(&r->options);
  r->options.algorithm = e->algorithm;
  r->options.n_threads = e->threads ? e->threads : 1;
  r->options.packed = e->packed;
  r->options.transposed = e->transposed;
  r->options.keep_all = e->keep_all;
  r->runs = e->runs;
}

bool golden_request_fixed(struct golden_request *r, int number, const struct mafat_network *n)
{
  const struct golden_entry *e = &entries[number];
  if (e->origin != WRITTEN) return false;
  set_options(r, e);
  expand(e->text, n, r->text, sizeof r->text);
  return true;
}

/* ---- searches ---- */

int golden_search(struct golden_searches *s, const struct mafat_network *n,
                  struct mafat_diagnostic *d)
{
  static const struct mafat_footprint footprint = {.process_bytes = 900 << 10,
                                                   .image_bytes = 200 << 10};
  *s = (struct golden_searches){.network = n};
  mafat_calibration_defaults(&s->calibration, "portable");
  int code = MAFAT_OK;
  for (int packed = 0; packed < 2 && code == MAFAT_OK; packed++) {
    struct mafat_plan_options options;
    mafat_plan_defaults(&options);
    options.packed = packed;
    struct mafat_search_request request = {.network = n,
                                           .n_layers = n->n_layers,
                                           .options = &options,
                                           .footprint = &footprint,
                                           .calibration = &s->calibration,
                                           .most_threads = packed ? 2 : 0};
    code = mafat_search_front(&s->fronts[packed], &request, d);
  }
  if (code) golden_searches_close(s);
  return code;
}

void golden_searches_close(struct golden_searches *s)
{
  for (int packed = 0; packed < 2; packed++) mafat_front_close(&s->fronts[packed]);
}

static const struct mafat_candidate *find(const struct mafat_front *front, enum origin origin)
{
  size_t least = front->list[0].charge_bytes, most = front->list[front->n - 1].charge_bytes;
  if (origin == TWICE) return mafat_front_within(front, 2 * least);
  if (origin == MIDDLE) return mafat_front_within(front, least + (most - least) / 2);
  return &front->list[origin == LEAST ? 0 : front->n - 1];
}

int golden_request_make(struct golden_request *r, int number, const struct golden_searches *s,
                        struct mafat_diagnostic *d)
{
  const struct golden_entry *e = &entries[number];
  if (golden_request_fixed(r, number, s->network)) return MAFAT_OK;
  set_options(r, e);
  if (e->origin == GREEDY) {
    struct mafat_greedy_choice greedy;
    int code = mafat_search_greedy(&greedy, s->network, s->network->n_layers, (size_t)48 << 20,
                                   (size_t)31 << 20, d);
    struct mafat_spec spec = mafat_greedy_spec(&greedy);
    if (code == MAFAT_OK) mafat_spec_write(&spec, r->text, sizeof r->text);
    return code;
  }
  const struct mafat_candidate *found = find(s->fronts[e->packed], e->origin);
  r->options.n_threads = found->threads;
  mafat_spec_write(found->spec, r->text, sizeof r->text);
  return MAFAT_OK;
}

void golden_request_describe(const struct golden_request *r, char *words, size_t capacity)
{
  snprintf(words, capacity, "%s, %s%s, %d thread%s%s", mafat_algorithm_name(r->options.algorithm),
           r->options.packed ? "packed" : "darknet", r->options.transposed ? " transposed" : "",
           r->options.n_threads, r->options.n_threads > 1 ? "s" : "",
           r->options.keep_all ? ", all maps" : "");
}

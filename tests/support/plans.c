/* Makes random valid plans for random networks. Called by suites in tests/unit, the oracle, the
 * differential tests and integer_runs.c. Writes to the caller's text. */
#include "tests/support/support.h"

#include "predictor/plan/parts.h"
#include "predictor/planning/planning.h"
#include "predictor/transfers/units_spec.h"
#include "predictor/plan/winograd.h"

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- random plans ---- */

struct planner {
  struct test_rng *rng;
  const struct mafat_network *network;
  char *text;
  size_t capacity, length;
  bool ordered; /* true: some group's layers can run in another order */
  bool sets; /* true: some groups have layers from later in the network; no group is tiled */
  bool taken[MAFAT_MAX_LAYERS]; /* [layer]: it is in an earlier group */
};

__attribute__((format(printf, 2, 3))) static void write_plan(struct planner *p, const char *format,
                                                             ...)
{
  va_list args;
  va_start(args, format);
  p->length += (size_t)vsnprintf(p->text + p->length, p->capacity - p->length, format, args);
  va_end(args);
  ck_assert_uint_lt(p->length, p->capacity);
}

/* Returns the shape whose rows and columns limit the group's grid: the output of the last layer
 * before the first one that cannot be tiled. *whole_maps: there is such a layer. */
static struct mafat_shape finest_grid(const struct mafat_network *n, int first, int end,
                                      bool *whole_maps)
{
  int stop = first;
  while (stop < end && mafat_layer_is_tileable(&n->layers[stop])) stop++;
  *whole_maps = stop < end;
  if (stop == first) return (struct mafat_shape){6, 6, 1};
  return n->layers[stop - 1].out;
}

static void write_given(struct planner *p, int extent)
{
  int n = 0;
  write_plan(p, "[");
  for (int at = test_random_int(p->rng, 1, extent); at < extent && n < 7;
       at += test_random_int(p->rng, 1, extent / 2 + 1))
    write_plan(p, "%s%d", n++ ? "," : "", at);
  write_plan(p, "]");
}

static void write_grid(struct planner *p, int first, int end)
{
  bool whole_maps;
  struct mafat_shape finest = finest_grid(p->network, first, end, &whole_maps);
  int style = test_random_int(p->rng, 0, 99);
  if (style < 20 && !whole_maps) {
    write_given(p, finest.h);
    write_plan(p, "x");
    write_given(p, finest.w);
    return;
  }
  int most_rows = style < 25 ? mafat_min(finest.h, 12) : mafat_min(finest.h, 6);
  int rows = test_random_int(p->rng, 1, most_rows);
  int cols =
      test_random_int(p->rng, 1, style < 25 ? mafat_min(finest.w, 2) : mafat_min(finest.w, 6));
  write_plan(p, "%dx%d%s", rows, cols, style >= 85 ? ":balanced" : "");
}

/* Sometimes writes how many rows of depthwise layers are computed inside the 1x1 layers that read
 * them: for the whole group, or for its layers from one on. */
static void write_depthwise(struct planner *p, int first, int end)
{
  int layer = test_random_int(p->rng, first, end - 1);
  if (!test_random_chance(p->rng, 40)) return;
  if (p->sets || test_random_chance(p->rng, 50))
    write_plan(p, ":dw%d", test_random_int(p->rng, 0, 6));
  else if (mafat_layer_is_depthwise(&p->network->layers[layer]) || layer + 1 < end)
    write_plan(p, ":dw(%d:%d-%d)", test_random_int(p->rng, 0, 6), layer, end - 1);
}

static void write_group(struct planner *p, int first, int end)
{
  static const char *const words[] = {"", "", ":loaded", ":streamed"};
  bool by_rows = test_random_chance(p->rng, 25);
  p->ordered = p->ordered || !by_rows;
  if (p->sets && !by_rows && test_random_chance(p->rng, 50)) {
    write_plan(p, "1x1");
  } else if (by_rows) {
    int rows = test_random_int(p->rng, 0, 9);
    if (rows) write_plan(p, "rows%d", rows);
    else write_plan(p, "rows");
  } else if (p->sets || test_random_chance(p->rng, 33)) {
    write_plan(p, "panels%s", test_random_chance(p->rng, 30) ? ":apart" : "");
  } else {
    write_grid(p, first, end);
  }
  write_plan(p, "%s", TEST_PICK(p->rng, words));
  write_depthwise(p, first, end);
}

/* True if the layer reads only layers before `end` and layers that are in groups. */
static bool can_add(const struct planner *p, int layer, int end)
{
  const struct mafat_layer *l = &p->network->layers[layer];
  if (mafat_layer_is_alias(l)) return true;
  for (struct mafat_reads r = mafat_layer_reads(l); mafat_reads_next(&r);) {
    int t = mafat_network_operator(p->network, r.source->tensor);
    if (t >= end && t < p->network->n_layers && !p->taken[t]) return false;
  }
  return true;
}

/* Adds up to three layers from after `end` to the next group, but never the network's last
 * layer. */
static void add_later_layers(struct planner *p, int end, int n_layers)
{
  for (int l = end + 1, n = 0; l < n_layers - 1 && n < 3; l++) {
    if (p->taken[l] || !can_add(p, l, end) || !test_random_chance(p->rng, 40)) continue;
    p->taken[l] = true;
    write_plan(p, ",%d", l);
    n++;
  }
}

static bool has_layers(const struct planner *p, int first, int end)
{
  while (first < end && p->taken[first]) first++;
  return first < end;
}

void test_random_plan(struct test_rng *rng, const struct mafat_network *n, int n_layers,
                      char *plan_text, size_t capacity)
{
  struct planner p = {.rng = rng, .network = n, .text = plan_text, .capacity = capacity};
  int groups = test_random_int(rng, 1, mafat_min(5, n_layers)), first = 0;
  p.sets = groups > 1 && test_random_chance(rng, 25);
  for (int left = groups; left > 0; left--) {
    int end = left == 1 ? n_layers : test_random_int(rng, first + 1, n_layers - left + 1);
    while (!has_layers(&p, first, end)) end++;
    while (left > 1 && end > n_layers - left + 1) left--;
    if (left == 1) end = n_layers;
    write_group(&p, first, end);
    if (left > 1) write_plan(&p, "/%d", end);
    if (left > 1 && p.sets) add_later_layers(&p, end, n_layers);
    if (left > 1) write_plan(&p, "/");
    first = end;
  }
  if (groups == 1 && test_random_chance(rng, 50)) write_plan(&p, "/NoCut");
  static const char *const orders[] = {"file", "postorder", "forward", "sp", "best", "best"};
  if (p.ordered && test_random_chance(rng, 50)) write_plan(&p, "/order=%s", TEST_PICK(rng, orders));
  if (test_random_chance(rng, 40)) write_plan(&p, "/inplace");
}

/* ---- random units ---- */

/* Returns a random price that depends only on the unit; infinite if no plan can have the unit. */
static double price_at_random(const void *context, const struct mafat_unit *u)
{
  const struct planner *p = context;
  struct test_rng rng = *p->rng;
  rng = test_rng(test_random(&rng) + 7919 * (uint64_t)u->layers[0] + 101 * (uint64_t)u->how +
                 (uint64_t)u->n);
  return mafat_unit_has_plan(p->network, u) ? test_random_int(&rng, 1, 100) * u->n : INFINITY;
}

static int most_extent(const struct mafat_network *n, const struct mafat_unit *u)
{
  const struct mafat_layer *first = &n->layers[u->layers[0]];
  return u->how == MAFAT_FUSED_PW_DW_CHANNELS ? first->out.c : first->out.h;
}

void test_random_units(struct test_rng *rng, const struct mafat_network *n, char *plan_text,
                       size_t capacity)
{
  struct planner p = {.rng = rng, .network = n};
  struct mafat_transfers_options o = {.fast_bytes = 1 << 30};
  struct mafat_transfers t;
  struct mafat_spec *spec;
  ck_assert_int_eq(mafat_transfers_choose(&t, n, n->n_layers, &o,
                                          &(struct mafat_unit_price){price_at_random, &p}),
                   MAFAT_OK);
  for (int i = 0; i < t.n; i++)
    t.units[i].extent = test_random_int(rng, 1, most_extent(n, &t.units[i]));
  ck_assert_int_eq(mafat_units_spec(&spec, n, n->n_layers, t.units, t.n, NULL), MAFAT_OK);
  ck_assert_uint_lt(mafat_spec_write(spec, plan_text, capacity), capacity);
  mafat_spec_close(&spec);
  mafat_transfers_close(&t);
}

/* ---- random splits ---- */

enum { TRIES = 30, MOST_ITEMS = 3 };

/* Writes one item of split(...), such as "h3:4-7": rows of layers 4 to 7 in 3 parts. */
static size_t write_item(struct test_rng *rng, struct mafat_span group, char *text, size_t capacity)
{
  int first = test_random_int(rng, group.begin, group.end - 1),
      last = mafat_min(first + test_random_int(rng, 0, 7), group.end - 1);
  char axis = "hhhwccc"[test_random_int(rng, 0, 6)];
  char parts[32];
  int at = test_random_int(rng, 1, 4);
  if (test_random_chance(rng, 80)) snprintf(parts, sizeof parts, "%d", test_random_int(rng, 2, 5));
  else
    snprintf(parts, sizeof parts, "[%d,%d]", axis == 'c' ? 16 * at : at,
             axis == 'c' ? 16 * at + 32 : at + test_random_int(rng, 1, 4));
  return (size_t)snprintf(text, capacity, "%c%s:%d-%d", axis, parts, first, last);
}

/* Writes the plan of a group that is split, or that runs by rows in partition buffers. */
static size_t write_split_group(struct test_rng *rng, struct mafat_span group, char *text,
                                size_t capacity)
{
  static const char *const words[] = {"", "", ":loaded", ":streamed"};
  if (test_random_chance(rng, 35))
    return (size_t)snprintf(text, capacity, "rows%d%s:bricks%s", test_random_int(rng, 1, 9),
                            test_random_chance(rng, 30) ? ":early" : "",
                            words[test_random_int(rng, 0, 3)]);
  size_t n = (size_t)snprintf(text, capacity, "split(");
  for (int i = 0, items = test_random_int(rng, 1, MOST_ITEMS); i < items; i++) {
    if (i) text[n++] = ',';
    n += write_item(rng, group, text + n, capacity - n);
  }
  return n + (size_t)snprintf(text + n, capacity - n, ")%s", words[test_random_int(rng, 0, 3)]);
}

/* Writes a plan with one split group, sometimes with two. */
static void write_split(struct test_rng *rng, int n_layers, char *text, size_t capacity)
{
  static const char *const orders[] = {"", "/order=postorder", "/order=forward", "/order=sp",
                                       "/order=best"};
  static const char *const others[] = {"rows1", "1x1", "2x2", "panels"};
  struct mafat_span group = {0, n_layers};
  size_t n = 0;
  if (n_layers > 2 && test_random_chance(rng, 40)) {
    group.begin = test_random_int(rng, 1, n_layers - 1);
    n +=
        (size_t)snprintf(text, capacity, "%s/%d/", others[test_random_int(rng, 0, 3)], group.begin);
  }
  if (group.end - group.begin > 2 && test_random_chance(rng, 40)) {
    struct mafat_span first = {group.begin, test_random_int(rng, group.begin + 1, group.end - 1)};
    n += write_split_group(rng, first, text + n, capacity - n);
    n += (size_t)snprintf(text + n, capacity - n, "/%d", group.begin = first.end);
    /* Adds a later layer to the next group; its inputs may be in a group after that, which refuses
     * the plan. */
    if (group.end - group.begin > 2 && test_random_chance(rng, 30))
      n += (size_t)snprintf(text + n, capacity - n, ",%d",
                            test_random_int(rng, group.begin + 1, group.end - 2));
    n += (size_t)snprintf(text + n, capacity - n, "/");
  }
  n += write_split_group(rng, group, text + n, capacity - n);
  if (group.end - group.begin > 2 && test_random_chance(rng, 30))
    n += (size_t)snprintf(text + n, capacity - n, "/%d/%s",
                          test_random_int(rng, group.begin + 1, group.end - 1),
                          others[test_random_int(rng, 0, 3)]);
  snprintf(text + n, capacity - n, "%s%s", orders[test_random_int(rng, 0, 4)],
           test_random_chance(rng, 40) ? "/inplace" : "");
}

bool test_random_split(struct test_rng *rng, const struct mafat_network *n,
                       const struct mafat_plan_options *options, char *text, size_t capacity)
{
  bool found = false;
  for (int i = 0; i < TRIES && !found; i++) {
    struct mafat_spec *spec;
    struct mafat_plan *plan;
    struct mafat_diagnostic d = {""};
    write_split(rng, n->n_layers, text, capacity);
    ck_assert_msg(mafat_spec_read(&spec, text, &d) == MAFAT_OK, "%s", d.text);
    int code = mafat_plan_make(&plan, spec, n, n->n_layers, options, &d);
    ck_assert_msg(code == MAFAT_OK || (code == MAFAT_EINVAL && d.text[0]), "%s: %s", text,
                  mafat_error_name(code));
    found = code == MAFAT_OK && plan->parts; /* layers that cannot be divided have no parts */
    /* A layer that adds partial sums is a direct convolution, whose bits are not Winograd's. */
    for (int l = 0; l < n->n_layers && found; l++)
      found = !plan->parts->partitions[l].sums || options->algorithm != MAFAT_AUTO ||
              mafat_winograd_fastest(&n->layers[l]) == MAFAT_DIRECT;
    if (code == MAFAT_OK) mafat_plan_close(&plan);
    mafat_spec_close(&spec);
  }
  return found;
}

/* Covers transform/{op_schedule, op_schedule_best, op_schedule_memo, op_schedule_parallel,
 * op_scheduler}.c: the order and peak that each method finds for small graphs, written by hand, and
 * for random graphs, where the smallest peak is known from trying all orders. */
#include "transform/op_schedule.h"
#include "transform/op_schedule_memo.h"

#include "predictor/layout/offsets.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *op_schedule_suite(void);

enum { MOST_OPERATORS = 16, MOST_USES = 256 };

/* A graph and the arrays to which it points. */
struct graph {
  struct mafat_op_graph g;
  struct mafat_op_use uses[MOST_USES];
  uint64_t bytes[MOST_USES], work[MOST_OPERATORS];
  bool kept[MOST_USES], in_place[MOST_OPERATORS];
};

static void begin_graph(struct graph *graph)
{
  *graph = (struct graph){.g = {0}};
  graph->g.uses = graph->uses;
  graph->g.bytes = graph->bytes;
  graph->g.kept = graph->kept;
  graph->g.work = graph->work;
  graph->g.in_place = graph->in_place;
}

static int add_buffer(struct graph *graph, uint64_t bytes)
{
  graph->bytes[graph->g.n_buffers] = bytes;
  return graph->g.n_buffers++;
}

static void add_use(struct graph *graph, int operator, int buffer, bool makes)
{
  graph->uses[graph->g.n_uses++] = (struct mafat_op_use){operator, buffer, makes, false};
}

/* Adds an operator that makes a new buffer and reads the buffers listed in `reads`, as "0 1".
 * Returns its number. */
static int add_operator(struct graph *graph, uint64_t bytes, const char *reads)
{
  int o = graph->g.n_operators++;
  for (char *end; *reads; reads = end) add_use(graph, o, (int)strtol(reads, &end, 10), false);
  add_use(graph, o, add_buffer(graph, bytes), true);
  return o;
}

static struct mafat_op_scheduler *open_op_scheduler(const struct graph *graph)
{
  struct mafat_op_scheduler *s;
  ck_assert_int_eq(mafat_op_scheduler_open(&s, &graph->g, NULL), MAFAT_OK);
  return s;
}

/* ---- trying all orders, with peaks computed directly from the definition ---- */

/* True if `operator` must run before `other` because of a buffer that both use. */
static bool comes_before(const struct graph *graph, int operator, int other)
{
  const struct mafat_op_graph *g = &graph->g;
  for (int i = 0; i < g->n_uses; i++)
    for (int j = 0; j < g->n_uses; j++) {
      const struct mafat_op_use *x = &g->uses[i], *y = &g->uses[j];
      if (x->operator!= operator|| y->operator!= other || x->buffer != y->buffer || !x->makes)
        continue;
      if (!y->makes || operator < other) return true;
    }
  return false;
}

/* True if the buffer is in memory between steps. ran: set of operators that have run, as bits. */
static bool is_alive(const struct graph *graph, int buffer, unsigned ran)
{
  bool made = false, makers = false, readers = false, left = graph->kept[buffer];
  for (int u = 0; u < graph->g.n_uses; u++) {
    const struct mafat_op_use *use = &graph->uses[u];
    if (use->buffer != buffer) continue;
    bool has_run = ran >> use->operator & 1;
    makers = makers || use->makes;
    readers = readers || !use->makes;
    made = made || (use->makes && has_run);
    left = left || !has_run;
  }
  return (made || (!makers && (readers || graph->kept[buffer]))) && left;
}

/* Bytes in memory while the operator runs: all live buffers and all buffers that it uses, minus the
 * inputs whose bytes its output reuses. */
static uint64_t top_of(const struct graph *graph, unsigned ran, int operator)
{
  uint64_t sum = graph->work[operator], made = 0, largest = 0, given = 0;
  unsigned then = ran | 1u << operator;
  for (int b = 0; b < graph->g.n_buffers; b++) {
    bool used = false, read = false, gives = false, alive = is_alive(graph, b, ran);
    for (int u = 0; u < graph->g.n_uses; u++) {
      if (graph->uses[u].buffer != b || graph->uses[u].operator != operator) continue;
      used = true;
      read = !graph->uses[u].makes;
      gives = graph->uses[u].gives;
    }
    if (alive || used) sum += graph->bytes[b];
    if (used && !read && !alive) made += graph->bytes[b];
    bool dies = read && !is_alive(graph, b, then);
    if (dies && graph->bytes[b] > largest) largest = graph->bytes[b];
    if (dies && gives && graph->bytes[b] > given) given = graph->bytes[b];
  }
  if (graph->in_place[operator] && largest >= made) return sum - made;
  return sum - (given < made ? given : made);
}

struct exhaustion {
  const struct graph *graph;
  unsigned waits[MOST_OPERATORS]; /* [operator]: set of operators that must run before it */
  uint64_t least;                 /* smallest peak or arena so far */
};

static void try_all(struct exhaustion *e, unsigned ran, uint64_t peak)
{
  int n = e->graph->g.n_operators;
  if (peak >= e->least) return;
  if (ran == (1u << n) - 1) e->least = peak;
  for (int o = 0; o < n; o++) {
    if (ran >> o & 1 || (e->waits[o] & ran) != e->waits[o]) continue;
    uint64_t top = top_of(e->graph, ran, o);
    try_all(e, ran | 1u << o, top > peak ? top : peak);
  }
}

static void find_waits(struct exhaustion *e)
{
  for (int o = 0; o < e->graph->g.n_operators; o++)
    for (int i = 0; i < e->graph->g.n_operators; i++)
      if (i != o && comes_before(e->graph, i, o)) e->waits[o] |= 1u << i;
}

/* The smallest peak of all orders. */
static uint64_t least_peak(const struct graph *graph)
{
  struct exhaustion e = {.graph = graph, .least = UINT64_MAX};
  find_waits(&e);
  uint64_t first = 0;
  for (int b = 0; b < graph->g.n_buffers; b++)
    if (is_alive(graph, b, 0)) first += graph->bytes[b];
  try_all(&e, 0, first);
  return e.least;
}

/* Checks that each operator runs once, after those it depends on. Returns the peak. */
static uint64_t check_order(const struct graph *graph, const int *order)
{
  unsigned ran = 0;
  uint64_t peak = 0;
  for (int b = 0; b < graph->g.n_buffers; b++)
    if (is_alive(graph, b, 0)) peak += graph->bytes[b];
  for (int i = 0; i < graph->g.n_operators; i++) {
    for (int o = 0; o < graph->g.n_operators; o++)
      if (o != order[i] && comes_before(graph, o, order[i]))
        ck_assert_msg(ran >> o & 1, "%d runs before %d", order[i], o);
    uint64_t top = top_of(graph, ran, order[i]);
    if (top > peak) peak = top;
    ck_assert_msg(!(ran >> order[i] & 1), "%d runs twice", order[i]);
    ran |= 1u << order[i];
  }
  return peak;
}

/* ---- graphs written by hand ---- */

/* Finds an order by the method and checks the reported peak, which it returns. */
static uint64_t sort(struct mafat_op_scheduler *s, enum mafat_op_order how, int *order, bool *least)
{
  struct mafat_op_schedule_result sorted;
  ck_assert_int_eq(mafat_op_schedule(s, how, MAFAT_USUAL_EFFORT, order, &sorted), MAFAT_OK);
  ck_assert_uint_eq(sorted.peak, mafat_op_schedule_peak(s, order));
  ck_assert_uint_ge(sorted.peak, s->bound);
  if (least) *least = sorted.least;
  return sorted.peak;
}

static uint64_t sort_once(const struct graph *graph, enum mafat_op_order how)
{
  int order[MOST_OPERATORS];
  struct mafat_op_scheduler *s = open_op_scheduler(graph);
  uint64_t peak = sort(s, how, order, NULL);
  mafat_op_scheduler_close(&s);
  return peak;
}

/* Two branches of three operators whose results are added. Running one branch and then the other
 * needs 120; changing to the other branch in the middle needs 110, the minimum. */
START_TEST(changing_branches_lowers_the_peak)
{
  struct graph graph;
  int order[MOST_OPERATORS];
  bool least;
  begin_graph(&graph);
  add_operator(&graph, 50, "");
  add_operator(&graph, 30, "0");
  add_operator(&graph, 40, "1");
  add_operator(&graph, 40, "");
  add_operator(&graph, 40, "3");
  add_operator(&graph, 40, "4");
  add_operator(&graph, 30, "2 5");
  struct mafat_op_scheduler *s = open_op_scheduler(&graph);
  ck_assert_uint_eq(sort(s, MAFAT_OP_ORDER_FILE, order, &least), 120);
  ck_assert(!least);
  ck_assert_uint_eq(sort(s, MAFAT_OP_ORDER_POSTORDER, order, NULL), 120);
  ck_assert_uint_eq(sort(s, MAFAT_OP_ORDER_SP, order, &least), 110);
  ck_assert(least);
  static const int expected[] = {0, 1, 3, 4, 5, 2, 6};
  ck_assert(memcmp(order, expected, sizeof expected) == 0);
  ck_assert_uint_eq(sort(s, MAFAT_OP_ORDER_BEST, order, &least), 110);
  ck_assert(least);
  mafat_op_scheduler_close(&s);
}
END_TEST

/* An input of 8x16 elements is widened to 8x64, activated, narrowed, and added to the input. The
 * peak is 768 if the activation's output replaces its input, else 1152. */
START_TEST(in_place)
{
  struct graph graph;
  begin_graph(&graph);
  add_buffer(&graph, 128);
  add_operator(&graph, 512, "0");
  add_operator(&graph, 512, "1");
  add_operator(&graph, 128, "2");
  add_operator(&graph, 128, "3 0");
  ck_assert_uint_eq(sort_once(&graph, MAFAT_OP_ORDER_BEST), 1152);
  graph.in_place[1] = true;
  ck_assert_uint_eq(sort_once(&graph, MAFAT_OP_ORDER_BEST), 768);
  graph.kept[1] = true; /* the activation's input must stay, so it cannot be replaced */
  ck_assert_uint_eq(sort_once(&graph, MAFAT_OP_ORDER_BEST), 1280);
}
END_TEST

/* The same graph, but instead of `in_place`, the activation's use of its input is marked `gives`
 * (op_scheduler.h). An output larger than the input needs new bytes only for the rest. */
START_TEST(one_gives_its_place)
{
  struct graph graph;
  begin_graph(&graph);
  add_buffer(&graph, 128);
  add_operator(&graph, 512, "0");
  add_operator(&graph, 512, "1");
  add_operator(&graph, 128, "2");
  add_operator(&graph, 128, "3 0");
  for (int u = 0; u < graph.g.n_uses; u++)
    graph.uses[u].gives = graph.uses[u].operator== 1 && !graph.uses[u].makes;
  ck_assert_uint_eq(sort_once(&graph, MAFAT_OP_ORDER_BEST), 768);
  graph.bytes[1] = 400;
  ck_assert_uint_eq(sort_once(&graph, MAFAT_OP_ORDER_BEST), 768);
  graph.bytes[2] = 800;
  ck_assert_uint_eq(sort_once(&graph, MAFAT_OP_ORDER_BEST), 1056);
  graph.kept[1] = true;
  ck_assert_uint_eq(sort_once(&graph, MAFAT_OP_ORDER_BEST), 1456);
}
END_TEST

/* "postorder" runs the branch that is read first before the other; "forward" runs it last. */
START_TEST(post_orders)
{
  struct graph graph;
  int order[MOST_OPERATORS];
  begin_graph(&graph);
  add_operator(&graph, 1, "");    /* 0 */
  add_operator(&graph, 1, "0");   /* 1 */
  add_operator(&graph, 1, "0");   /* 2 */
  add_operator(&graph, 1, "1");   /* 3 */
  add_operator(&graph, 1, "2");   /* 4 */
  add_operator(&graph, 1, "3 4"); /* 5 */
  struct mafat_op_scheduler *s = open_op_scheduler(&graph);
  sort(s, MAFAT_OP_ORDER_POSTORDER, order, NULL);
  static const int postorder[] = {0, 1, 3, 2, 4, 5}, forward[] = {0, 2, 4, 1, 3, 5};
  ck_assert(memcmp(order, postorder, sizeof postorder) == 0);
  sort(s, MAFAT_OP_ORDER_FORWARD, order, NULL);
  ck_assert(memcmp(order, forward, sizeof forward) == 0);
  mafat_op_scheduler_close(&s);
}
END_TEST

/* Operators that add to one buffer keep the file's order, and the buffer is live from the first of
 * them. */
START_TEST(parts_of_a_buffer)
{
  struct graph graph;
  int order[MOST_OPERATORS];
  begin_graph(&graph);
  int input = add_buffer(&graph, 10), sum = add_buffer(&graph, 4);
  for (int i = 0; i < 3; i++) {
    int wide = add_operator(&graph, 8, ""), o = graph.g.n_operators++;
    graph.uses[graph.g.n_uses - 1].buffer = 2 + i;
    add_use(&graph, wide, input, false);
    add_use(&graph, o, 2 + i, false);
    add_use(&graph, o, sum, true);
  }
  struct mafat_op_scheduler *s = open_op_scheduler(&graph);
  ck_assert_uint_eq(sort(s, MAFAT_OP_ORDER_BEST, order, NULL), 22);
  static const int expected[] = {0, 1, 2, 3, 4, 5};
  ck_assert(memcmp(order, expected, sizeof expected) == 0);
  ck_assert_uint_eq(check_order(&graph, order), 22);
  mafat_op_scheduler_close(&s);
}
END_TEST

/* Two operators that read each other's outputs are refused. */
START_TEST(cycles_are_refused)
{
  struct graph graph;
  struct mafat_op_scheduler *s;
  begin_graph(&graph);
  add_operator(&graph, 1, "1");
  add_operator(&graph, 1, "0");
  graph.uses[0].buffer = 1;
  graph.uses[1].buffer = 0;
  ck_assert_int_eq(mafat_op_scheduler_open(&s, &graph.g, NULL), MAFAT_EINVAL);
  ck_assert_ptr_null(s);
}
END_TEST

/* A graph without operators has the peak of its kept buffers. */
START_TEST(graph_without_operators)
{
  struct graph graph;
  int order[1];
  begin_graph(&graph);
  add_buffer(&graph, 7);
  graph.kept[0] = true;
  struct mafat_op_scheduler *s = open_op_scheduler(&graph);
  for (int how = 0; how < MAFAT_N_SORTINGS; how++)
    ck_assert_uint_eq(sort(s, (enum mafat_op_order)how, order, NULL), 7);
  mafat_op_scheduler_close(&s);
}
END_TEST

/* ---- random graphs ---- */

/* Adds n operators between `from` and `to`, at random in series or parallel. Each buffer has one
 * reader. */
static void grow(struct graph *graph, struct test_rng *rng, int from, int to, int n)
{
  if (n == 0) {
    int b = add_buffer(graph, (uint64_t)test_random_int(rng, 0, 9));
    add_use(graph, from, b, true);
    add_use(graph, to, b, false);
    return;
  }
  if (n >= 2 && test_random_chance(rng, 55)) {
    int part = test_random_int(rng, 0, n);
    grow(graph, rng, from, to, part);
    grow(graph, rng, from, to, n - part);
    return;
  }
  int middle = graph->g.n_operators++, part = test_random_int(rng, 0, n - 1);
  grow(graph, rng, from, middle, part);
  grow(graph, rng, middle, to, n - 1 - part);
}

static int by_operator(const void *a, const void *b)
{
  const struct mafat_op_use *x = a, *y = b;
  return x->operator != y->operator ? x->operator - y->operator : x->buffer - y->buffer;
}

static void sort_uses(struct graph *graph)
{
  qsort(graph->uses, (size_t)graph->g.n_uses, sizeof *graph->uses, by_operator);
}

/* Checks each method's order and peak against the smallest peak of all orders. exact: a method that
 * must find the smallest peak, besides MAFAT_OP_ORDER_BEST. */
static void check_random(const struct graph *graph, enum mafat_op_order exact, int seed)
{
  int order[MOST_OPERATORS];
  bool proven;
  struct mafat_op_scheduler *s = open_op_scheduler(graph);
  uint64_t least = least_peak(graph);
  for (int how = 0; how < MAFAT_N_SORTINGS; how++) {
    uint64_t peak = sort(s, (enum mafat_op_order)how, order, &proven);
    ck_assert_uint_eq(check_order(graph, order), peak);
    if (how == (int)exact || how == MAFAT_OP_ORDER_BEST) ck_assert(proven);
    ck_assert_msg(!proven || peak == least, "graph %d, order %s: found peak %llu, smallest is %llu",
                  seed, mafat_op_order_name((enum mafat_op_order)how), (unsigned long long)peak,
                  (unsigned long long)least);
  }
  mafat_op_scheduler_close(&s);
}

/* Sets `gives` in random uses that read. */
static void give_places(struct graph *graph, struct test_rng *rng)
{
  for (int u = 0; u < graph->g.n_uses; u++)
    graph->uses[u].gives = !graph->uses[u].makes && test_random_chance(rng, 25);
}

/* For series-parallel graphs, "sp" and "best" both find the smallest peak of all orders. */
START_TEST(sp_is_minimal_for_series_parallel_graphs)
{
  struct graph graph;
  for (int seed = 0; seed < 2000; seed++) {
    struct test_rng rng = test_rng((uint64_t)seed);
    begin_graph(&graph);
    graph.g.n_operators = 2;
    grow(&graph, &rng, 0, 1, test_random_int(&rng, 1, 8));
    for (int o = 0; o < graph.g.n_operators; o++) {
      if (test_random_chance(&rng, 20)) graph.work[o] = (uint64_t)test_random_int(&rng, 0, 5);
      graph.in_place[o] = test_random_chance(&rng, 20);
    }
    sort_uses(&graph);
    give_places(&graph, &rng);
    check_random(&graph, MAFAT_OP_ORDER_SP, seed);
  }
}
END_TEST

/* A graph with random uses, inputs, kept buffers, scratch, in-place operators, and buffers of
 * several makers. */
static void random_graph(struct graph *graph, struct test_rng *rng)
{
  begin_graph(graph);
  int n = graph->g.n_operators = test_random_int(rng, 1, 9), n_inputs = test_random_int(rng, 0, 2);
  for (int b = 0; b < n_inputs; b++) add_buffer(graph, (uint64_t)test_random_int(rng, 0, 9));
  for (int o = 0; o < n; o++) {
    int n_before = graph->g.n_buffers;
    bool joins = o > 0 && n_before > n_inputs && test_random_chance(rng, 15);
    int made = joins ? n_before - 1 : add_buffer(graph, (uint64_t)test_random_int(rng, 0, 9));
    for (int b = 0; b < n_before; b++)
      if (b != made && test_random_chance(rng, b + 3 > n_before ? 60 : 15))
        add_use(graph, o, b, false);
    add_use(graph, o, made, true);
    graph->in_place[o] = test_random_chance(rng, 30);
    if (test_random_chance(rng, 20)) graph->work[o] = (uint64_t)test_random_int(rng, 0, 5);
  }
  for (int b = 0; b < graph->g.n_buffers; b++) graph->kept[b] = test_random_chance(rng, 10);
  give_places(graph, rng);
}

/* For any graph, "best" finds the smallest peak of all orders. */
START_TEST(best_is_minimal_for_any_graph)
{
  struct graph graph;
  for (int seed = 0; seed < 2000; seed++) {
    struct test_rng rng = test_rng((uint64_t)seed + 5000);
    random_graph(&graph, &rng);
    check_random(&graph, MAFAT_OP_ORDER_BEST, seed);
  }
}
END_TEST

/* ---- orders and layouts ---- */

/* Bytes of an arena that holds the buffers at the best offsets found for this order. */
static size_t arena_of(const struct graph *graph, const int *order)
{
  struct mafat_block blocks[MOST_USES];
  int n = 0;
  for (int b = 0; b < graph->g.n_buffers; b++) {
    int first = MOST_OPERATORS, last = -1;
    unsigned ran = 0;
    for (int i = 0; i < graph->g.n_operators; i++) {
      unsigned then = ran | 1u << order[i];
      bool used = is_alive(graph, b, ran) || is_alive(graph, b, then);
      for (int u = 0; u < graph->g.n_uses; u++)
        used = used || (graph->uses[u].operator == order[i] && graph->uses[u].buffer == b);
      if (used && first > i) first = i;
      if (used) last = i;
      ran = then;
    }
    if (last >= 0 && graph->bytes[b])
      blocks[n++] = (struct mafat_block){.bytes = graph->bytes[b], .first = first, .last = last};
  }
  return mafat_offsets_assign(blocks, n, NULL);
}

/* Finds the smallest arena over all orders that begin with the n given operators. */
static void try_arenas(struct exhaustion *e, unsigned ran, int *order, int n)
{
  int all = e->graph->g.n_operators;
  if (n == all) {
    size_t arena = arena_of(e->graph, order);
    if (arena < e->least) e->least = arena;
  }
  for (int o = 0; o < all; o++) {
    if (ran >> o & 1 || (e->waits[o] & ran) != e->waits[o]) continue;
    order[n] = o;
    try_arenas(e, ran | 1u << o, order, n + 1);
  }
}

/* The smallest arena of all orders. */
static size_t least_arena(const struct graph *graph)
{
  int order[MOST_OPERATORS];
  struct exhaustion e = {.graph = graph, .least = UINT64_MAX};
  find_waits(&e);
  try_arenas(&e, 0, order, 0);
  return (size_t)e.least;
}

/* The order with the smallest peak also has the smallest arena. No arena is smaller than the peak,
 * so all orders are tried only where the arena is larger. */
START_TEST(orders_and_layouts)
{
  struct graph graph;
  for (int seed = 0; seed < 2000; seed++) {
    struct test_rng rng = test_rng((uint64_t)seed + 9000);
    int order[MOST_OPERATORS];
    random_graph(&graph, &rng);
    memset(graph.in_place, 0, sizeof graph.in_place);
    for (int u = 0; u < graph.g.n_uses; u++) graph.uses[u].gives = false;
    memset(graph.work, 0, sizeof graph.work);
    struct mafat_op_scheduler *s = open_op_scheduler(&graph);
    uint64_t peak = sort(s, MAFAT_OP_ORDER_BEST, order, NULL);
    size_t arena = arena_of(&graph, order);
    ck_assert_uint_eq(peak, least_peak(&graph));
    if (arena != peak) ck_assert_uint_eq(arena, least_arena(&graph));
    mafat_op_scheduler_close(&s);
  }
}
END_TEST

/* ---- large graphs ---- */

enum { LARGE = 300 };

struct large {
  struct mafat_op_graph g;
  struct mafat_op_use uses[4 * LARGE];
  uint64_t bytes[LARGE];
};

/* A graph in which each operator reads outputs of some of the eleven before it. */
static void make_large(struct large *l, uint64_t seed)
{
  struct test_rng rng = test_rng(seed);
  l->g = (struct mafat_op_graph){
      .n_operators = LARGE, .n_buffers = LARGE, .uses = l->uses, .bytes = l->bytes};
  for (int o = 0; o < LARGE; o++) {
    l->bytes[o] = (uint64_t)test_random_int(&rng, 1, 100);
    for (int from = o - 1; from >= 0 && from > o - 12; from--)
      if (l->g.n_uses < 3 * LARGE && test_random_chance(&rng, 15))
        l->uses[l->g.n_uses++] = (struct mafat_op_use){o, from, false, false};
    l->uses[l->g.n_uses++] = (struct mafat_op_use){o, o, true, false};
  }
}

/* With any effort, "best" returns the same order when repeated, and no other method finds a smaller
 * peak. */
START_TEST(large_graphs)
{
  static struct large l;
  static int order[LARGE], again[LARGE];
  struct mafat_op_scheduler *s;
  struct mafat_op_schedule_result best, same, other;
  make_large(&l, (uint64_t)_i);
  ck_assert_int_eq(mafat_op_scheduler_open(&s, &l.g, NULL), MAFAT_OK);
  for (int effort = 0; effort <= 200000; effort += 100000) {
    ck_assert_int_eq(mafat_op_schedule(s, MAFAT_OP_ORDER_BEST, effort, order, &best), MAFAT_OK);
    ck_assert_int_eq(mafat_op_schedule(s, MAFAT_OP_ORDER_BEST, effort, again, &same), MAFAT_OK);
    ck_assert_uint_eq(best.peak, mafat_op_schedule_peak(s, order));
    ck_assert(memcmp(order, again, sizeof order) == 0);
  }
  for (int how = 0; how < MAFAT_OP_ORDER_BEST; how++) {
    ck_assert_int_eq(mafat_op_schedule(s, (enum mafat_op_order)how, 0, again, &other), MAFAT_OK);
    ck_assert_uint_le(best.peak, other.peak);
  }
  mafat_op_scheduler_close(&s);
}
END_TEST

/* The search ends even with the largest effort, with a peak that is no larger than with little. */
START_TEST(any_effort_ends)
{
  static struct large l;
  static int order[LARGE], again[LARGE];
  struct mafat_op_scheduler *s;
  struct mafat_op_schedule_result some, all;
  make_large(&l, (uint64_t)_i);
  ck_assert_int_eq(mafat_op_scheduler_open(&s, &l.g, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_op_schedule(s, MAFAT_OP_ORDER_BEST, 100000, order, &some), MAFAT_OK);
  ck_assert_int_eq(mafat_op_schedule(s, MAFAT_OP_ORDER_BEST, INT64_MAX, again, &all), MAFAT_OK);
  ck_assert_uint_le(all.peak, some.peak);
  ck_assert_uint_eq(all.peak, mafat_op_schedule_peak(s, again));
  mafat_op_scheduler_close(&s);
}
END_TEST

static int sort_large(const struct large *l)
{
  static int order[LARGE];
  struct mafat_op_scheduler *s;
  struct mafat_op_schedule_result sorted;
  int code = mafat_op_scheduler_open(&s, &l->g, NULL);
  if (code == MAFAT_OK) code = mafat_op_schedule(s, MAFAT_OP_ORDER_BEST, 100000, order, &sorted);
  mafat_op_scheduler_close(&s);
  return code;
}

/* If any allocation fails, MAFAT_ENOMEM is returned and nothing leaks. */
START_TEST(every_failed_allocation_is_reported)
{
  static struct large l;
  bool failed = true;
  make_large(&l, 1);
  for (long at = 0; failed; at += 1 + at / 16) {
    long unfreed;
    failing_malloc_arm(at);
    int code = sort_large(&l);
    long asked = failing_malloc_disarm(&unfreed);
    ck_assert_int_eq(unfreed, 0);
    failed = asked > at;
    ck_assert_msg(code == (failed ? MAFAT_ENOMEM : MAFAT_OK),
                  "allocation %ld of %ld failed: code %d", at, asked, code);
  }
}
END_TEST

/* With a cache, orders are the same as without: for more graphs than it has entries, for repeated
 * graphs, and for graphs that differ in the size of one buffer only. */
START_TEST(a_memo_gives_the_same_orders)
{
  static struct graph graph;
  struct mafat_op_schedule_memo *memo = NULL;
  struct test_rng rng = test_rng(77);
  ck_assert_int_eq(mafat_op_schedule_memo_open(&memo, NULL), MAFAT_OK);
  for (int i = 0; i < 300; i++) {
    int with[MOST_OPERATORS], without[MOST_OPERATORS];
    begin_graph(&graph);
    graph.g.n_operators = 2;
    grow(&graph, &rng, 0, 1, test_random_int(&rng, 1, 8));
    sort_uses(&graph);
    for (int again = 0; again < 4; again++) {
      if (again == 2) graph.bytes[test_random_int(&rng, 0, graph.g.n_buffers - 1)] += 5;
      ck_assert_int_eq(mafat_op_schedule_with_memo(memo, &graph.g, MAFAT_OP_ORDER_BEST, 100000,
                                                   with, NULL),
                       MAFAT_OK);
      ck_assert_int_eq(mafat_op_schedule_with_memo(NULL, &graph.g, MAFAT_OP_ORDER_BEST, 100000,
                                                   without, NULL),
                       MAFAT_OK);
      ck_assert_mem_eq(with, without, (size_t)graph.g.n_operators * sizeof *with);
    }
  }
  mafat_op_schedule_memo_close(&memo);
  ck_assert_ptr_null(memo);
}
END_TEST

Suite *op_schedule_suite(void)
{
  Suite *s = suite_create("op_schedule");
  TCase *t = tcase_create("sort");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, changing_branches_lowers_the_peak);
  tcase_add_test(t, in_place);
  tcase_add_test(t, one_gives_its_place);
  tcase_add_test(t, post_orders);
  tcase_add_test(t, parts_of_a_buffer);
  tcase_add_test(t, cycles_are_refused);
  tcase_add_test(t, graph_without_operators);
  tcase_add_test(t, sp_is_minimal_for_series_parallel_graphs);
  tcase_add_test(t, best_is_minimal_for_any_graph);
  tcase_add_test(t, orders_and_layouts);
  tcase_add_loop_test(t, large_graphs, 0, test_seeds(20));
  tcase_add_loop_test(t, any_effort_ends, 0, 1);
  tcase_add_test(t, a_memo_gives_the_same_orders);
  tcase_add_test(t, every_failed_allocation_is_reported);
  suite_add_tcase(s, t);
  return s;
}

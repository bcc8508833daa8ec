/* Covers api/rank_dry_run.c: calls functions of the library, makes each of their allocations fail
 * in turn, and expects MAFAT_ENOMEM and no leak each time. Writes a cfg to /tmp. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/darknet/darknet.h"
#include "include/mafat_ranks.h"
#include "predictor/layout/layout.h"
#include "predictor/planning/planning.h"
#include "api/choose.h"
#include "runner/engine/team.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"

Suite *allocation_suite(void);

static const char cfg_text[] =
    "[net]\nheight=16\nwidth=24\nchannels=3\n"
    "[convolutional]\nbatch_normalize=1\nfilters=24\nsize=3\npad=1\nactivation=leaky\n"
    "[convolutional]\nfilters=96\nsize=1\n[route]\nlayers=-1,-2\n[dropout]\n"
    "[convolutional]\nfilters=24\nsize=3\npad=1\n[shortcut]\nfrom=0\n[reorg]\nstride=2\n"
    "[upsample]\n[convolutional]\nfilters=12\nsize=1\n"
    "[yolo]\nclasses=1\nnum=3\nmask=0,2\nanchors=1,2,3,4,5,6\n"
    "[route]\nlayers=0\n[connected]\noutput=9\n[connected]\noutput=7\n[softmax]\n";

/* Inputs and results of a call under test. */
struct bench {
  const char *path, *plan_text;
  struct mafat_network *network;
  struct mafat_plan *plan;
  struct mafat_dry_run *dry_run;
  struct mafat_diagnostic d;
};

/* Makes an object and closes it again; returns the code that making it returned. */
typedef int (*call)(struct bench *b);

static int parse_cfg(struct bench *b)
{
  struct mafat_cfg *cfg = NULL;
  int code = mafat_cfg_parse(&cfg, "a.cfg", cfg_text, strlen(cfg_text), &b->d);
  mafat_cfg_close(&cfg);
  return code;
}

static int make_network(struct bench *b)
{
  struct mafat_cfg *cfg = NULL;
  struct mafat_network *n = NULL;
  int code = mafat_cfg_parse(&cfg, "a.cfg", cfg_text, strlen(cfg_text), &b->d);
  if (code == MAFAT_OK) code = mafat_darknet_make(&n, cfg, NULL, NULL, &b->d);
  if (code != MAFAT_OK && n) code = 1; /* a failure must leave the result NULL */
  mafat_network_close(&n);
  mafat_cfg_close(&cfg);
  return code;
}

static int read_network(struct bench *b)
{
  struct mafat_network *n = NULL;
  int code = mafat_darknet_read(&n, b->path, NULL, NULL, &b->d);
  if (code != MAFAT_OK && n) code = 1;
  mafat_network_close(&n);
  return code;
}

static int read_plan(struct bench *b)
{
  struct mafat_plan *plan = NULL;
  int code = mafat_plan_read(&plan, b->plan_text, b->network, b->network->n_layers, NULL, &b->d);
  if (code != MAFAT_OK && plan) code = 1;
  mafat_plan_close(&plan);
  return code;
}

/* Reads a plan with options, which decide the fusion and the algorithm of each layer. */
static int read_plan_with_options(struct bench *b)
{
  static const struct mafat_plan_options options = {.algorithm = MAFAT_WINOGRAD, .n_threads = 4};
  struct mafat_plan *plan = NULL;
  int code =
      mafat_plan_read(&plan, b->plan_text, b->network, b->network->n_layers, &options, &b->d);
  if (code == MAFAT_OK && plan->inner[5] != 4) code = 1; /* shortcut 5 computes convolution 4 */
  if (code != MAFAT_OK && plan) code = 1;
  mafat_plan_close(&plan);
  return code;
}

/* Reads the spec of a plan, copies the spec, and makes another plan of the copy. */
static int make_again(struct bench *b)
{
  struct mafat_spec *spec = NULL, *copy = NULL;
  struct mafat_plan *plan = NULL;
  int code = mafat_plan_spec(&spec, b->plan, b->network);
  if (code == MAFAT_OK) code = mafat_spec_copy(&copy, spec, NULL);
  if (code != MAFAT_OK)
    /* mafat_plan_spec and mafat_spec_copy write no message */
    mafat_fail(&b->d, code, "out of memory");
  if (code == MAFAT_OK)
    code = mafat_plan_make(&plan, copy, b->network, b->network->n_layers, NULL, &b->d);
  if (code != MAFAT_OK && plan) code = 1;
  mafat_spec_close(&spec);
  mafat_spec_close(&copy);
  mafat_plan_close(&plan);
  return code;
}

static int open_team(struct bench *b)
{
  struct mafat_team *team = NULL;
  int code = mafat_team_open(&team, 3, &b->d);
  if (code != MAFAT_OK && team) code = 1;
  mafat_team_close(&team);
  return code;
}

static int make_layout(struct bench *b)
{
  struct mafat_layout *layout = NULL;
  int code = mafat_layout_make(&layout, b->network, b->plan, &b->d);
  if (code != MAFAT_OK && layout) code = 1;
  mafat_layout_close(&layout);
  return code;
}

/* Chooses algorithms for a given plan under a budget that is too small. */
static int choose_given(struct bench *b)
{
  static const struct mafat_plan_options options = {.algorithm = MAFAT_AUTO, .n_threads = 1};
  struct mafat_footprint footprint = {0};
  struct mafat_calibration calibration;
  struct mafat_choice choice;
  mafat_calibration_defaults(&calibration, "portable");
  struct mafat_choice_request request = {
      .search = {.network = b->network, .n_layers = b->network->n_layers, .options = &options,
                 .footprint = &footprint, .calibration = &calibration},
      .plan = b->plan_text, .budget_bytes = 1, .budget_source = "a test", .best_effort = true};
  int code = mafat_choose(&choice, &request, &b->d);
  if (code == MAFAT_OK && (!choice.layout || choice.fits)) code = 1;
  mafat_choice_close(&choice);
  return code;
}

static int report_dry_run(struct bench *b)
{
  struct mafat_plan_report *a = NULL;
  int code = mafat_dry_run_report(&a, b->dry_run, 0, &b->d);
  if (code != MAFAT_OK && a) code = 1;
  mafat_plan_report_close(&a);
  return code;
}

static int pack_dry_run(struct bench *b)
{
  struct mafat_dry_run *q = NULL;
  int code = mafat_dry_run_pack(&q, b->dry_run, "int8", &b->d);
  if (code != MAFAT_OK && q) code = 1;
  mafat_dry_run_close(&q);
  return code;
}

/* Searches for plans for three ranks. b->plan_text is the name of the search. */
static int ask_ranks(struct bench *b)
{
  struct mafat_ranks_report *a = NULL;
  const struct mafat_ranks_request question = {.size = sizeof question,
                                               .n_ranks = 3,
                                               .search = b->plan_text,
                                               .link_bits_per_second = 1e8,
                                               .link_seconds = 1e-4};
  int code = mafat_dry_run_ranks(&a, b->dry_run, &question, &b->d);
  if (code != MAFAT_OK && a) code = 1;
  mafat_ranks_report_close(&a);
  return code;
}

/* Opens the network from its cfg and searches for a plan. */
static int search_for_a_plan(struct bench *b)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_dry_run *q = NULL;
  options.search = b->plan_text;
  if (strcmp(b->plan_text, "separable") == 0) options.search = "separable:objective=transfers";
  int code = mafat_dry_run_open(&q, b->path, NULL, &options, &b->d);
  if (code != MAFAT_OK && q) code = 1;
  mafat_dry_run_close(&q);
  return code;
}

static struct mafat_dry_run *open_dry_run(const struct bench *b, bool has_plan)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_dry_run *q;
  struct mafat_diagnostic d;
  options.plan = has_plan ? b->plan_text : NULL;
  ck_assert_msg(mafat_dry_run_open(&q, b->path, NULL, &options, &d) == MAFAT_OK, "%s", d.text);
  return q;
}

struct row {
  const char *name;
  call make;
  const char *plan;
  long least; /* smallest number of allocations that the call needs; -1: the call is refused */
};

static const struct row rows[] = {
    {"mafat_cfg_parse", parse_cfg, "1x1", 5},
    {"mafat_darknet_make", make_network, "1x1", 20},
    {"mafat_darknet_read", read_network, "1x1", 20},
    {"mafat_plan_read, even", read_plan, "2x3/4/2x2/8/1x1", 10},
    {"mafat_plan_read, given", read_plan, "[2,5]x[7,9,11]/6/1x1", 8},
    {"mafat_plan_read, balanced", read_plan, "3x3:balanced/6/2x2", 15},
    {"mafat_plan_read, refused", read_plan, "[2,5]x[7,9]/5/[3]x[2]:balanced", -1},
    {"mafat_plan_read, algorithms and fusion", read_plan_with_options, "1x1", 9},
    {"mafat_plan_read, parts", read_plan, "split(h3:0-1)/4/split(h4:4-5)/6/1x1/order=best", 25},
    {"mafat_plan_read, parts that cannot be", read_plan, "split(h3:0-1,h2:0)", -1},
    {"mafat_plan_spec, given", make_again, "[2,5]x[7,9,11]:loaded/6/panels:winograd", 15},
    {"mafat_plan_spec, balanced", make_again, "3x3:balanced/6/2x2", 15},
    {"mafat_layout_make", make_layout, "2x3/4/2x2", 12},
    {"mafat_layout_make, parts", make_layout,
     "split(h3:0-1,c2:1)/4/split(h4:4-5)/6/1x1/order=postorder", 20},
    {"mafat_choose, given plan", choose_given, "2x3/4/2x2", 40},
    {"mafat_query_answer", report_dry_run, "2x3/4/2x2", 40},
    {"mafat_query_pack", pack_dry_run, "2x3/4/2x2", 4},
    {"mafat_query_ranks, deeperthings", ask_ranks, "deeperthings", 5},
    {"mafat_query_ranks, fdto", ask_ranks, "fdto", 5},
    {"mafat_query_ranks, layers", ask_ranks, "layers", 5},
    {"mafat_query_ranks, best", ask_ranks, "best", 5},
    {"mafat_query_open, separable", search_for_a_plan, "separable", 40},
    {"mafat_query_open, best", search_for_a_plan, "best", 40},
    {"mafat_team_open", open_team, "1x1", 2},
};

START_TEST(refused_memory_is_reported_and_nothing_leaks)
{
  const struct row *r = &rows[_i];
  char path[] = "/tmp/mafat-allocation-XXXXXX";
  struct bench b = {.path = path, .plan_text = r->plan, .network = test_network(cfg_text)};
  long n, unfreed;
  int fd = mkstemp(path);
  ck_assert(fd >= 0 && write(fd, cfg_text, sizeof cfg_text - 1) == (ssize_t)sizeof cfg_text - 1);
  close(fd);
  if (r->make == make_layout || r->make == make_again) b.plan = test_plan(b.network, r->plan);
  if (r->make == report_dry_run || r->make == pack_dry_run || r->make == ask_ranks)
    b.dry_run = open_dry_run(&b, r->make != ask_ranks);
  failing_malloc_arm(-1);
  int whole = r->make(&b);
  n = failing_malloc_disarm(&unfreed);
  ck_assert_msg(unfreed == 0, "%s: %ld blocks leak", r->name, unfreed);
  if (r->least >= 0)
    ck_assert_msg(whole == MAFAT_OK && n >= r->least, "%s: %s after %ld allocations", r->name,
                  b.d.text, n);
  else ck_assert_int_eq(whole, MAFAT_EINVAL);
  long stride = n / 100 + 1; /* about 100 allocations, evenly spaced */
  for (long i = 0; i < n; i += stride) {
    b.d.text[0] = '\0';
    failing_malloc_arm(i);
    int code = r->make(&b);
    long asked = failing_malloc_disarm(&unfreed);
    /* execution orders that were cached in an earlier call save allocations */
    if (asked <= i) continue;
    ck_assert_msg(code == MAFAT_ENOMEM, "%s, allocation %ld: %s: %s", r->name, i,
                  mafat_error_name(code), b.d.text);
    ck_assert_msg(unfreed == 0, "%s, allocation %ld: %ld blocks leak", r->name, i, unfreed);
    ck_assert_msg(strstr(b.d.text, "out of memory") != NULL, "%s, allocation %ld: \"%s\"", r->name,
                  i, b.d.text);
  }
  unlink(path);
  mafat_dry_run_close(&b.dry_run);
  mafat_plan_close(&b.plan);
  mafat_network_close(&b.network);
}
END_TEST

Suite *allocation_suite(void)
{
  Suite *suite = suite_create("allocation");
  TCase *refused = tcase_create("refused");
  tcase_set_timeout(refused, 60);
  tcase_add_loop_test(refused, refused_memory_is_reported_and_nothing_leaks, 0,
                      sizeof rows / sizeof *rows);
  suite_add_tcase(suite, refused);
  return suite;
}

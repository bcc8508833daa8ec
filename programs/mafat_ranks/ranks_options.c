#include "programs/mafat_ranks/ranks_options.h"

#include "programs/shared/decimal.h"
#include "programs/shared/own_options.h"
#include "programs/run_inference/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char mafat_ranks_help[] =
    "usage: mpirun -n N mafat_ranks [OPTIONS] MODEL.cfg MODEL.weights IMAGE...\n"
    "\n"
    "Runs a network on N devices that pass messages by MPI: what run_inference prints,\n"
    "and its bits. All ranks get the same arguments: the options of run_inference that\n"
    "run something (run_inference --help), and\n"
    "\n"
    "  --timeout SECONDS    end where a rank has not been heard of, or does not get on,\n"
    "                       for so long (default 60; 0: never)\n"
    "  --search WAY         how layers are shared out: deeperthings (default), fdto, layers,\n"
    "                       best\n"
    "  --reduce exact|fast  what ranks sum together: in the order of channels, one rank behind the\n"
    "                       other, for the bits of one device (default); or each its own at once\n"
    "  --pipeline           of several pictures the next are begun while others are under way:\n"
    "                       ranks have whole layers (--search layers), as much to compute each\n"
    "  --link RATE[:DELAY]  of any two ranks, which best goes by: 100M:0.2ms, bits a second and\n"
    "                       what a message takes; default 1G:0.1ms\n"
    "  --speed X,...        how fast each rank is beside the others, as 1,0.5,0.5: each gets as\n"
    "                       much to do (default: all are equal)\n"
    "  --plan PLAN          one with /ranks=N, see mafat-plan(7)\n"
    "  --memory SIZE,...    of each rank: its arena and weights, without MPI's own; one for all, or\n"
    "                       as many as ranks, whose shares are found so that they fit\n";

static bool read_timeout(void *options, const char *text)
{
  struct mafat_ranks_options *o = options;
  char *end;
  o->timeout_seconds = strtod(text, &end);
  return mafat_decimal_begins(text) && !*end && o->timeout_seconds >= 0 && o->timeout_seconds <= 86400;
}

/* "64M,16M": its budgets; a single one is as run_inference has it. */
static bool read_memory(void *options, const char *text)
{
  struct mafat_ranks_options *o = options;
  return mafat_words_sizes(text, o->budgets, MAFAT_MOST_RANKS, &o->n_budgets);
}

static bool read_speeds(void *options, const char *text)
{
  struct mafat_ranks_options *o = options;
  return mafat_words_speeds(text, o->speeds, &o->n_speeds);
}

static bool read_pipeline(void *options, const char *text)
{
  struct mafat_ranks_options *o = options;
  (void)text;
  return o->pipeline = true;
}

static bool read_link(void *options, const char *text)
{
  struct mafat_ranks_options *o = options;
  return mafat_words_link(text, &o->link_bits, &o->link_seconds);
}

static bool read_reduce(void *options, const char *text)
{
  struct mafat_ranks_options *o = options;
  o->reduce_fast = strcmp(text, "fast") == 0;
  return o->reduce_fast || strcmp(text, "exact") == 0;
}

static const struct mafat_own_option rows[] = {
    {"--timeout", "seconds from 0 to 86400", read_timeout},
    {"--reduce", "exact or fast", read_reduce},
    {"--pipeline", NULL, read_pipeline},
    {"--link", "bits a second and what a message takes, such as 100M:0.2ms", read_link},
    {"--speed", MAFAT_SPEEDS_EXPECTED, read_speeds},
    {"--memory", "a size like 64M, or one for each rank like 64M,16M", read_memory}};

int mafat_ranks_options_take(struct mafat_ranks_options *o, int *argc, char **argv, struct mafat_diagnostic *d)
{
  *o = (struct mafat_ranks_options){.timeout_seconds = 60, .link_bits = 1e9, .link_seconds = 1e-4};
  return mafat_own_options_take(o, rows, (int)(sizeof rows / sizeof *rows), argc, argv, d);
}

int mafat_ranks_options_know(struct mafat_ranks_options *o, int n_ranks, struct mafat_diagnostic *d)
{
  for (int i = 1; i < n_ranks && o->n_budgets == 1; i++) o->budgets[i] = o->budgets[0];
  if (o->n_speeds && o->n_speeds != n_ranks)
    return mafat_fail(d, MAFAT_EINVAL, "--speed expects one number for each of %d ranks, found %d", n_ranks, o->n_speeds);
  if (o->n_budgets <= 1 || o->n_budgets == n_ranks) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL, "--memory expects one size, or %d for as many ranks, found %d", n_ranks, o->n_budgets);
}

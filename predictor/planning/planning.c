/* Makes plans from specs, and specs from plans. Called by api/, search/, runner/calibrate/ and
 * predictor/transfers/prices.c. Allocates plans from the options' heap, and specs from the plan's
 * heap; the caller frees them. */
#include "predictor/planning/planning.h"

#include "predictor/plan/algorithms.h"
#include "predictor/planning/balance.h"
#include "predictor/plan/fusion.h"
#include "predictor/planning/lay.h"

/* ---- spec of a plan ---- */

/* Returns the spec of a group, but without its layers, algorithms and depthwise words. The
 * boundaries of a grid point to the plan's lists. */
static struct mafat_group_spec describe(const struct mafat_group *g)
{
  struct mafat_group_spec spec = {.cut = g->cut, .weights = g->weights};
  if (spec.weights.ring == MAFAT_USUAL_RING) spec.weights.ring = 0;
  return spec;
}

/* Appends the spec of a group with its layers, algorithms and depthwise words. */
static int add_group(struct mafat_spec *spec, const struct mafat_plan *plan,
                     const struct mafat_network *network, int number)
{
  const struct mafat_group *g = &plan->groups[number];
  struct mafat_group_spec group = describe(g);
  struct mafat_algorithm_choice choice = {
      network, plan->wanted, plan->algorithms, plan->members + g->at.begin, mafat_span_size(g->at),
      spec->heap};
  int code = mafat_spec_append(spec, &group);
  if (code == MAFAT_OK)
    code = mafat_group_spec_set_layers(spec->heap, &spec->groups[spec->n_groups - 1], number,
                                       plan->group_of, plan->n_layers);
  if (code == MAFAT_OK) code = mafat_algorithms_words(&choice, &spec->groups[spec->n_groups - 1]);
  return code ? code
              : mafat_fusion_words(plan, network, choice.layers, choice.n, spec->heap,
                                   &spec->groups[spec->n_groups - 1]);
}

int mafat_plan_spec(struct mafat_spec **out, const struct mafat_plan *plan,
                    const struct mafat_network *network)
{
  int code = (*out = mafat_spec_new(plan->heap)) ? MAFAT_OK : MAFAT_ENOMEM;
  if (code == MAFAT_OK) {
    (*out)->op_order = plan->op_order;
    (*out)->in_place = plan->in_place;
    if (!mafat_ranks_copy(plan->heap, &(*out)->ranks, &plan->ranks)) code = MAFAT_ENOMEM;
  }
  for (int g = 0; g < plan->n_groups && code == MAFAT_OK; g++)
    code = add_group(*out, plan, network, g);
  if (code) mafat_spec_close(out);
  return code;
}

/* ---- creation ---- */

static bool wants_balance(const struct mafat_plan *plan)
{
  for (const struct mafat_group *g = plan->groups; g < plan->groups + plan->n_groups; g++)
    if (mafat_balance_applies(&g->cut)) return true;
  return false;
}

/* Replaces the plan by one whose balanced grids have their final boundaries. */
static int balance(struct mafat_plan **plan, const struct mafat_ground *ground,
                   struct mafat_diagnostic *d)
{
  struct mafat_spec *spec;
  int code = mafat_plan_spec(&spec, *plan, ground->network);
  mafat_plan_close(plan);
  if (code == MAFAT_OK) code = mafat_balance(spec, ground);
  if (code == MAFAT_OK) code = mafat_lay(plan, spec, ground, d);
  else mafat_fail(d, code, "plan: out of memory");
  mafat_spec_close(&spec);
  return code;
}

static int make(struct mafat_plan **out, const struct mafat_spec *spec,
                const struct mafat_ground *ground, struct mafat_diagnostic *d)
{
  int code = mafat_lay(out, spec, ground, d);
  return code == MAFAT_OK && wants_balance(*out) ? balance(out, ground, d) : code;
}

/* Checks the numbers of layers and threads. Fills `defaults`; if ground->options is NULL, lets it
 * point to `defaults`. */
static int check_ground(struct mafat_ground *ground, struct mafat_plan_options *defaults,
                        struct mafat_diagnostic *d)
{
  mafat_plan_defaults(defaults);
  if (!ground->options) ground->options = defaults;
  if (ground->n_layers < 1 || ground->n_layers > ground->network->n_layers)
    return mafat_fail(d, MAFAT_EINVAL, "expected 1 to %d layers, found %d",
                      ground->network->n_layers, ground->n_layers);
  if (ground->options->n_threads < 1 || ground->options->n_threads > MAFAT_MAX_THREADS)
    return mafat_fail(d, MAFAT_EINVAL, "expected 1 to %d threads, found %d", MAFAT_MAX_THREADS,
                      ground->options->n_threads);
  return MAFAT_OK;
}

int mafat_plan_make(struct mafat_plan **out, const struct mafat_spec *spec,
                    const struct mafat_network *network, int n_layers,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d)
{
  struct mafat_ground ground = {network, n_layers, options};
  struct mafat_plan_options defaults;
  *out = NULL;
  int code = check_ground(&ground, &defaults, d);
  return code ? code : make(out, spec, &ground, d);
}

int mafat_plan_read(struct mafat_plan **out, const char *text,
                    const struct mafat_network *network, int n_layers,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d)
{
  struct mafat_spec *spec;
  *out = NULL;
  int code = mafat_spec_read(&spec, text, d);
  if (code == MAFAT_OK) code = mafat_plan_make(out, spec, network, n_layers, options, d);
  mafat_spec_close(&spec);
  return code;
}

int mafat_plan_untiled(struct mafat_plan **out, const struct mafat_network *network, int n_layers,
                       const struct mafat_plan_options *options, struct mafat_diagnostic *d)
{
  struct mafat_group_spec group = {.cut = mafat_cut_grid(1, 1)};
  struct mafat_spec spec = {.groups = &group, .n_groups = 1};
  return mafat_plan_make(out, &spec, network, n_layers, options, d);
}

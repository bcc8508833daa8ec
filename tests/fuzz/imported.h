/* Checks networks that fuzz targets import. A small network with one input is run by two plans,
 * whose outputs must have the same bits. The runs use the portable kernels, which the sanitizers
 * check. A third of the files are also opened by descriptor and in memory (ways.h). Included by
 * fuzz targets. */
#ifndef MAFAT_TESTS_FUZZ_IMPORTED_H
#define MAFAT_TESTS_FUZZ_IMPORTED_H

#include "network/sources.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "runner/detect/heads/heads.h"
#include "tests/fuzz/networks.h"
#include "tests/fuzz/ways.h"

#include <math.h>

/* Larger networks are skipped: they take longer, but test nothing more. */
enum { MAX_MACS = 1 << 20, MAX_BYTES = 8 << 20, MAX_FLOATS = 1 << 16, MAX_LAYERS = 60 };

/* ---- the network ---- */

static inline void check_operand(const struct mafat_network *n, int layer, int operand)
{
  const struct mafat_layer *l = &n->layers[layer];
  const struct mafat_operand *o = &l->operands[operand];
  const struct mafat_infer_context context = {n->path, l->line, layer,
                                              mafat_layer_type_name(l->type), NULL};
  require(mafat_network_check_operand(n, layer, operand, &context) == MAFAT_OK);
  struct mafat_span y = mafat_layer_in_span(l, operand, true, mafat_span(0, l->out.h));
  struct mafat_span x = mafat_layer_in_span(l, operand, false, mafat_span(0, l->out.w));
  require(y.begin >= 0 && y.end <= o->shape.h && x.begin >= 0 && x.end <= o->shape.w);
}

static inline void check_port(const struct mafat_port *p)
{
  int c, y, x;
  long long elements = mafat_view_elements(&p->view), step = elements / 50 + 1;
  require(p->name && elements > 0 && elements <= mafat_shape_elements(p->shape));
  for (long long i = 0; i < elements; i += step) {
    mafat_port_find(p, i, &c, &y, &x);
    require(c >= 0 && c < p->shape.c && y >= 0 && y < p->shape.h && x >= 0 && x < p->shape.w);
  }
}

static inline void check_network(const struct mafat_network *n)
{
  require(n->n_layers >= 1 && n->n_layers <= MAFAT_MAX_LAYERS && n->constants &&
          n->constants->n_layers == n->n_layers);
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    require(l->out.h > 0 && l->out.w > 0 && l->out.c > 0 && l->n_operands > 0);
    for (int k = 0; k < l->n_operands; k++)
      if (mafat_sources_count(&l->operands[k].sources) > 0)
        check_operand(n, i, k); /* an operand without sources reads nothing */
  }
  for (int i = 0; i < n->n_inputs; i++) check_port(&n->inputs[i]);
  for (int i = 0; i < n->n_outputs; i++) check_port(&n->outputs[i]);
}

/* ---- runs ---- */

struct import_run {
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  float *output; /* of the last layer, CHW */
};

static inline void close_run(struct import_run *r)
{
  free(r->output);
  mafat_layout_close(&r->layout);
  mafat_plan_close(&r->plan);
}

/* False: the plan does not fit this network, or needs too much work. */
static inline bool open_run(struct import_run *r, const struct mafat_network *n, const char *text)
{
  struct mafat_plan_options options;
  struct mafat_diagnostic d = {""};
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  *r = (struct import_run){NULL, NULL, NULL};
  int code = mafat_plan_read(&r->plan, text, n, n->n_layers, &options, &d);
  if (code == MAFAT_OK) code = mafat_layout_make(&r->layout, n, r->plan, &d);
  require(code == MAFAT_OK || d.text[0]);
  require(!r->layout ||
          (r->layout->total_bytes >= r->layout->bound_bytes && r->layout->total_bytes % 64 == 0));
  return code == MAFAT_OK && r->layout->padded_macs <= MAX_MACS &&
         r->layout->total_bytes <= MAX_BYTES;
}

/* Runs the plan. The arena is filled with NaN first, so that reads of unwritten memory show in
 * the output. */
static inline void run(struct import_run *r, const struct mafat_network *n, struct mafat_weights *w,
                       const float *input)
{
  struct mafat_executor_options options;
  struct mafat_executor *e = NULL;
  mafat_executor_defaults(&options);
  options.kernels = mafat_kernels_find("portable");
  r->output = malloc((size_t)mafat_shape_elements(n->layers[n->n_layers - 1].out) * sizeof(float));
  require(r->output &&
          mafat_executor_open(&e, n, r->plan, r->layout, w, &options, NULL) == MAFAT_OK);
  memset((void *)(uintptr_t)mafat_executor_arena(e), 0xff, r->layout->total_bytes);
  mafat_executor_set_input(e, input);
  require(mafat_executor_run(e, NULL) == MAFAT_OK);
  mafat_executor_read_output(e, n->n_layers - 1, r->output);
  mafat_executor_close(&e);
}

static inline void compare(const struct mafat_network *n, struct mafat_weights *w,
                           struct import_run *a, struct import_run *b)
{
  static float input[MAX_FLOATS];
  long long floats = mafat_shape_elements(n->layers[n->n_layers - 1].out);
  for (int i = 0; i < MAX_FLOATS; i++) input[i] = (float)(i % 17) - 5;
  run(a, n, w, input);
  run(b, n, w, input);
  for (long long i = 0; i < floats; i++)
    require(!memcmp(&a->output[i], &b->output[i], sizeof(float)) ||
            (isnan(a->output[i]) && isnan(b->output[i])));
}

static inline bool is_small(const struct mafat_network *n)
{
  long long floats = mafat_shape_elements(mafat_network_picture_shape(n));
  for (int l = 0; l < n->n_layers && floats <= MAX_FLOATS; l++) {
    struct mafat_weight_counts c = mafat_layer_weight_counts(&n->layers[l]);
    if (c.weights > MAX_FLOATS) return false;
    floats += mafat_shape_elements(n->layers[l].out) + (long long)c.weights;
  }
  return floats <= MAX_FLOATS && n->n_layers <= MAX_LAYERS && n->n_inputs == 1;
}

static inline void run_plans(const struct mafat_network *n, const struct way_file *f)
{
  static const char *const plans[] = {"rows1/NoCut", "2x2/NoCut", "panels/NoCut"};
  struct import_run whole, other;
  struct mafat_weights *w;
  struct mafat_diagnostic d = {""};
  bool ready = open_run(&whole, n, "1x1/NoCut"), there = open_run(&other, n, plans[f->n / 3 % 3]);
  if (ready && there) {
    int code = mafat_weights_open_kept(&w, f->path, n, n->n_layers, NULL, &d);
    require((code == MAFAT_OK) == (w != NULL) && (w || d.text[0]));
    if (w) compare(n, w, &whole, &other);
    mafat_weights_close(&w);
  }
  close_run(&whole);
  close_run(&other);
}

/* Opens the file in all ways of ways.h, unless the model is stored in several files. */
static inline void check_ways(const struct way_file *f, const struct mafat_network *n,
                              const char *plan)
{
  struct import_run run;
  way_check_networks(f);
  if (!n || n->n_files > 0) return;
  if (!is_small(n)) return;
  way_check_queries(f, NULL);
  if (open_run(&run, n, "1x1/NoCut")) way_check_runs(f, NULL, plan);
  close_run(&run);
}

/* Checks an imported network, and runs it if it is small. */
static inline void check_imported(struct mafat_network *n, const struct way_file *f)
{
  check_network(n);
  require(mafat_heads_choose(n, n->n_layers, NULL, NULL) == MAFAT_OK);
  if (is_small(n)) run_plans(n, f);
}

#endif

/* Chooses which layers of a float network are quantized, and their scales, from histograms of the
 * layers' outputs. Called by numbering.c. Runs the network on pictures through observe.c, which
 * opens them and the weights; allocates. */
#include "api/packing/calibrate.h"

#include "api/packing/observe.h"

#include <math.h>
#include <stdlib.h>

/* ---- choice of layers ---- */

/* True if the layer reads an input of the network, or one of several outputs of a layer; these are
 * not observed. */
static bool reads_input(const struct mafat_network *n, int layer)
{
  for (struct mafat_reads r = mafat_layer_reads(&n->layers[layer]); mafat_reads_next(&r);)
    if (mafat_network_sole_maker(n, r.source->tensor) < 0) return true;
  return false;
}

/* Sets leads[tensor] to true if the input of a convolution, or of another layer with a matrix,
 * depends on the tensor. */
static void find_leads(const struct mafat_network *n, bool *leads)
{
  for (int l = n->n_layers - 1; l >= 0; l--) {
    if (mafat_layer_is_alias(&n->layers[l])) continue;
    bool on = mafat_layer_has_panels(&n->layers[l]);
    for (int k = 0; k < mafat_layer_n_outputs(&n->layers[l]); k++)
      on = on || leads[mafat_network_output(n, l, k)];
    for (struct mafat_reads r = mafat_layer_reads(&n->layers[l]); on && mafat_reads_next(&r);)
      leads[r.source->tensor] = true;
  }
}

static bool shall_compute(const struct mafat_network *n, int layer, const bool *keep,
                          const bool *leads, const bool *computes)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (!mafat_activations_can_compute(n, layer) || keep[layer] || !leads[layer] ||
      reads_input(n, layer))
    return false;
  if (mafat_layer_has_panels(l)) return true;
  for (struct mafat_reads r = mafat_layer_reads(l); mafat_reads_next(&r);)
    if (!computes[r.source->tensor]) return false;
  return true;
}

/* Lists the layers that compute with integers, and the tensors that these layers read. */
static struct mafat_activations *list(const struct mafat_network *n, const bool *computes,
                                      bool *listed)
{
  int n_operators = mafat_network_n_tensors(n);
  struct mafat_activations *a = mafat_activations_make(n->n_layers, n_operators);
  for (int l = 0; l < n->n_layers; l++) {
    if (!computes[l]) continue;
    listed[l] = true;
    for (struct mafat_reads r = mafat_layer_reads(&n->layers[l]); mafat_reads_next(&r);)
      listed[r.source->tensor] = true;
  }
  for (int i = 0; a && i < n_operators; i++)
    if (listed[i])
      a->list[a->n++] = (struct mafat_activation_numbers){
          .tensor = i, .scale = 1, .before_scale = 1, .computes = computes[i]};
  return a;
}

struct mafat_activations *mafat_calibrate_choose(const struct mafat_network *n, const bool *keep)
{
  size_t capacity = (size_t)mafat_network_n_tensors(n);
  bool *leads = calloc(3 * capacity, sizeof *leads);
  if (!leads) return NULL;
  bool *computes = leads + capacity, *listed = computes + capacity;
  find_leads(n, leads);
  for (int l = 0; l < n->n_layers; l++) computes[l] = shall_compute(n, l, keep, leads, computes);
  struct mafat_activations *a = list(n, computes, listed);
  free(leads);
  return a;
}

int mafat_calibrate_count(const struct mafat_activations *a)
{
  int n = 0;
  for (int i = 0; i < a->n; i++) n += a->list[i].computes;
  return n;
}

/* ---- histograms of outputs ---- */

/* State while the twin network runs: the float network, with activations that are computed by table
 * as separate layers, so that the sums before them can be observed (calibrate.h). */
struct watching {
  struct mafat_calibrated *to;
  struct mafat_equalized *equalized;
  float share;
  const struct mafat_network *wide, *twin;
  /* [layer of the twin]: tensor of the float network whose values (put), or whose sums before the
   * activation (before), the layer computes; -1: none that is observed */
  int *put, *before;
  float *floats;     /* buffer for the largest output */
  bool counting;     /* second pass: histograms are collected */
  bool finite;       /* no output had NaN or infinity so far */
};

static void note(struct watching *w, struct mafat_histogram *h, size_t n)
{
  if (w->counting) mafat_histogram_add(h, w->floats, n);
  else mafat_range_see(&h->seen, w->floats, n);
  w->finite = w->finite && isfinite(h->seen.least) && isfinite(h->seen.most);
}

static void note_put(struct watching *w, int tensor, struct mafat_shape shape)
{
  if (w->counting) mafat_equalized_multiply(w->equalized->factors[tensor], shape, w->floats);
  else mafat_equalized_see(w->equalized, tensor, shape, w->floats);
  note(w, &w->to->put[tensor], (size_t)mafat_shape_elements(shape));
}

static void watch(void *context, struct mafat_executor *e, int layer)
{
  struct watching *w = context;
  if (w->put[layer] < 0 && w->before[layer] < 0) return;
  mafat_executor_read_output(e, layer, w->floats);
  struct mafat_shape shape = w->twin->layers[layer].out;
  if (w->before[layer] >= 0)
    note(w, &w->to->before[w->before[layer]], (size_t)mafat_shape_elements(shape));
  if (w->put[layer] >= 0) note_put(w, w->put[layer], shape);
}

static int open_watching(struct watching *w, const struct mafat_activations *a,
                         const struct mafat_activations_places *places)
{
  size_t most = 1, n = (size_t)w->twin->n_layers;
  w->put = malloc(2 * n * sizeof *w->put);
  if (!w->put) return MAFAT_ENOMEM;
  w->before = w->put + n;
  for (size_t i = 0; i < 2 * n; i++) w->put[i] = -1;
  for (int i = 0; i < a->n; i++) {
    const struct mafat_activations_places *p = &places[a->list[i].tensor];
    if (p->put >= w->twin->n_layers) continue;
    w->put[p->put] = a->list[i].tensor;
    if (p->made != p->put) w->before[p->made] = a->list[i].tensor;
    size_t elements = (size_t)mafat_shape_elements(w->twin->layers[p->put].out);
    most = elements > most ? elements : most;
  }
  w->floats = malloc(most * sizeof *w->floats);
  return w->floats ? MAFAT_OK : MAFAT_ENOMEM;
}

/* Chooses the equalization factors of the maps, after the first pass, and scales the observed
 * ranges by them. */
static void equalize(struct watching *w)
{
  mafat_equalized_choose(w->equalized, w->wide, w->share);
  for (int l = 0; l < w->wide->n_layers; l++)
    if (w->equalized->factors[l])
      w->to->put[l].seen = mafat_equalized_range(w->equalized, l, w->wide->layers[l].out.c);
}

static int watch_pictures(struct watching *w, struct mafat_model_source *weights,
                          const char *const *pictures, int n_pictures, struct mafat_diagnostic *d)
{
  struct mafat_observer *o = NULL;
  int code = mafat_observer_open(&o, w->twin, weights, watch, w, d);
  for (int pass = 0; pass < 2 && code == MAFAT_OK; pass++) {
    w->counting = pass == 1;
    if (w->counting) equalize(w);
    for (int i = 0; i < n_pictures && code == MAFAT_OK; i++)
      code = mafat_observer_run(o, pictures[i], d);
  }
  mafat_observer_close(&o);
  if (code || w->finite) return code;
  return mafat_fail(d, MAFAT_EINVAL, "%s: has outputs that are not finite for these pictures",
                    w->twin->path);
}

int mafat_calibrate_see(struct mafat_calibrated *out, const struct mafat_network *twin,
                        const struct mafat_activations *a,
                        const struct mafat_activations_places *places,
                        struct mafat_equalized *equalized, float share,
                        const struct mafat_network *wide, struct mafat_model_source *weights,
                        const char *const *pictures, int n_pictures, struct mafat_diagnostic *d)
{
  struct watching w = {.to = out,
                       .equalized = equalized,
                       .share = share,
                       .wide = wide,
                       .twin = twin,
                       .finite = true};
  int n_operators = mafat_network_n_tensors(wide);
  out->n_operators = n_operators;
  out->put = calloc(2 * (size_t)n_operators, sizeof *out->put);
  out->before = out->put ? out->put + n_operators : NULL;
  int code = out->put && open_watching(&w, a, places) == MAFAT_OK
                 ? MAFAT_OK
                 : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", twin->path);
  if (code == MAFAT_OK) code = watch_pictures(&w, weights, pictures, n_pictures, d);
  free(w.put);
  free(w.floats);
  return code;
}

void mafat_calibrated_release(struct mafat_calibrated *c)
{
  free(c->put);
  *c = (struct mafat_calibrated){0};
}

/* ---- scales ---- */

int mafat_calibrate_scale(struct mafat_activations *a, const struct mafat_network *n,
                          const struct mafat_calibrated *c, enum mafat_range_method method)
{
  size_t capacity = (size_t)mafat_network_n_tensors(n);
  int *same = malloc(capacity * sizeof *same);
  struct mafat_range *ranges = calloc(capacity, sizeof *ranges);
  if (same && ranges) {
    mafat_activations_find_classes(a, n, same);
    for (int i = 0; i < a->n; i++) {
      struct mafat_range *r = &ranges[same[a->list[i].tensor]];
      *r = mafat_range_join(*r, mafat_histogram_range(&c->put[a->list[i].tensor], method));
    }
    for (int i = 0; i < a->n; i++) {
      struct mafat_activation_numbers *to = &a->list[i];
      mafat_range_numbers(ranges[same[to->tensor]], &to->scale, &to->zero);
      mafat_range_numbers(mafat_histogram_range(&c->before[to->tensor], method), &to->before_scale,
                          &to->before_zero);
    }
  }
  free(ranges);
  free(same);
  return same && ranges ? MAFAT_OK : MAFAT_ENOMEM;
}

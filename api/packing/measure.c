/* Measures the errors of a packed file's layers: runs the float network and the packed one on
 * pictures, through observe.c, and compares the outputs. Called by narrowing.c and numbering.c.
 * Reads the pictures and the packed file; allocates struct mafat_measure, which the caller
 * closes. */
#include "api/packing/measure.h"

#include "runner/weights/equalize.h"
#include "api/packing/observe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Difference between a layer's float output and its output in the packed network, over all values
 * and all pictures: sums of the squares of the float values and of the errors; largest magnitudes
 * of a float value (most) and of an error (largest). */
struct difference {
  double squares, errors, most, largest;
};

struct mafat_measure {
  const struct mafat_network *network;
  struct mafat_observer *observer; /* runs the float network */
  const char *const *pictures;
  int n_pictures;
  float **wide;  /* [layer of the float network]: output; NULL: not compared */
  float *narrow; /* output of a layer of the packed network; as large as the largest output */
  int *wide_of;  /* [layer of the packed network]: float layer with the same output, or -1 */
  float *const *factors; /* [float layer]: factors by which the packed network multiplies the
                            layer's channels (equalize.h); NULL: none */
  struct difference *differences; /* [layer]; [number of layers]: all outputs together */
  /* true: after the comparison the layer's output is replaced by the float network's, so that each
   * layer's own error is measured; false: errors accumulate, and only outputs are compared */
  bool apart;
};

/* True for heads and the last layer. */
static bool is_output(const struct mafat_network *n, int layer)
{
  int last = n->n_layers - 1;
  while (last > 0 && mafat_layer_is_alias(&n->layers[last])) last--;
  return layer == last || mafat_layer_is_head(&n->layers[layer]);
}

static bool is_asked_for(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  return mafat_layer_has_panels(l) || mafat_layer_blends(l) || is_output(n, layer);
}

static size_t elements(const struct mafat_measure *m, int layer)
{
  return (size_t)mafat_shape_elements(m->network->layers[layer].out);
}

/* ---- observers ---- */

static void keep(void *context, struct mafat_executor *e, int layer)
{
  struct mafat_measure *m = context;
  if (m->wide[layer]) mafat_executor_read_output(e, layer, m->wide[layer]);
}

static void compare(struct difference *d, const float *wide, const float *narrow, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    double is = (double)wide[i], error = fabs((double)narrow[i] - is);
    d->squares += is * is;
    d->errors += error * error;
    d->most = fmax(d->most, fabs(is));
    d->largest = fmax(d->largest, error);
  }
}

static void look(void *context, struct mafat_executor *e, int layer)
{
  struct mafat_measure *m = context;
  int l = m->wide_of[layer];
  if (l < 0 || !m->wide[l]) return;
  const float *factors = m->factors ? m->factors[l] : NULL;
  struct mafat_shape shape = m->network->layers[l].out;
  mafat_executor_read_output(e, layer, m->narrow);
  mafat_equalized_divide(factors, shape, m->narrow);
  if (m->apart) compare(&m->differences[l], m->wide[l], m->narrow, elements(m, l));
  else if (is_output(m->network, l))
    compare(&m->differences[m->network->n_layers], m->wide[l], m->narrow, elements(m, l));
  if (!m->apart) return;
  memcpy(m->narrow, m->wide[l], elements(m, l) * sizeof *m->narrow);
  mafat_equalized_multiply(factors, shape, m->narrow);
  mafat_executor_write_output(e, layer, m->narrow);
}

static struct mafat_measured measured(const struct difference *d)
{
  return (struct mafat_measured){d->squares > 0 ? sqrt(d->errors / d->squares) : d->errors > 0,
                                 d->most > 0 ? d->largest / d->most : d->largest > 0};
}

/* ---- runs ---- */

static int run_pictures(struct mafat_measure *m, struct mafat_observer *narrow,
                        struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  for (int i = 0; i < m->n_pictures && code == MAFAT_OK; i++) {
    code = mafat_observer_run(m->observer, m->pictures[i], d);
    m->apart = false;
    if (code == MAFAT_OK) code = mafat_observer_run(narrow, m->pictures[i], d);
    m->apart = true;
    if (code == MAFAT_OK) code = mafat_observer_run(narrow, m->pictures[i], d);
  }
  return code;
}

int mafat_measure_run(struct mafat_measure *m, const struct mafat_network *narrow,
                      const char *packed, const int *place, float *const *factors,
                      struct mafat_measured *layers, struct mafat_measured *last,
                      struct mafat_diagnostic *d)
{
  struct mafat_observer *observer = NULL;
  struct mafat_model_source *source;
  int n_layers = m->network->n_layers;
  m->factors = factors;
  memset(m->differences, 0, ((size_t)n_layers + 1) * sizeof *m->differences);
  int *wide_of = m->wide_of = malloc((size_t)narrow->n_layers * sizeof *wide_of);
  if (!wide_of) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", packed);
  for (int l = 0; l < narrow->n_layers; l++) wide_of[l] = -1;
  for (int l = 0; l < n_layers; l++) wide_of[place ? place[l] : l] = l;
  int code = mafat_model_source_open_regular(&source, packed, d);
  if (code == MAFAT_OK) code = mafat_observer_open(&observer, narrow, source, look, m, d);
  if (code == MAFAT_OK) code = run_pictures(m, observer, d);
  mafat_observer_close(&observer);
  mafat_model_source_close(&source);
  free(wide_of);
  for (int l = 0; l < n_layers; l++) layers[l] = measured(&m->differences[l]);
  *last = measured(&m->differences[n_layers]);
  return code;
}

/* ---- opening ---- */

static int allocate(struct mafat_measure *m)
{
  size_t most = 1, n_layers = (size_t)m->network->n_layers;
  m->wide = calloc(n_layers, sizeof *m->wide);
  m->differences = calloc(n_layers + 1, sizeof *m->differences);
  for (int l = 0; m->wide && l < m->network->n_layers; l++) {
    if (!is_asked_for(m->network, l)) continue;
    if (elements(m, l) > most) most = elements(m, l);
    if (!(m->wide[l] = malloc(elements(m, l) * sizeof(float)))) return MAFAT_ENOMEM;
  }
  m->narrow = malloc(most * sizeof *m->narrow);
  return m->wide && m->narrow && m->differences ? MAFAT_OK : MAFAT_ENOMEM;
}

int mafat_measure_open(struct mafat_measure **out, const struct mafat_network *n,
                       struct mafat_model_source *weights, const char *const *pictures,
                       int n_pictures, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_measure *m = calloc(1, sizeof *m);
  if (!m) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  m->network = n;
  m->pictures = pictures;
  m->n_pictures = n_pictures;
  int code = allocate(m) ? mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path) : MAFAT_OK;
  if (code == MAFAT_OK) code = mafat_observer_open(&m->observer, n, weights, keep, m, d);
  if (code == MAFAT_OK) *out = m;
  else mafat_measure_close(&m);
  return code;
}

void mafat_measure_close(struct mafat_measure **measure)
{
  if (!measure || !*measure) return;
  struct mafat_measure *m = *measure;
  mafat_observer_close(&m->observer);
  for (int l = 0; m->wide && l < m->network->n_layers; l++) free(m->wide[l]);
  free(m->wide);
  free(m->narrow);
  free(m->differences);
  free(m);
  *measure = NULL;
}

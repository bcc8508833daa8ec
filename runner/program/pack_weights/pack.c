#include "runner/program/pack_weights/pack.h"

#include "predictor/packing.h"
#include "runner/program/pack_weights/calibrate.h"
#include "runner/program/pack_weights/measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void warn(void *context, const char *text)
{
  (void)context;
  fprintf(stderr, "pack_weights: %s\n", text);
}

/* Anew, whatever was written before. */
static int write_file(const struct mafat_packing *p, const struct mafat_network *n, const struct mafat_packed_origin *origin,
                      struct mafat_diagnostic *d)
{
  struct mafat_warning_sink sink = {warn, NULL};
  struct stat st;
  if (fstat(p->fd, &st) != 0 || (st.st_size > 0 && ftruncate(p->fd, 0) != 0)) return mafat_fail(d, MAFAT_EIO, "%s: %s", p->path, strerror(errno));
  return mafat_packer_write(p->weights, n, origin, p->fd, p->out, p->progress, &sink, d);
}

static int no_memory(const struct mafat_packing *p, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", p->weights);
}

/* ---- weights alone ---- */

static void choose_types(struct mafat_network *n, enum mafat_dtype wanted)
{
  for (int l = 0; l < n->n_layers; l++) n->layers[l].weights_type = mafat_layer_narrowest(&n->layers[l], wanted);
}

/* Layers that lose more than they may get the next type. How many? */
static int widen_layers(struct mafat_network *n, const struct mafat_measured *errors, double most)
{
  int widened = 0;
  for (int l = 0; l < n->n_layers; l++) {
    struct mafat_layer *layer = &n->layers[l];
    if (!mafat_layer_widens(layer) || errors[l].error <= most) continue;
    layer->weights_type = mafat_dtypes[layer->weights_type].wider;
    widened++;
  }
  return widened;
}

static void print_errors(const struct mafat_network *n, enum mafat_dtype wanted, const struct mafat_measured *errors,
                         const struct mafat_measured *last)
{
  printf("layer  kind             weights    bytes      error      largest\n");
  for (int l = 0; l < n->n_layers; l++) {
    const struct mafat_layer *layer = &n->layers[l];
    if (!mafat_layer_has_panels(layer)) continue;
    bool kept = layer->weights_type != mafat_layer_narrowest(layer, wanted);
    printf("%5d  %-15s  %-8s %10zu  %9.2g  %9.2g%s\n", l, mafat_layer_type_name(layer->type),
           mafat_dtype_name(layer->weights_type), mafat_packed_layer_bytes(layer), errors[l].error, errors[l].largest,
           kept ? "  kept wider" : "");
  }
  printf("outputs, with all of them: error %.2g, largest %.2g\n", last->error, last->largest);
}

/* Packs, and again with layers wider, until none loses more than it may. */
static int pack_measured(const struct mafat_packing *p, struct mafat_network *n, const struct mafat_network *wide,
                         struct mafat_diagnostic *d)
{
  struct mafat_measured *errors = calloc((size_t)n->n_layers, sizeof *errors), last;
  struct mafat_measure *m = NULL;
  int code = errors ? mafat_measure_open(&m, wide, p->weights, p->measure.list, p->measure.n, d) : no_memory(p, d);
  for (bool again = true; again && code == MAFAT_OK;) {
    code = write_file(p, n, &p->origin, d);
    if (code == MAFAT_OK) code = mafat_measure_run(m, n, p->path, NULL, NULL, errors, &last, d);
    again = code == MAFAT_OK && widen_layers(n, errors, p->most_error) > 0;
  }
  if (code == MAFAT_OK) print_errors(n, p->type, errors, &last);
  mafat_measure_close(&m);
  free(errors);
  return code;
}

static int pack_weights(const struct mafat_packing *p, struct mafat_network *n, struct mafat_diagnostic *d)
{
  struct mafat_network *wide = NULL;
  choose_types(n, p->type);
  if (p->measure.n == 0) return write_file(p, n, &p->origin, d);
  int code = p->read(p->context, &wide, d);
  if (code == MAFAT_OK) code = pack_measured(p, n, wide, d);
  mafat_network_close(&wide);
  return code;
}

/* ---- activations, too ---- */

/* A network with whole numbers, on its way into a file. */
struct numbered {
  const struct mafat_packing *packing;
  const struct mafat_network *wide; /* as the model has it */
  struct mafat_calibrated seen;
  struct mafat_equalized equalized;        /* maps of wide */
  struct mafat_activations *activations;
  struct mafat_activations_places *places; /* [operator of wide] */
  int *place;                              /* [layer of wide]: the layer that puts out the same */
  bool *keep;                              /* [layer of wide]: stays one of floats */
  struct mafat_network *network;           /* as it is packed */
  struct mafat_measure *measure;
  struct mafat_measured *errors, last;     /* [layer of wide] */
};

/* By what layers put out where functions are apart, with factors of such a share. */
static int calibrate(struct numbered *q, float share, struct mafat_diagnostic *d)
{
  const struct mafat_packing *p = q->packing;
  struct mafat_network *twin = NULL;
  mafat_calibrated_release(&q->seen);
  mafat_equalized_close(&q->equalized);
  if (mafat_equalized_open(&q->equalized, q->wide, q->activations) != MAFAT_OK) return no_memory(p, d);
  int code = p->read(p->context, &twin, d);
  if (code == MAFAT_OK) code = mafat_activations_apply(twin, q->activations, false, q->places, p->weights, d);
  if (code == MAFAT_OK)
    code = mafat_calibrate_see(&q->seen, twin, q->activations, q->places, &q->equalized, share, q->wide, p->weights, p->calibrate.list,
                               p->calibrate.n, d);
  mafat_network_close(&twin);
  return code;
}

/* Of the layers as they are packed, which are more. */
static int write_equalized(const struct numbered *q, struct mafat_packed_origin *origin, struct mafat_diagnostic *d)
{
  float **factors = calloc((size_t)q->network->n_layers, sizeof *factors);
  if (!factors) return no_memory(q->packing, d);
  for (int l = 0; l < q->wide->n_layers; l++) factors[q->places[l].made] = q->equalized.factors[l];
  origin->factors = factors;
  int code = write_file(q->packing, q->network, origin, d);
  free(factors);
  return code;
}

static int pack_by(struct numbered *q, enum mafat_range_method method, struct mafat_diagnostic *d)
{
  const struct mafat_packing *p = q->packing;
  struct mafat_packed_origin origin = p->origin;
  mafat_network_close(&q->network);
  if (mafat_calibrate_scale(q->activations, q->wide, &q->seen, method) != MAFAT_OK) return no_memory(p, d);
  int code = p->read(p->context, &q->network, d);
  if (code == MAFAT_OK) code = mafat_activations_apply(q->network, q->activations, true, q->places, p->weights, d);
  if (code) return code;
  choose_types(q->network, p->type);
  origin.activations = q->activations;
  origin.places = q->places;
  return write_equalized(q, &origin, d);
}

static int measure(struct numbered *q, struct mafat_diagnostic *d)
{
  for (int l = 0; l < q->wide->n_layers; l++) q->place[l] = q->places[l].put;
  return mafat_measure_run(q->measure, q->network, q->packing->path, q->place, q->equalized.factors, q->errors, &q->last, d);
}

static bool can_equalize(const struct numbered *q)
{
  for (int l = 0; l < q->wide->n_layers; l++)
    if (q->equalized.factors[l]) return true;
  return false;
}

/* A way of choosing what numbers mean. */
struct way {
  float share; /* of how channels differ that goes away (equalize.h) */
  enum mafat_range_method method;
};

/* As the one that was tried before, or anew. */
static int take_way(struct numbered *q, const struct way *before, const struct way *way, struct mafat_diagnostic *d)
{
  int code = before && before->share == way->share ? MAFAT_OK : calibrate(q, way->share, d);
  if (code == MAFAT_OK) code = pack_by(q, way->method, d);
  return code ? code : measure(q, d);
}

static void print_ways(const struct way *ways, const double *errors, int n, int best)
{
  static const char *const names[MAFAT_N_RANGE_METHODS] = {[MAFAT_RANGE_SQUARES] = "least squares", [MAFAT_RANGE_PERCENTILE] = "percentile"};
  for (int i = 0; i < n; i++)
    printf("ranges by %s, channels %s: outputs are off by %.2g%s\n", names[ways[i].method], ways[i].share > 0 ? "equalized" : "as they are",
           errors[i], i == best ? ", taken" : "");
}

/* Of all ways, the file is that of the one that moves outputs least. */
static int pack_by_best(struct numbered *q, struct mafat_diagnostic *d)
{
  /* Most of how channels differ: the rest is left to the weights behind, which then differ less. (Yolo-Fastest 1.1 and -xl, outputs off
   * by, with a share of 0: 0.14, 0.36; 0.5: 0.10, 0.17; 0.75: 0.095, 0.17; 1: 0.11, 0.18.) */
  static const float share = .75f;
  static const struct way ways[] = {{0, MAFAT_RANGE_SQUARES}, {0, MAFAT_RANGE_PERCENTILE}, {share, MAFAT_RANGE_SQUARES}, {share, MAFAT_RANGE_PERCENTILE}};
  enum { N = sizeof ways / sizeof *ways };
  double errors[N];
  int best = 0, n = N, code = MAFAT_OK;
  for (int i = 0; i < n && code == MAFAT_OK; i++) {
    code = take_way(q, i > 0 ? &ways[i - 1] : NULL, &ways[i], d);
    errors[i] = q->last.error;
    if (errors[i] < errors[best]) best = i;
    if (!can_equalize(q)) n = 2; /* the others are the same */
  }
  if (code == MAFAT_OK && best != n - 1) code = take_way(q, &ways[n - 1], &ways[best], d);
  if (code == MAFAT_OK) print_ways(ways, errors, n, best);
  return code;
}

/* Layers that lose more than they may stay as they are. How many? */
static int keep_layers(struct numbered *q)
{
  int kept = 0;
  for (int i = 0; i < q->activations->n; i++) {
    const struct mafat_activation_numbers *a = &q->activations->list[i];
    if (!a->computes || !mafat_layer_has_panels(&q->wide->layers[a->operator]) || q->errors[a->operator].error <= q->packing->most_error) continue;
    q->keep[a->operator] = true;
    kept++;
  }
  return kept;
}

static int choose(struct numbered *q, struct mafat_diagnostic *d)
{
  free(q->activations);
  q->activations = mafat_calibrate_choose(q->wide, q->keep);
  return q->activations ? MAFAT_OK : no_memory(q->packing, d);
}

static void print_numbered(const struct numbered *q)
{
  printf("layer  kind             computes  weights    bytes      error      largest\n");
  for (int l = 0; l < q->wide->n_layers; l++) {
    const struct mafat_layer *wide = &q->wide->layers[l], *layer = &q->network->layers[q->places[l].made];
    bool panels = mafat_layer_has_panels(wide);
    if (!panels && !(mafat_layer_blends(wide) && layer->out_type != MAFAT_F32)) continue;
    printf("%5d  %-15s  %-8s  %-8s %10zu  %9.2g  %9.2g%s\n", l, mafat_layer_type_name(wide->type),
           layer->out_type == MAFAT_F32 ? "float32" : "int8", panels ? mafat_dtype_name(layer->weights_type) : "", mafat_packed_layer_bytes(layer),
           q->errors[l].error, q->errors[l].largest, q->keep[l] ? "  kept wider" : "");
  }
  printf("outputs, with all of them: error %.2g, largest %.2g\n", q->last.error, q->last.largest);
}

static int pack_numbered(struct numbered *q, struct mafat_diagnostic *d)
{
  const struct mafat_packing *p = q->packing;
  const struct mafat_pictures *by = p->measure.n ? &p->measure : &p->calibrate;
  int code = choose(q, d);
  if (code == MAFAT_OK && mafat_calibrate_count(q->activations) == 0)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: no layer can compute with whole numbers", p->weights);
  if (code == MAFAT_OK) code = mafat_measure_open(&q->measure, q->wide, p->weights, by->list, by->n, d);
  for (bool again = true; again && code == MAFAT_OK;) {
    code = pack_by_best(q, d);
    again = code == MAFAT_OK && keep_layers(q) > 0;
    if (again) code = choose(q, d);
  }
  if (code == MAFAT_OK) print_numbered(q);
  return code;
}

static int pack_whole_numbers(const struct mafat_packing *p, const struct mafat_network *wide, struct mafat_diagnostic *d)
{
  size_t room = (size_t)mafat_network_n_operators(wide);
  struct numbered q = {.packing = p, .wide = wide};
  q.places = calloc(room, sizeof *q.places);
  q.place = calloc(room, sizeof *q.place);
  q.keep = calloc(room, sizeof *q.keep);
  q.errors = calloc(room, sizeof *q.errors);
  int code = q.places && q.place && q.keep && q.errors ? pack_numbered(&q, d) : no_memory(p, d);
  mafat_measure_close(&q.measure);
  mafat_network_close(&q.network);
  mafat_calibrated_release(&q.seen);
  mafat_equalized_close(&q.equalized);
  free(q.activations);
  free(q.places);
  free(q.place);
  free(q.keep);
  free(q.errors);
  return code;
}

int mafat_pack_file(const struct mafat_packing *p, struct mafat_network *n, struct mafat_diagnostic *d)
{
  return p->whole_numbers ? pack_whole_numbers(p, n, d) : pack_weights(p, n, d);
}

/* Packs with quantized activations. Tries several ways of choosing scales and keeps the file with
 * the smallest output error. Layers whose error exceeds the limit stay float. Called by pack.c.
 * Writes the file; runs the model's network and the packed one; allocates. */
#include "predictor/plan/packing.h"
#include "api/packing/calibrate.h"
#include "api/packing/measure.h"
#include "api/packing/packing.h"

#include <stdlib.h>

/* How scales are chosen. */
struct candidate {
  float share; /* exponent of the factors that equalize channels (equalize.h) */
  enum mafat_range_method method;
};

/* The share of the candidates that equalize. It is less than 1, because the weights that read a
 * channel are divided by the channel's factor, so with a larger share they differ more from channel
 * to channel. (Output errors of Yolo-Fastest 1.1 and -xl for share 0: 0.14, 0.36; 0.5: 0.10, 0.17;
 * 0.75: 0.095, 0.17; 1: 0.11, 0.18.) */
#define SHARE .75f
static const struct candidate candidates[MAFAT_PACKING_CANDIDATES] = {{0, MAFAT_RANGE_SQUARES},
                                                                      {0, MAFAT_RANGE_PERCENTILE},
                                                                      {SHARE, MAFAT_RANGE_SQUARES},
                                                                      {SHARE,
                                                                       MAFAT_RANGE_PERCENTILE}};

/* State of a packing. */
struct mafat_numbering {
  const struct mafat_packing *packing;
  const struct mafat_network *wide; /* the model's network */
  struct mafat_calibrated seen;
  struct mafat_equalized equalized;        /* maps of wide */
  struct mafat_activations *activations;
  struct mafat_activations_places *places; /* [operator of wide] */
  int *place;                              /* [layer of wide]: layer with the same output */
  bool *keep;                              /* [layer of wide]: stays float */
  struct mafat_network *network;           /* the packed network */
  struct mafat_packed_origin origin;       /* origin of the packed network */
  float **factors;                         /* [layer of `network`] */
  struct mafat_measure *measure;
  struct mafat_measured *errors, last;     /* errors: [layer of wide]; last: of the network's
                                              outputs, in the last measurement */
  const struct candidate *calibrated;      /* last candidate for which pictures were run; NULL:
                                              none */
  double moved[MAFAT_PACKING_CANDIDATES];        /* error of the network's outputs with each
                                                    candidate */
  int candidate, n_candidates, best;                   /* current, number, best so far */
  bool again;                              /* the best candidate is packed again, because
                                              its file was overwritten */
};

/* Chooses the factors for this share and collects histograms, in a copy of the network in which
 * activations computed by table are separate layers. */
static int calibrate(struct mafat_numbering *q, float share, struct mafat_diagnostic *d)
{
  const struct mafat_packing *p = q->packing;
  struct mafat_network *twin = NULL;
  mafat_calibrated_release(&q->seen);
  mafat_equalized_close(&q->equalized);
  if (mafat_equalized_open(&q->equalized, q->wide, q->activations) != MAFAT_OK)
    return mafat_packing_no_memory(p, d);
  int code = p->read(p->context, &twin, d);
  if (code == MAFAT_OK)
    code = mafat_activations_apply(twin, q->activations, false, q->places, p->weights->path, d);
  if (code == MAFAT_OK)
    code = mafat_calibrate_see(&q->seen, twin, q->activations, q->places, &q->equalized, share,
                               q->wide, p->weights, p->calibrate.list, p->calibrate.n, d);
  mafat_network_close(&twin);
  return code;
}

/* Assigns the factors of the model's layers to layers of the packed network, which has more layers
 * and so other indices. */
static int place_factors(struct mafat_numbering *q, struct mafat_diagnostic *d)
{
  free(q->factors);
  q->factors = calloc((size_t)q->network->n_layers, sizeof *q->factors);
  if (!q->factors) return mafat_packing_no_memory(q->packing, d);
  for (int l = 0; l < q->wide->n_layers; l++)
    q->factors[q->places[l].made] = q->equalized.factors[l];
  return MAFAT_OK;
}

static int begin_by(struct mafat_numbering *q, struct mafat_packing_run *run,
                    enum mafat_range_method method, struct mafat_diagnostic *d)
{
  const struct mafat_packing *p = q->packing;
  mafat_network_close(&q->network);
  if (mafat_calibrate_scale(q->activations, q->wide, &q->seen, method) != MAFAT_OK)
    return mafat_packing_no_memory(p, d);
  int code = p->read(p->context, &q->network, d);
  if (code == MAFAT_OK)
    code =
        mafat_activations_apply(q->network, q->activations, true, q->places, p->weights->path, d);
  if (code == MAFAT_OK) code = place_factors(q, d);
  if (code) return code;
  mafat_packing_choose_types(q->network, p->type);
  q->origin = p->origin;
  q->origin.activations = q->activations;
  q->origin.places = q->places;
  q->origin.factors = q->factors;
  return mafat_packing_begin(p, run, q->network, &q->origin, d);
}

static int measure(struct mafat_numbering *q, struct mafat_diagnostic *d)
{
  for (int l = 0; l < q->wide->n_layers; l++) q->place[l] = q->places[l].put;
  return mafat_measure_run(q->measure, q->network, q->packing->path, q->place, q->equalized.factors,
                           q->errors, &q->last, d);
}

static bool can_equalize(const struct mafat_numbering *q)
{
  for (int l = 0; l < q->wide->n_layers; l++)
    if (q->equalized.factors[l]) return true;
  return false;
}

/* Begins to write the file of a candidate. Runs the pictures, unless the candidate before had the
 * same share. */
static int begin_candidate(struct mafat_numbering *q, struct mafat_packing_run *run,
                           struct mafat_diagnostic *d)
{
  const struct candidate *candidate = &candidates[q->candidate];
  int code = q->calibrated && q->calibrated->share == candidate->share
                 ? MAFAT_OK
                 : calibrate(q, candidate->share, d);
  q->calibrated = candidate;
  return code ? code : begin_by(q, run, candidate->method, d);
}

/* Ends a candidate, and chooses the next one. True: all were tried, and the file is that of the
 * best one. */
static bool end_candidate(struct mafat_numbering *q)
{
  if (q->again) return true;
  q->moved[q->candidate] = q->last.error;
  if (q->moved[q->candidate] < q->moved[q->best]) q->best = q->candidate;
  if (!can_equalize(q)) q->n_candidates = 2; /* without factors, the other candidates are the same
                                                as these two */
  if (++q->candidate < q->n_candidates) return false;
  q->again = q->best != q->n_candidates - 1;
  q->candidate = q->best;
  return !q->again;
}

/* Marks layers whose error exceeds the limit to stay float; returns their number. */
static int keep_layers(struct mafat_numbering *q)
{
  int kept = 0;
  for (int i = 0; i < q->activations->n; i++) {
    const struct mafat_activation_numbers *a = &q->activations->list[i];
    if (!a->computes || !mafat_layer_has_panels(&q->wide->layers[a->tensor]) ||
        q->errors[a->tensor].error <= q->packing->most_error)
      continue;
    q->keep[a->tensor] = true;
    kept++;
  }
  return kept;
}

static int choose(struct mafat_numbering *q, struct mafat_diagnostic *d)
{
  free(q->activations);
  q->activations = mafat_calibrate_choose(q->wide, q->keep);
  return q->activations ? MAFAT_OK : mafat_packing_no_memory(q->packing, d);
}

/* ---- report ---- */

static void report_candidates(const struct mafat_numbering *q, struct mafat_packing_run *run)
{
  static const char *const names[MAFAT_N_RANGE_METHODS] = {
      [MAFAT_RANGE_SQUARES] = "least squares", [MAFAT_RANGE_PERCENTILE] = "percentile"};
  run->n_candidates = q->n_candidates;
  for (int i = 0; i < q->n_candidates; i++)
    run->candidates[i] = (struct mafat_pack_candidate_facts){.ranges = names[candidates[i].method],
                                                             .equalized = candidates[i].share > 0,
                                                             .error = q->moved[i],
                                                             .taken = i == q->best};
}

static int report(const struct mafat_numbering *q, struct mafat_packing_run *run,
                  struct mafat_diagnostic *d)
{
  run->error = q->last.error;
  run->largest = q->last.largest;
  run->layers = calloc((size_t)q->wide->n_layers, sizeof *run->layers);
  if (!run->layers) return mafat_packing_no_memory(q->packing, d);
  report_candidates(q, run);
  for (int l = 0; l < q->wide->n_layers; l++) {
    const struct mafat_layer *wide = &q->wide->layers[l],
                             *layer = &q->network->layers[q->places[l].made];
    bool panels = mafat_layer_has_panels(wide), floats = layer->out_type == MAFAT_F32;
    if (!panels && !(mafat_layer_blends(wide) && !floats)) continue;
    run->layers[run->n_layers++] = (struct mafat_pack_layer_facts){
        .layer = l,
        .type = mafat_layer_type_name(wide->type),
        .computes = mafat_dtype_name(floats ? MAFAT_F32 : MAFAT_I8),
        .weights = panels ? mafat_dtype_name(layer->weights_type) : NULL,
        .bytes = mafat_packed_layer_bytes(layer),
        .error = q->errors[l].error,
        .largest = q->errors[l].largest,
        .kept = q->keep[l]};
  }
  return MAFAT_OK;
}

/* ---- steps ---- */

/* Chooses the quantized layers, and begins with the first candidate. */
static int begin_candidates(struct mafat_numbering *q, struct mafat_diagnostic *d)
{
  q->calibrated = NULL;
  q->candidate = q->best = 0;
  q->n_candidates = MAFAT_PACKING_CANDIDATES;
  q->again = false;
  return choose(q, d);
}

int mafat_numbering_step(struct mafat_numbering *q, struct mafat_packing_run *run, bool *done,
                         struct mafat_diagnostic *d)
{
  if (!run->packer) return begin_candidate(q, run, d);
  bool written;
  int code = mafat_packing_write(run, &written, d);
  if (code || !written) return code;
  code = measure(q, d);
  if (code) return code;
  bool taken = end_candidate(q), more = taken && keep_layers(q) > 0;
  *done = taken && !more;
  run->pass += !*done;
  return *done ? report(q, run, d) : more ? begin_candidates(q, d) : MAFAT_OK;
}

static int open_numbering(struct mafat_numbering *q, struct mafat_diagnostic *d)
{
  const struct mafat_packing *p = q->packing;
  const struct mafat_pictures *by = p->measure.n ? &p->measure : &p->calibrate;
  size_t capacity = (size_t)mafat_network_n_tensors(q->wide);
  q->places = calloc(capacity, sizeof *q->places);
  q->place = calloc(capacity, sizeof *q->place);
  q->keep = calloc(capacity, sizeof *q->keep);
  q->errors = calloc(capacity, sizeof *q->errors);
  if (!q->places || !q->place || !q->keep || !q->errors) return mafat_packing_no_memory(p, d);
  int code = begin_candidates(q, d);
  if (code) return code;
  if (mafat_calibrate_count(q->activations) == 0)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: no layer can compute with integers",
                      p->weights->path);
  return mafat_measure_open(&q->measure, q->wide, p->weights, by->list, by->n, d);
}

int mafat_numbering_open(struct mafat_numbering **out, const struct mafat_packing *p,
                         struct mafat_diagnostic *d)
{
  struct mafat_numbering *q = *out = calloc(1, sizeof *q);
  if (!q) return mafat_packing_no_memory(p, d);
  q->packing = p;
  q->wide = p->network;
  return open_numbering(q, d);
}

void mafat_numbering_close(struct mafat_numbering **numbering)
{
  if (!numbering || !*numbering) return;
  struct mafat_numbering *q = *numbering;
  mafat_measure_close(&q->measure);
  mafat_network_close(&q->network);
  mafat_calibrated_release(&q->seen);
  mafat_equalized_close(&q->equalized);
  free(q->activations);
  free(q->places);
  free(q->place);
  free(q->factors);
  free(q->keep);
  free(q->errors);
  free(q);
  *numbering = NULL;
}

/* Packs weights in narrow types (fewer bits than float32). If errors are measured, layers whose
 * error exceeds the limit get the next wider type, and the file is written again. Called by
 * api/packing (pack.c, numbering.c). Writes the file; runs the model's network and the packed one;
 * allocates. */
#include "predictor/plan/packing.h"
#include "api/packing/measure.h"
#include "api/packing/packing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mafat_narrowing {
  const struct mafat_packing *packing;
  struct mafat_network *wide;    /* the model's network, for measuring errors; NULL: not measured */
  struct mafat_measure *measure;
  struct mafat_measured *errors; /* [layer] */
  struct mafat_pack_layer_facts *layers; /* [layer]: buffer for the report */
};

/* ---- shared with numbering.c ---- */

int mafat_packing_no_memory(const struct mafat_packing *p, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", p->weights->path);
}

int mafat_packing_begin(const struct mafat_packing *p, struct mafat_packing_run *run,
                        const struct mafat_network *n, const struct mafat_packed_origin *origin,
                        struct mafat_diagnostic *d)
{
  struct stat st;
  if (fstat(p->fd, &st) != 0 || (st.st_size > 0 && ftruncate(p->fd, 0) != 0))
    return mafat_fail(d, MAFAT_EIO, "%s: %s", p->path, strerror(errno));
  return mafat_packer_open(&run->packer, p->weights, n, origin, p->fd, p->out, &p->warnings, d);
}

int mafat_packing_write(struct mafat_packing_run *run, bool *written, struct mafat_diagnostic *d)
{
  int code = mafat_packer_step(run->packer, written, d);
  if (code == MAFAT_OK && *written) mafat_packer_close(&run->packer);
  return code;
}

void mafat_packing_choose_types(struct mafat_network *n, enum mafat_dtype wanted)
{
  for (int l = 0; l < n->n_layers; l++)
    n->layers[l].weights_type = mafat_layer_narrowest(&n->layers[l], wanted);
}

/* ---- narrow weights ---- */

int mafat_narrowing_open(struct mafat_narrowing **out, const struct mafat_packing *p,
                         struct mafat_diagnostic *d)
{
  struct mafat_narrowing *w = *out = calloc(1, sizeof *w);
  if (!w) return mafat_packing_no_memory(p, d);
  w->packing = p;
  mafat_packing_choose_types(p->network, p->type);
  if (p->measure.n == 0) return MAFAT_OK;
  w->errors = calloc((size_t)p->network->n_layers, sizeof *w->errors);
  w->layers = calloc((size_t)p->network->n_layers, sizeof *w->layers);
  int code =
      w->errors && w->layers ? p->read(p->context, &w->wide, d) : mafat_packing_no_memory(p, d);
  return code ? code
              : mafat_measure_open(&w->measure, w->wide, p->weights, p->measure.list, p->measure.n,
                                   d);
}

/* Gives layers whose error exceeds the limit the next wider type; returns their number. */
static int widen_layers(struct mafat_narrowing *w)
{
  struct mafat_network *n = w->packing->network;
  int widened = 0;
  for (int l = 0; l < n->n_layers; l++) {
    struct mafat_layer *layer = &n->layers[l];
    if (!mafat_layer_widens(layer) || w->errors[l].error <= w->packing->most_error) continue;
    layer->weights_type = mafat_dtypes[layer->weights_type].wider;
    widened++;
  }
  return widened;
}

static void report(struct mafat_narrowing *w, struct mafat_packing_run *run)
{
  const struct mafat_packing *p = w->packing;
  const struct mafat_network *n = p->network;
  run->layers = w->layers;
  w->layers = NULL;
  for (int l = 0; l < n->n_layers; l++) {
    const struct mafat_layer *layer = &n->layers[l];
    if (!mafat_layer_has_panels(layer)) continue;
    run->layers[run->n_layers++] = (struct mafat_pack_layer_facts){
        .layer = l,
        .type = mafat_layer_type_name(layer->type),
        .computes = mafat_dtype_name(layer->out_type),
        .weights = mafat_dtype_name(layer->weights_type),
        .bytes = mafat_packed_layer_bytes(layer),
        .error = w->errors[l].error,
        .largest = w->errors[l].largest,
        .kept = layer->weights_type != mafat_layer_narrowest(layer, p->type)};
  }
}

static int measure(struct mafat_narrowing *w, struct mafat_packing_run *run, bool *done,
                   struct mafat_diagnostic *d)
{
  const struct mafat_packing *p = w->packing;
  struct mafat_measured last;
  int code = mafat_measure_run(w->measure, p->network, p->path, NULL, NULL, w->errors, &last, d);
  if (code) return code;
  run->error = last.error;
  run->largest = last.largest;
  *done = widen_layers(w) == 0;
  if (*done) report(w, run);
  return MAFAT_OK;
}

int mafat_narrowing_step(struct mafat_narrowing *w, struct mafat_packing_run *run, bool *done,
                         struct mafat_diagnostic *d)
{
  const struct mafat_packing *p = w->packing;
  if (!run->packer) return mafat_packing_begin(p, run, p->network, &p->origin, d);
  bool written;
  int code = mafat_packing_write(run, &written, d);
  if (code || !written) return code;
  *done = !w->measure;
  if (w->measure) code = measure(w, run, done, d);
  run->pass += !*done;
  return code;
}

void mafat_narrowing_close(struct mafat_narrowing **narrowing)
{
  if (!narrowing || !*narrowing) return;
  struct mafat_narrowing *w = *narrowing;
  mafat_measure_close(&w->measure);
  mafat_network_close(&w->wide);
  free(w->errors);
  free(w->layers);
  free(w);
  *narrowing = NULL;
}

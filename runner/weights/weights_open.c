/* Opens the weights of a model: checks the file, reads the layers that stay in memory ("kept"), and
 * prepares the reads that each run repeats. Called by api/model.c, api/dry_run.c, api/plan_timer.c,
 * api/packing/observe.c, runner/calibrate/calibrate.c, experiments/planners and
 * experiments/separable. Reads the file; allocates, maps and may lock memory, all of which
 * mafat_weights_close undoes. */
#include "include/mafat_pack.h"
#include "runner/weights/weights.h"

#include "base/part.h"
#include "runner/weights/weights_store.h"

#include "predictor/plan/fusion.h"
#include "predictor/ranks/rank_parts.h"
#include "runner/os/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int fail(const struct mafat_weights *w, int code, struct mafat_diagnostic *d)
{
  return mafat_fail(d, code, "%s: %s", w->file->name, mafat_error_name(code));
}

/* ---- opening: kept layers ---- */

/* used: layers whose weights a step of the plan needs. kept: those of them that are read now and
 * stay in memory. Without a plan, all layers are kept. */
static int find_kept(const struct mafat_weights *w, bool *kept, bool *used)
{
  for (int l = 0; l < w->n_layers; l++) kept[l] = !w->plan;
  if (!w->plan) return MAFAT_OK;
  struct mafat_schedule *s;
  struct mafat_step step;
  int code = mafat_schedule_open(&s, w->network, w->plan);
  if (code) return code;
  while (mafat_schedule_next(s, &step))
    for (int l = mafat_fetches_step_has_weights(&step) ? step.layer : -1; l >= 0;
         l = mafat_fusion_inside(w->plan, l))
      used[l] = true;
  mafat_schedule_close(&s);
  for (int l = 0; l < w->n_layers; l++) kept[l] = used[l] && w->plan->placement[l] == MAFAT_KEPT;
  return MAFAT_OK;
}

static int map_kept(struct mafat_weights *w, const bool *kept, struct mafat_diagnostic *d)
{
  size_t bytes = 0;
  for (int l = 0; l < w->n_layers; l++) {
    size_t layer_bytes = kept[l] ? mafat_rank_kept_bytes(w->plan, w->network, l) : 0;
    if (__builtin_add_overflow(layer_bytes, (size_t)63, &layer_bytes) ||
        __builtin_add_overflow(bytes, layer_bytes / 64 * 64, &bytes))
      return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", w->file->name);
  }
  w->kept_bytes = bytes;
  if (bytes == 0) return MAFAT_OK;
  void *map = mafat_process_map(bytes, w->lock && w->lock->roomy ? bytes : 0);
  if (map == MAP_FAILED)
    return mafat_fail(d, MAFAT_ENOMEM, "%s: cannot map %zu bytes for the weights: %s",
                      w->file->name, bytes, strerror(errno));
  w->kept = map;
  int code = w->lock ? mafat_lock_take(w->lock, map, bytes, d) : MAFAT_OK;
  if (code) return code;
  w->locked = w->lock && w->lock->on;
  mafat_process_populate_writable(map, bytes);
  char *at = w->kept;
  for (int l = 0; l < w->n_layers; l++) {
    if (!kept[l]) continue;
    w->panels[l] = (struct mafat_packed_panels){at, mafat_rank_kept_before(w->plan, w->network, l)};
    at += (mafat_rank_kept_bytes(w->plan, w->network, l) + 63) / 64 * 64;
  }
  return MAFAT_OK;
}

/* Returns the number of floats that the affine buffer needs, for the layer that needs the most. */
static size_t largest_affine(const struct mafat_weights *w)
{
  size_t most = 0;
  for (int l = 0; l < w->n_layers; l++) {
    size_t rows = (size_t)mafat_fetches_affine_rows(&w->file->constants->layers[l]);
    size_t floats = rows * (size_t)w->network->layers[l].out.c;
    if (most < floats) most = floats;
  }
  return most;
}

enum {
  MOST_KEPT_READS = 6,       /* most reads for which the temporary ring has room */
  LEAST_KEPT_READ = 48 << 10 /* least bytes of a read; smaller reads take longer for each byte */
};

static size_t arena_bytes(const struct mafat_weights *w)
{
  return w->layout ? w->layout->total_bytes / MAFAT_FETCH_ALIGNMENT * MAFAT_FETCH_ALIGNMENT
                   : SIZE_MAX;
}

/* Returns the bytes of a read: as many as possible if two reads are to fit in the memory that the
 * arena will have, but at least LEAST_KEPT_READ. Synchronous reads have that size, because it fits
 * in a core's cache. */
static size_t kept_read_bytes(const struct mafat_weights *w)
{
  if (!mafat_read_queue_waits(w->file->reads)) return LEAST_KEPT_READ;
  size_t half = arena_bytes(w) / 2,
         ends = mafat_fetch_window(MAFAT_FETCH_ALIGNMENT) - MAFAT_FETCH_ALIGNMENT;
  return half > LEAST_KEPT_READ + ends ? half - ends : LEAST_KEPT_READ;
}

/* Returns the bytes of the temporary ring. The arena has no pages yet, so the ring may use as much
 * memory as the arena will. It has room for two of the largest reads or more, but is not larger
 * than all data. If reads are synchronous, it has room for one. */
static size_t size_kept_ring(const struct mafat_weights *w, size_t largest, size_t sum)
{
  if (!mafat_read_queue_waits(w->file->reads)) return mafat_fetch_window(largest);
  size_t least = 2 * mafat_fetch_window(largest),
         most = MOST_KEPT_READS * mafat_fetch_window(largest);
  size_t arena = arena_bytes(w);
  size_t bytes = arena < least ? least : arena < most ? arena : most;
  return sum < bytes ? sum : bytes;
}

/* Reads all fetches, and packs each fetch while the next ones are read. */
static int take_all(struct mafat_weights *w, struct mafat_fetches *fetches, char *ring,
                    size_t ring_bytes, struct mafat_diagnostic *d)
{
  struct mafat_stream *s;
  struct mafat_fetch fetch;
  const char *data;
  int code = mafat_stream_open(&s, w->file->reads, fetches, w->network->values);
  if (code) return fail(w, code, d);
  mafat_stream_rewind(s, ring, ring_bytes);
  while (code == MAFAT_OK && mafat_stream_next_step(s) >= 0) {
    if ((code = mafat_stream_take(s, &fetch, &data, d)) ||
        (code = mafat_weights_take_in(w, &fetch, data, d)))
      break;
    if (fetch.last) w->trust[fetch.layer].checked = true;
    mafat_stream_free(s);
  }
  mafat_stream_close(&s);
  return code;
}

/* True if the file does not store the layer's weights filter by filter, and the network's constants
 * do not say so. The plan was made without that knowledge. */
static bool is_transposed_in_file(const struct mafat_weights *w, int layer)
{
  enum mafat_order order = (enum mafat_order)w->file->constants->layers[layer].weights.order;
  const struct mafat_constants *foreseen = w->network->constants;
  return order != MAFAT_ORDER_READY && !mafat_order_has_filters(order) &&
         !(foreseen && foreseen->layers[layer].weights.order == order);
}

/* Refuses transposed layers of which this rank needs only a part, because such layers can be read
 * only as a whole. */
static int check_rank_parts(const struct mafat_weights *w, const bool *kept,
                            struct mafat_diagnostic *d)
{
  for (int l = 0; l < w->n_layers; l++)
    if (kept[l] && is_transposed_in_file(w, l) &&
        mafat_rank_kept_bytes(w->plan, w->network, l) <
            mafat_packed_layer_bytes(&w->network->layers[l]))
      return mafat_fail(
          d, MAFAT_EUNSUPPORTED,
          "%s: layer %d [%s] is stored transposed, so a rank cannot read only its part: convert "
          "the file with build/pack_weights",
          w->file->name, l, mafat_layer_type_name(w->network->layers[l].type));
  return MAFAT_OK;
}

static int read_kept(struct mafat_weights *w, const bool *kept, struct mafat_diagnostic *d)
{
  struct mafat_fetches *fetches;
  struct mafat_fetch fetch;
  size_t largest = 0, sum = 0, ring_bytes;
  void *ring = MAP_FAILED;
  int code = mafat_fetches_open_layers(&fetches, w->network, w->n_layers, kept, w->file->constants,
                                       kept_read_bytes(w));
  if (code) return fail(w, code, d);
  mafat_fetches_restrict(fetches, w->plan);
  while (mafat_fetches_next(fetches, &fetch)) {
    if (fetch.bytes > largest) largest = fetch.bytes;
    sum += mafat_fetch_window(fetch.bytes);
  }
  ring_bytes = size_kept_ring(w, largest, sum);
  size_t whole = mafat_fetches_channel_bytes(fetches, kept);
  if (whole && !(w->whole = malloc(whole)))
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", w->file->name);
  if (largest > 0 && code == MAFAT_OK) {
    w->affine = malloc(largest_affine(w) * sizeof *w->affine);
    ring = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code = w->affine && ring != MAP_FAILED
               ? take_all(w, fetches, ring, ring_bytes, d)
               : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", w->file->name);
    if (ring != MAP_FAILED) munmap(ring, ring_bytes);
    free(w->affine);
    w->affine = NULL;
  }
  free(w->whole);
  w->whole = NULL;
  mafat_fetches_close(&fetches);
  return code;
}

/* ---- opening: reads of runs ---- */

static int prepare_runs(struct mafat_weights *w, const bool *used, struct mafat_diagnostic *d)
{
  struct mafat_fetch_sizes sizes;
  bool any = false;
  for (int l = 0; l < w->n_layers && w->plan; l++) {
    const struct mafat_layer *layer = &w->network->layers[l];
    if (!used[l] || w->plan->placement[l] == MAFAT_KEPT || mafat_packed_layer_bytes(layer) == 0)
      continue;
    any = true;
    if (is_transposed_in_file(w, l))
      return mafat_fail(d, MAFAT_EUNSUPPORTED,
                        "%s: layer %d [%s] is stored transposed and cannot be read in parts: "
                        "convert the file with build/pack_weights",
                        w->file->name, l, mafat_layer_type_name(layer->type));
  }
  if (!any) return MAFAT_OK;
  if (w->plan->packed != (w->file->packed != NULL))
    return mafat_fail(d, MAFAT_EINVAL, "%s: the plan was made for a %s file", w->file->name,
                      w->plan->packed ? "packed weights" : "Darknet weights");
  int code = mafat_fetches_size(w->network, w->plan, &sizes);
  if (code == MAFAT_OK)
    code = mafat_fetches_open(&w->fetches, w->network, w->plan, w->file->constants);
  if (code == MAFAT_OK)
    code = mafat_stream_open(&w->stream, w->file->reads, w->fetches, w->network->values);
  if (code) return fail(w, code, d);
  w->ring_bytes = sizes.ring_bytes;
  return MAFAT_OK;
}

/* ---- opening ---- */

static int allocate(struct mafat_weights *w)
{
  size_t n = (size_t)w->n_layers + 1, capacity = 1;
  for (int l = 0; l < w->n_layers; l++) {
    size_t block_slices = (size_t)mafat_pack_block_slices(&w->network->layers[l]);
    if (block_slices > capacity) capacity = block_slices;
  }
  w->panels = calloc(n, sizeof *w->panels);
  w->trust = calloc(n, sizeof *w->trust);
  w->block_slices = calloc(capacity, sizeof *w->block_slices);
  return w->panels && w->trust && w->block_slices ? MAFAT_OK : MAFAT_ENOMEM;
}

static int open_store(struct mafat_weights *w, struct mafat_diagnostic *d)
{
  size_t n = (size_t)w->n_layers + 1;
  bool *kept = calloc(n, sizeof *kept), *used = calloc(n, sizeof *used);
  int code = kept && used ? allocate(w) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = find_kept(w, kept, used);
  if (code) {
    fail(w, code, d);
    goto done;
  }
  mafat_weights_forget_parts(w);
  if ((code = prepare_runs(w, used, d)) || (code = check_rank_parts(w, kept, d)) ||
      (code = map_kept(w, kept, d)) || (code = read_kept(w, kept, d)))
    goto done;
  code = mafat_reads_check(w->file->reads, d);
done:
  free(kept);
  free(used);
  return code;
}

/* A Darknet weights file has only floats, so it cannot be used with a network from a packed file
 * in which layers have narrow weights or quantized values. */
static int check_wide(const struct mafat_weights *w, struct mafat_diagnostic *d)
{
  const struct mafat_network *n = w->network;
  if (w->file->packed || n->format.own_weights) return MAFAT_OK;
  for (int l = 0; l < w->n_layers; l++) {
    const struct mafat_layer *layer = &n->layers[l];
    if (layer->weights_type == MAFAT_F32 && layer->out_type == MAFAT_F32) continue;
    return mafat_fail(
        d, MAFAT_EFORMAT,
        "%s: contains floats, but layer %d [%s] of %s has %s: use the weights in that file",
        w->file->name, l, mafat_layer_type_name(layer->type), n->path,
        mafat_dtype_name(layer->weights_type == MAFAT_F32 ? layer->out_type : layer->weights_type));
  }
  return MAFAT_OK;
}

/* Records how the kept layers were read. Closes the file if runs do not read it. */
static void end_reading(struct mafat_weights *w)
{
  w->bytes_read = mafat_read_queue_bytes(w->file->reads);
  w->method = mafat_read_queue_method_name(w->file->reads);
  w->direct = mafat_read_queue_direct(w->file->reads);
  w->lock = NULL;
  if (!w->stream) mafat_read_queue_close(&w->file->reads);
}

/* Chooses synchronous reads for a file that is in the page cache and that runs do not read, because
 * asynchronous reads would save no time. */
static enum mafat_read_queue_method find_method(const struct mafat_weights *w,
                                                const struct mafat_model_source *source)
{
  if (!source->stays || w->network->n_files > 0) return MAFAT_READS_AUTO;
  for (int l = 0; l < w->n_layers && w->plan; l++)
    if (w->plan->placement[l] != MAFAT_KEPT) return MAFAT_READS_AUTO;
  return MAFAT_READS_NOW;
}

static int open_weights(struct mafat_weights **out, struct mafat_model_source *source,
                        struct mafat_weights initial, const struct mafat_weights_options *options,
                        const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_weights *w = malloc(sizeof *w);
  if (!w) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", source->path);
  *w = initial;
  w->step.layer = -1;
  enum mafat_read_queue_method method = options ? options->method : MAFAT_READS_AUTO;
  if (method == MAFAT_READS_AUTO) method = find_method(w, source);
  w->lock = options ? options->lock : NULL;
  int code = mafat_weights_file_open(&w->file, source, method, w->network, warnings, d);
  if (code == MAFAT_OK) code = check_wide(w, d);
  if (code == MAFAT_OK) code = open_store(w, d);
  if (code == MAFAT_OK) end_reading(w);
  if (code == MAFAT_OK) *out = w;
  else mafat_weights_close(&w);
  return code;
}

int mafat_weights_open_source(struct mafat_weights **out, struct mafat_model_source *source,
                              const struct mafat_network *n, const struct mafat_plan *plan,
                              const struct mafat_layout *layout,
                              const struct mafat_weights_options *options,
                              const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  struct mafat_weights initial = {
      .network = n, .plan = plan, .layout = layout, .n_layers = plan->n_layers};
  return open_weights(out, source, initial, options, warnings, d);
}

MAFAT_PART(rare)
int mafat_weights_open(struct mafat_weights **out, const char *path, const struct mafat_network *n,
                       const struct mafat_plan *plan, const struct mafat_layout *layout,
                       const struct mafat_weights_options *options,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  *out = NULL;
  int code = mafat_model_source_open_regular(&source, path, d);
  if (code == MAFAT_OK)
    code = mafat_weights_open_source(out, source, n, plan, layout, options, warnings, d);
  mafat_model_source_close(&source);
  return code;
}

MAFAT_PART(rare)
int mafat_weights_open_kept_source(struct mafat_weights **out, struct mafat_model_source *source,
                                   const struct mafat_network *n, int n_layers,
                                   const struct mafat_warning_sink *warnings,
                                   struct mafat_diagnostic *d)
{
  struct mafat_weights initial = {.network = n, .n_layers = n_layers};
  return open_weights(out, source, initial, NULL, warnings, d);
}

MAFAT_PART(rare)
int mafat_weights_open_kept(struct mafat_weights **out, const char *path,
                            const struct mafat_network *n, int n_layers,
                            const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  *out = NULL;
  int code = mafat_model_source_open_regular(&source, path, d);
  if (code == MAFAT_OK)
    code = mafat_weights_open_kept_source(out, source, n, n_layers, warnings, d);
  mafat_model_source_close(&source);
  return code;
}

void mafat_weights_close(struct mafat_weights **weights)
{
  if (!weights || !*weights) return;
  struct mafat_weights *w = *weights;
  mafat_stream_close(&w->stream);
  mafat_fetches_close(&w->fetches);
  mafat_weights_file_close(&w->file);
  if (w->kept) munmap(w->kept, w->kept_bytes);
  free(w->panels);
  free(w->trust);
  free(w->block_slices);
  free(w);
  *weights = NULL;
}

MAFAT_PART(opening)
int mafat_weights_probe(struct mafat_model_source *source, struct mafat_weights_kind *kind,
                        struct mafat_diagnostic *d)
{
  *kind = (struct mafat_weights_kind){0};
  int code = mafat_model_source_check_regular(source, ": weights are not read in order", d);
  if (code == MAFAT_OK) *kind = mafat_reader_weights_kind(source);
  return code;
}

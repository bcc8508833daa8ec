#include "runner/layers/layers.h"

#include "predictor/fusion.h"

#include <assert.h>
#include <string.h>

void mafat_layers_flatten(const struct mafat_tensors *t, const struct mafat_sources *sources,
                          struct mafat_shape shape, float *flat)
{
  struct mafat_runs runs = mafat_runs_of(sources, mafat_span(0, shape.c));
  struct mafat_run run;
  size_t plane = (size_t)shape.h * (size_t)shape.w;
  while (mafat_runs_next(&runs, &run)) {
    float *to = flat + (size_t)(run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane) * plane;
    size_t pixel = (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block);
    for (int y = 0; y < shape.h; y++) {
      const float *row = mafat_tensors_pixel(t, run.tensor, run.block, y, 0) + run.lane;
      for (int x = 0; x < shape.w; x++)
        for (int c = 0; c < run.n; c++)
          to[(size_t)c * plane + (size_t)y * (size_t)shape.w + (size_t)x] = row[(size_t)x * pixel + (size_t)c];
    }
  }
}

static void unflatten(const struct mafat_tensors *t, int tensor, struct mafat_shape shape,
                      const float *flat)
{
  for (int c = 0; c < shape.c; c++)
    for (int y = 0; y < shape.h; y++)
      for (int x = 0; x < shape.w; x++)
        *mafat_tensors_element(t, tensor, c, y, x) = *flat++;
}

/* Where a run's channels of the step's row y begin. */
static float *out_row(const struct mafat_worker *w, const struct mafat_step *step,
                      const struct mafat_run *run, int y)
{
  return mafat_tensors_pixel(w->tensors, step->layer, run->out_block, y, step->out.x.begin) +
         run->out_lane;
}

static int run_maxpool(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const float **rows = (const float **)(w->slot_memory + w->scratch->in_offset);
  struct mafat_runs runs = mafat_runs_of(&l->sources, step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    int x0 = step->out.x.begin * l->stride - l->pad;
    int origin = x0 < 0 ? 0 : x0; /* row pointers begin at a column that exists */
    struct mafat_pool_call call = {
        .rows = rows, .first_col = x0 - origin, .in_begin = 0, .in_end = l->in.w - origin,
        .n_cols = mafat_span_size(step->out.x), .size = l->size, .stride = l->stride,
        .n_channels = run.n,
        .in_pixel_floats = mafat_tensors_pixel_floats(t, run.tensor, run.block),
        .out_pixel_floats = mafat_tensors_pixel_floats(t, step->layer, run.out_block)};
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      struct mafat_span in =
          mafat_span_clip(mafat_span_window(mafat_span(y, y + 1), l->size, l->stride, l->pad), l->in.h);
      call.n_rows = 0;
      for (int iy = in.begin; iy < in.end; iy++)
        rows[call.n_rows++] = mafat_tensors_pixel(t, run.tensor, run.block, iy, origin) + run.lane;
      call.out = out_row(w, step, &run, y);
      w->kernels->maxpool(&call);
    }
  }
  return MAFAT_OK;
}

static int run_avgpool(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(&l->sources, step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    float sum[MAFAT_CHANNEL_BLOCK] = {0};
    size_t pixel = (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block);
    for (int y = 0; y < l->in.h; y++) {
      const float *row = mafat_tensors_pixel(t, run.tensor, run.block, y, 0) + run.lane;
      for (int x = 0; x < l->in.w; x++, row += pixel)
        for (int c = 0; c < run.n; c++) sum[c] += row[c];
    }
    float *out = out_row(w, step, &run, 0);
    for (int c = 0; c < run.n; c++) out[c] = sum[c] / (float)(l->in.h * l->in.w);
  }
  return MAFAT_OK;
}

/* Row by row: y = activation(x). */
static void copy_rows(const struct mafat_worker *w, const struct mafat_step *step,
                      enum mafat_activation activation)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(&l->sources, step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    struct mafat_add_call call = {
        .n_cols = mafat_span_size(step->out.x), .n_channels = run.n,
        .x_pixel_floats = mafat_tensors_pixel_floats(t, run.tensor, run.block),
        .y_pixel_floats = mafat_tensors_pixel_floats(t, step->layer, run.out_block),
        .activation = activation};
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      call.x = mafat_tensors_pixel(t, run.tensor, run.block, y, step->out.x.begin) + run.lane;
      call.y = out_row(w, step, &run, y);
      w->kernels->add(&call);
    }
  }
}

/* The output already holds the first operand: adds the second where it lies.
 * Maps of another size meet at every `stride`-th or `sample`-th pixel. */
static void add_from(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  int stride = l->from_shape.w / l->out.w, sample = l->out.w / l->from_shape.w;
  if (stride < 1) stride = 1;
  if (sample < 1) sample = 1;
  int channels = mafat_min(l->from_shape.c, l->out.c);
  int h = mafat_min(l->from_shape.h, l->out.h), width = mafat_min(l->from_shape.w, l->out.w);
  struct mafat_runs runs =
      mafat_runs_of(&l->from, mafat_span_clip(step->filters, channels));
  struct mafat_run run;
  struct mafat_span xs = {(step->out.x.begin + sample - 1) / sample, (step->out.x.end - 1) / sample + 1};
  xs = mafat_span_clip(xs, width);
  if (mafat_span_is_empty(xs)) return;
  while (mafat_runs_next(&runs, &run)) {
    int y_pixel = mafat_tensors_pixel_floats(t, step->layer, run.out_block);
    struct mafat_add_call call = {
        .n_cols = mafat_span_size(xs), .n_channels = run.n,
        .z_pixel_floats = stride * mafat_tensors_pixel_floats(t, run.tensor, run.block),
        .x_pixel_floats = sample * y_pixel, .y_pixel_floats = sample * y_pixel,
        .alpha = l->alpha, .beta = l->beta, .activation = MAFAT_LINEAR};
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      if (y % sample || y / sample >= h) continue;
      call.z = mafat_tensors_pixel(t, run.tensor, run.block, y / sample * stride, xs.begin * stride) + run.lane;
      call.y = mafat_tensors_pixel(t, step->layer, run.out_block, y, xs.begin * sample) + run.out_lane;
      call.x = call.y;
      w->kernels->add(&call);
    }
  }
}

static void activate_rows(const struct mafat_worker *w, const struct mafat_step *step,
                          enum mafat_activation activation)
{
  const struct mafat_tensors *t = w->tensors;
  if (activation == MAFAT_LINEAR) return;
  for (int c = step->filters.begin; c < step->filters.end;) {
    int block = c / MAFAT_CHANNEL_BLOCK, lane = c % MAFAT_CHANNEL_BLOCK;
    int n = mafat_min(step->filters.end - c, MAFAT_CHANNEL_BLOCK - lane);
    int pixel = mafat_tensors_pixel_floats(t, step->layer, block);
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      float *row = mafat_tensors_pixel(t, step->layer, block, y, step->out.x.begin) + lane;
      if (n == pixel) {
        w->kernels->activate(row, (size_t)n * (size_t)mafat_span_size(step->out.x), activation);
        continue;
      }
      for (int x = 0; x < mafat_span_size(step->out.x); x++, row += pixel)
        w->kernels->activate(row, (size_t)n, activation);
    }
    c += n;
  }
}

/* One pass instead of three. */
static void add_alike(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_source *z = l->from.list;
  struct mafat_runs runs = mafat_runs_of(&l->sources, step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    int z_block = z->first / MAFAT_CHANNEL_BLOCK + run.out_block;
    struct mafat_add_call call = {
        .n_cols = mafat_span_size(step->out.x), .n_channels = run.n,
        .x_pixel_floats = mafat_tensors_pixel_floats(t, run.tensor, run.block),
        .z_pixel_floats = mafat_tensors_pixel_floats(t, z->tensor, z_block),
        .y_pixel_floats = mafat_tensors_pixel_floats(t, step->layer, run.out_block),
        .alpha = l->alpha, .beta = l->beta, .activation = l->activation};
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      call.x = mafat_tensors_pixel(t, run.tensor, run.block, y, step->out.x.begin) + run.lane;
      call.z = mafat_tensors_pixel(t, z->tensor, z_block, y, step->out.x.begin) + run.out_lane;
      call.y = out_row(w, step, &run, y);
      w->kernels->add(&call);
    }
  }
}

static int run_shortcut(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  if (mafat_fusion_adds_alike(l)) {
    add_alike(w, step);
    return MAFAT_OK;
  }
  copy_rows(w, step, MAFAT_LINEAR);
  add_from(w, step);
  activate_rows(w, step, l->activation);
  return MAFAT_OK;
}

static int run_activation(const struct mafat_worker *w, const struct mafat_step *step)
{
  copy_rows(w, step, w->tensors->network->layers[step->layer].activation);
  return MAFAT_OK;
}

static int run_upsample(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(&l->sources, step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    size_t in_pixel = (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block);
    size_t out_pixel = (size_t)mafat_tensors_pixel_floats(t, step->layer, run.out_block);
    int x0 = step->out.x.begin / l->stride;
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      const float *in = mafat_tensors_pixel(t, run.tensor, run.block, y / l->stride, x0) + run.lane;
      float *out = out_row(w, step, &run, y);
      for (int x = step->out.x.begin; x < step->out.x.end; x++, out += out_pixel) {
        const float *from = in + (size_t)(x / l->stride - x0) * in_pixel;
        for (int c = 0; c < run.n; c++) out[c] = l->scale * from[c];
      }
    }
  }
  return MAFAT_OK;
}

static int run_batchnorm(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_weights_slice slice;
  int code = mafat_weights_slice(w->weights, step->layer, step->filters, step->channels, &slice);
  if (code) return code;
  struct mafat_runs runs = mafat_runs_of(&l->sources, step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    int channel = run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane;
    for (int y = step->out.y.begin; y < step->out.y.end; y++)
      w->kernels->scale(mafat_tensors_pixel(t, run.tensor, run.block, y, step->out.x.begin) + run.lane,
                        mafat_tensors_pixel_floats(t, run.tensor, run.block), out_row(w, step, &run, y),
                        mafat_tensors_pixel_floats(t, step->layer, run.out_block),
                        mafat_span_size(step->out.x), run.n, slice.scale + channel,
                        slice.bias + channel, MAFAT_LINEAR);
  }
  mafat_weights_release(w->weights, &slice);
  return MAFAT_OK;
}

/* Darknet's crop at inference: the middle, [0, 1] scaled to [-1, 1]. */
static int run_crop(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(&l->sources, step->filters);
  struct mafat_run run;
  float scale = l->noadjust ? 1 : 2, shift = l->noadjust ? 0 : -1;
  while (mafat_runs_next(&runs, &run)) {
    size_t in_pixel = (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block);
    size_t out_pixel = (size_t)mafat_tensors_pixel_floats(t, step->layer, run.out_block);
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      const float *in = mafat_tensors_pixel(t, run.tensor, run.block, y + l->crop_y,
                                            step->out.x.begin + l->crop_x) + run.lane;
      float *out = out_row(w, step, &run, y);
      for (int x = step->out.x.begin; x < step->out.x.end; x++, in += in_pixel, out += out_pixel)
        for (int c = 0; c < run.n; c++) out[c] = in[c] * scale + shift;
    }
  }
  return MAFAT_OK;
}

/* The element of a layer's input with index `flat` in Darknet's CHW order. */
static float input_at(const struct mafat_tensors *t, const struct mafat_layer *l, long long flat)
{
  long long plane = (long long)l->in.h * l->in.w;
  int c = (int)(flat / plane), rest = (int)(flat % plane);
  int i = 0;
  while (c >= l->sources.list[i].n) c -= l->sources.list[i++].n;
  const struct mafat_source *s = &l->sources.list[i];
  return *mafat_tensors_element(t, s->tensor, s->first + c, rest / l->in.w, rest % l->in.w);
}

/* An element of a map in Darknet's CHW order, stepped through without divisions. */
struct cursor {
  struct mafat_shape shape;
  int c, y, x;
};

static struct cursor cursor_at(struct mafat_shape shape, long long flat)
{
  long long plane = (long long)shape.h * shape.w;
  return (struct cursor){shape, (int)(flat / plane), (int)(flat % plane / shape.w), (int)(flat % shape.w)};
}

/* n elements on, at most a row. */
static void cursor_advance(struct cursor *at, int n)
{
  at->x += n;
  if (at->x < at->shape.w) return;
  at->x -= at->shape.w;
  if (++at->y < at->shape.h) return;
  at->y = 0;
  at->c++;
}

static float *element_behind(const struct mafat_tensors *t, const struct mafat_sources *sources,
                             const struct cursor *at)
{
  int i = 0, c = at->c;
  while (c >= sources->list[i].n) c -= sources->list[i++].n;
  return mafat_tensors_element(t, sources->list[i].tensor, sources->list[i].first + c, at->y, at->x);
}

/* The usual direction: row by row of the larger factors, whose elements are
 * `stride` apart in the input. */
static void reorg_forward(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  int s = l->stride, depth = l->in.c / (s * s);
  struct cursor out = cursor_at(l->out, 0);
  for (int k = 0; k < l->in.c; k++)
    for (int j = 0; j < l->in.h; j++) {
      long long c2 = k % depth, offset = k / depth;
      struct cursor in =
          cursor_at(l->in, offset % s + (long long)l->in.w * s * ((long long)j * s + offset / s + (long long)l->in.h * s * c2));
      for (int i = 0; i < l->in.w; i++) {
        *mafat_tensors_element(t, step->layer, out.c, out.y, out.x) = *element_behind(t, &l->sources, &in);
        cursor_advance(&in, s);
        cursor_advance(&out, 1);
      }
    }
}

/* Darknet's reorg in its own index order: with h, w, c of the input taken as the
 * larger side's factors, flat element (k, j, i) pairs with the element of a
 * (c / stride^2, h * stride, w * stride) map. */
static int run_reorg(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  if (!l->extra && !l->reverse && l->stride <= l->in.w) {
    reorg_forward(w, step);
    return MAFAT_OK;
  }
  long long s = l->stride, h = l->in.h, width = l->in.w, depth = l->in.c / (s * s);
  long long inputs = h * width * l->in.c, index = 0;
  for (int c = 0; c < l->out.c; c++)
    for (int y = 0; y < l->out.h; y++)
      for (int x = 0; x < l->out.w; x++, index++) {
        float *out = mafat_tensors_element(t, step->layer, c, y, x);
        if (l->extra) {
          *out = index < inputs ? input_at(t, l, index) : 0;
        } else if (l->reverse) {
          /* index = x2 + width*s * (y2 + h*s * c2): find (k, j, i) behind it. */
          long long k = (y % s * s + x % s) * depth + c;
          *out = input_at(t, l, x / s + width * (y / s + h * k));
        } else {
          long long i = index % width, j = index / width % h, k = index / width / h;
          long long c2 = k % depth, offset = k / depth;
          *out = input_at(t, l, i * s + offset % s + width * s * (j * s + offset / s + h * s * c2));
        }
      }
  return MAFAT_OK;
}

static int run_softmax(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  mafat_layers_flatten(w->tensors, &l->sources, l->in, flat);
  size_t n = w->scratch->flat_floats / (size_t)l->groups;
  for (int g = 0; g < l->groups; g++)
    w->kernels->softmax(flat + (size_t)g * n, flat + (size_t)g * n, n, l->temperature);
  unflatten(w->tensors, step->layer, l->out, flat);
  return MAFAT_OK;
}

static int run_detection(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  mafat_layers_flatten(w->tensors, &l->sources, l->in, flat);
  size_t classes = (size_t)l->head.classes;
  for (size_t cell = 0; l->head.softmax && cell < (size_t)l->head.side * (size_t)l->head.side; cell++)
    w->kernels->softmax(flat + cell * classes, flat + cell * classes, classes, 1);
  unflatten(w->tensors, step->layer, l->out, flat);
  return MAFAT_OK;
}

/* Activates the values of one box of one cell: x, y, w, h, objectness, classes. */
static void activate_box(const struct mafat_worker *w, const struct mafat_layer *l, float *box)
{
  const struct mafat_head *h = &l->head;
  const struct mafat_kernels *k = w->kernels;
  if (l->type == MAFAT_YOLO) {
    if (!h->new_coords) {
      k->activate(box, 2, MAFAT_LOGISTIC);
      k->activate(box + 4, 1 + (size_t)h->classes, MAFAT_LOGISTIC);
    }
    for (int i = 0; i < 2; i++) box[i] = box[i] * h->scale_xy - .5f * (h->scale_xy - 1);
    return;
  }
  float *classes = box + h->coords + 1;
  k->activate(box, 2, MAFAT_LOGISTIC);
  if (h->softmax && h->background) {
    k->softmax(box + h->coords, box + h->coords, (size_t)h->classes + 1, 1);
    return;
  }
  if (!h->background) k->activate(box + h->coords, 1, MAFAT_LOGISTIC);
  if (h->softmax) k->softmax(classes, classes, (size_t)h->classes, 1);
  else k->activate(classes, (size_t)h->classes, MAFAT_LOGISTIC);
}

/* yolo with its channels in blocks of their own: whole rows of a block are
 * activated at once, what must stay as it is (width, height) is copied after. */
static bool activates_by_rows(const struct mafat_layer *l)
{
  return l->type == MAFAT_YOLO && !l->head.new_coords && l->sources.n == 1 &&
         l->sources.list[0].first % MAFAT_CHANNEL_BLOCK == 0;
}

static void activate_row(const struct mafat_worker *w, const struct mafat_step *step,
                         const struct mafat_run *run, int y)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_head *h = &t->network->layers[step->layer].head;
  int in_pixel = mafat_tensors_pixel_floats(t, run->tensor, run->block), per_box = h->classes + h->coords + 1;
  int out_pixel = mafat_tensors_pixel_floats(t, step->layer, run->out_block), n_cols = mafat_span_size(step->out.x);
  struct mafat_add_call call = {
      .x = mafat_tensors_pixel(t, run->tensor, run->block, y, step->out.x.begin) + run->lane,
      .y = out_row(w, step, run, y), .n_cols = n_cols, .n_channels = run->n, .x_pixel_floats = in_pixel,
      .y_pixel_floats = out_pixel, .activation = MAFAT_LOGISTIC};
  w->kernels->add(&call);
  for (int c = 0; c < run->n; c++) {
    int entry = (run->out_block * MAFAT_CHANNEL_BLOCK + run->out_lane + c) % per_box;
    if (entry > 3) continue;
    for (int x = 0; x < n_cols; x++) {
      float *out = call.y + (size_t)x * (size_t)out_pixel + c;
      *out = entry < 2 ? *out * h->scale_xy - .5f * (h->scale_xy - 1) : call.x[(size_t)x * (size_t)in_pixel + (size_t)c];
    }
  }
}

static void activate_boxes_by_rows(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct mafat_runs runs = mafat_runs_of(&w->tensors->network->layers[step->layer].sources, step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run))
    for (int y = step->out.y.begin; y < step->out.y.end; y++) activate_row(w, step, &run, y);
}

/* region and yolo: pixel by pixel, all channels gathered. */
static int run_boxes(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  if (activates_by_rows(l)) {
    activate_boxes_by_rows(w, step);
    return MAFAT_OK;
  }
  float *pixel = (float *)(w->slot_memory + w->scratch->pixel_offset);
  int per_box = l->head.classes + l->head.coords + 1;
  for (int y = step->out.y.begin; y < step->out.y.end; y++)
    for (int x = 0; x < l->out.w; x++) {
      struct mafat_runs runs = mafat_runs_of(&l->sources, mafat_span(0, l->in.c));
      struct mafat_run run;
      while (mafat_runs_next(&runs, &run))
        memcpy(pixel + run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane,
               mafat_tensors_pixel(t, run.tensor, run.block, y, x) + run.lane,
               (size_t)run.n * sizeof(float));
      for (int b = 0; b < l->head.n_anchors; b++) activate_box(w, l, pixel + (size_t)b * (size_t)per_box);
      for (int c = 0; c < l->out.c; c += MAFAT_CHANNEL_BLOCK)
        memcpy(mafat_tensors_pixel(t, step->layer, c / MAFAT_CHANNEL_BLOCK, y, x), pixel + c,
               (size_t)mafat_min(MAFAT_CHANNEL_BLOCK, l->out.c - c) * sizeof(float));
    }
  return MAFAT_OK;
}

/* ---- who does what ---- */

/* A step whose rows are independent of each other, in shares of rows. */
static int run_rows(const struct mafat_worker *w, const struct mafat_step *step,
                    int (*run)(const struct mafat_worker *w, const struct mafat_step *step))
{
  int n_rows = mafat_span_size(step->out.y), n_workers = mafat_team_size(w->team);
  int shares = n_workers == 1 ? 1 : mafat_min(n_rows, 4 * n_workers);
  for (int unit; (unit = mafat_team_take(w->team, w->index, shares)) >= 0;) {
    struct mafat_step part = *step;
    struct mafat_span share = mafat_span_share(n_rows, shares, unit);
    part.out.y = mafat_span(step->out.y.begin + share.begin, step->out.y.begin + share.end);
    int code = run(w, &part);
    if (code) return code;
  }
  return MAFAT_OK;
}

/* Small or rare layers: not worth dividing. */
static int run_alone(const struct mafat_worker *w, const struct mafat_step *step,
                     int (*run)(const struct mafat_worker *w, const struct mafat_step *step))
{
  return w->index == 0 ? run(w, step) : MAFAT_OK;
}

void mafat_layers_prepare(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  bool first = step->filters.begin == 0 && step->channels.begin == 0;
  if (l->type == MAFAT_CONNECTED && first) /* the steps of panels that follow find it there */
    mafat_layers_flatten(w->tensors, &l->sources, l->in, (float *)(w->shared_memory + w->scratch->flat_offset));
}

int mafat_layers_run(const struct mafat_worker *w, const struct mafat_step *step)
{
  int reader = mafat_plan_reader(w->plan, step->layer);
  switch (w->tensors->network->layers[reader].type) {
  case MAFAT_CONVOLUTIONAL:
    if (w->plan->algorithms[reader] == MAFAT_WINOGRAD) return mafat_layers_winograd(w, step);
    return mafat_layers_direct(w, step);
  case MAFAT_CONNECTED: return mafat_layers_connect(w, step);
  case MAFAT_LOCAL: return mafat_layers_local(w, step);
  case MAFAT_MAXPOOL: return run_rows(w, step, run_maxpool);
  case MAFAT_AVGPOOL: return run_alone(w, step, run_avgpool);
  case MAFAT_SHORTCUT: return run_rows(w, step, run_shortcut);
  case MAFAT_UPSAMPLE: return run_rows(w, step, run_upsample);
  case MAFAT_REORG: return run_alone(w, step, run_reorg);
  case MAFAT_BATCHNORM: return run_rows(w, step, run_batchnorm);
  case MAFAT_CROP: return run_rows(w, step, run_crop);
  case MAFAT_ACTIVATION_LAYER: return run_rows(w, step, run_activation);
  case MAFAT_SOFTMAX: return run_alone(w, step, run_softmax);
  case MAFAT_REGION:
  case MAFAT_YOLO: return run_rows(w, step, run_boxes);
  case MAFAT_DETECTION: return run_alone(w, step, run_detection);
  default:
    assert(!"a renaming layer has no steps");
    return MAFAT_EUNSUPPORTED;
  }
}

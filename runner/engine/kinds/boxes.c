/* Applies the activations of detection heads with boxes: region, yolo, Gaussian_yolo. Each cell
 * (pixel of the head's map) has a list of values for each anchor. Called by the executor through
 * the table in kinds.c; boxes_decode.c decodes the boxes after a run. Writes the step's output
 * and a pixel of scratch in the arena; allocates nothing. */
#include "runner/engine/kinds/boxes.h"

#include "runner/engine/kinds/rows.h"

#include "predictor/kinds/boxes.h"

#include <string.h>

static const struct mafat_activating logistic = {.kind = MAFAT_LOGISTIC};

/* Activates one box of one cell: x, y, w, h (each followed by a sigma in a Gaussian head),
 * objectness, classes. */
typedef void activate_box(const struct mafat_kernels *k, const struct mafat_head *h, float *box);

/* Applies the cfg's option scale_x_y to a coordinate within a cell (0 to 1). */
static float scale_in_cell(const struct mafat_head *h, float value)
{
  return value * h->scale_xy - .5f * (h->scale_xy - 1);
}

static void activate_yolo_box(const struct mafat_kernels *k, const struct mafat_head *h, float *box)
{
  if (!h->new_coords) {
    k->activate(box, 2, logistic);
    k->activate(box + 4, 1 + (size_t)h->classes, logistic);
  }
  for (int i = 0; i < 2; i++) box[i] = scale_in_cell(h, box[i]);
}

static void activate_gaussian_yolo_box(const struct mafat_kernels *k, const struct mafat_head *h,
                                       float *box)
{
  k->activate(box, 4, logistic);
  k->activate(box + 5, 1, logistic);
  k->activate(box + 7, 2 + (size_t)h->classes, logistic);
  for (int i = 0; i < 2; i++) box[2 * i] = scale_in_cell(h, box[2 * i]);
}

static void activate_region_box(const struct mafat_kernels *k, const struct mafat_head *h,
                                float *box)
{
  float *classes = box + h->coords + 1;
  k->activate(box, 2, logistic);
  if (h->softmax && h->background) {
    k->softmax(box + h->coords, box + h->coords, (size_t)h->classes + 1, 1);
    return;
  }
  if (!h->background) k->activate(box + h->coords, 1, logistic);
  if (h->softmax) k->softmax(classes, classes, (size_t)h->classes, 1);
  else k->activate(classes, (size_t)h->classes, logistic);
}

/* Copies all channels of each pixel to scratch, activates the pixel's boxes there, and copies the
 * channels to the output. */
static void run_pixels(const struct mafat_worker *w, const struct mafat_step *step,
                       activate_box *activate)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  float *pixel = (float *)(w->slot_memory + w->scratch->pixel_offset);
  int per_box = l->head.classes + l->head.coords + 1;
  for (int y = step->out.y.begin; y < step->out.y.end; y++)
    for (int x = 0; x < l->out.w; x++) {
      struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), mafat_span(0, l->in.c));
      struct mafat_run run;
      while (mafat_runs_next(&runs, &run))
        memcpy(pixel + run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane,
               mafat_runs_read(t, mafat_layer_sources(l), &run, y, x),
               (size_t)run.n * sizeof *pixel);
      for (int b = 0; b < l->head.n_anchors; b++)
        activate(w->kernels, &l->head, pixel + (size_t)b * (size_t)per_box);
      for (int c = 0; c < l->out.c; c += MAFAT_CHANNEL_BLOCK)
        memcpy(mafat_tensors_pixel(t, step->layer, c / MAFAT_CHANNEL_BLOCK, y, x), pixel + c,
               (size_t)mafat_min(MAFAT_CHANNEL_BLOCK, l->out.c - c) * sizeof *pixel);
    }
}

static int run_region(const struct mafat_worker *w, const struct mafat_step *step)
{
  run_pixels(w, step, activate_region_box);
  return MAFAT_OK;
}

/* Activates row y for a run of channels (consecutive, adjacent in memory), then restores the values
 * that are not activated (width, height) and scales positions. */
static void activate_row(const struct mafat_worker *w, const struct mafat_step *step,
                         const struct mafat_run *run, int y)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_head *h = &t->network->layers[step->layer].head;
  int in_pixel = mafat_tensors_pixel_floats(t, run->tensor, run->block),
      per_box = h->classes + h->coords + 1;
  int out_pixel = mafat_tensors_pixel_floats(t, step->layer, run->out_block),
      n_cols = mafat_span_size(step->out.x);
  struct mafat_blend_call call = {
      .x = mafat_runs_read(t, mafat_layer_sources(&t->network->layers[step->layer]), run, y,
                           step->out.x.begin),
      .y = mafat_rows_out(w, step, run, y),
      .n_cols = n_cols,
      .n_channels = run->n,
      .x_pixel_floats = in_pixel,
      .y_pixel_floats = out_pixel,
      .activation.kind = MAFAT_LOGISTIC};
  w->kernels->blend(&call);
  /* number of channels from x to y, y to w and w to h: 2 in a Gaussian head, which has a sigma
   * after each; sigmas keep their logistic activation */
  int apart = h->coords / 4;
  for (int c = 0; c < run->n; c++) {
    int entry = (run->out_block * MAFAT_CHANNEL_BLOCK + run->out_lane + c) % per_box;
    if (entry >= h->coords || entry % apart) continue;
    for (int x = 0; x < n_cols; x++) {
      float *out = call.y + (size_t)x * (size_t)out_pixel + c;
      *out = entry < 2 * apart ? scale_in_cell(h, *out)
                               : call.x[(size_t)x * (size_t)in_pixel + (size_t)c];
    }
  }
}

static void activate_boxes_by_rows(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct mafat_runs runs =
      mafat_runs_of(mafat_layer_sources(&w->tensors->network->layers[step->layer]), step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run))
    for (int y = step->out.y.begin; y < step->out.y.end; y++) activate_row(w, step, &run, y);
}

static int run_rows_or_pixels(const struct mafat_worker *w, const struct mafat_step *step,
                              activate_box *activate)
{
  if (mafat_boxes_run_by_rows(&w->tensors->network->layers[step->layer]))
    activate_boxes_by_rows(w, step);
  else run_pixels(w, step, activate);
  return MAFAT_OK;
}

static int run_yolo(const struct mafat_worker *w, const struct mafat_step *step)
{
  return run_rows_or_pixels(w, step, activate_yolo_box);
}

static int run_gaussian_yolo(const struct mafat_worker *w, const struct mafat_step *step)
{
  return run_rows_or_pixels(w, step, activate_gaussian_yolo_box);
}

const struct mafat_runner_kind mafat_runner_region = {
    .run = run_region, .sharing = MAFAT_SHARED_BY_ROWS, .decode = mafat_boxes_decode_region};
const struct mafat_runner_kind mafat_runner_yolo = {
    .run = run_yolo, .sharing = MAFAT_SHARED_BY_ROWS, .decode = mafat_boxes_decode_yolo};
const struct mafat_runner_kind mafat_runner_gaussian_yolo = {.run = run_gaussian_yolo,
                                                             .sharing = MAFAT_SHARED_BY_ROWS,
                                                             .decode =
                                                                 mafat_boxes_decode_gaussian_yolo};

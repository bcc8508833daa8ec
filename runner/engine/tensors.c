/* Computes addresses in partition buffers, lists runs of channels, and copies whole maps. Called by
 * runner/engine/executor.c and files of runner/engine/kinds. Reads and writes tensors in the arena
 * and the caller's arrays; allocates nothing. */
#include "runner/engine/tensors.h"

/* Returns the view around an element of a tensor whose partition buffers are whole rows. */
static struct mafat_row_view view_in_rows(const struct mafat_tensors *t, int tensor,
                                          const struct mafat_tensor_layout *l, int channel, int y,
                                          int x)
{
  struct mafat_shape shape = mafat_network_tensor_shape(t->network, tensor);
  struct mafat_span rows;
  char *row = mafat_tensors_row_in_partition(t, l, y, &rows);
  size_t pixel =
      (size_t)mafat_block_width(shape.c, channel / MAFAT_CHANNEL_BLOCK) * l->element_bytes;
  return (struct mafat_row_view){.at = row + mafat_tensors_offset_in_row(t, tensor, l, channel, x),
                                 .row_bytes = l->row_bytes,
                                 .pixel_bytes = pixel,
                                 .box = {rows, mafat_span(0, shape.w)},
                                 .channels = mafat_span(0, shape.c)};
}

static struct mafat_row_view view_in_partition(const struct mafat_tensors *t, int tensor,
                                               int channel, int y, int x)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  if (l->of_rows) return view_in_rows(t, tensor, l, channel, y, x);
  const struct mafat_partition *c = l->partition;
  struct mafat_shape shape = mafat_network_tensor_shape(t->network, tensor);
  int index, block = channel / MAFAT_CHANNEL_BLOCK;
  struct mafat_partition_buffer b = mafat_partition_buffer_holding(c, shape, channel, y, x, &index);
  int left = b.box.x.begin == 0 ? l->left : 0, right = b.box.x.end == shape.w ? l->right : 0;
  size_t cols = (size_t)left + (size_t)mafat_span_size(b.box.x) + (size_t)right;
  size_t row = (size_t)mafat_partition_pixel(c, shape, b.channels) * cols;
  size_t elements = (size_t)(y - b.box.y.begin) * row, column = (size_t)(x - b.box.x.begin + left);
  size_t pixel = (size_t)(c->lanes ? c->lanes : mafat_block_width(shape.c, block));
  elements += column * pixel;
  if (c->lanes)
    elements += (size_t)(channel - b.channels.begin);
  else
    elements +=
        (size_t)(block - b.channels.begin / MAFAT_CHANNEL_BLOCK) * MAFAT_CHANNEL_BLOCK * cols +
        (size_t)(channel % MAFAT_CHANNEL_BLOCK);
  return (struct mafat_row_view){.at = t->arena + t->layout->buffers[l->buffer + index].offset +
                                       elements * l->element_bytes,
                                 .row_bytes = row * l->element_bytes,
                                 .pixel_bytes = pixel * l->element_bytes,
                                 .box = b.box,
                                 .channels = b.channels};
}

char *mafat_tensors_in_partition(const struct mafat_tensors *t, int tensor, int channel, int y,
                                 int x)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  struct mafat_span rows;
  if (l->of_rows)
    return mafat_tensors_row_in_partition(t, l, y, &rows) +
           mafat_tensors_offset_in_row(t, tensor, l, channel, x);
  return view_in_partition(t, tensor, channel, y, x).at;
}

struct mafat_row_view mafat_tensors_row_view(const struct mafat_tensors *t, int tensor, int channel,
                                             int y, int x)
{
  const struct mafat_tensor_layout *l = &t->layout->tensors[tensor];
  struct mafat_shape s = mafat_network_tensor_shape(t->network, tensor);
  if (l->partition) return view_in_partition(t, tensor, channel, y, x);
  int left = l->rows - mafat_tensors_slot(l, y);
  return (struct mafat_row_view){
      .at = mafat_tensors_lane(t, tensor, channel, y, x),
      .row_bytes = l->row_bytes,
      .pixel_bytes = mafat_tensors_pixel_bytes(t, tensor, channel / MAFAT_CHANNEL_BLOCK),
      .box = {mafat_span(y, mafat_min(y + left, s.h)), mafat_span(0, s.w)},
      .channels = mafat_span(0, s.c)};
}

void mafat_tensor_rows_turn(struct mafat_tensor_rows *r)
{
  const struct mafat_tensor_layout *l = r->tensors ? &r->tensors->layout->tensors[r->tensor] : NULL;
  struct mafat_span rows;
  if (l && l->of_rows) {
    r->row = mafat_tensors_row_in_partition(r->tensors, l, r->slot, &rows) +
             mafat_tensors_offset_in_row(r->tensors, r->tensor, l, r->channel, r->x);
    r->row_bytes = l->row_bytes;
    r->n_slots = rows.end;
  } else if (l) {
    struct mafat_row_view view =
        view_in_partition(r->tensors, r->tensor, r->channel, r->slot, r->x);
    r->row = view.at;
    r->row_bytes = view.row_bytes;
    r->n_slots = view.box.y.end;
  } else {
    r->slot = 0;
    r->row -= (size_t)r->n_slots * r->row_bytes;
  }
}

struct mafat_runs mafat_runs_of(const struct mafat_sources *sources, struct mafat_span channels)
{
  struct mafat_runs r = {.sources = sources, .channel = channels.begin, .end = channels.end};
  int skip = channels.begin;
  while (r.source < sources->n && skip >= sources->list[r.source].n)
    skip -= sources->list[r.source++].n;
  r.taken = skip;
  return r;
}

bool mafat_runs_next(struct mafat_runs *r, struct mafat_run *run)
{
  if (r->channel >= r->end || r->source >= r->sources->n) return false;
  const struct mafat_source *s = &r->sources->list[r->source];
  int in = s->first + r->taken, lane = in % MAFAT_CHANNEL_BLOCK;
  int out_lane = r->channel % MAFAT_CHANNEL_BLOCK;
  int n = mafat_min(s->n - r->taken, r->end - r->channel);
  n = mafat_min(n, MAFAT_CHANNEL_BLOCK - (lane > out_lane ? lane : out_lane));
  *run = (struct mafat_run){s->tensor, in / MAFAT_CHANNEL_BLOCK, lane,
                            r->channel / MAFAT_CHANNEL_BLOCK, out_lane, n, r->source};
  r->channel += n;
  r->taken += n;
  if (r->taken == s->n) {
    r->source++;
    r->taken = 0;
  }
  return true;
}

void mafat_tensors_flatten(const struct mafat_tensors *t, const struct mafat_sources *sources,
                           struct mafat_shape shape, float *flat)
{
  struct mafat_runs runs = mafat_runs_of(sources, mafat_span(0, shape.c));
  struct mafat_run run;
  size_t plane = (size_t)shape.h * (size_t)shape.w;
  if (mafat_network_tensor_type(t->network, sources->list[0].tensor) != MAFAT_F32) {
    for (int c = 0; c < shape.c; c++)
      for (int y = 0; y < shape.h; y++)
        for (int x = 0; x < shape.w; x++) *flat++ = mafat_tensors_value(t, sources, c, y, x);
    return;
  }
  while (mafat_runs_next(&runs, &run)) {
    float *to = flat + (size_t)(run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane) * plane;
    size_t pixel = (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block);
    for (int y = 0; y < shape.h; y++) {
      const float *row = mafat_runs_read(t, sources, &run, y, 0);
      for (int x = 0; x < shape.w; x++)
        for (int c = 0; c < run.n; c++)
          to[(size_t)c * plane + (size_t)y * (size_t)shape.w + (size_t)x] =
              row[(size_t)x * pixel + (size_t)c];
    }
  }
}

/* Elements of the view's innermost atom (struct mafat_view) are at equal distances, so only the
 * position of the first one is looked up. */
void mafat_tensors_read_view(const struct mafat_tensors *t, const struct mafat_sources *sources,
                             const struct mafat_view *view, long long first, long long n,
                             float *out)
{
  const struct mafat_view_atom *last = view->n_atoms ? &view->atoms[view->n_atoms - 1] : NULL;
  while (n > 0) {
    long long places[MAFAT_N_AXES] = {0}, run = last ? last->size - first % last->size : 1;
    if (run > n) run = n;
    mafat_view_find(view, first, places);
    for (long long k = 0; k < run; k++) {
      *out++ = mafat_tensors_value(t, sources, (int)places[MAFAT_AXIS_C], (int)places[MAFAT_AXIS_H],
                                   (int)places[MAFAT_AXIS_W]);
      if (last) places[last->axis] += last->step;
    }
    first += run;
    n -= run;
  }
}

void mafat_tensors_unflatten(const struct mafat_tensors *t, int tensor, struct mafat_shape shape,
                             const float *flat)
{
  const bool floats = mafat_network_tensor_type(t->network, tensor) == MAFAT_F32;
  for (int c = 0; c < shape.c; c++)
    for (int y = 0; y < shape.h; y++)
      for (int x = 0; x < shape.w; x++, flat++)
        if (floats)
          *mafat_tensors_element(t, tensor, c, y, x) = *flat;
        else
          mafat_tensors_address(t, tensor, c / MAFAT_CHANNEL_BLOCK, y, x)[c % MAFAT_CHANNEL_BLOCK] =
              (char)mafat_quantization_number(mafat_network_tensor_quantization(t->network, tensor),
                                              *flat);
}

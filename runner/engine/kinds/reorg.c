/* Computes Darknet's reorg: squares of pixels become channels, in Darknet's own order of indices.
 * Called by the executor through the table in kinds.c. Writes the step's output in the arena;
 * allocates nothing. */
#include "runner/engine/kinds/kind.h"

/* Returns element number `flat` of a layer's input in CHW order. */
static float input_at(const struct mafat_tensors *t, const struct mafat_layer *l, long long flat)
{
  long long plane = (long long)l->in.h * l->in.w;
  int c = (int)(flat / plane), rest = (int)(flat % plane);
  return *mafat_tensors_source_at(t, mafat_layer_sources(l), c, rest / l->in.w, rest % l->in.w);
}

/* Position of an element in a map. cursor_advance() moves it in CHW order without divisions. */
struct element_cursor {
  struct mafat_shape shape;
  int c, y, x;
};

static struct element_cursor cursor_at(struct mafat_shape shape, long long flat)
{
  long long plane = (long long)shape.h * shape.w;
  return (struct element_cursor){shape, (int)(flat / plane), (int)(flat % plane / shape.w),
                                 (int)(flat % shape.w)};
}

/* Advances by n elements; n is at most the width of a row. */
static void cursor_advance(struct element_cursor *at, int n)
{
  at->x += n;
  if (at->x < at->shape.w) return;
  at->x -= at->shape.w;
  if (++at->y < at->shape.h) return;
  at->y = 0;
  at->c++;
}

/* Reads every s-th element, starting at cursor `in`, and writes them one after the other, starting
 * at cursor `out`. Ends after n elements or at the end of either cursor's row. Returns the number
 * of elements copied. */
static int reorg_run(const struct mafat_tensors *t, int layer, const struct element_cursor *in,
                     int s, const struct element_cursor *out, int n)
{
  const struct mafat_sources *sources = mafat_layer_sources(&t->network->layers[layer]);
  n = mafat_min(n, mafat_min(out->shape.w - out->x, mafat_divide_up(in->shape.w - in->x, s)));
  const float *from = mafat_tensors_source_at(t, sources, in->c, in->y, in->x);
  float *to = mafat_tensors_element(t, layer, out->c, out->y, out->x);
  ptrdiff_t apart = n > 1 ? mafat_tensors_source_at(t, sources, in->c, in->y, in->x + s) - from : 0;
  int pixel = mafat_tensors_pixel_floats(t, layer, out->c / MAFAT_CHANNEL_BLOCK);
  for (int i = 0; i < n; i++) to[(ptrdiff_t)i * pixel] = from[i * apart];
  return n;
}

/* Computes the usual direction (neither `reverse` nor `extra`) for channel k of the order that
 * run_reorg's comment describes, row by row. Elements of an output row are l->factor apart in the
 * input. */
static void reorg_forward(const struct mafat_worker *w, const struct mafat_step *step, int k)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  int s = l->factor, depth = l->in.c / (s * s);
  long long c2 = k % depth, offset = k / depth;
  struct element_cursor out = cursor_at(l->out, (long long)k * l->in.h * l->in.w);
  for (int j = 0; j < l->in.h; j++) {
    long long row = (long long)j * s + offset / s + (long long)l->in.h * s * c2;
    struct element_cursor in = cursor_at(l->in, offset % s + (long long)l->in.w * s * row);
    for (int i = 0, n; i < l->in.w; i += n) {
      n = reorg_run(t, step->layer, &in, s, &out, l->in.w - i);
      cursor_advance(&in, n * s);
      cursor_advance(&out, n);
    }
  }
}

/* Computes channel c of the output element by element. Slower than reorg_forward, but works for
 * `reverse`, `extra` and maps narrower than l->factor. */
static void reorg_channel(const struct mafat_worker *w, const struct mafat_step *step, int c)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  long long s = l->factor, h = l->in.h, width = l->in.w, depth = l->in.c / (s * s);
  long long inputs = h * width * l->in.c, index = (long long)c * l->out.h * l->out.w;
  for (int y = 0; y < l->out.h; y++)
    for (int x = 0; x < l->out.w; x++, index++) {
      float *out = mafat_tensors_element(t, step->layer, c, y, x);
      if (l->extra) {
        *out = index < inputs ? input_at(t, l, index) : 0;
      } else if (l->reverse) {
        /* Position (c, y, x) of the large map is paired with channel k, row y / s, column x / s. */
        long long k = (y % s * s + x % s) * depth + c;
        *out = input_at(t, l, x / s + width * (y / s + h * k));
      } else {
        long long i = index % width, j = index / width % h, k = index / width / h;
        long long c2 = k % depth, offset = k / depth;
        *out = input_at(t, l, i * s + offset % s + width * s * (j * s + offset / s + h * s * c2));
      }
    }
}

/* Darknet's order: channel k, row j, column i run over the input's shape (c, h, w). The element
 * with this index in CHW order is paired with an element of a map of shape (c / s^2, h * s, w * s),
 * where s = l->factor. The usual direction reads from the second map, `reverse` writes to it.
 * Workers take whole channels from the team. */
static int run_reorg(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  bool forward = !l->extra && !l->reverse && l->factor <= l->in.w;
  for (int c; (c = mafat_team_take(w->team, w->index, forward ? l->in.c : l->out.c)) >= 0;)
    if (forward) reorg_forward(w, step, c);
    else reorg_channel(w, step, c);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_reorg = {.run = run_reorg,
                                                     .sharing = MAFAT_SHARED_BY_UNITS};

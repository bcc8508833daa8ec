/* Computes a bench's layer as Darknet does, with im2col (not for 1x1) and OpenBLAS's sgemm on one
 * thread, to compare its time with that of mafat's kernels. Called by bench.c. Built without
 * OpenBLAS, adds no contender. Allocates the contender's state, which bench.c closes. */
#include "tests/kernel_check/bench.h"

#if defined(HAVE_OPENBLAS)
#include <cblas.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_peer {
  const struct bench_shape *shape;
  const struct bench_data *data;
  int out_h, out_w;
  float *columns; /* (channels x size x size, out_h x out_w); NULL for 1x1 */
  float *output;
};

/* Copies the values of input row y that tap kx reads for one row of outputs: out_w floats. */
static void copy_row(const struct bench_peer *p, const float *plane, int y, int kx, float *out)
{
  const struct bench_shape *s = p->shape;
  const int shift = kx - s->size / 2;
  int first = 0, end = p->out_w; /* outputs whose tap is inside the map */
  if (y < 0 || y >= s->h) end = 0;
  while (first < end && first * s->stride + shift < 0) first++;
  while (end > first && (end - 1) * s->stride + shift >= s->w) end--;
  for (int ox = 0; ox < first; ox++) out[ox] = 0;
  const float *row = plane + (ptrdiff_t)y * s->w + shift;
  if (s->stride == 1 && end > first)
    memcpy(out + first, row + first, (size_t)(end - first) * sizeof *out);
  else for (int ox = first; ox < end; ox++) out[ox] = row[ox * s->stride];
  for (int ox = end; ox < p->out_w; ox++) out[ox] = 0;
}

static void im2col(const struct bench_peer *p)
{
  const struct bench_shape *s = p->shape;
  float *out = p->columns;
  for (int ch = 0; ch < s->c; ch++)
    for (int ky = 0; ky < s->size; ky++)
      for (int kx = 0; kx < s->size; kx++)
        for (int oy = 0; oy < p->out_h; oy++, out += p->out_w)
          copy_row(p, p->data->input + (size_t)ch * (size_t)s->h * (size_t)s->w,
                   oy * s->stride + ky - s->size / 2, kx, out);
}

static void peer_run(void *state)
{
  const struct bench_peer *p = state;
  const struct bench_shape *s = p->shape;
  const int n = p->out_h * p->out_w, k = s->c * s->size * s->size;
  if (p->columns) im2col(p);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s->filters, n, k, 1.0f, p->data->weights,
              k, p->columns ? p->columns : p->data->input, n, 0.0f, p->output, n);
  float *y = p->output;
  for (int f = 0; f < s->filters; f++, y += n) {
    const float bias = p->data->bias[f];
    for (int i = 0; i < n; i++) {
      float sum = y[i] + bias, low = 0.1f * sum;
      y[i] = sum > low ? sum : low; /* leaky, in a form that vectorises */
    }
  }
}

static void peer_read(void *state, float *planes)
{
  const struct bench_peer *p = state;
  memcpy(planes, p->output,
         (size_t)p->shape->filters * (size_t)p->out_h * (size_t)p->out_w * sizeof *planes);
}

static void peer_close(void *state)
{
  struct bench_peer *p = state;
  free(p->columns);
  free(p->output);
  free(p);
}

int bench_openblas(const struct bench_shape *s, const struct bench_data *d,
                   struct bench_contender *list, int n)
{
  if (strcmp(s->kernel, "conv") != 0) return n;
  struct bench_peer *p = calloc(1, sizeof *p);
  if (!p) return -1;
  *p = (struct bench_peer){.shape = s,
                           .data = d,
                           .out_h = bench_out(s->h, s->stride),
                           .out_w = bench_out(s->w, s->stride)};
  size_t pixels = (size_t)p->out_h * (size_t)p->out_w;
  bool whole = s->size > 1 || s->stride > 1;
  p->output = malloc((size_t)s->filters * pixels * sizeof(float));
  if (whole) p->columns = malloc((size_t)(s->c * s->size * s->size) * pixels * sizeof(float));
  if (!p->output || (whole && !p->columns)) {
    peer_close(p);
    return -1;
  }
  openblas_set_num_threads(1);
  list[n] =
      (struct bench_contender){.state = p, .run = peer_run, .read = peer_read, .close = peer_close};
  snprintf(list[n].name, sizeof list[n].name, "openblas");
  return n + 1;
}

#else

int bench_openblas(const struct bench_shape *s, const struct bench_data *d,
                   struct bench_contender *list, int n)
{
  (void)s;
  (void)d;
  (void)list;
  return n;
}

#endif

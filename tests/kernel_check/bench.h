/* --bench: times our kernels, oneDNN and OpenBLAS in turn on layers of real networks. Included
 * by kernel_check.c and the bench files. */
#ifndef MAFAT_TESTS_KERNEL_CHECK_BENCH_H
#define MAFAT_TESTS_KERNEL_CHECK_BENCH_H

#include "runner/kernels/kernels.h"

struct bench_options {
  const struct mafat_kernels *const *levels;
  int n_levels;              /* at most 8 */
  /* which shapes to time: `kernel` is a whole name, `shape` is part of a name; NULL: any */
  const char *kernel, *shape;
  int runs; /* runs of each contender; the median time is reported, for integers the least */
  bool json;
  bool once;                  /* compute untimed, once, between bench_begin and bench_end */
};

/* Returns 0; -1: out of memory; -2: no shape has these names. */
int bench_run(const struct bench_options *o);

struct mafat_integer_kernels;
/* Times the integer kernel that o->kernel names (integer_conv etc.), and float kernels for
 * comparison. Ignores `json` and `once`. Returns as bench_run does. */
int bench_integers(const struct bench_options *o, const struct mafat_integer_kernels *const *list,
                   int n);

/* Peak of a level's float multiply-adds in GFLOP/s. */
double bench_peak(const struct mafat_kernels *k);

/* Called before and after a layer with `once`. tests/arm/count.c finds them by name. */
void bench_begin(void);
void bench_end(void);

/* A layer. `kernel` says what is timed; winograd_weights is the transform of this convolution's
 * weights. Kernels other than conv and winograd_weights have filters = c. */
struct bench_shape {
  const char *name, *kernel;
  int h, w, c, filters, size, stride;
};

/* Rows or columns of the output. The padding is size / 2 before, and as much as needed after. */
static inline int bench_out(int extent, int stride) { return (extent - 1) / stride + 1; }

/* Weights in Darknet's layout (filters, channels, size, size), input and output as planes
 * (channels, rows, columns); the layer is y = leaky(sum + bias). */
struct bench_data {
  float *input, *weights, *bias;
};

/* An implementation that computes a shape. `state` is private to it; `close` frees `state`. */
struct bench_contender {
  char name[40];
  const struct mafat_kernels *level; /* NULL: another library */
  void *state;
  void (*run)(void *state);
  void (*read)(void *state, float *planes); /* reads the output; NULL: not compared */
  void (*close)(void *state);
};

enum { BENCH_MAX_CONTENDERS = 24 };

/* Append contenders that can compute the shape. Return their new number; -1: out of memory. */
int bench_ours(const struct bench_shape *s, const struct bench_data *d,
               const struct mafat_kernels *k, struct bench_contender *list, int n);
int bench_dnnl(const struct bench_shape *s, const struct bench_data *d,
               struct bench_contender *list, int n);
int bench_openblas(const struct bench_shape *s, const struct bench_data *d,
                   struct bench_contender *list, int n);

extern const struct bench_shape bench_shapes[];
extern const int bench_n_shapes;

#endif

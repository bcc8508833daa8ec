/* Computes a bench's layer with oneDNN, to compare its time with that of mafat's kernels. Uses one
 * thread and layouts that oneDNN chooses; bias and leaky activation are included, reordering of
 * weights is not. Called by bench.c. Needs the API of oneDNN 2; built without it, adds no
 * contender. Allocates the contender's state, which bench.c closes; sets OpenMP's thread count. */
#include "tests/kernel_check/bench.h"

#if defined(HAVE_DNNL)
#include <dnnl.h>
#endif

#if defined(HAVE_DNNL) && DNNL_VERSION_MAJOR == 2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Declared here because the installed omp.h may be of another OpenMP than oneDNN's. */
void omp_set_num_threads(int n);

struct bench_peer {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_desc_t description;
  dnnl_primitive_t primitive;
  dnnl_memory_t src, weights, bias, dst;
  dnnl_memory_desc_t plain_dst; /* layout of `dst` as planes, one per channel */
};

/* Copies between a plain layout and oneDNN's. */
static int reorder(const struct bench_peer *p, dnnl_memory_t from,
                   const dnnl_memory_desc_t *from_layout, dnnl_memory_t to,
                   const dnnl_memory_desc_t *to_layout)
{
  dnnl_primitive_desc_t description = NULL;
  dnnl_primitive_t primitive = NULL;
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  int failed = dnnl_reorder_primitive_desc_create(&description, from_layout, p->engine, to_layout,
                                                  p->engine, NULL) ||
               dnnl_primitive_create(&primitive, description) ||
               dnnl_primitive_execute(primitive, p->stream, 2, arguments) ||
               dnnl_stream_wait(p->stream);
  dnnl_primitive_destroy(primitive);
  dnnl_primitive_desc_destroy(description);
  return failed ? -1 : 0;
}

/* Allocates memory in the primitive's layout and fills it from a plain array. */
static int load(const struct bench_peer *p, dnnl_memory_t *memory, dnnl_query_t which, int index,
                 const dnnl_memory_desc_t *plain, float *values)
{
  const dnnl_memory_desc_t *layout = dnnl_primitive_desc_query_md(p->description, which, index);
  dnnl_memory_t from = NULL;
  int failed = dnnl_memory_create(memory, layout, p->engine, DNNL_MEMORY_ALLOCATE) ||
               (values && (dnnl_memory_create(&from, plain, p->engine, values) ||
                           reorder(p, from, plain, *memory, layout)));
  dnnl_memory_destroy(from);
  return failed ? -1 : 0;
}

static int describe(struct bench_peer *p, const struct bench_shape *s, dnnl_alg_kind_t algorithm,
                    const dnnl_memory_desc_t any[3], const dnnl_memory_desc_t *bias)
{
  const dnnl_dims_t strides = {s->stride, s->stride}, before = {s->size / 2, s->size / 2};
  const dnnl_dims_t after = {
      (bench_out(s->h, s->stride) - 1) * s->stride + s->size - s->h - s->size / 2,
      (bench_out(s->w, s->stride) - 1) * s->stride + s->size - s->w - s->size / 2};
  dnnl_convolution_desc_t convolution;
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_post_ops_t after = NULL;
  int failed =
      dnnl_primitive_attr_create(&attributes) || dnnl_post_ops_create(&after) ||
      dnnl_post_ops_append_eltwise(after, 1.0f, dnnl_eltwise_relu, 0.1f, 0.0f) ||
      dnnl_primitive_attr_set_post_ops(attributes, after) ||
      dnnl_convolution_forward_desc_init(&convolution, dnnl_forward_inference, algorithm, &any[0],
                                         &any[1], bias, &any[2], strides, before, after) ||
      dnnl_primitive_desc_create(&p->description, &convolution, attributes, p->engine, NULL) ||
      dnnl_primitive_create(&p->primitive, p->description);
  dnnl_post_ops_destroy(after);
  dnnl_primitive_attr_destroy(attributes);
  return failed ? -1 : 0;
}

static int peer_fill(struct bench_peer *p, const struct bench_shape *s, const struct bench_data *d,
                     dnnl_alg_kind_t algorithm)
{
  const bool depthwise = strcmp(s->kernel, "depthwise") == 0;
  const dnnl_dims_t src = {1, s->c, s->h, s->w}, bias = {s->filters};
  const dnnl_dims_t dst = {1, s->filters, bench_out(s->h, s->stride), bench_out(s->w, s->stride)};
  const dnnl_dims_t dense = {s->filters, s->c, s->size, s->size},
                    groups = {s->c, 1, 1, s->size, s->size};
  const int n = depthwise ? 5 : 4;
  const dnnl_dim_t *weights = depthwise ? groups : dense;
  dnnl_memory_desc_t any[3], plain_src, plain_weights, plain_bias;
  if (dnnl_engine_create(&p->engine, dnnl_cpu, 0) ||
      dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags) ||
      dnnl_memory_desc_init_by_tag(&any[0], 4, src, dnnl_f32, dnnl_format_tag_any) ||
      dnnl_memory_desc_init_by_tag(&any[1], n, weights, dnnl_f32, dnnl_format_tag_any) ||
      dnnl_memory_desc_init_by_tag(&any[2], 4, dst, dnnl_f32, dnnl_format_tag_any) ||
      dnnl_memory_desc_init_by_tag(&plain_src, 4, src, dnnl_f32, dnnl_nchw) ||
      dnnl_memory_desc_init_by_tag(&plain_weights, n, weights, dnnl_f32,
                                   depthwise ? dnnl_goihw : dnnl_oihw) ||
      dnnl_memory_desc_init_by_tag(&plain_bias, 1, bias, dnnl_f32, dnnl_x) ||
      dnnl_memory_desc_init_by_tag(&p->plain_dst, 4, dst, dnnl_f32, dnnl_nchw) ||
      describe(p, s, algorithm, any, &plain_bias))
    return -1;
  return load(p, &p->src, dnnl_query_src_md, 0, &plain_src, d->input) ||
                 load(p, &p->weights, dnnl_query_weights_md, 0, &plain_weights, d->weights) ||
                 load(p, &p->bias, dnnl_query_weights_md, 1, &plain_bias, d->bias) ||
                 load(p, &p->dst, dnnl_query_dst_md, 0, NULL, NULL)
             ? -1
             : 0;
}

static void peer_run(void *state)
{
  const struct bench_peer *p = state;
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, p->src},
                                       {DNNL_ARG_WEIGHTS, p->weights},
                                       {DNNL_ARG_BIAS, p->bias},
                                       {DNNL_ARG_DST, p->dst}};
  if (dnnl_primitive_execute(p->primitive, p->stream, 4, arguments) || dnnl_stream_wait(p->stream))
    abort();
}

static void peer_read(void *state, float *planes)
{
  const struct bench_peer *p = state;
  dnnl_memory_t to = NULL;
  if (dnnl_memory_create(&to, &p->plain_dst, p->engine, planes) ||
      reorder(p, p->dst, dnnl_primitive_desc_query_md(p->description, dnnl_query_dst_md, 0), to,
              &p->plain_dst))
    abort();
  dnnl_memory_destroy(to);
}

static void peer_close(void *state)
{
  struct bench_peer *p = state;
  dnnl_memory_destroy(p->src);
  dnnl_memory_destroy(p->weights);
  dnnl_memory_destroy(p->bias);
  dnnl_memory_destroy(p->dst);
  dnnl_primitive_destroy(p->primitive);
  dnnl_primitive_desc_destroy(p->description);
  dnnl_stream_destroy(p->stream);
  dnnl_engine_destroy(p->engine);
  free(p);
}

static const char *implementation(const struct bench_contender *c)
{
  const char *name = "";
  dnnl_primitive_desc_query(((struct bench_peer *)c->state)->description, dnnl_query_impl_info_str,
                            0, (void *)&name);
  return name;
}

int bench_dnnl(const struct bench_shape *s, const struct bench_data *d,
               struct bench_contender *list, int n)
{
  static const struct {
    const char *name;
    dnnl_alg_kind_t algorithm;
  } algorithms[] = {{"onednn direct", dnnl_convolution_direct},
                    {"onednn winograd", dnnl_convolution_winograd},
                    {"onednn auto", dnnl_convolution_auto}};
  const int first = n;
  if (strcmp(s->kernel, "conv") != 0 && strcmp(s->kernel, "depthwise") != 0) return n;
  omp_set_num_threads(1);
  for (int i = 0; i < 3; i++) {
    struct bench_peer *p = calloc(1, sizeof *p);
    if (!p) return -1;
    struct bench_contender *c = &list[n];
    *c = (struct bench_contender){
        .state = p, .run = peer_run, .read = peer_read, .close = peer_close};
    snprintf(c->name, sizeof c->name, "%s", algorithms[i].name);
    /* false: oneDNN cannot compute this shape by this algorithm */
    bool is_new = peer_fill(p, s, d, algorithms[i].algorithm) == 0;
    for (int j = first; is_new && j < n; j++)
      is_new = strcmp(implementation(c), implementation(&list[j])) != 0;
    if (is_new) n++;
    else peer_close(p);
  }
  return n;
}

#else

int bench_dnnl(const struct bench_shape *s, const struct bench_data *d,
               struct bench_contender *list, int n)
{
  (void)s;
  (void)d;
  (void)list;
  return n;
}

#endif

/* Opens a model in three ways: by path, by descriptor and in memory. All three must accept the
 * same files, fail with the same messages and compute the same bits. Included by fuzz targets
 * and imported.h. */
#ifndef MAFAT_TESTS_FUZZ_WAYS_H
#define MAFAT_TESTS_FUZZ_WAYS_H

#include "formats/packed/identity.h"
#include "formats/packed/packed.h"
#include "formats/readers.h"
#include "include/mafat_file.h"
#include "include/mafat_pack.h"
#include "include/mafat_plan.h"
#include "tests/fuzz/networks.h"

#include <math.h>

enum open_way { WAY_PATH, WAY_DESCRIPTOR, WAY_MEMORY, N_WAYS };

/* True for a third of the inputs, because opening a model in all ways takes time. */
static inline bool way_is_in_turn(size_t n)
{
  return n % 3 == 0;
}

/* A file, and a copy of its n bytes that begins at block + 1: misaligned, and without spare
 * bytes at the end, so that sanitizers see reads past it. */
struct way_file {
  const char *path;
  int fd;
  char *block;
  size_t n;
};

static inline struct way_file way_file_make(const char *path, int fd)
{
  struct way_file f = {.path = path, .fd = fd, .n = (size_t)lseek(fd, 0, SEEK_END)};
  f.block = malloc(f.n + 1);
  require(f.block && pread(fd, f.block + 1, f.n, 0) == (ssize_t)f.n);
  return f;
}

static inline void way_file_free(struct way_file *f)
{
  free(f->block);
}

/* Describes the file for the library, to be opened in the given way. In all ways, its path names
 * it in messages. */
static inline struct mafat_file way_file_as(const struct way_file *f, enum open_way way)
{
  struct mafat_file file = {.size = sizeof file, .path = f->path};
  if (way == WAY_DESCRIPTOR) {
    file.has_fd = true;
    file.fd = f->fd;
  }
  if (way == WAY_MEMORY) {
    file.data = f->block + 1;
    file.bytes = f->n;
  }
  return file;
}

static inline struct mafat_model_source *way_source(const struct way_file *f, enum open_way way)
{
  struct mafat_model_source *s = NULL;
  int code;
  switch (way) {
  case WAY_DESCRIPTOR: code = mafat_model_source_open_fd(&s, f->fd, f->path, NULL); break;
  case WAY_MEMORY:
    code = mafat_model_source_open_memory(&s, f->block + 1, f->n, f->path, NULL);
    break;
  default: code = mafat_model_source_open(&s, f->path, NULL);
  }
  require(code == MAFAT_OK);
  return s;
}

/* Result of opening or running: a code, and a message on failure. */
struct way_result {
  int code;
  struct mafat_diagnostic said;
};

static inline bool way_is_same(const struct way_result *a, const struct way_result *b)
{
  return a->code == b->code && (a->code == MAFAT_OK || strcmp(a->said.text, b->said.text) == 0);
}

static inline uint64_t way_hash(const struct mafat_network *n)
{
  return mafat_packed_network_hash(n, MAFAT_PACKED_GRAPH_VERSION);
}

/* True if opening in this way may give another result than opening by path: a model in memory
 * has no folder, so it may be refused if it names other files. */
static inline bool way_may_differ(enum open_way way, const struct way_result *r,
                                  const struct mafat_network *by_path)
{
  if (way != WAY_MEMORY) return false;
  return strstr(r->said.text, "in memory") || (by_path && by_path->n_files > 0);
}

static inline void way_check_networks(const struct way_file *f)
{
  struct mafat_network *n[N_WAYS];
  struct way_result results[N_WAYS] = {{.code = 0}};
  for (enum open_way way = WAY_PATH; way < N_WAYS; way++) {
    struct way_result *r = &results[way];
    struct mafat_model_source *s = way_source(f, way);
    r->code = mafat_reader_network(&n[way], s, &(struct mafat_reading){0}, &r->said);
    mafat_model_source_close(&s);
    require((r->code == MAFAT_OK) == (n[way] != NULL) && (n[way] || r->said.text[0]));
    require(way_may_differ(way, r, n[WAY_PATH]) || way_is_same(r, &results[WAY_PATH]));
    require(!n[way] || !n[WAY_PATH] || way_hash(n[way]) == way_hash(n[WAY_PATH]));
  }
  for (enum open_way way = WAY_PATH; way < N_WAYS; way++) mafat_network_close(&n[way]);
}

/* ---- runs through the public interface; outputs are concatenated ---- */

struct way_run {
  float *outputs;
  size_t n;
};

/* Sets all inputs of the model from one array and returns it. It must stay until
 * the run; the caller frees it. */
static inline float *way_set_inputs(struct mafat_model *m)
{
  struct mafat_port_facts f = {.size = sizeof f};
  size_t most = 0;
  for (int i = 0; mafat_model_describe_input(m, i, &f) == MAFAT_OK; i++)
    if (f.n > most) most = f.n;
  float *floats = malloc(most * sizeof *floats + 1);
  require(floats != NULL);
  for (size_t k = 0; k < most; k++) floats[k] = (float)(k % 17) - 5;
  for (int i = 0; mafat_model_describe_input(m, i, &f) == MAFAT_OK; i++)
    require(mafat_model_set_input(m, f.name, floats, f.n, NULL) == MAFAT_OK);
  return floats;
}

static inline void way_read_outputs(const struct mafat_model *m, struct way_run *r)
{
  struct mafat_port_facts f = {.size = sizeof f};
  for (int i = 0; mafat_model_describe_output(m, i, &f) == MAFAT_OK; i++) {
    r->outputs = realloc(r->outputs, (r->n + f.n) * sizeof *r->outputs + 1);
    require(r->outputs != NULL);
    require(mafat_model_read_output(m, f.name, r->outputs + r->n, f.n, NULL) == MAFAT_OK);
    r->n += f.n;
  }
}

static inline struct mafat_model_options way_options(const char *plan)
{
  return (struct mafat_model_options){
      .size = sizeof(struct mafat_model_options), .memory_bytes = (size_t)1 << 40, .plan = plan,
      .cpu = "portable", .algorithm = "direct", .floats_only = true, .decode = "none"};
}

/* Opens a model in one way and runs it. weights: NULL if the model's file contains them. */
static inline struct way_result way_run(struct way_run *run, const struct way_file *model,
                                        const struct way_file *weights, enum open_way way,
                                        const char *plan)
{
  const struct mafat_model_options o = way_options(plan);
  const struct mafat_file file = way_file_as(model, way);
  const struct mafat_file more = way_file_as(weights ? weights : model, way);
  struct way_result r = {.code = 0};
  struct mafat_model *m;
  r.code = mafat_model_open_files(&m, &file, weights ? &more : NULL, &o, &r.said);
  require((r.code == MAFAT_OK) == (m != NULL));
  if (m) {
    float *inputs = way_set_inputs(m);
    r.code = mafat_model_run_inputs(m, &r.said);
    free(inputs);
  }
  if (r.code == MAFAT_OK) way_read_outputs(m, run);
  mafat_model_close(&m);
  return r;
}

/* True if both floats have the same bits, or if both are NaN. */
static inline bool way_is_same_float(const float *a, const float *b)
{
  return memcmp(a, b, sizeof *a) == 0 || (isnan(*a) && isnan(*b));
}

/* Runs a small model after opening it in each way, and compares the results. */
static inline void way_check_runs(const struct way_file *model, const struct way_file *weights,
                                  const char *plan)
{
  struct way_run runs[N_WAYS] = {{NULL, 0}};
  struct way_result results[N_WAYS];
  for (enum open_way way = WAY_PATH; way < N_WAYS; way++) {
    results[way] = way_run(&runs[way], model, weights, way, plan);
    require(way_is_same(&results[way], &results[WAY_PATH]) && runs[way].n == runs[WAY_PATH].n);
    for (size_t i = 0; i < runs[way].n; i++)
      require(way_is_same_float(&runs[way].outputs[i], &runs[WAY_PATH].outputs[i]));
  }
  for (enum open_way way = WAY_PATH; way < N_WAYS; way++) free(runs[way].outputs);
}

/* Makes a dry run and packs in each way, and compares the results. The plan is fixed, because
 * searching for one would take most of the time. */
static inline void way_check_queries(const struct way_file *model, const struct way_file *weights)
{
  struct way_result queries[N_WAYS] = {{.code = 0}}, packs[N_WAYS] = {{.code = 0}};
  const struct mafat_model_options o = way_options("1x1/NoCut");
  const struct mafat_pack_options p = {.size = sizeof p};
  for (enum open_way way = WAY_PATH; way < N_WAYS; way++) {
    const struct mafat_file file = way_file_as(model, way);
    const struct mafat_file more = way_file_as(weights ? weights : model, way);
    const struct mafat_file *own = weights ? &more : NULL;
    struct way_result *q = &queries[way], *k = &packs[way];
    struct mafat_dry_run *query;
    struct mafat_pack *pack;
    q->code = mafat_dry_run_open_files(&query, &file, own, &o, &q->said);
    k->code = mafat_pack_open_files(&pack, &file, own, "/proc/nowhere/out", &p, &k->said);
    require((q->code == MAFAT_OK) == (query != NULL) && (k->code == MAFAT_OK) == (pack != NULL));
    require(way_is_same(q, &queries[WAY_PATH]) && way_is_same(k, &packs[WAY_PATH]));
    mafat_dry_run_close(&query);
    mafat_pack_close(&pack);
  }
}

#endif

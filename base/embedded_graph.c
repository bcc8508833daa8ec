/* The embedded graph of a packed file is a copy of the parts of the model's files that importing
 * the model reads. Records these byte ranges, and maps them to offsets in the copy. Called by
 * base/model_file.c while a model is read, and by formats/packed/graph.c, which writes and reads
 * packed files. Allocates; mafat_embedded_graph_close frees. Opens no file. */
#include "base/embedded_graph.h"

#include "base/part.h"

#include <stdlib.h>
#include <string.h>

/* Largest gap, in bytes, between ranges that are merged. Storing a range costs about as much. */
enum { NEAR = 32 };

struct mafat_embedded_graph *mafat_embedded_graph_make(void)
{
  return calloc(1, sizeof(struct mafat_embedded_graph));
}

MAFAT_PART(run) void mafat_embedded_graph_close(struct mafat_embedded_graph **embedded_graph)
{
  if (!embedded_graph || !*embedded_graph) return;
  struct mafat_embedded_graph *e = *embedded_graph;
  for (int i = 0; i < e->n_files; i++) {
    free(e->files[i].name);
    free(e->files[i].given);
    free(e->files[i].ranges);
  }
  free(e->files);
  free(e);
  *embedded_graph = NULL;
}

/* Returns the number of files whose names sort before `name`. */
static int count_before(const struct mafat_embedded_graph *e, const char *name)
{
  int begin = 0, end = e->n_files;
  while (begin < end) {
    int middle = begin + (end - begin) / 2;
    if (strcmp(e->files[e->files[middle].by_name].name, name) < 0) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/* A binary search, because a model may name a file for each of its constants. */
int mafat_embedded_graph_find_file(const struct mafat_embedded_graph *e, const char *name)
{
  int place = count_before(e, name), file = place < e->n_files ? e->files[place].by_name : -1;
  return file >= 0 && strcmp(e->files[file].name, name) == 0 ? file : -1;
}

int mafat_embedded_graph_add_file(struct mafat_embedded_graph *e, const char *name, uint64_t bytes)
{
  int place = count_before(e, name), file = mafat_embedded_graph_find_file(e, name);
  if (file >= 0) return file;
  if (e->n_files == MAFAT_EMBEDDED_GRAPH_MAX_FILES) return -1;
  struct mafat_embedded_graph_file *grown =
      realloc(e->files, ((size_t)e->n_files + 1) * sizeof *grown);
  if (grown) e->files = grown;
  char *own = grown ? strdup(name) : NULL;
  if (!own) return -1;
  e->files[e->n_files] = (struct mafat_embedded_graph_file){.name = own, .bytes = bytes};
  for (int i = e->n_files; i > place; i--) e->files[i].by_name = e->files[i - 1].by_name;
  e->files[place].by_name = e->n_files;
  return e->n_files++;
}

void mafat_embedded_graph_give(struct mafat_embedded_graph *e, int file, const char *input)
{
  free(e->files[file].given);
  e->files[file].given = strdup(input);
  if (!e->files[file].given) e->failed = true;
}

/* ---- ranges ---- */

static int compare(const void *a, const void *b)
{
  const struct mafat_embedded_range *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

/* True if byte `at` is in the range, or at most NEAR bytes past its end. The range must not begin
 * after `at`. */
static bool reaches(const struct mafat_embedded_range *p, uint64_t at)
{
  return at <= p->at + p->bytes || at - (p->at + p->bytes) <= NEAR;
}

static void extend(struct mafat_embedded_range *p, uint64_t end)
{
  if (end > p->at + p->bytes) p->bytes = end - p->at;
}

/* Sorts the file's ranges and merges close ones. */
static void settle_file(struct mafat_embedded_graph_file *f)
{
  size_t n = 0;
  if (f->n > 1) qsort(f->ranges, f->n, sizeof *f->ranges, compare);
  for (size_t i = 0; i < f->n; i++) {
    struct mafat_embedded_range next = f->ranges[i];
    if (n > 0 && reaches(&f->ranges[n - 1], next.at))
      extend(&f->ranges[n - 1], next.at + next.bytes);
    else f->ranges[n++] = next;
  }
  f->n = n;
}

/* Makes room for one more range. Merges the ranges first, because in a long list most repeat
 * earlier ones. */
static bool make_room(struct mafat_embedded_graph_file *f)
{
  enum { LEAST = 256 };
  if (f->n < f->capacity) return true;
  settle_file(f);
  if (f->n < f->capacity / 2) return true;
  size_t capacity = f->capacity ? 2 * f->capacity : LEAST;
  struct mafat_embedded_range *grown = realloc(f->ranges, capacity * sizeof *grown);
  if (!grown) return false;
  f->ranges = grown;
  f->capacity = capacity;
  return true;
}

void mafat_embedded_graph_add(struct mafat_embedded_graph *e, int file, uint64_t at, uint64_t n)
{
  struct mafat_embedded_graph_file *f = &e->files[file];
  if (n == 0 || e->failed) return;
  struct mafat_embedded_range *last = f->n > 0 ? &f->ranges[f->n - 1] : NULL;
  if (last && at >= last->at && reaches(last, at)) { /* files are mostly read in ascending order */
    extend(last, at + n);
    return;
  }
  if (!make_room(f)) e->failed = true;
  else f->ranges[f->n++] = (struct mafat_embedded_range){.at = at, .bytes = n};
}

void mafat_embedded_graph_settle(struct mafat_embedded_graph *e)
{
  e->bytes = 0;
  for (int i = 0; i < e->n_files; i++) {
    struct mafat_embedded_graph_file *f = &e->files[i];
    settle_file(f);
    for (size_t k = 0; k < f->n; k++) {
      f->ranges[k].offset = e->bytes;
      e->bytes += f->ranges[k].bytes; /* no overflow: the sum is at most that of the files' sizes */
    }
  }
}

bool mafat_embedded_graph_locate(const struct mafat_embedded_graph_file *f, uint64_t at, uint64_t n,
                                 uint64_t *offset)
{
  /* invariant: [begin, end) contains the last range that begins at or before `at` */
  size_t begin = 0, end = f->n;
  if (n == 0) {
    *offset = 0;
    return true;
  }
  while (end - begin > 1) {
    size_t middle = begin + (end - begin) / 2;
    if (f->ranges[middle].at <= at) begin = middle;
    else end = middle;
  }
  if (f->n == 0 || f->ranges[begin].at > at) return false;
  uint64_t before = at - f->ranges[begin].at;
  if (before > f->ranges[begin].bytes || n > f->ranges[begin].bytes - before) return false;
  *offset = f->ranges[begin].offset + before;
  return true;
}

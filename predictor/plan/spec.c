/* Parses, formats, copies and compares specs (spec.h). Called by api/, search/ and predictor/
 * (plan, planning, transfers). Allocates specs from a heap, and their texts by malloc. The parser
 * allocates from the C library's heap (heap NULL), so it may use malloc, realloc and free. */
#include "predictor/plan/spec.h"

#include "base/part.h"
#include "base/tuning.h"
#include "network/network.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_TEXT = 1 << 16, /* characters */
  MAX_TILES_PER_AXIS = 1 << 16,
  MOST_RING = 64, /* reads */
  MOST_LOADED_KB = 1 << 20,
  COMPARED_TEXT = 8192, /* bytes of a text that are compared, with the NUL */
  GROUPS_AT_ONCE = 4 /* groups for which memory is first allocated */
};

#define ORDER "/order="
#define IN_PLACE "/inplace"
#define RANKS "/ranks="

/* ---- creation and release ---- */

struct mafat_spec *mafat_spec_new(struct mafat_heap *heap)
{
  struct mafat_spec *spec = mafat_heap_calloc(heap, 1, sizeof *spec);
  if (spec) spec->heap = heap;
  return spec;
}

static int reserve_groups(struct mafat_spec *spec, int n_groups)
{
  if (n_groups <= spec->capacity) return MAFAT_OK;
  struct mafat_group_spec *grown =
      mafat_heap_realloc(spec->heap, spec->groups, (size_t)n_groups * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  spec->groups = grown;
  spec->capacity = n_groups;
  return MAFAT_OK;
}

MAFAT_PART(opening) struct mafat_group_spec *mafat_spec_add(struct mafat_spec *spec)
{
  if (spec->n_groups == spec->capacity &&
      reserve_groups(spec, spec->capacity + spec->capacity / 8 + GROUPS_AT_ONCE))
    return NULL;
  struct mafat_group_spec *g = &spec->groups[spec->n_groups++];
  *g = (struct mafat_group_spec){.cut = mafat_cut_grid(1, 1)};
  return g;
}

static int add_span(struct mafat_heap *heap, struct mafat_span **list, int *n,
                    struct mafat_span layers)
{
  struct mafat_span *grown = mafat_heap_realloc(heap, *list, (size_t)(*n + 1) * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  *list = grown;
  grown[(*n)++] = layers;
  return MAFAT_OK;
}

MAFAT_PART(opening)
int mafat_algorithm_word_add(struct mafat_heap *heap, struct mafat_algorithm_word *word,
                             struct mafat_span layers)
{
  return add_span(heap, &word->layers, &word->n, layers);
}

int mafat_depthwise_word_add(struct mafat_heap *heap, struct mafat_group_spec *group,
                             struct mafat_depthwise_word word)
{
  struct mafat_depthwise_word *grown =
      mafat_heap_realloc(heap, group->depthwise, (size_t)(group->n_depthwise + 1) * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  group->depthwise = grown;
  grown[group->n_depthwise++] = word;
  return MAFAT_OK;
}

int mafat_group_spec_set_layers(struct mafat_heap *heap, struct mafat_group_spec *group, int number,
                                const int *group_of, int n_layers)
{
  while (group->end < n_layers && group_of[group->end] <= number) group->end++;
  for (int l = group->end; l < n_layers; l++) {
    int first = l;
    while (l < n_layers && group_of[l] == number) l++;
    if (l > first && add_span(heap, &group->more, &group->n_more, mafat_span(first, l)))
      return MAFAT_ENOMEM;
  }
  return MAFAT_OK;
}

/* In a plan's text a layer number may directly follow a name, so no name ends in a digit. */
static const char *const algorithm_names[MAFAT_N_ALGORITHMS] = {"auto", "direct", "winograd",
                                                                "winograd-large"};

void mafat_splits_free(struct mafat_heap *heap, struct mafat_splits *splits)
{
  for (int i = 0; i < splits->n; i++) mafat_heap_free(heap, splits->list[i].bounds);
  mafat_heap_free(heap, splits->list);
  *splits = (struct mafat_splits){NULL, 0};
}

static void release_group(struct mafat_heap *heap, struct mafat_group_spec *g)
{
  for (int a = MAFAT_DIRECT; a < MAFAT_N_ALGORITHMS; a++)
    mafat_heap_free(heap, g->algorithms[a].layers);
  mafat_heap_free(heap, g->more);
  mafat_heap_free(heap, g->depthwise);
  if (g->cut.kind == MAFAT_CUT_SPLIT) mafat_splits_free(heap, &g->cut.as.split);
  if (g->cut.kind != MAFAT_CUT_GRID) return;
  mafat_heap_free(heap, g->cut.as.grid.rows);
  mafat_heap_free(heap, g->cut.as.grid.cols);
}

MAFAT_PART(opening) void mafat_spec_close(struct mafat_spec **spec)
{
  if (!spec || !*spec) return;
  struct mafat_heap *heap = (*spec)->heap;
  for (int i = 0; i < (*spec)->n_groups; i++) release_group(heap, &(*spec)->groups[i]);
  mafat_heap_free(heap, (*spec)->groups);
  mafat_heap_free(heap, (*spec)->ranks.words);
  free((*spec)->text);
  mafat_heap_free(heap, *spec);
  *spec = NULL;
}

/* Copies n integers; if `from` is NULL, *out becomes NULL. False: out of memory. */
static bool copy_numbers(struct mafat_heap *heap, int **out, const int *from, int n)
{
  *out = from ? mafat_heap_calloc(heap, (size_t)n + 1, sizeof **out) : NULL;
  if (*out) memcpy(*out, from, (size_t)n * sizeof **out);
  return *out || !from;
}

bool mafat_ranks_copy(struct mafat_heap *heap, struct mafat_ranks *out,
                      const struct mafat_ranks *from)
{
  *out = *from;
  out->words = NULL;
  if (!from->n_words) return true;
  out->words = mafat_heap_calloc(heap, (size_t)from->n_words, sizeof *out->words);
  if (out->words) memcpy(out->words, from->words, (size_t)from->n_words * sizeof *out->words);
  return out->words;
}

bool mafat_splits_copy(struct mafat_heap *heap, struct mafat_splits *out,
                       const struct mafat_splits *from)
{
  bool enough = true;
  *out = (struct mafat_splits){mafat_heap_calloc(heap, (size_t)from->n + 1, sizeof *out->list), 0};
  if (!out->list) return false;
  for (; out->n < from->n && enough; out->n++) {
    struct mafat_split *to = &out->list[out->n];
    *to = from->list[out->n];
    enough = copy_numbers(heap, &to->bounds, to->bounds, to->n - 1);
  }
  return enough;
}

static bool copy_word(struct mafat_heap *heap, struct mafat_algorithm_word *out,
                      const struct mafat_algorithm_word *from)
{
  bool enough = true;
  out->given = from->given;
  for (int i = 0; i < from->n && enough; i++)
    enough = mafat_algorithm_word_add(heap, out, from->layers[i]) == MAFAT_OK;
  return enough;
}

static bool copy_group(struct mafat_heap *heap, struct mafat_group_spec *out,
                       const struct mafat_group_spec *from)
{
  out->end = from->end;
  out->weights = from->weights;
  out->cut = from->cut;
  bool enough = true;
  if (from->cut.kind == MAFAT_CUT_GRID) {
    const struct mafat_grid *grid = &from->cut.as.grid;
    bool rows = copy_numbers(heap, &out->cut.as.grid.rows, grid->rows, grid->n_rows - 1);
    enough = copy_numbers(heap, &out->cut.as.grid.cols, grid->cols, grid->n_cols - 1) && rows;
  }
  if (from->cut.kind == MAFAT_CUT_SPLIT)
    enough = mafat_splits_copy(heap, &out->cut.as.split, &from->cut.as.split);
  for (int i = 0; i < from->n_more && enough; i++)
    enough = add_span(heap, &out->more, &out->n_more, from->more[i]) == MAFAT_OK;
  for (int a = MAFAT_DIRECT; a < MAFAT_N_ALGORITHMS && enough; a++)
    enough = copy_word(heap, &out->algorithms[a], &from->algorithms[a]);
  for (int i = 0; i < from->n_depthwise && enough; i++)
    enough = mafat_depthwise_word_add(heap, out, from->depthwise[i]) == MAFAT_OK;
  return enough;
}

MAFAT_PART(opening)
int mafat_spec_append(struct mafat_spec *spec, const struct mafat_group_spec *group)
{
  struct mafat_group_spec *g = mafat_spec_add(spec);
  return g && copy_group(spec->heap, g, group) ? MAFAT_OK : MAFAT_ENOMEM;
}

MAFAT_PART(opening)
int mafat_spec_copy(struct mafat_spec **out, const struct mafat_spec *spec, struct mafat_heap *heap)
{
  int code = (*out = mafat_spec_new(heap)) ? reserve_groups(*out, spec->n_groups) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) {
    (*out)->op_order = spec->op_order;
    (*out)->in_place = spec->in_place;
    if (!mafat_ranks_copy(heap, &(*out)->ranks, &spec->ranks)) code = MAFAT_ENOMEM;
  }
  for (int i = 0; i < spec->n_groups && code == MAFAT_OK; i++)
    code = mafat_spec_append(*out, &spec->groups[i]);
  if (code) mafat_spec_close(out);
  return code;
}

/* ---- parser ---- */

/* Each take_* function parses one element of the text and moves `at` past it. */
struct parser {
  const char *text, *at; /* the whole text; its next character */
  struct mafat_diagnostic *d;
};

static int out_of_memory(const struct parser *p)
{
  return mafat_fail(p->d, MAFAT_ENOMEM, "plan %.60s: out of memory", p->text);
}

/* Fails: `what` was expected at the next character. */
MAFAT_PART(opening) static int expected(const struct parser *p, const char *what)
{
  if (*p->at == '\0')
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected %s at its end", p->text, what);
  return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected %s at character %d, found %.20s",
                    p->text, what, (int)(p->at - p->text) + 1, p->at);
}

/* Moves past `word` and returns true, if it is next. */
static bool take(struct parser *p, const char *word)
{
  size_t n = strlen(word);
  if (strncmp(p->at, word, n) != 0) return false;
  p->at += n;
  return true;
}

MAFAT_PART(opening) static int take_number(struct parser *p, const char *what, int *value)
{
  if (!isdigit((unsigned char)*p->at)) return expected(p, what);
  char *end;
  errno = 0;
  long v = strtol(p->at, &end, 10);
  if (errno || v > MAFAT_MAX_EXTENT) return expected(p, "a smaller number");
  p->at = end;
  *value = (int)v;
  return MAFAT_OK;
}

/* Parses inner boundaries after the bracket: "100,204]" of "[100,204]". */
MAFAT_PART(opening) static int take_bounds(struct parser *p, int **bounds, int *n_parts)
{
  int n = 0, code;
  int *list = NULL;
  while (!take(p, "]")) {
    int value;
    if (n && !take(p, ",")) {
      code = expected(p, "a comma or ]");
      goto fail;
    }
    if ((code = take_number(p, "a boundary", &value))) goto fail;
    int *grown = realloc(list, (size_t)(n + 1) * sizeof *list);
    if (!grown) {
      code = out_of_memory(p);
      goto fail;
    }
    list = grown;
    if (value <= (n ? list[n - 1] : 0)) {
      code = mafat_fail(p->d, MAFAT_EINVAL,
                        "plan %.60s: expected rising boundaries above 0, found %d", p->text, value);
      goto fail;
    }
    list[n++] = value;
  }
  *bounds = list;
  *n_parts = n + 1;
  return MAFAT_OK;
fail:
  free(list);
  return code;
}

/* Parses one axis of a grid: "5" or "[100,204]". */
MAFAT_PART(opening) static int take_side(struct parser *p, int **bounds, int *n_parts)
{
  if (take(p, "[")) return take_bounds(p, bounds, n_parts);
  int code = take_number(p, "a grid like 5x5", n_parts);
  if (code) return code;
  if (*n_parts < 1 || *n_parts > MAX_TILES_PER_AXIS)
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected 1 to %d tiles per axis, found %d",
                      p->text, MAX_TILES_PER_AXIS, *n_parts);
  return MAFAT_OK;
}

static int take_rows(struct parser *p, struct mafat_cut *cut)
{
  *cut = mafat_cut_rows(0);
  if (!isdigit((unsigned char)*p->at)) return MAFAT_OK;
  int code = take_number(p, "rows per step", &cut->as.rows.least);
  if (code || cut->as.rows.least >= 1) return code;
  return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected at least 1 row per step, found 0",
                    p->text);
}

static int take_grid(struct parser *p, struct mafat_grid *grid)
{
  int code = take_side(p, &grid->rows, &grid->n_rows);
  if (code) return code;
  if (!take(p, "x")) return expected(p, "x between the sides of a grid");
  return take_side(p, &grid->cols, &grid->n_cols);
}

/* Like expected(), but words the end of the text as "found its end". */
static int expected_layer(const struct parser *p, const char *what)
{
  return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected %s at character %d, found %.20s",
                    p->text, what, (int)(p->at - p->text) + 1, *p->at ? p->at : "its end");
}

MAFAT_PART(opening) static int take_layer(struct parser *p, int *layer)
{
  long value = 0;
  if (!isdigit((unsigned char)*p->at)) return expected_layer(p, "a layer");
  for (; isdigit((unsigned char)*p->at); ++p->at) {
    value = value * 10 + (*p->at - '0');
    if (value >= MAFAT_MAX_LAYERS) return expected_layer(p, "a smaller layer number");
  }
  *layer = (int)value;
  return MAFAT_OK;
}

/* Parses layers: "12" or "12-17". */
MAFAT_PART(opening) static int take_layer_span(struct parser *p, struct mafat_span *span)
{
  int code = take_layer(p, &span->begin);
  if (code) return code;
  span->end = span->begin;
  if (take(p, "-") && (code = take_layer(p, &span->end))) return code;
  if (span->end++ < span->begin)
    return mafat_fail(p->d, MAFAT_EINVAL,
                      "plan %.60s: expected layers in rising order, found %d-%d", p->text,
                      span->begin, span->end - 1);
  return MAFAT_OK;
}

/* Parses the parts of a split: "4" of "h4:12-17", or "[20,30]" of "h[20,30]:12-17". */
static int take_parts(struct parser *p, struct mafat_split *split)
{
  int code = take(p, "[") ? take_bounds(p, &split->bounds, &split->n)
                          : take_number(p, "a number of parts, or [", &split->n);
  if (code || (split->n >= 2 && split->n <= MAFAT_MOST_SPLIT_PARTS)) return code;
  return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected 2 to %d parts, found %d", p->text,
                    MAFAT_MOST_SPLIT_PARTS, split->n);
}

/* Parses one split: "h4:12-17". */
static int take_split(struct parser *p, struct mafat_splits *splits)
{
  int axis = 0;
  char letter[] = "?";
  if (splits->n == MAFAT_MOST_SPLITS)
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected at most %d splits", p->text,
                      MAFAT_MOST_SPLITS);
  for (; axis < MAFAT_N_SPLIT_AXES; axis++) {
    letter[0] = mafat_split_letter((enum mafat_split_axis)axis);
    if (take(p, letter)) break;
  }
  if (axis == MAFAT_N_SPLIT_AXES) return expected(p, "the axis of a split (h, w or c)");
  struct mafat_split *grown = realloc(splits->list, (size_t)(splits->n + 1) * sizeof *grown);
  if (!grown) return out_of_memory(p);
  splits->list = grown;
  struct mafat_split *split = &grown[splits->n++];
  *split = (struct mafat_split){.axis = (enum mafat_split_axis)axis};
  int code = take_parts(p, split);
  if (code) return code;
  return take(p, ":") ? take_layer_span(p, &split->layers) : expected(p, "a colon and layers");
}

/* Parses what follows "split(": splits and the closing parenthesis. */
static int take_splits(struct parser *p, struct mafat_cut *cut)
{
  *cut = (struct mafat_cut){.kind = MAFAT_CUT_SPLIT};
  if (take(p, "whole)")) return MAFAT_OK;
  do {
    int code = take_split(p, &cut->as.split);
    if (code) return code;
  } while (take(p, ","));
  return take(p, ")") ? MAFAT_OK : expected(p, "a comma or )");
}

static int take_cut(struct parser *p, struct mafat_cut *cut)
{
  if (take(p, "rows")) return take_rows(p, cut);
  if (take(p, "split(")) return take_splits(p, cut);
  if (!take(p, "panels")) return take_grid(p, &cut->as.grid);
  *cut = mafat_cut_panels(false);
  return MAFAT_OK;
}

/* Parses what may follow ":streamed": a number of reads in the ring. */
static int take_ring(struct parser *p, struct mafat_group_weights *w)
{
  w->placement = MAFAT_STREAMED;
  if (!isdigit((unsigned char)*p->at)) return MAFAT_OK;
  int code = take_number(p, "reads in the ring", &w->ring);
  if (code || (w->ring >= MAFAT_RING_READS && w->ring <= MOST_RING)) return code;
  return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected a ring of %d to %d reads, found %d",
                    p->text, MAFAT_RING_READS, MOST_RING, w->ring);
}

/* Parses what may follow ":loaded": a number of KiB. Layers with more weights are then streamed. */
static int take_loaded(struct parser *p, struct mafat_group_weights *w)
{
  w->placement = MAFAT_LOADED;
  if (!isdigit((unsigned char)*p->at)) return MAFAT_OK;
  int code = take_number(p, "kilobytes", &w->loaded_kb);
  if (code) return code;
  w->placement = MAFAT_STREAMED;
  if (w->loaded_kb >= 1 && w->loaded_kb <= MOST_LOADED_KB) return MAFAT_OK;
  return mafat_fail(p->d, MAFAT_EINVAL,
                    "plan %.60s: expected 1 to %d kilobytes of a layer, found %d", p->text,
                    MOST_LOADED_KB, w->loaded_kb);
}

/* Parses what may follow the name of an algorithm: layers, as "22,26-28". */
static int take_layers(struct parser *p, struct mafat_algorithm_word *word)
{
  word->given = true;
  if (!isdigit((unsigned char)*p->at)) return MAFAT_OK;
  do {
    struct mafat_span span;
    int code = take_layer_span(p, &span);
    if (code) return code;
    if (mafat_algorithm_word_add(NULL, word, span)) return out_of_memory(p);
  } while (take(p, ","));
  return MAFAT_OK;
}

/* Parses what follows "dw": rows, as "4", or rows and layers, as "(0:3,4:7-9)". */
static int take_depthwise(struct parser *p, struct mafat_group_spec *g)
{
  bool listed = take(p, "(");
  do {
    struct mafat_depthwise_word word = {0, {0, 0}};
    int code =
        take_number(p, listed ? "rows, a colon and layers" : "rows or ( after dw", &word.rows);
    if (code == MAFAT_OK && listed)
      code = take(p, ":") ? take_layer_span(p, &word.layers) : expected(p, "a colon and layers");
    if (code) return code;
    if (mafat_depthwise_word_add(NULL, g, word)) return out_of_memory(p);
  } while (listed && take(p, ","));
  return !listed || take(p, ")") ? MAFAT_OK : expected(p, "a comma or )");
}

/* Parses one word of a group, after its colon. Sets *again if the word was given before or
 * contradicts another one. */
static int take_word(struct parser *p, struct mafat_group_spec *g, bool *again)
{
  static const char *const words[] = {
      [MAFAT_CUT_GRID] = "balanced, loaded, streamed, direct, winograd, winograd-large or dw",
      [MAFAT_CUT_ROWS] = "early, bricks, loaded, streamed, direct, winograd, winograd-large or dw",
      [MAFAT_CUT_PANELS] = "apart, loaded, streamed, direct, winograd, winograd-large or dw",
      [MAFAT_CUT_SPLIT] = "loaded, streamed, direct, winograd, winograd-large or dw"};
  bool *once = NULL;
  if (g->cut.kind == MAFAT_CUT_GRID && take(p, "balanced")) once = &g->cut.as.grid.balanced;
  else if (g->cut.kind == MAFAT_CUT_PANELS && take(p, "apart")) once = &g->cut.as.panels.apart;
  else if (g->cut.kind == MAFAT_CUT_ROWS && take(p, "early")) once = &g->cut.as.rows.early;
  else if (g->cut.kind == MAFAT_CUT_ROWS && take(p, "bricks")) once = &g->cut.as.rows.partitioned;
  if (once) {
    *again = *again || *once;
    *once = true;
    return MAFAT_OK;
  }
  bool loaded = take(p, "loaded");
  if (loaded || take(p, "streamed")) {
    *again = *again || g->weights.placement != MAFAT_KEPT;
    return loaded ? take_loaded(p, &g->weights) : take_ring(p, &g->weights);
  }
  if (take(p, "dw")) {
    *again = *again || g->n_depthwise;
    return take_depthwise(p, g);
  }
  /* from the last to the first, because "winograd" is a prefix of "winograd-large" */
  int a = MAFAT_N_ALGORITHMS - 1;
  while (a >= MAFAT_DIRECT && !take(p, algorithm_names[a])) a--;
  if (a < MAFAT_DIRECT) return expected(p, words[g->cut.kind]);
  *again = *again || g->algorithms[a].given;
  return take_layers(p, &g->algorithms[a]);
}

/* Parses all words of a group, each with its colon. */
static int take_words(struct parser *p, struct mafat_group_spec *g)
{
  bool again = false;
  while (take(p, ":")) {
    int code = take_word(p, g, &again);
    if (code) return code;
  }
  if (again)
    return mafat_fail(p->d, MAFAT_EINVAL,
                      "plan %.60s: each word may be given once, and weights are loaded or "
                      "streamed, not both",
                      p->text);
  int given = 0, whole = MAFAT_AUTO;
  for (int a = MAFAT_DIRECT; a < MAFAT_N_ALGORITHMS; a++) {
    given += g->algorithms[a].given;
    if (g->algorithms[a].given && !g->algorithms[a].n) whole = a;
  }
  if (given > 1 && whole != MAFAT_AUTO)
    return mafat_fail(
        p->d, MAFAT_EINVAL,
        "plan %.60s: expected layers after :%s, because the group has another algorithm, too",
        p->text, algorithm_names[whole]);
  const struct mafat_grid *grid = &g->cut.as.grid;
  if (g->cut.kind == MAFAT_CUT_GRID && grid->balanced && (grid->rows || grid->cols))
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: boundaries are given or balanced, not both",
                      p->text);
  return MAFAT_OK;
}

/* True if the text begins with `word`. */
static bool begins(const char *text, const char *word)
{
  return strncmp(text, word, strlen(word)) == 0;
}

/* True at the end of the last group. Suffixes that apply to the whole plan may follow. */
static bool groups_end(const struct parser *p)
{
  return *p->at == '\0' || begins(p->at, ORDER) || begins(p->at, IN_PLACE) || begins(p->at, RANKS);
}

/* Parses "/order=best", if it is next. */
static int take_order(struct parser *p, enum mafat_op_order *op_order)
{
  if (!take(p, ORDER)) return MAFAT_OK;
  for (int how = 0; how < MAFAT_N_SORTINGS; how++) {
    const char *name = mafat_op_order_name((enum mafat_op_order)how), *after = p->at + strlen(name);
    if (!begins(p->at, name) || (*after && strcmp(after, IN_PLACE) != 0 && !begins(after, RANKS)))
      continue;
    *op_order = (enum mafat_op_order)how;
    p->at = after;
    return MAFAT_OK;
  }
  return expected(
      p, "file, postorder, forward, sp or best, followed by /inplace, /ranks= or nothing,");
}

/* Parses what follows "/ranks=": "6" or "6,8-11:2". */
static int take_ranks(struct parser *p, struct mafat_ranks *ranks)
{
  int code = take_number(p, "a number of ranks", &ranks->n);
  if (code == MAFAT_OK && (ranks->n < 1 || ranks->n > MAFAT_MOST_RANKS))
    code = mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected 1 to %d ranks, found %d", p->text,
                      MAFAT_MOST_RANKS, ranks->n);
  while (code == MAFAT_OK && take(p, ",")) {
    struct mafat_rank_word word;
    struct mafat_rank_word *grown =
        realloc(ranks->words, (size_t)(ranks->n_words + 1) * sizeof *grown);
    if (!grown) return out_of_memory(p);
    ranks->words = grown;
    code = take_layer_span(p, &word.layers);
    if (code == MAFAT_OK && !take(p, ":")) code = expected(p, "a colon and a rank");
    if (code == MAFAT_OK) code = take_number(p, "a rank", &word.rank);
    if (code == MAFAT_OK && word.rank >= ranks->n)
      code = mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected a rank below %d, found %d",
                        p->text, ranks->n, word.rank);
    if (code == MAFAT_OK) grown[ranks->n_words++] = word;
  }
  return code || *p->at == '\0' ? code : expected(p, "a comma, or nothing after the ranks,");
}

/* Parses the suffixes of the plan: an optional "/order=...", then an optional "/inplace" or
 * "/ranks=...". */
static int take_suffixes(struct parser *p, struct mafat_spec *spec)
{
  int code = take_order(p, &spec->op_order);
  if (code || *p->at == '\0') return code;
  if (take(p, RANKS)) return take_ranks(p, &spec->ranks);
  if (strcmp(p->at, IN_PLACE) != 0) return expected(p, "/inplace, and nothing after it,");
  spec->in_place = true;
  return MAFAT_OK;
}

/* Parses the layers of a group, after a slash: its end, as "12", or its end and more layers, as
 * "12,40,44-45". */
static int take_end_of_group(struct parser *p, struct mafat_group_spec *g)
{
  int code = take_number(p, "a cut (a layer number) or NoCut", &g->end);
  while (code == MAFAT_OK && take(p, ",")) {
    struct mafat_span span;
    code = take_layer_span(p, &span);
    if (code == MAFAT_OK && add_span(NULL, &g->more, &g->n_more, span)) code = out_of_memory(p);
  }
  return code;
}

/* Parses a group, with its end and the slash after it. *last: it was the last group, which has no
 * end; then the plan's suffixes are parsed too. */
static int take_group(struct parser *p, struct mafat_spec *spec, bool *last)
{
  struct mafat_group_spec *g = mafat_spec_add(spec);
  int code = g ? take_cut(p, &g->cut) : out_of_memory(p);
  if (code == MAFAT_OK) code = take_words(p, g);
  if (code) return code;
  const char *at = p->at;
  if (spec->n_groups == 1) take(p, "/NoCut");
  *last = groups_end(p);
  if (*last) return take_suffixes(p, spec);
  p->at = at;
  if (!take(p, "/")) return expected(p, "/ before a cut");
  if ((code = take_end_of_group(p, g))) return code;
  return take(p, "/") ? MAFAT_OK : expected(p, "/ and a grid after a cut");
}

MAFAT_PART(opening)
int mafat_spec_read(struct mafat_spec **out, const char *text, struct mafat_diagnostic *d)
{
  struct parser p = {text, text, d};
  bool last = false;
  *out = NULL;
  if (strlen(text) > MAX_TEXT) return mafat_fail(d, MAFAT_EINVAL, "plan: the text is too long");
  struct mafat_spec *spec = mafat_spec_new(NULL);
  if (spec) spec->text = strdup(text);
  int code = spec && spec->text ? MAFAT_OK : out_of_memory(&p);
  while (code == MAFAT_OK && !last) code = take_group(&p, spec, &last);
  if (code == MAFAT_OK) *out = spec;
  else mafat_spec_close(&spec);
  return code;
}

/* ---- writer ---- */

/* Buffer for a text, which is cut off at `capacity` bytes. */
struct spec_writer {
  char *text;
  size_t capacity, length; /* length: of the whole text, including what was cut off */
};

static void put(struct spec_writer *w, const char *word)
{
  for (; *word; word++, w->length++)
    if (w->length + 1 < w->capacity) w->text[w->length] = *word;
}

static void put_number(struct spec_writer *w, int value)
{
  char digits[12], *at = digits + sizeof digits - 1;
  *at = '\0';
  do *--at = (char)('0' + value % 10);
  while (value /= 10);
  put(w, at);
}

static void write_side(struct spec_writer *w, const int *inner, int n)
{
  if (!inner) {
    put_number(w, n);
    return;
  }
  put(w, "[");
  for (int i = 0; i < n - 1; i++) {
    if (i) put(w, ",");
    put_number(w, inner[i]);
  }
  put(w, "]");
}

static void write_grid(struct spec_writer *w, const struct mafat_grid *grid)
{
  write_side(w, grid->balanced ? NULL : grid->rows, grid->n_rows);
  put(w, "x");
  write_side(w, grid->balanced ? NULL : grid->cols, grid->n_cols);
  if (grid->balanced) put(w, ":balanced");
}

static void write_layers(struct spec_writer *w, struct mafat_span layers)
{
  put_number(w, layers.begin);
  if (mafat_span_size(layers) == 1) return;
  put(w, "-");
  put_number(w, layers.end - 1);
}

static void write_splits(struct spec_writer *w, const struct mafat_splits *splits)
{
  if (splits->n == 0) put(w, "split(whole");
  for (int i = 0; i < splits->n; i++) {
    const struct mafat_split *s = &splits->list[i];
    const char letter[] = {mafat_split_letter(s->axis), '\0'};
    put(w, i ? "," : "split(");
    put(w, letter);
    write_side(w, s->bounds, s->n);
    put(w, ":");
    write_layers(w, s->layers);
  }
  put(w, ")");
}

static void write_ranks(struct spec_writer *w, const struct mafat_ranks *ranks)
{
  if (!ranks->n) return;
  put(w, RANKS);
  put_number(w, ranks->n);
  for (int i = 0; i < ranks->n_words; i++) {
    put(w, ",");
    write_layers(w, ranks->words[i].layers);
    put(w, ":");
    put_number(w, ranks->words[i].rank);
  }
}

static void write_cut(struct spec_writer *w, const struct mafat_cut *cut)
{
  switch (cut->kind) {
  case MAFAT_CUT_GRID: write_grid(w, &cut->as.grid); break;
  case MAFAT_CUT_ROWS:
    put(w, "rows");
    if (cut->as.rows.least) put_number(w, cut->as.rows.least);
    if (cut->as.rows.early) put(w, ":early");
    if (cut->as.rows.partitioned) put(w, ":bricks");
    break;
  case MAFAT_CUT_PANELS: put(w, cut->as.panels.apart ? "panels:apart" : "panels"); break;
  case MAFAT_CUT_SPLIT: write_splits(w, &cut->as.split); break;
  }
}

static void write_weights(struct spec_writer *w, const struct mafat_group_weights *weights)
{
  if (weights->placement == MAFAT_KEPT) return;
  put(w, weights->placement == MAFAT_LOADED || weights->loaded_kb ? ":loaded" : ":streamed");
  if (weights->loaded_kb) put_number(w, weights->loaded_kb);
  else if (weights->ring) put_number(w, weights->ring);
}

static void write_word(struct spec_writer *w, enum mafat_algorithm algorithm,
                       const struct mafat_algorithm_word *word)
{
  if (!word->given) return;
  put(w, ":");
  put(w, algorithm_names[algorithm]);
  for (int i = 0; i < word->n; i++) {
    if (i) put(w, ",");
    write_layers(w, word->layers[i]);
  }
}

static void write_depthwise(struct spec_writer *w, const struct mafat_group_spec *g)
{
  bool listed = g->n_depthwise && mafat_span_size(g->depthwise[0].layers) > 0;
  for (int i = 0; i < g->n_depthwise; i++) {
    put(w, i ? "," : listed ? ":dw(" : ":dw");
    put_number(w, g->depthwise[i].rows);
    if (!listed) return;
    put(w, ":");
    write_layers(w, g->depthwise[i].layers);
  }
  if (listed) put(w, ")");
}

static void write_end_of_group(struct spec_writer *w, const struct mafat_group_spec *g)
{
  put(w, "/");
  put_number(w, g->end);
  for (int i = 0; i < g->n_more; i++) {
    put(w, ",");
    write_layers(w, g->more[i]);
  }
  put(w, "/");
}

size_t mafat_spec_write(const struct mafat_spec *spec, char *text, size_t capacity)
{
  struct spec_writer w = {text, capacity, 0};
  for (int i = 0; i < spec->n_groups; i++) {
    const struct mafat_group_spec *g = &spec->groups[i];
    write_cut(&w, &g->cut);
    write_weights(&w, &g->weights);
    for (int a = MAFAT_DIRECT; a < MAFAT_N_ALGORITHMS; a++)
      write_word(&w, (enum mafat_algorithm)a, &g->algorithms[a]);
    write_depthwise(&w, g);
    if (i + 1 < spec->n_groups) write_end_of_group(&w, g);
  }
  if (spec->n_groups == 1) put(&w, "/NoCut");
  if (spec->op_order != MAFAT_OP_ORDER_FILE) {
    put(&w, ORDER);
    put(&w, mafat_op_order_name(spec->op_order));
  }
  if (spec->in_place) put(&w, IN_PLACE);
  write_ranks(&w, &spec->ranks);
  if (capacity) text[w.length < capacity ? w.length : capacity - 1] = '\0';
  return w.length;
}

char *mafat_spec_text(const struct mafat_spec *spec)
{
  size_t capacity = mafat_spec_write(spec, NULL, 0) + 1;
  char *text = malloc(capacity);
  if (text) mafat_spec_write(spec, text, capacity);
  return text;
}

MAFAT_PART(opening)
int mafat_spec_compare(const struct mafat_spec *a, const struct mafat_spec *b, bool length)
{
  char x[COMPARED_TEXT], y[COMPARED_TEXT];
  size_t m = mafat_spec_write(a, x, sizeof x), n = mafat_spec_write(b, y, sizeof y);
  if (length && m != n) return m < n ? -1 : 1;
  return strcmp(x, y);
}

/* ---- names ---- */

const char *mafat_algorithm_name(enum mafat_algorithm algorithm)
{
  return algorithm_names[algorithm];
}

MAFAT_PART(opening) bool mafat_algorithm_find(enum mafat_algorithm *algorithm, const char *name)
{
  for (int a = MAFAT_AUTO; a < MAFAT_N_ALGORITHMS; a++)
    if (strcmp(name, algorithm_names[a]) == 0) {
      *algorithm = (enum mafat_algorithm)a;
      return true;
    }
  return false;
}

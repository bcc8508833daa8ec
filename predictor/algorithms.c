#include "predictor/algorithms.h"

#include "predictor/winograd.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum mafat_algorithm default_of(enum mafat_algorithm wanted, const struct mafat_layer *l)
{
  bool winograd = wanted == MAFAT_AUTO ? mafat_winograd_pays(l)
                                       : wanted == MAFAT_WINOGRAD && mafat_winograd_applies(l);
  return winograd ? MAFAT_WINOGRAD : MAFAT_DIRECT;
}

int mafat_algorithms_default(struct mafat_plan *plan, const struct mafat_network *n)
{
  plan->algorithms = calloc((size_t)plan->n_layers, sizeof *plan->algorithms);
  if (!plan->algorithms) return MAFAT_ENOMEM;
  for (int l = 0; l < plan->n_layers; l++) plan->algorithms[l] = default_of(plan->wanted, &n->layers[l]);
  return MAFAT_OK;
}

/* ---- reading ---- */

static int expected(const char *text, const char *at, const char *what, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EINVAL, "plan %.60s: expected %s at character %d, found %.20s", text, what,
                    (int)(at - text) + 1, *at ? at : "its end");
}

static int take_layer(const char *text, const char **at, int *layer, struct mafat_diagnostic *d)
{
  long value = 0;
  if (!isdigit((unsigned char)**at)) return expected(text, *at, "a layer", d);
  for (; isdigit((unsigned char)**at); ++*at) {
    value = value * 10 + (**at - '0');
    if (value >= MAFAT_MAX_LAYERS) return expected(text, *at, "a layer of the group", d);
  }
  *layer = (int)value;
  return MAFAT_OK;
}

int mafat_algorithms_take(struct mafat_algorithm_word *word, const char *text, const char **at,
                          struct mafat_diagnostic *d)
{
  word->given = true;
  if (!isdigit((unsigned char)**at)) return MAFAT_OK;
  do {
    struct mafat_span span;
    int code = take_layer(text, at, &span.begin, d);
    if (code) return code;
    span.end = span.begin;
    if (**at == '-') {
      ++*at;
      if ((code = take_layer(text, at, &span.end, d))) return code;
    }
    if (span.end++ < span.begin)
      return mafat_fail(d, MAFAT_EINVAL, "plan %.60s: expected layers in rising order, found %d-%d", text, span.begin,
                        span.end - 1);
    struct mafat_span *grown = realloc(word->layers, (size_t)(word->n + 1) * sizeof *grown);
    if (!grown) return mafat_fail(d, MAFAT_ENOMEM, "plan %.60s: out of memory", text);
    word->layers = grown;
    word->layers[word->n++] = span;
  } while (**at == ',' && ++*at);
  return MAFAT_OK;
}

void mafat_algorithms_release(struct mafat_algorithm_word *word)
{
  free(word->layers);
  *word = (struct mafat_algorithm_word){0};
}

int mafat_algorithms_apply(struct mafat_plan *plan, const struct mafat_network *n, int first, int end,
                           enum mafat_algorithm algorithm, const struct mafat_algorithm_word *word, const char *text,
                           struct mafat_diagnostic *d)
{
  struct mafat_span all = {first, end};
  const struct mafat_span *spans = word->n ? word->layers : &all;
  if (!word->given) return MAFAT_OK;
  for (int i = 0; i < (word->n ? word->n : 1); i++) {
    if (spans[i].begin < first || spans[i].end > end)
      return mafat_fail(d, MAFAT_EINVAL, "plan %.60s: expected layers %d to %d behind :%s, found %d", text, first,
                        end - 1, mafat_algorithm_name(algorithm), spans[i].begin < first ? spans[i].begin : spans[i].end - 1);
    for (int l = spans[i].begin; l < spans[i].end; l++) {
      bool applies = algorithm == MAFAT_DIRECT || mafat_winograd_applies(&n->layers[l]);
      if (!applies && word->n && mafat_span_size(spans[i]) == 1)
        return mafat_fail(d, MAFAT_EINVAL, "plan %.60s: expected a 3x3 convolution of stride 1 behind :winograd, found layer %d [%s]",
                          text, l, mafat_layer_type_name(n->layers[l].type));
      if (applies) plan->algorithms[l] = algorithm;
    }
  }
  return MAFAT_OK;
}

/* ---- writing ---- */

/* Is the layer one that has a choice, and is it not the default? */
static bool differs(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  return plan->algorithms[layer] != default_of(plan->wanted, &n->layers[layer]);
}

/* Can the word stand for the whole group? */
static bool is_everywhere(const struct mafat_plan *plan, const struct mafat_network *n, int first, int end,
                          enum mafat_algorithm algorithm)
{
  for (int l = first; l < end; l++)
    if (mafat_winograd_applies(&n->layers[l]) && plan->algorithms[l] != algorithm) return false;
  return true;
}

static void append(char *text, size_t room, size_t *length, const char *format, int value)
{
  size_t left = *length < room ? room - *length : 0;
  int n = snprintf(left ? text + *length : NULL, left, format, value);
  if (n > 0) *length += (size_t)n;
}

/* Runs of layers that differ; what has no choice may lie between them. */
static void write_layers(const struct mafat_plan *plan, const struct mafat_network *n, int first, int end,
                         enum mafat_algorithm algorithm, char *text, size_t room, size_t *length)
{
  const char *before = "%d";
  for (int l = first; l < end; l++) {
    if (!differs(plan, n, l) || plan->algorithms[l] != algorithm) continue;
    int last = l;
    for (int next = l + 1; next < end; next++) {
      if (!mafat_winograd_applies(&n->layers[next])) continue;
      if (plan->algorithms[next] != algorithm) break;
      if (differs(plan, n, next)) last = next;
    }
    append(text, room, length, before, l);
    if (last > l) append(text, room, length, "-%d", last);
    before = ",%d";
    l = last;
  }
}

size_t mafat_algorithms_write(const struct mafat_plan *plan, const struct mafat_network *n, int first, int end,
                              char *text, size_t room)
{
  size_t length = 0;
  if (room) text[0] = '\0';
  for (enum mafat_algorithm a = MAFAT_DIRECT; a <= MAFAT_WINOGRAD; a++) {
    bool any = false;
    for (int l = first; l < end; l++) any = any || (differs(plan, n, l) && plan->algorithms[l] == a);
    if (!any) continue;
    append(text, room, &length, a == MAFAT_DIRECT ? ":direct" : ":winograd", 0);
    if (!is_everywhere(plan, n, first, end, a)) write_layers(plan, n, first, end, a, text, room, &length);
  }
  return length;
}

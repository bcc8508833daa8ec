/* libFuzzer target: reads the input's lines as words of a command line, of run_inference and of
 * mafat_serve, and each line as the name of a search with its parameters. Accepted values must
 * be within the documented ranges. Files are opened only to find out which one contains weights.
 * Build with clang -fsanitize=fuzzer,address,undefined. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/run_inference/options.h"
#include "search/searches.h"
#include "tests/fuzz/networks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { MOST_WORDS = 60 };

static bool is_fraction(float x)
{
  return x >= 0 && x <= 1;
}

static void check_ports(const struct mafat_option_list *l)
{
  require(l->n >= 0 && l->n <= MAFAT_OPTION_LIST_ROOM);
  for (int i = 0; i < l->n; i++) require(l->list[i] != NULL);
}

/* ---- searches ---- */

static bool is_within(const char *part, size_t n, const char *text)
{
  return part > text && part + n <= text + strlen(text);
}

static void check_value(const struct mafat_search_value *v, const struct mafat_search_word *w,
                        const char *text)
{
  if (!v->given && !w->usual) return;
  bool counted = w->type == MAFAT_WORD_COUNT || w->type == MAFAT_WORD_NUMBER;
  require(!counted || (v->number >= w->least && v->number <= w->most));
  require(w->type != MAFAT_WORD_SIZE || (v->number >= w->least && (double)v->bytes == v->number));
  require(w->type != MAFAT_WORD_CHOICE || (v->choice >= 0 && w->value[0]));
  if (v->given && w->type != MAFAT_WORD_FLAG)
    require(is_within(v->text, v->length, text) && v->text[-1] == '=');
}

/* Reads a search with parameters, such as "motes:beam=8", or any other text. */
static void check_search(const char *text)
{
  struct mafat_search_value values[MAFAT_MOST_SEARCH_WORDS];
  struct mafat_diagnostic d = {""};
  const struct mafat_search *search;
  const char *words;
  int code = mafat_search_check(text, &d);
  require(code == MAFAT_OK || (code == MAFAT_EINVAL && d.text[0] && !strchr(d.text, '\n')));
  require(mafat_search_find(&search, &words, text, NULL) == code);
  if (code != MAFAT_OK) return;
  require(strncmp(text, search->name, strlen(search->name)) == 0);
  require(mafat_search_words_read(values, search, words, NULL) == MAFAT_OK);
  for (int i = 0; i < search->n_words; i++) check_value(&values[i], &search->words[i], text);
  mafat_search_is_timed(search, words);
}

/* ---- command lines ---- */

static void check(const struct mafat_options *o, int argc)
{
  if (o->show_help || o->show_version || o->calibrate) return;
  if (o->search) check_search(o->search);
  require(!o->search || mafat_search_check(o->search, NULL) == MAFAT_OK);
  require(o->cfg && o->model.path == o->cfg && o->n_images >= 0 && o->n_images < argc);
  require(o->predict || o->program == MAFAT_SERVE || o->n_images || o->inputs.n ||
          mafat_options_video(o));
  require(is_fraction(o->thresh) && is_fraction(o->nms) && o->repeat >= 1 && o->repeat <= 10000);
  require((o->threads == MAFAT_THREADS_AUTO || o->threads > 0) && o->threads <= MAFAT_MAX_THREADS &&
          o->layers >= 0 && o->layers <= 10000);
  require(o->ranks >= 0 && o->ranks <= 64 && o->link.bits >= 0 && isfinite(o->link.bits) &&
          o->link.seconds >= 0 && isfinite(o->link.seconds));
  require(o->plan_seconds >= -1 && o->plan_seconds <= 1e6 && o->max_boxes >= 0 && o->sweep.n >= 0 &&
          o->sweep.n <= MAFAT_OPTION_SIZES_ROOM);
  for (int i = 0; i < o->sweep.n; i++)
    require(o->sweep.list[i] > 0 && (i == 0 || o->sweep.list[i] >= o->sweep.list[i - 1]));
  for (int i = 0; i < o->mean.n; i++) require(isfinite(o->mean.x[i]));
  for (int i = 0; i < o->scale.n; i++) require(isfinite(o->scale.x[i]));
  require(!o->pad.n || (o->pad.x[0] >= 0 && o->pad.x[0] <= 255));
  check_ports(&o->inputs);
  check_ports(&o->constants);
  check_ports(&o->dumps);
}

static void check_lines(const uint8_t *bytes, size_t n)
{
  char *text = malloc(n + 1), *rest = text;
  require(text != NULL);
  if (n) memcpy(text, bytes, n);
  text[n] = '\0';
  for (char *line; (line = strsep(&rest, "\n"));) check_search(line);
  free(text);
}

static void read_words(const uint8_t *bytes, size_t n, enum mafat_program program)
{
  char *text = malloc(n + 1), *words[MOST_WORDS + 2] = {(char *)"run_inference"}, *rest = text;
  int argc = 1;
  require(text != NULL);
  if (n) memcpy(text, bytes, n);
  text[n] = '\0';
  for (char *word; argc <= MOST_WORDS && (word = strsep(&rest, "\n"));) words[argc++] = word;
  struct mafat_options o;
  struct mafat_diagnostic d = {""};
  mafat_options_defaults(&o, program);
  int code = mafat_options_read(&o, argc, words, &d);
  require(code == MAFAT_OK || (d.text[0] && !strchr(d.text, '\n')));
  if (code == MAFAT_OK) check(&o, argc);
  if (o.model.has_fd) close(o.model.fd);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  check_lines(bytes, n);
  read_words(bytes, n, MAFAT_RUN_INFERENCE);
  read_words(bytes, n, MAFAT_SERVE);
  return 0;
}

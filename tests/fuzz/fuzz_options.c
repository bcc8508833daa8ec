/* libFuzzer target: lines, as the words of a command line of run_inference. What is accepted is within what the options'
 * descriptions say; the same words as mafat_serve has them, which names no picture. No file is opened but to learn whether it holds
 * weights. Build with clang -fsanitize=fuzzer,address,undefined. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/run_inference/options.h"
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

static void check(const struct mafat_options *o, int argc)
{
  if (o->show_help || o->show_version || o->calibrate) return;
  require(o->cfg && o->model.path == o->cfg && o->n_images >= 0 && o->n_images < argc);
  require(o->predict || o->program == MAFAT_SERVE || o->n_images || o->inputs.n || mafat_options_video(o));
  require(is_fraction(o->thresh) && is_fraction(o->nms) && o->repeat >= 1 && o->repeat <= 10000);
  require((o->threads == MAFAT_THREADS_AUTO || o->threads > 0) && o->threads <= MAFAT_MAX_THREADS && o->layers >= 0 && o->layers <= 10000);
  require(o->ranks >= 0 && o->ranks <= 64 && o->link.bits >= 0 && isfinite(o->link.bits) && o->link.seconds >= 0 && isfinite(o->link.seconds));
  require(o->plan_seconds >= 0 && o->plan_seconds <= 1e6 && o->max_boxes >= 0 && o->sweep.n >= 0 && o->sweep.n <= MAFAT_OPTION_SIZES_ROOM);
  for (int i = 0; i < o->sweep.n; i++) require(o->sweep.list[i] > 0 && (i == 0 || o->sweep.list[i] >= o->sweep.list[i - 1]));
  for (int i = 0; i < o->mean.n; i++) require(isfinite(o->mean.x[i]));
  for (int i = 0; i < o->scale.n; i++) require(isfinite(o->scale.x[i]));
  require(!o->pad.n || (o->pad.x[0] >= 0 && o->pad.x[0] <= 255));
  check_ports(&o->inputs);
  check_ports(&o->constants);
  check_ports(&o->dumps);
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
  read_words(bytes, n, MAFAT_RUN_INFERENCE);
  read_words(bytes, n, MAFAT_SERVE);
  return 0;
}

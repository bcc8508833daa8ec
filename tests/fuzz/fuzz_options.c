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

static void check_ports(const char *const *list, int n)
{
  require(n >= 0 && n <= MAFAT_OPTION_PORTS);
  for (int i = 0; i < n; i++) require(list[i] != NULL);
}

static void check(const struct mafat_options *o, int argc)
{
  if (o->show_help || o->show_version || o->calibrate) return;
  require(o->cfg && o->model.path == o->cfg && o->n_images >= 0 && o->n_images < argc);
  require(o->predict || o->serves || o->n_images || o->input || mafat_options_video(o));
  require(is_fraction(o->thresh) && is_fraction(o->nms) && o->repeat >= 1 && o->repeat <= 10000);
  require((o->threads == MAFAT_THREADS_AUTO || o->threads > 0) && o->threads <= MAFAT_MAX_THREADS && o->layers >= 0 && o->layers <= 10000);
  require(o->ranks >= 0 && o->ranks <= 64 && o->link_bits >= 0 && isfinite(o->link_bits) && o->link_seconds >= 0 && isfinite(o->link_seconds));
  require(o->plan_seconds >= 0 && o->plan_seconds <= 1e6 && o->max_boxes >= 0 && o->n_sweep >= 0 && o->n_sweep <= MAFAT_SWEEP_SIZES);
  for (int i = 0; i < o->n_sweep; i++) require(o->sweep_bytes[i] > 0 && (i == 0 || o->sweep_bytes[i] >= o->sweep_bytes[i - 1]));
  for (int i = 0; i < o->n_mean; i++) require(isfinite(o->mean[i]));
  for (int i = 0; i < o->n_scale; i++) require(isfinite(o->scale[i]));
  require(!o->has_pad || (o->pad >= 0 && o->pad <= 255));
  check_ports(o->inputs, o->n_inputs);
  check_ports(o->constants, o->n_constants);
  check_ports(o->dumps, o->n_dumps);
}

static void read_words(const uint8_t *bytes, size_t n, bool serves)
{
  char *text = malloc(n + 1), *words[MOST_WORDS + 2] = {(char *)"run_inference"}, *rest = text;
  int argc = 1;
  require(text != NULL);
  if (n) memcpy(text, bytes, n);
  text[n] = '\0';
  for (char *word; argc <= MOST_WORDS && (word = strsep(&rest, "\n"));) words[argc++] = word;
  struct mafat_options o;
  struct mafat_diagnostic d = {""};
  mafat_options_defaults(&o);
  o.serves = serves;
  int code = mafat_options_read(&o, argc, words, &d);
  require(code == MAFAT_OK || (d.text[0] && !strchr(d.text, '\n')));
  if (code == MAFAT_OK) check(&o, argc);
  if (o.model.has_fd) close(o.model.fd);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  read_words(bytes, n, false);
  read_words(bytes, n, true);
  return 0;
}

#include "runner/program/run_inference/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double mafat_session_now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int mafat_session_exit_status(int code)
{
  switch (code) {
  case MAFAT_OK: return 0;
  case MAFAT_ELIMIT: return EXIT_DOES_NOT_FIT;
  case MAFAT_ENOMEM: return EXIT_RUNNING;
  default: return EXIT_INPUT;
  }
}

/* Paths may hold anything: control characters do not reach the terminal. At once, and
 * not through stdio, whose code no other message needs. */
void mafat_session_complain(const char *text)
{
  char line[1200];
  int n = snprintf(line, sizeof line, "run_inference: %s", text);
  size_t length = n < 0 ? 0 : (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)line[i] < ' ' || line[i] == 127) line[i] = '?';
  line[length++] = '\n';
  for (size_t done = 0; done < length;) {
    ssize_t got = write(STDERR_FILENO, line + done, length - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    done += (size_t)got;
  }
}

void mafat_session_warn(void *context, const char *text)
{
  const struct mafat_session *s = context;
  char line[600];
  snprintf(line, sizeof line, "warning: %s", text);
  if (!s->options.quiet) mafat_session_complain(line);
}

void mafat_session_tell_fork(struct mafat_session *s, const char *fork_sign)
{
  char text[400];
  if (!fork_sign || s->fork_told) return;
  s->fork_told = true;
  snprintf(text, sizeof text, "%.200s: run as by AlexeyAB's Darknet (%s), see --fork", s->options.cfg, fork_sign);
  mafat_session_warn(s, text);
}

void mafat_session_tell_decode(struct mafat_session *s, const char *decode, const char *sign)
{
  char text[400];
  bool wished = s->options.decode && strcmp(s->options.decode, "auto") != 0;
  if (!decode || !sign || wished || s->options.quiet || s->decode_told) return;
  s->decode_told = true;
  snprintf(text, sizeof text, "%.200s: decoded as %s, by its dimensions: %s; see --decode", s->options.cfg, decode, sign);
  mafat_session_complain(text);
}

/* A list that is still to be read is taken for ordinary JPEGs. */
const char *mafat_session_picture(const struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  return !o->n_images || strcmp(o->images[0], "-") == 0 ? NULL : o->images[0];
}

struct mafat_model_options mafat_session_model_options(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_options m;
  mafat_model_defaults(&m);
  m.memory_bytes = o->memory_bytes;
  m.memory_name = "--memory";
  m.reserve_bytes = o->reserve_bytes;
  m.lock = o->lock;
  m.plan = o->plan;
  m.search = o->search;
  m.bias_bytes = o->bias_bytes;
  m.layers = o->layers;
  m.fork = o->fork;
  m.image_scaling = o->image_scaling;
  m.mean = o->n_mean ? o->mean : NULL;
  m.scale = o->n_scale ? o->scale : NULL;
  m.channels = o->channels;
  m.resize = o->resize;
  m.pad = o->has_pad ? &o->pad : NULL;
  m.decode = o->decode;
  m.constants = o->constants;
  m.n_constants = o->n_constants;
  m.algorithm = o->algorithm;
  m.threads = o->threads;
  m.cpu = o->cpu;
  m.best_effort = o->best_effort;
  m.max_boxes = o->max_boxes;
  m.picture = mafat_session_picture(s);
  m.picture_may_fail = o->n_images > 1;
  m.floats_only = mafat_options_floats_only(o);
  m.warnings = (struct mafat_warning_sink){mafat_session_warn, s};
  return m;
}

/* Generates the networks of a calibration as cfg text, and random weights for them. Called by
 * runner/calibrate/calibrate.c. Allocates the network, which the caller closes; writes weights to
 * the given descriptor. */
#include "runner/calibrate/calibrate_networks.h"
#include "formats/darknet/darknet.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CFG_ROOM = 16384 };

/* Each word describes a layer:
 *   cF,K[,S]  convolution with F filters of K x K and stride S. Its activation is leaky, unless a
 *             last letter gives another: L logistic, E elu, - linear
 *   dC,K[,S]  depthwise convolution with C channels
 *   mK,S      maxpool of K x K with stride S
 *   sN        shortcut from the Nth layer before
 *   uS, oS    upsample, reorg with stride S
 *   gF        connected layer with F outputs
 *   x         softmax
 *   y         yolo with 3 boxes and (filters / 3 - 5) classes
 *   r         region with 5 boxes and (filters / 5 - 5) classes */
static const struct {
  int extent;  /* width and height of the picture, in pixels */
  bool scaled; /* mafat_calibrate_scale.channels divides the numbers of filters */
  const char *words;
} networks[MAFAT_CALIBRATE_NETWORKS] = {
    {256, true, /* wide maps to narrow ones, as in Darknet-19 */
     "c32,3 m2,2 c64,3 m2,2 c128,3 c64,1 c128,3 m2,2 c256,3 c128,1 c256,3 m2,2 c512,3 c256,1 "
     "c512,3 c256,1 c512,3 "
     "m2,2 c1024,3 c512,1"},
    {256, true, /* residual, as in YOLOv3 */
     "c32,3 c64,3,2 c32,1 c64,3 s3 c128,3,2 c64,1 c128,3 s3 c64,1 c128,3 s3 c256,3,2 c128,1 c256,3 "
     "s3 c128,1 "
     "c256,3 s3 c512,3,2 c256,1 c512,3 s3 c1024,1 c256,1"},
    {256, false, /* depthwise and narrow, as in Yolo-Fastest */
     "c8,3,2 c8,1 d8,3 c4,1- c8,1 d8,3 c4,1- s4 c24,1 d24,3,2 c8,1- c48,1 d48,3 c8,1- s4 c48,1 "
     "d48,3 c8,1- s4 "
     "c48,1 d48,3,2 c16,1- c96,1 d96,3 c16,1- s4 c96,1 d96,3 c16,1- s4 c96,1 d96,3 c16,1- c96,1 "
     "d96,3,2 "
     "c48,1- c224,1 d224,3 c48,1- s4 c224,1 d224,3 c48,1- s4 m5,1 m9,1 c96,1 d96,5 c96,1- u2 d96,5 "
     "c75,1- y"},
    {160, false, "c8,3 m2,2 c16,3 m2,2 c32,3 m2,2 c48,3 m2,2 c72,3 c48,1 c80,3 c33,1- y"},
    {128, false, /* rare kinds */
     "c24,3E m3,2 c64,1L m2,1 c32,3,2 c64,1 m3,2 c64,3 o2 c125,1- r"},
    {48, false, "c32,3 m2,2 c64,3 g512 g1000- x"},
};

struct cfg_text {
  char *at, *end;
  int channels;
};

static void put(struct cfg_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct cfg_text *t, const char *format, ...)
{
  va_list list;
  va_start(list, format);
  int n = vsnprintf(t->at, (size_t)(t->end - t->at), format, list);
  va_end(list);
  if (n > 0 && n < t->end - t->at) t->at += n;
}

static const char *activation_of(const char *word)
{
  switch (word[strcspn(word, "LE-")]) {
  case 'L': return "logistic";
  case 'E': return "elu";
  case '-': return "linear";
  default: return "leaky";
  }
}

/* Parses up to three numbers separated by commas, such as "16,3,1". Leaves the others unchanged. */
static void read_numbers(const char *text, int *const numbers[3])
{
  for (int i = 0; i < 3 && isdigit((unsigned char)*text); i++) {
    char *end;
    *numbers[i] = (int)strtoul(text, &end, 10);
    text = end + (*end == ',');
  }
}

static void put_layer(struct cfg_text *t, const char *word, int divisor)
{
  int a = 0, size = 1, stride = 1;
  read_numbers(word + 1, (int *const[]){&a, &size, &stride});
  int filters = word[0] == 'c' && a / divisor > 0 ? a / divisor : a;
  switch (word[0]) {
  case 'c':
  case 'd':
    put(t, "[convolutional]\nfilters=%d\nsize=%d\nstride=%d\npad=1\ngroups=%d\nactivation=%s\n",
        filters, size, stride, word[0] == 'd' ? a : 1, activation_of(word));
    t->channels = filters;
    break;
  case 'm': put(t, "[maxpool]\nsize=%d\nstride=%d\n", a, size); break;
  case 's': put(t, "[shortcut]\nfrom=-%d\nactivation=linear\n", a); break;
  case 'u': put(t, "[upsample]\nstride=%d\n", a); break;
  case 'o': put(t, "[reorg]\nstride=%d\n", a); break;
  case 'g': put(t, "[connected]\noutput=%d\nactivation=%s\n", a, activation_of(word)); break;
  case 'x': put(t, "[softmax]\n"); break;
  case 'y':
    put(t, "[yolo]\nmask=0,1,2\nanchors=10,14, 23,27, 37,58\nnum=3\nclasses=%d\n",
        t->channels / 3 - 5);
    break;
  default:
    put(t, "[region]\nanchors=1,1, 2,2, 3,3, 4,4, 5,5\nnum=5\ncoords=4\nsoftmax=1\nclasses=%d\n",
        t->channels / 5 - 5);
  }
}

int mafat_calibrate_network(struct mafat_network **out, int number,
                            struct mafat_calibrate_scale scale, struct mafat_diagnostic *d)
{
  struct mafat_cfg *cfg = NULL;
  *out = NULL;
  char *cfg_text = malloc(CFG_ROOM);
  if (!cfg_text) return mafat_fail(d, MAFAT_ENOMEM, "calibration: out of memory");
  struct cfg_text t = {cfg_text, cfg_text + CFG_ROOM, 3};
  int extent = networks[number].extent / scale.extent;
  put(&t, "[net]\nwidth=%d\nheight=%d\nchannels=3\n", extent, extent);
  for (const char *at = networks[number].words; *at; at += strspn(at, " ")) {
    char word[16];
    size_t n = strcspn(at, " ");
    snprintf(word, sizeof word, "%.*s", (int)n, at);
    put_layer(&t, word, networks[number].scaled ? scale.channels : 1);
    at += n;
  }
  int code = mafat_cfg_parse(&cfg, "calibration", cfg_text, (size_t)(t.at - cfg_text), d);
  if (code == MAFAT_OK) code = mafat_darknet_make(out, cfg, NULL, NULL, d);
  mafat_cfg_close(&cfg);
  free(cfg_text);
  return code;
}

/* ---- weights ---- */

enum { BUFFER_FLOATS = 16384 };

struct weights {
  int fd;
  uint32_t state;
  size_t n;
  float buffer[BUFFER_FLOATS];
};

static bool flush(struct weights *w)
{
  const char *at = (const char *)w->buffer;
  for (size_t left = w->n * sizeof *w->buffer; left > 0;) {
    ssize_t done = write(w->fd, at, left);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    left -= (size_t)done;
  }
  w->n = 0;
  return true;
}

/* Writes `count` pseudo-random floats from [-limit, limit). */
static bool put_floats(struct weights *w, size_t count, float limit)
{
  for (size_t i = 0; i < count; i++) {
    w->state = w->state * 1664525u + 1013904223u;
    w->buffer[w->n++] = limit * ((float)(w->state >> 8) / 8388608.0f - 1.0f);
    if (w->n == BUFFER_FLOATS && !flush(w)) return false;
  }
  return true;
}

static bool put_layer_weights(struct weights *w, const struct mafat_layer *l)
{
  bool connected = l->type == MAFAT_CONNECTED;
  if (!connected && l->type != MAFAT_CONVOLUTIONAL) return true;
  size_t fan_in = connected ? (size_t)l->in.h * (size_t)l->in.w * (size_t)l->in.c
                            : (size_t)mafat_window_area(&l->window) * (size_t)(l->in.c / l->groups);
  size_t filters = (size_t)l->out.c;
  return put_floats(w, filters, 0.1f) &&
         put_floats(w, filters * fan_in, sqrtf(6.0f / (float)fan_in));
}

int mafat_calibrate_write_weights(const struct mafat_network *n, int fd, struct mafat_diagnostic *d)
{
  static const int32_t header[5] = {0, 2, 0, 0, 0};
  struct weights *w = malloc(sizeof *w);
  if (!w) return mafat_fail(d, MAFAT_ENOMEM, "calibration: out of memory");
  w->fd = fd;
  w->state = 1;
  w->n = sizeof header / sizeof(float);
  memcpy(w->buffer, header, sizeof header);
  bool good = true;
  for (int l = 0; good && l < n->n_layers; l++) good = put_layer_weights(w, &n->layers[l]);
  good = good && flush(w);
  free(w);
  return good ? MAFAT_OK
              : mafat_fail(d, MAFAT_EIO, "calibration: cannot write weights: %s", strerror(errno));
}

/* Covers {network, runner/engine}/kinds/blend.c: compares random blends of every function with a
 * computation in double precision, element by element. Blends have two to five operands made of
 * slices in rows and channels; some operands hold one value for each channel, pixel, row or column,
 * or one for all. */
#include "runner/kernels/kernels.h"
#include "runner/weights/weights.h"
#include "tests/kernels/kernel_exact.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *blends_suite(void);

enum { SMALL = 1, BLEND = 2, MOST_SLICES = 3 }; /* layers */

/* A network whose last layer blends slices of the input, of relu(input) and of a one-pixel map. */
struct problem {
  struct mafat_network *network;
  struct mafat_layer *layer;
  float *input; /* [c][h][w] */
};

static double input_at(const struct problem *p, int c, int y, int x)
{
  struct mafat_shape s = mafat_network_picture_shape(p->network);
  return (double)p->input[(c * s.h + y) * s.w + x];
}

static double exact_mean(const struct problem *p, int c)
{
  struct mafat_shape s = mafat_network_picture_shape(p->network);
  double sum = 0;
  for (int y = 0; y < s.h; y++)
    for (int x = 0; x < s.w; x++) sum += fmax(input_at(p, c, y, x), 0);
  return sum / (s.h * s.w);
}

static double tensor_at(const struct problem *p, int tensor, int c, int y, int x)
{
  if (tensor == SMALL) return exact_mean(p, c);
  return tensor == mafat_network_picture(p->network) ? input_at(p, c, y, x)
                                                     : fmax(input_at(p, c, y, x), 0);
}

/* Takes some channels of a random tensor, or of the one-pixel map if `small`. */
static struct mafat_source random_slice(struct test_rng *rng, const struct problem *p, bool small,
                                        int most)
{
  int all = mafat_network_picture_shape(p->network).c,
      n = test_random_int(rng, 1, mafat_min(most, all));
  int first = test_random_chance(rng, 50) ? 0 : test_random_int(rng, 0, all - n);
  int tensor = small ? SMALL : mafat_network_above(p->network, test_random_int(rng, 0, 1));
  return (struct mafat_source){tensor, first, n, 0,
                               mafat_network_tensor_shape(p->network, tensor).h};
}

/* Makes an operand of up to `channels` channels from at most MOST_SLICES slices of maps, or of the
 * one-pixel map if `small`. `list` receives the slices. */
static struct mafat_operand random_operand(struct test_rng *rng, const struct problem *p,
                                           struct mafat_source *list, int channels, bool small)
{
  struct mafat_shape s = mafat_network_picture_shape(p->network);
  struct mafat_operand o = {{list, 0, 1}, {small ? 1 : s.h, small ? 1 : s.w, 0}, false};
  while (o.shape.c < channels && o.sources.n < MOST_SLICES) {
    list[o.sources.n] = random_slice(rng, p, small, channels - o.shape.c);
    o.shape.c += list[o.sources.n++].n;
  }
  return o;
}

static void clear_operands(struct mafat_layer *l)
{
  for (int k = 0; k < l->n_operands; k++) free(l->operands[k].sources.list);
  l->n_operands = 0;
}

static void add_operand(struct test_rng *rng, struct problem *p, int channels)
{
  struct mafat_source list[MOST_SLICES];
  bool small = test_random_chance(rng, 40), single = test_random_chance(rng, 30);
  struct mafat_operand o = random_operand(rng, p, list, single ? 1 : channels, small);
  o.broadcast = small || single;
  bool fits = o.shape.c == channels || o.shape.c == 1 ||
              (!o.broadcast && p->layer->blend == MAFAT_BLEND_ADD);
  if (!o.broadcast && o.shape.c == 1 && channels > 1) o.broadcast = true;
  if (fits) test_add_operand(p->layer, &o);
}

/* True for quotients and powers, whose results for operands near 0 are too inexact to compare. */
static bool needs_positive(enum mafat_blend blend)
{
  return blend == MAFAT_BLEND_DIV || blend == MAFAT_BLEND_RDIV || blend == MAFAT_BLEND_POW ||
         blend == MAFAT_BLEND_RPOW;
}

static struct problem make_problem(struct test_rng *rng)
{
  static const struct mafat_activating activations[] = {{MAFAT_LINEAR, 0, 0},
                                                        {MAFAT_LEAKY, 0, 0},
                                                        {MAFAT_RELU, 0, 0},
                                                        {MAFAT_CLIP, -.5f, .25f},
                                                        {MAFAT_STEEP, -2, 0}};
  char cfg[256];
  struct problem p;
  int c = test_random_int(rng, 1, 50), h = test_random_int(rng, 1, 13),
      w = test_random_int(rng, 1, 17);
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=%d\nwidth=%d\nchannels=%d\n[activation]\nactivation=relu\n[avgpool]\n"
           "[shortcut]\nfrom=-1\n",
           h, w, c);
  p.network = test_network(cfg);
  struct mafat_layer *l = p.layer = &p.network->layers[BLEND];
  struct mafat_diagnostic d = {""};
  struct mafat_source list[MOST_SLICES];
  clear_operands(l);
  struct mafat_operand input = random_operand(rng, &p, list, test_random_int(rng, 1, c), false);
  test_add_operand(l, &input);
  l->blend = (enum mafat_blend)test_random_int(rng, 0, MAFAT_N_BLENDS - 1);
  l->activation = activations[test_random_int(rng, 0, 4)];
  if (test_random_chance(rng, 50)) l->alpha = .5f, l->beta = -1.5f;
  for (int wanted = test_random_int(rng, 2, 5); l->n_operands < wanted;)
    add_operand(rng, &p, input.shape.c);
  for (int k = 0; k < l->n_operands; k++)
    if (test_random_chance(rng, 40)) test_weave(rng, p.network, BLEND, k);
  int code = mafat_layer_infer(l, &(struct mafat_infer_context){"test.cfg", 1, BLEND, "blend", &d});
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  p.input = malloc((size_t)c * (size_t)h * (size_t)w * sizeof *p.input);
  for (int i = 0; i < c * h * w; i++) p.input[i] = (float)(test_random(rng) >> 8) / 8388608.0f - 1;
  if (needs_positive(l->blend))
    for (int i = 0; i < c * h * w; i++) p.input[i] = .75f + .25f * p.input[i];
  return p;
}

static void release_problem(struct problem *p)
{
  free(p->input);
  mafat_network_close(&p->network);
}

/* ---- expected values ---- */

static double operand_at(const struct problem *p, const struct mafat_operand *o, int c, int y,
                         int x)
{
  if (o->broadcast && o->shape.c == 1) c = 0;
  if (o->broadcast && o->shape.h == 1) y = 0;
  const struct mafat_source *s = test_source_at(o, &c, &y);
  return tensor_at(p, s->tensor, c, y, x);
}

static double blended(const struct mafat_layer *l, double alpha, double x, double z)
{
  switch (l->blend) {
  case MAFAT_BLEND_MUL: return x * z;
  case MAFAT_BLEND_MAX: return fmax(x, z);
  case MAFAT_BLEND_MIN: return fmin(x, z);
  case MAFAT_BLEND_DIV: return x / z;
  case MAFAT_BLEND_RDIV: return z / x;
  case MAFAT_BLEND_PRELU: return x > 0 ? x : z * x;
  case MAFAT_BLEND_POW: return pow(x, z);
  case MAFAT_BLEND_RPOW: return pow(z, x);
  default: return alpha * x + (double)l->beta * z;
  }
}

static double exact_output(const void *problem, int c, int y, int x)
{
  const struct problem *p = problem;
  const struct mafat_layer *l = p->layer;
  double value = operand_at(p, &l->operands[0], c, y, x);
  for (int k = 1; k < l->n_operands; k++) {
    const struct mafat_operand *o = &l->operands[k];
    if (!o->broadcast && c >= o->shape.c) continue; /* the operand lacks this channel */
    double other = operand_at(p, o, c, y, x), alpha = k == 1 ? (double)l->alpha : 1;
    value = blended(l, alpha, value, other);
  }
  return mafat_exact_activation(value, &l->activation);
}

/* ---- comparison ---- */

static void compare(const struct problem *p, const char *plan_text,
                    const struct mafat_kernels *level, int i)
{
  struct mafat_weights *w = NULL;
  struct mafat_diagnostic d = {""};
  int fd = test_weights_file(p->network, 1);
  int code = test_weights_from(&w, fd, p->network, p->network->n_layers, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  close(fd);
  const struct test_meaning meaning = {exact_output, p, i};
  test_compare(p->network, w, plan_text, level, p->input, &meaning);
  mafat_weights_close(&w);
}

START_TEST(outputs_are_what_blends_mean)
{
  const struct mafat_kernels *levels[8];
  int n_levels = mafat_kernels_list(levels, 8);
  struct test_rng rng = test_rng(43000 + (uint64_t)_i);
  for (int i = 0; i < 10; i++) {
    struct problem p = make_problem(&rng);
    char tiles[32];
    snprintf(tiles, sizeof tiles, "%dx%d", mafat_min(p.layer->out.h, 3),
             mafat_min(p.layer->out.w, 2));
    for (int l = 0; l < n_levels; l++) compare(&p, "1x1", levels[l], i);
    compare(&p, "rows1", levels[n_levels - 1], i);
    compare(&p, "panels", levels[n_levels - 1], i);
    char plan[64];
    snprintf(plan, sizeof plan, "1x1/%d/%s", BLEND, tiles);
    compare(&p, plan, levels[n_levels - 1], i);
    release_problem(&p);
  }
}
END_TEST

Suite *blends_suite(void)
{
  Suite *s = suite_create("blends");
  TCase *t = tcase_create("blends");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, outputs_are_what_blends_mean, 0, 30);
  suite_add_tcase(s, t);
  return s;
}

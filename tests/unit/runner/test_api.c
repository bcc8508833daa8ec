/* What programs ask of the library beyond running it: facts about models, runs, plans
 * and this process. Written as such a program: of the project, only its public header. */
#include "include/mafat.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *api_suite(void);

/* ---- networks ---- */

static char folder[64], weights_path[96], picture_path[96], raw_path[96];

static const char detector[] =
    "[net]\nwidth=32\nheight=24\nchannels=3\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n"
    "[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=14\nsize=1\nactivation=linear\n"
    "[yolo]\nmask=0,1\nanchors=8,8,16,12\nnum=2\nclasses=2\n";
static const char classifier[] =
    "[net]\nwidth=32\nheight=24\nchannels=3\n"
    "[convolutional]\nfilters=6\nsize=3\npad=1\nactivation=leaky\n[avgpool]\n[softmax]\n";
static const char five_channels[] =
    "[net]\nwidth=32\nheight=24\nchannels=5\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n";

enum { INPUTS = 3 * 24 * 32, DETECTOR_LAYERS = 4, OUT_H = 12, OUT_W = 16, OUT_C = 14 };

static void write_file(const char *path, const void *data, size_t bytes)
{
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
  fclose(file);
}

static const char *cfg_path(const char *text)
{
  static char path[96];
  snprintf(path, sizeof path, "%s/net.cfg", folder);
  write_file(path, text, strlen(text));
  return path;
}

static float input[INPUTS];

static void make_files(void)
{
  enum { FLOATS = 4096 };
  static struct {
    int header[5];
    float values[FLOATS];
  } weights = {{0, 2, 0, 0, 0}, {0}};
  static char picture[13 + 60 * 40 * 3] = "P6\n60 40\n255\n";
  strcpy(folder, "/tmp/mafat-api-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(weights_path, sizeof weights_path, "%s/net.weights", folder);
  snprintf(picture_path, sizeof picture_path, "%s/picture.ppm", folder);
  snprintf(raw_path, sizeof raw_path, "%s/raw", folder);
  for (int i = 0; i < FLOATS; i++) weights.values[i] = (float)((i * 37) % 101) / 101.0f - .45f;
  for (size_t i = 13; i < sizeof picture; i++) picture[i] = (char)(i * 31 % 251);
  for (int i = 0; i < INPUTS; i++) input[i] = (float)(i % 97) / 97;
  write_file(weights_path, &weights, sizeof weights);
  write_file(picture_path, picture, sizeof picture);
  write_file(raw_path, input, sizeof input);
}

/* Weights of the three networks have different lengths: the file is cut to what is asked for. */
static void cut_weights(int floats)
{
  ck_assert_int_eq(truncate(weights_path, 5 * (off_t)sizeof(int) + floats * (off_t)sizeof(float)), 0);
}

static void remove_files(void)
{
  char command[96];
  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}

static struct mafat_model *open_model(const char *cfg, const char *plan)
{
  struct mafat_model_options options;
  struct mafat_diagnostic d;
  struct mafat_model *m;
  mafat_model_defaults(&options);
  options.plan = plan;
  options.memory_bytes = 1 << 30;
  cut_weights(cfg == detector ? 8 + 8 * 27 + 14 + 14 * 8 : 6 + 6 * 27);
  int code = mafat_model_open(&m, cfg_path(cfg), weights_path, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return m;
}

static struct mafat_query *open_query(const char *cfg, const struct mafat_model_options *options)
{
  struct mafat_diagnostic d;
  struct mafat_query *q;
  int code = mafat_query_open(&q, cfg_path(cfg), NULL, options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return q;
}

/* ---- models ---- */

static void check_sum(const struct mafat_memory_facts *m)
{
  size_t sum = m->process + m->threads + m->weights + m->activations + m->input + m->scratch + m->io + m->kernel + m->rest;
  ck_assert_uint_eq(m->image_before ? sum : sum + m->image, m->charge_bytes);
  ck_assert_uint_lt(m->resident_bytes, m->charge_bytes);
}

START_TEST(test_a_model_describes_itself)
{
  struct mafat_model *m = open_model(detector, "rows4/2/1x1:loaded");
  struct mafat_model_facts f;
  mafat_model_describe(m, &f);
  ck_assert_int_eq(f.kind, MAFAT_MODEL_DETECTOR);
  ck_assert(f.input_h == 24 && f.input_w == 32 && f.input_c == 3);
  ck_assert_uint_eq(f.budget_bytes, 1 << 30);
  ck_assert_str_eq(f.budget_source, "memory_bytes");
  ck_assert(!f.packed && f.cpu[0]);
  ck_assert_ptr_nonnull(f.reads_method); /* the convolution of the second group */
  ck_assert_uint_gt(f.kept_weights_bytes, 0);
  ck_assert_str_eq(f.plan.text, mafat_model_plan(m));
  ck_assert_str_eq(f.plan.algorithm, "auto");
  ck_assert(f.plan.threads == 1 && f.plan.n_layers == DETECTOR_LAYERS && f.plan.n_groups == 2);
  ck_assert(f.plan.fits);
  ck_assert_uint_eq(f.plan.memory.charge_bytes, mafat_model_charge_bytes(m));
  check_sum(&f.plan.memory);
  ck_assert_uint_ge(f.plan.arena_bytes, f.plan.arena_bound_bytes);
  ck_assert_uint_eq(f.plan.weights_read_bytes, (14 + 14 * 8) * sizeof(float));
  ck_assert_double_gt(f.plan.latency_ms, 0);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_kinds_of_models)
{
  struct mafat_model_facts f;
  struct mafat_model_options options;
  struct mafat_model *m = open_model(classifier, NULL);
  mafat_model_describe(m, &f);
  ck_assert_int_eq(f.kind, MAFAT_MODEL_CLASSIFIER);
  mafat_model_close(&m);
  mafat_model_defaults(&options);
  options.layers = 2;
  ck_assert_int_eq(mafat_model_open(&m, cfg_path(classifier), weights_path, &options, NULL), MAFAT_OK);
  mafat_model_describe(m, &f);
  ck_assert_int_eq(f.kind, MAFAT_MODEL_OTHER);
  ck_assert_ptr_null(f.reads_method); /* all weights are kept */
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_groups_and_layers_add_up)
{
  static const char *const plans[] = {"1x1/NoCut", "3x2/2/1x1", "rows2/NoCut", "panels/NoCut", "rows4:streamed/2/panels:loaded"};
  struct mafat_model *m = open_model(detector, plans[_i]);
  struct mafat_model_facts model;
  struct mafat_group_facts g;
  struct mafat_layer_facts l;
  uint64_t group_macs = 0, layer_macs = 0, step_macs = 0;
  int next = 0;
  mafat_model_describe(m, &model);
  for (int i = 0; mafat_model_group(m, i, &g) == MAFAT_OK; i++) {
    ck_assert_int_eq(g.first, next);
    ck_assert_int_ge(g.last, g.first);
    ck_assert_uint_le(g.peak_bytes, model.plan.arena_bytes);
    ck_assert_ptr_nonnull(strstr(model.plan.text, g.cut));
    ck_assert_uint_eq(g.paper_bytes, 0);
    group_macs += g.macs;
    for (next = g.first; next <= g.last; next++) {
      ck_assert_int_eq(mafat_model_layer(m, next, &l), MAFAT_OK);
      ck_assert_int_eq(l.group, i);
      ck_assert(l.inside == -1 || (l.inside > next && l.inside <= g.last));
      ck_assert((l.algorithm != NULL) == (strcmp(l.type, "convolutional") == 0));
      ck_assert((l.weights != NULL) == (l.weights_bytes > 0));
      ck_assert_double_eq(l.ms, 0);
      layer_macs += l.macs;
      step_macs += l.step_macs;
    }
  }
  ck_assert_int_eq(next, model.plan.n_layers);
  ck_assert_uint_eq(group_macs, model.plan.macs);
  ck_assert_uint_eq(layer_macs, model.plan.macs);
  ck_assert_uint_eq(step_macs, model.plan.macs);
  ck_assert_uint_ge(model.plan.macs - model.plan.redundant_macs, 24 * 32 * 27 * 8);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_what_is_not_there_is_not_filled)
{
  struct mafat_model *m = open_model(detector, NULL);
  struct mafat_layer_facts l = {.group = 77};
  struct mafat_group_facts g = {.first = 77};
  ck_assert_int_eq(mafat_model_layer(m, -1, &l), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_layer(m, DETECTOR_LAYERS, &l), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_group(m, -1, &g), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_group(m, 1000, &g), MAFAT_EINVAL);
  ck_assert(l.group == 77 && g.first == 77);
  ck_assert_int_eq(mafat_model_layer(m, 1, &l), MAFAT_OK);
  ck_assert_str_eq(l.type, "maxpool");
  ck_assert(l.in_h == 24 && l.in_w == 32 && l.in_c == 8 && l.out_h == 12 && l.out_w == 16 && l.out_c == 8);
  ck_assert(l.size == 2 && l.stride == 2);
  mafat_model_close(&m);
}
END_TEST

/* ---- programs of other versions ---- */

START_TEST(test_options_of_a_later_version_are_refused_unless_zero)
{
  struct {
    struct mafat_model_options known;
    char later[24];
  } options = {.later = {0}};
  struct mafat_diagnostic d;
  struct mafat_query *q;
  mafat_model_defaults_sized(&options.known, sizeof options);
  ck_assert(options.known.threads == 1 && !memchr(options.later, 1, sizeof options.later));
  ck_assert_int_eq(mafat_query_open_sized(&q, cfg_path(detector), NULL, &options.known, sizeof options, &d), MAFAT_OK);
  mafat_query_close(&q);
  options.later[23] = 1;
  ck_assert_int_eq(mafat_query_open_sized(&q, cfg_path(detector), NULL, &options.known, sizeof options, &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "of a later version"));
  ck_assert_ptr_null(q);
}
END_TEST

START_TEST(test_options_that_a_program_does_not_know_are_the_usual)
{
  struct mafat_model_options options;
  struct mafat_query_facts f;
  struct mafat_query *q;
  memset(&options, 1, sizeof options);
  mafat_model_defaults_sized(&options, offsetof(struct mafat_model_options, layers));
  ck_assert_int_eq(options.layers, 0x01010101);
  ck_assert_int_eq(mafat_query_open_sized(&q, cfg_path(detector), NULL, &options,
                                          offsetof(struct mafat_model_options, layers), NULL), MAFAT_OK);
  mafat_query_describe(q, &f);
  ck_assert(f.n_layers == DETECTOR_LAYERS && f.threads == 1 && f.input_w == 32);
  mafat_model_defaults(&options);
  ck_assert(f.reserve_bytes == options.reserve_bytes && f.reserve_bytes > 0);
  mafat_query_close(&q);
}
END_TEST

START_TEST(test_facts_that_the_library_does_not_know_are_zero)
{
  struct {
    struct mafat_layer_facts known;
    char later[24];
  } facts;
  struct mafat_layer_facts begun;
  struct mafat_model *m = open_model(detector, "1x1/NoCut");
  memset(&facts, 1, sizeof facts);
  ck_assert_int_eq(mafat_model_layer_sized(m, 0, &facts.known, sizeof facts), MAFAT_OK);
  ck_assert_int_eq(facts.known.filters, 8);
  for (size_t i = 0; i < sizeof facts.later; i++) ck_assert_int_eq(facts.later[i], 0);
  memset(&begun, 1, sizeof begun);
  ck_assert_int_eq(mafat_model_layer_sized(m, 0, &begun, offsetof(struct mafat_layer_facts, filters)), MAFAT_OK);
  ck_assert(begun.size == 3 && begun.filters == 0x01010101);
  mafat_model_close(&m);
}
END_TEST

/* ---- runs ---- */

START_TEST(test_a_run_leaves_its_times)
{
  struct mafat_model *m = open_model(detector, "1x1/NoCut");
  struct mafat_run_facts f;
  struct mafat_layer_facts l;
  double sum = 0;
  mafat_model_last_run(m, &f);
  ck_assert(f.image_ms == 0 && f.layers_ms == 0 && !f.input_failed);
  ck_assert_int_eq(mafat_model_run_picture(m, picture_path, NULL), MAFAT_OK);
  mafat_model_last_run(m, &f);
  ck_assert(f.image_ms > 0 && f.layers_ms > 0);
  ck_assert(f.picture_w == 60 && f.picture_h == 40);
  ck_assert_uint_gt(f.weights_read_bytes, 0);
  for (int i = 0; i < DETECTOR_LAYERS; i++) {
    mafat_model_layer(m, i, &l);
    sum += l.ms;
  }
  ck_assert(sum > 0 && sum <= f.layers_ms);
  ck_assert_int_eq(mafat_model_run_floats(m, input, INPUTS, NULL), MAFAT_OK);
  mafat_model_last_run(m, &f);
  ck_assert(f.layers_ms > 0 && f.picture_w == 32 && f.picture_h == 24);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_what_failed_is_told)
{
  struct mafat_model *m = open_model(detector, NULL);
  struct mafat_run_facts f;
  struct mafat_diagnostic d;
  ck_assert_int_eq(mafat_model_run_picture(m, "/nonexistent.jpg", &d), MAFAT_EIO);
  mafat_model_last_run(m, &f);
  ck_assert(f.input_failed);
  ck_assert_int_eq(mafat_model_run_raw(m, "/nonexistent", &d), MAFAT_EIO);
  ck_assert_int_eq(mafat_model_run_raw(m, picture_path, &d), MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(strstr(d.text, "3 x 24 x 32"));
  mafat_model_last_run(m, &f);
  ck_assert(f.input_failed);
  ck_assert_int_eq(mafat_model_run_raw(m, raw_path, &d), MAFAT_OK);
  mafat_model_last_run(m, &f);
  ck_assert(!f.input_failed);
  mafat_model_close(&m);
}
END_TEST

/* No program shall take the boxes of one picture for another's. */
START_TEST(test_after_a_run_that_failed_there_is_nothing_to_read)
{
  struct mafat_model *m = open_model(detector, NULL);
  const unsigned char pixels[12] = {0};
  for (int way = 0; way < 8; way++) {
    struct mafat_detections *found;
    struct mafat_diagnostic d;
    ck_assert_int_eq(mafat_model_run_floats(m, input, INPUTS, &d), MAFAT_OK);
    ck_assert_int_eq(mafat_model_detect(m, .5f, .45f, &found, &d), MAFAT_OK);
    mafat_detections_close(&found);
    int code = way == 0   ? mafat_model_run_picture(m, "/nonexistent.jpg", &d)
               : way == 1 ? mafat_model_run_floats(m, input, INPUTS - 1, &d)
               : way == 2 ? mafat_model_run_raw(m, picture_path, &d)
               : way == 3 ? mafat_model_run_pixels(m, pixels, 2, 2, 2, 4, &d)
               : way == 4 ? mafat_model_run_picture(m, NULL, &d)
               : way == 5 ? mafat_model_run_floats(m, NULL, INPUTS, &d)
               : way == 6 ? mafat_model_run_raw(m, NULL, &d)
                          : mafat_model_run_pixels(m, NULL, 2, 2, 3, 6, &d);
    ck_assert_int_lt(code, 0);
    ck_assert_int_eq(mafat_model_detect(m, .5f, .45f, &found, &d), MAFAT_EINVAL);
    ck_assert_ptr_null(found);
    ck_assert_ptr_nonnull(strstr(d.text, "the last one failed"));
  }
  mafat_model_close(&m);
}
END_TEST

/* Rows that no layer reads are decoded when all has been computed. */
START_TEST(test_a_picture_that_is_damaged_where_nothing_is_read_fails_too)
{
  static const char every_fifth_row[] = "[net]\nwidth=32\nheight=24\nchannels=3\n"
                                        "[convolutional]\nfilters=6\nsize=3\nstride=5\nactivation=linear\n";
  char picture[13 + 32 * 24 * 3] = "P6\n32 24\n255\n";
  struct mafat_diagnostic d;
  struct mafat_run_facts run;
  struct mafat_model *m = open_model(every_fifth_row, "rows1/NoCut");
  float *output = malloc(6 * 5 * 6 * sizeof *output);
  ck_assert_ptr_nonnull(output);
  write_file(picture_path, picture, sizeof picture);
  ck_assert_msg(mafat_model_run_picture(m, picture_path, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, 0, output, &d), MAFAT_OK);
  write_file(picture_path, picture, sizeof picture - 1);
  ck_assert_int_eq(mafat_model_run_picture(m, picture_path, &d), MAFAT_EFORMAT);
  mafat_model_last_run(m, &run);
  ck_assert(run.input_failed);
  ck_assert_int_eq(mafat_model_read_layer(m, 0, output, &d), MAFAT_EINVAL);
  free(output);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_what_is_left_out_is_usual_or_refused)
{
  struct mafat_diagnostic d;
  struct mafat_model *m = open_model(detector, NULL);
  mafat_model_close(&m);
  ck_assert_int_eq(mafat_model_open(&m, cfg_path(detector), weights_path, NULL, &d), MAFAT_OK);
  mafat_model_close(&m);
  ck_assert_int_eq(mafat_model_open(&m, cfg_path(detector), NULL, NULL, &d), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_open(&m, NULL, weights_path, NULL, &d), MAFAT_EINVAL);
  struct mafat_query *q = open_query(detector, NULL);
  mafat_query_close(&q);
  ck_assert_int_eq(mafat_query_open(&q, NULL, NULL, NULL, &d), MAFAT_EINVAL);
  ck_assert_ptr_null(q);
  ck_assert(m == NULL);
}
END_TEST

START_TEST(test_a_file_of_floats_is_as_good_as_floats)
{
  static float from_floats[OUT_C * OUT_H * OUT_W], from_file[OUT_C * OUT_H * OUT_W];
  struct mafat_model *m = open_model(detector, "rows2/NoCut");
  float row[OUT_W];
  int last = DETECTOR_LAYERS - 1;
  ck_assert_int_eq(mafat_model_read_row(m, last, 0, 0, row, NULL), MAFAT_EINVAL); /* nothing has run */
  ck_assert_int_eq(mafat_model_run_floats(m, input, INPUTS, NULL), MAFAT_OK);
  mafat_model_read_output(m, from_floats);
  ck_assert_int_eq(mafat_model_run_raw(m, raw_path, NULL), MAFAT_OK);
  mafat_model_read_output(m, from_file);
  ck_assert_mem_eq(from_floats, from_file, sizeof from_file);
  for (int c = 0; c < OUT_C; c++)
    for (int y = 0; y < OUT_H; y++) {
      ck_assert_int_eq(mafat_model_read_row(m, last, c, y, row, NULL), MAFAT_OK);
      ck_assert_mem_eq(row, from_file + (c * OUT_H + y) * OUT_W, sizeof row);
    }
  ck_assert_int_eq(mafat_model_read_row(m, last, OUT_C, 0, row, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_read_row(m, last, 0, -1, row, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_read_row(m, 0, 0, 0, row, NULL), MAFAT_EINVAL); /* gone */
  mafat_model_close(&m);
}
END_TEST

struct seen {
  const struct mafat_model *model;
  int n, rows_of_input;
  double end_ms;
  long long pixels[DETECTOR_LAYERS]; /* times channels */
};

static void see(void *context, const struct mafat_step_facts *s)
{
  struct seen *seen = context;
  struct mafat_layer_facts l;
  ck_assert(s->from_ms >= seen->end_ms && s->to_ms >= s->from_ms);
  seen->end_ms = s->to_ms;
  seen->n++;
  if (s->layer < 0) {
    seen->rows_of_input += s->row_end - s->row_begin;
    return;
  }
  ck_assert_int_eq(mafat_model_layer(seen->model, s->layer, &l), MAFAT_OK);
  ck_assert(s->row_begin >= 0 && s->row_end <= l.out_h && s->col_end <= l.out_w && s->channel_end <= l.out_c);
  seen->pixels[s->layer] += (long long)(s->row_end - s->row_begin) * (s->col_end - s->col_begin) *
                            (s->channel_end - s->channel_begin);
}

START_TEST(test_a_watch_is_told_of_every_step)
{
  struct mafat_model *m = open_model(detector, "rows2/NoCut");
  struct seen seen = {.model = m};
  mafat_model_set_watch(m, see, &seen);
  ck_assert_int_eq(mafat_model_run_floats(m, input, INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(seen.rows_of_input, 24);
  for (int i = 0; i < DETECTOR_LAYERS; i++) {
    struct mafat_layer_facts l;
    mafat_model_layer(m, i, &l);
    long long all = (long long)l.out_h * l.out_w * l.out_c;
    ck_assert_msg(seen.pixels[i] == (l.inside < 0 ? all : 0), "layer %d: %lld of %lld", i, seen.pixels[i], all);
  }
  int n = seen.n;
  mafat_model_set_watch(m, NULL, NULL);
  ck_assert_int_eq(mafat_model_run_floats(m, input, INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(seen.n, n);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_classes_come_likeliest_first)
{
  struct mafat_model *m = open_model(classifier, NULL);
  struct mafat_class_score top[8];
  struct mafat_diagnostic d;
  int n;
  float value;
  double sum = 0;
  ck_assert_int_eq(mafat_model_classify(m, top, 8, &n, &d), MAFAT_EINVAL); /* nothing has run */
  ck_assert_int_eq(mafat_model_run_picture(m, picture_path, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_classify(m, top, 8, &n, &d), MAFAT_OK);
  ck_assert_int_eq(n, 6);
  for (int i = 0; i < n; i++) {
    sum += (double)top[i].confidence;
    ck_assert(i == 0 || top[i].confidence <= top[i - 1].confidence);
    ck_assert(mafat_model_read_row(m, 2, top[i].class_id, 0, &value, NULL) == MAFAT_OK && value == top[i].confidence);
  }
  ck_assert_double_eq_tol(sum, 1, 1e-5);
  ck_assert_int_eq(mafat_model_classify(m, top, 2, &n, &d), MAFAT_OK);
  ck_assert_int_eq(n, 2);
  mafat_model_close(&m);
  m = open_model(detector, NULL);
  ck_assert_int_eq(mafat_model_run_picture(m, picture_path, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_classify(m, top, 8, &n, &d), MAFAT_EINVAL);
  ck_assert_int_eq(n, 0);
  mafat_model_close(&m);
}
END_TEST

/* Boxes are collected in the arena: asking changes no output, and asking twice, or for a run more, no answer. */
START_TEST(test_asking_for_boxes_changes_nothing)
{
  static float before[OUT_H * OUT_W * OUT_C], after[OUT_H * OUT_W * OUT_C];
  struct mafat_model *m = open_model(detector, "rows4/2/1x1:loaded");
  struct mafat_detections *all, *again;
  ck_assert_int_eq(mafat_model_run_picture(m, picture_path, NULL), MAFAT_OK);
  mafat_model_read_output(m, before);
  ck_assert_int_eq(mafat_model_detect(m, 0, 0, &all, NULL), MAFAT_OK);
  ck_assert_uint_eq(all->n, OUT_H * OUT_W * 2 * 2);
  ck_assert_uint_eq(mafat_detections_left_out(all), 0);
  for (int i = 0; i < 2; i++) {
    mafat_model_read_output(m, after);
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert_int_eq(mafat_model_detect(m, 0, 0, &again, NULL), MAFAT_OK);
    ck_assert_uint_eq(again->n, all->n);
    ck_assert_mem_eq(again->list, all->list, all->n * sizeof *all->list);
    mafat_detections_close(&again);
    ck_assert_int_eq(mafat_model_run_picture(m, picture_path, NULL), MAFAT_OK);
  }
  mafat_detections_close(&all);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_so_many_boxes_are_looked_at)
{
  static const int bad[] = {-1, 1000001};
  struct mafat_model_options options;
  struct mafat_model_facts f;
  struct mafat_detections *some;
  struct mafat_diagnostic d;
  struct mafat_model *m;
  m = open_model(detector, NULL);
  mafat_model_describe(m, &f);
  mafat_model_close(&m);
  ck_assert_int_eq(f.max_boxes, OUT_H * OUT_W * 2 * 2);
  mafat_model_defaults(&options);
  cut_weights(8 + 8 * 27 + 14 + 14 * 8);
  for (int i = 0; i < 2; i++) {
    options.max_boxes = bad[i];
    ck_assert_int_eq(mafat_model_open(&m, cfg_path(detector), weights_path, &options, &d), MAFAT_EINVAL);
    ck_assert_ptr_nonnull(strstr(d.text, "expected 1 to 1000000 boxes, found "));
  }
  options.max_boxes = 100;
  ck_assert_int_eq(mafat_model_open(&m, cfg_path(detector), weights_path, &options, &d), MAFAT_OK);
  mafat_model_describe(m, &f);
  ck_assert_int_eq(f.max_boxes, 100);
  ck_assert_int_eq(mafat_model_run_floats(m, input, INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_detect(m, 0, 0, &some, &d), MAFAT_OK);
  ck_assert_uint_eq(some->n, 100);
  ck_assert_uint_eq(mafat_detections_left_out(some), OUT_H * OUT_W * 2 * 2 - 100);
  mafat_detections_close(&some);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_other_scalings_of_pictures_are_refused)
{
  struct mafat_model_options options;
  struct mafat_diagnostic d;
  struct mafat_model *m;
  struct mafat_query *q;
  mafat_model_defaults(&options);
  options.image_scaling = "slow";
  ck_assert_int_eq(mafat_model_open(&m, cfg_path(detector), weights_path, &options, &d), MAFAT_EINVAL);
  ck_assert_str_eq(d.text, "expected a scaling of pictures (exact, fast), found slow");
  ck_assert_int_eq(mafat_query_open(&q, cfg_path(detector), NULL, &options, &d), MAFAT_EINVAL);
  ck_assert_str_eq(d.text, "expected a scaling of pictures (exact, fast), found slow");
}
END_TEST

/* ---- the process ---- */

START_TEST(test_this_process_is_measured)
{
  struct mafat_process_facts before, after;
  enum { MORE = 8 << 20 };
  mafat_process_measure(&before);
  volatile char *memory = malloc(MORE);
  ck_assert_ptr_nonnull((char *)memory);
  for (int i = 0; i < MORE; i += 1024) memory[i] = 1;
  mafat_process_measure(&after);
  ck_assert_uint_ge(after.resident_bytes, before.resident_bytes + MORE / 2);
  ck_assert_uint_ge(after.peak_bytes, before.resident_bytes + MORE / 2);
  ck_assert_uint_ge(after.major_faults, before.major_faults);
  ck_assert_uint_ge(after.swap_in_bytes, before.swap_in_bytes);
  free((char *)memory);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__
START_TEST(test_more_than_was_predicted_is_told)
{
  struct mafat_model *m = open_model(detector, NULL);
  struct mafat_model_facts f;
  struct mafat_check c;
  ck_assert_int_eq(mafat_model_run_picture(m, picture_path, NULL), MAFAT_OK);
  mafat_model_describe(m, &f);
  size_t predicted = f.plan.memory.resident_bytes;
  mafat_model_check(m, predicted, &c);
  ck_assert(c.holds && c.predicted_bytes == predicted);
  mafat_model_check(m, 0, &c); /* the system did not say */
  ck_assert(c.holds);
  mafat_model_check(m, predicted + 5000, &c);
  ck_assert(!c.holds && !c.in_arena && c.off_bytes == 5000);
  mafat_model_close(&m);
}
END_TEST
#endif

/* ---- asking without running ---- */

START_TEST(test_a_query_knows_what_it_assumed)
{
  struct mafat_model_options options;
  struct mafat_query_facts f;
  mafat_model_defaults(&options);
  options.memory_bytes = 12345678;
  struct mafat_query *q = open_query(detector, &options);
  mafat_query_describe(q, &f);
  ck_assert(f.input_h == 24 && f.input_w == 32 && f.input_c == 3 && f.n_layers == DETECTOR_LAYERS);
  ck_assert(f.budget_bytes == 12345678 && strcmp(f.budget_source, "memory_bytes") == 0);
  ck_assert(f.weights_assumed && f.picture_assumed && !f.floats_only && !f.packed && !f.plan_given && !f.greedy);
  ck_assert(f.threads == 1 && f.bias_bytes == 31 << 20 && f.n_front >= 1);
  mafat_query_close(&q);
  mafat_query_close(&q);
  mafat_query_close(NULL);
  q = open_query(five_channels, &options); /* of no picture */
  mafat_query_describe(q, &f);
  ck_assert(f.floats_only && !f.picture_assumed);
  mafat_query_close(&q);
}
END_TEST

START_TEST(test_the_front_trades_bytes_for_milliseconds)
{
  struct mafat_model_options options;
  struct mafat_front_facts last = {0}, f;
  struct mafat_query_facts facts;
  int n = 0;
  mafat_model_defaults(&options);
  options.memory_bytes = 1 << 30;
  struct mafat_query *q = open_query(detector, &options);
  for (; mafat_query_front(q, n, &f) == MAFAT_OK; n++) {
    ck_assert(n == 0 || (f.charge_bytes > last.charge_bytes && f.latency_ms < last.latency_ms));
    ck_assert_int_eq(f.threads, 1);
    last = f;
  }
  mafat_query_describe(q, &facts);
  ck_assert_int_eq(n, facts.n_front);
  ck_assert_int_eq(mafat_query_front(q, -1, &f), MAFAT_EINVAL);
  /* with budget enough, a model takes the fastest */
  struct mafat_answer *a;
  struct mafat_plan_facts plan;
  ck_assert_int_eq(mafat_query_answer(&a, q, 0, NULL), MAFAT_OK);
  mafat_answer_describe(a, &plan);
  ck_assert_str_eq(plan.text, last.text);
  ck_assert_uint_eq(plan.memory.charge_bytes, last.charge_bytes);
  ck_assert_double_eq(plan.latency_ms, last.latency_ms);
  struct mafat_model *m = open_model(detector, NULL);
  ck_assert_str_eq(mafat_model_plan(m), plan.text);
  mafat_model_close(&m);
  mafat_answer_close(&a);
  mafat_query_close(&q);
}
END_TEST

START_TEST(test_an_answer_says_whether_it_fits)
{
  struct mafat_model_options options;
  struct mafat_diagnostic d;
  struct mafat_front_facts least;
  struct mafat_plan_facts plan;
  struct mafat_answer *a;
  mafat_model_defaults(&options);
  options.memory_bytes = 1 << 30;
  struct mafat_query *q = open_query(detector, &options);
  mafat_query_front(q, 0, &least);
  ck_assert_int_eq(mafat_query_answer(&a, q, least.charge_bytes, &d), MAFAT_OK);
  mafat_answer_describe(a, &plan);
  ck_assert(plan.fits && mafat_answer_check(a, &d) == MAFAT_OK);
  check_sum(&plan.memory);
  mafat_answer_close(&a);
  ck_assert_int_eq(mafat_query_answer(&a, q, least.charge_bytes - 1, &d), MAFAT_OK);
  mafat_answer_describe(a, &plan);
  ck_assert(!plan.fits && strcmp(plan.text, least.text) == 0);
  ck_assert_int_eq(mafat_answer_check(a, &d), MAFAT_ELIMIT);
  ck_assert_ptr_nonnull(strstr(d.text, "does not fit"));
  mafat_answer_close(&a);
  mafat_answer_close(&a);
  mafat_answer_close(NULL);
  mafat_query_close(&q);
}
END_TEST

START_TEST(test_budgets_rise)
{
  struct mafat_model_options options;
  size_t budgets[16];
  mafat_model_defaults(&options);
  struct mafat_query *q = open_query(detector, &options);
  int n = mafat_query_budgets(q, budgets, 16);
  ck_assert_int_ge(n, 1);
  for (int i = 1; i < n; i++) ck_assert_uint_gt(budgets[i], budgets[i - 1]);
  ck_assert_int_eq(mafat_query_budgets(q, budgets, 0), 0);
  mafat_query_close(&q);
  options.search = "greedy";
  q = open_query(detector, &options);
  ck_assert_int_eq(mafat_query_budgets(q, budgets, 16), 9); /* the paper's Table 1 */
  ck_assert_uint_eq(budgets[0], 16 << 20);
  mafat_query_close(&q);
}
END_TEST

/* Options are read when the query is opened: nothing of them has to live on. */
START_TEST(test_the_paper_knows_tiles_only)
{
  struct mafat_model_options options;
  struct mafat_diagnostic d;
  struct mafat_paper_facts paper;
  struct mafat_group_facts g;
  struct mafat_layer_facts l;
  struct mafat_answer *a;
  char plan[32] = "3x2/2/1x1";
  mafat_model_defaults(&options);
  options.plan = plan;
  struct mafat_query *q = open_query(detector, &options);
  strcpy(plan, "overwritten");
  ck_assert_int_eq(mafat_query_answer(&a, q, 0, &d), MAFAT_OK);
  ck_assert_int_eq(mafat_answer_paper(a, &paper, &d), MAFAT_OK);
  ck_assert_int_eq(mafat_answer_group(a, 0, &g), MAFAT_OK);
  ck_assert(g.tile_rows == 3 && g.tile_cols == 2 && g.rows == 0 && !g.panels);
  ck_assert_str_eq(g.cut, "3x2");
  ck_assert_str_eq(g.weights, "kept");
  ck_assert(paper.layer >= 0 && paper.tile_row >= 0 && paper.tile_col >= 0);
  ck_assert_int_eq(mafat_answer_group(a, paper.group, &g), MAFAT_OK);
  ck_assert(paper.layer >= g.first && paper.layer <= g.last);
  ck_assert_uint_eq(paper.bytes, g.paper_bytes + (31 << 20));
  ck_assert_int_eq(mafat_answer_layer(a, 0, &l), MAFAT_OK);
  ck_assert_uint_eq(l.macs, 24 * 32 * 27 * 8); /* its pool's tiles do not overlap */
  ck_assert_int_eq(mafat_answer_layer(a, DETECTOR_LAYERS, &l), MAFAT_EINVAL);
  mafat_answer_close(&a);
  mafat_query_close(&q);
  options.plan = "rows4/NoCut";
  q = open_query(detector, &options);
  ck_assert_int_eq(mafat_query_answer(&a, q, 0, &d), MAFAT_OK);
  ck_assert_int_eq(mafat_answer_paper(a, &paper, &d), MAFAT_EUNSUPPORTED);
  mafat_answer_close(&a);
  mafat_query_close(&q);
  options.plan = "99x99/NoCut";
  q = open_query(detector, &options);
  ck_assert_int_eq(mafat_query_answer(&a, q, 0, &d), MAFAT_EINVAL);
  ck_assert_ptr_null(a);
  mafat_query_close(&q);
}
END_TEST

START_TEST(test_a_query_that_cannot_be_asked)
{
  struct mafat_model_options options;
  struct mafat_diagnostic d;
  struct mafat_query *q;
  mafat_model_defaults(&options);
  ck_assert_int_eq(mafat_query_open(&q, "/nonexistent.cfg", NULL, &options, &d), MAFAT_EIO);
  ck_assert_ptr_null(q);
  ck_assert_int_eq(mafat_query_open(&q, cfg_path(detector), "/nonexistent.weights", &options, &d), MAFAT_EIO);
  options.cpu = "sse";
  ck_assert_int_eq(mafat_query_open(&q, cfg_path(detector), NULL, &options, &d), MAFAT_EINVAL);
  ck_assert_ptr_null(q);
}
END_TEST

/* ---- measuring the machine ---- */

static void see_share(void *context, double share)
{
  double *last = context;
  ck_assert(share >= *last && share <= 1);
  *last = share;
}

START_TEST(test_a_calibration_is_kept_and_used)
{
  struct mafat_calibrate_options options;
  struct mafat_calibration_facts found;
  struct mafat_model_options model;
  struct mafat_plan_facts plan;
  struct mafat_diagnostic d;
  struct mafat_answer *a;
  double share = 0;
  setenv("XDG_CACHE_HOME", folder, 1);
  mafat_calibrate_defaults(&options);
  ck_assert(options.seconds == 20 && !options.cpu && !options.progress);
  options.cpu = "sse";
  ck_assert_int_eq(mafat_calibrate(&found, &options, &d), MAFAT_EINVAL);
  options.cpu = "portable";
  options.seconds = .1;
  options.memory_bytes = 64 << 20;
  options.progress = see_share;
  options.context = &share;
  int code = mafat_calibrate(&found, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_double_eq(share, 1);
  ck_assert_str_eq(found.cpu, "portable");
  ck_assert_ptr_eq(strstr(found.path, folder), found.path);
  ck_assert_int_eq(access(found.path, R_OK), 0);
  ck_assert(found.conv_gflops > 0 && found.depthwise_gflops > 0 && found.disk_gbs > 0);
  mafat_model_defaults(&model);
  model.cpu = "portable";
  struct mafat_query *q = open_query(detector, &model);
  ck_assert_int_eq(mafat_query_answer(&a, q, 0, &d), MAFAT_OK);
  mafat_answer_describe(a, &plan);
  ck_assert(plan.calibrated);
  mafat_answer_close(&a);
  mafat_query_close(&q);
}
END_TEST

Suite *api_suite(void)
{
  Suite *suite = suite_create("api");
  TCase *models = tcase_create("models"), *calibrating = tcase_create("calibrating");
  tcase_add_checked_fixture(models, make_files, remove_files);
  tcase_set_timeout(models, 30);
  tcase_add_test(models, test_a_model_describes_itself);
  tcase_add_test(models, test_kinds_of_models);
  tcase_add_loop_test(models, test_groups_and_layers_add_up, 0, 5);
  tcase_add_test(models, test_what_is_not_there_is_not_filled);
  tcase_add_test(models, test_options_of_a_later_version_are_refused_unless_zero);
  tcase_add_test(models, test_options_that_a_program_does_not_know_are_the_usual);
  tcase_add_test(models, test_facts_that_the_library_does_not_know_are_zero);
  tcase_add_test(models, test_a_run_leaves_its_times);
  tcase_add_test(models, test_what_failed_is_told);
  tcase_add_test(models, test_after_a_run_that_failed_there_is_nothing_to_read);
  tcase_add_test(models, test_a_picture_that_is_damaged_where_nothing_is_read_fails_too);
  tcase_add_test(models, test_what_is_left_out_is_usual_or_refused);
  tcase_add_test(models, test_a_file_of_floats_is_as_good_as_floats);
  tcase_add_test(models, test_a_watch_is_told_of_every_step);
  tcase_add_test(models, test_classes_come_likeliest_first);
  tcase_add_test(models, test_asking_for_boxes_changes_nothing);
  tcase_add_test(models, test_so_many_boxes_are_looked_at);
  tcase_add_test(models, test_other_scalings_of_pictures_are_refused);
  tcase_add_test(models, test_this_process_is_measured);
#ifndef __SANITIZE_ADDRESS__
  tcase_add_test(models, test_more_than_was_predicted_is_told);
#endif
  tcase_add_test(models, test_a_query_knows_what_it_assumed);
  tcase_add_test(models, test_the_front_trades_bytes_for_milliseconds);
  tcase_add_test(models, test_an_answer_says_whether_it_fits);
  tcase_add_test(models, test_budgets_rise);
  tcase_add_test(models, test_the_paper_knows_tiles_only);
  tcase_add_test(models, test_a_query_that_cannot_be_asked);
  suite_add_tcase(suite, models);
  tcase_add_checked_fixture(calibrating, make_files, remove_files);
  tcase_set_timeout(calibrating, 240);
  tcase_add_test(calibrating, test_a_calibration_is_kept_and_used);
  suite_add_tcase(suite, calibrating);
  return suite;
}

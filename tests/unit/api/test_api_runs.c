/* Covers api/{model, inputs, picture, frames}.c, runner/engine/kinds/softmax.c: runs by the public
 * header: frames, times, errors, callbacks for steps, classes and boxes. Each test has a temporary
 * folder with weights and a picture (tests/support/api.h). */
#include "include/mafat_video.h"
#include "tests/support/api.h"
#include "tests/support/picture_writer.h"
#include "tests/support/tree.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *api_runs_suite(void);

/* ---- runs ---- */

enum { FRAME_W = 6, FRAME_H = 4 };

static struct mafat_model *open_for_frames(const char *frames, const char *plan, bool stay)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *m;
  struct mafat_diagnostic d;
  mafat_model_close(
      &(struct mafat_model *){api_open_model(api_detector, NULL)}); /* writes its weights */
  options.memory_bytes = API_MEMORY_BYTES;
  options.frames = frames;
  options.plan = plan;
  options.frames_stay = stay;
  ck_assert_msg(mafat_model_open(&m, api_cfg(api_detector), api_weights, &options, &d) == MAFAT_OK,
                "%s", d.text);
  return m;
}

struct seen_rows {
  int n, last; /* number of rows seen; row at which the callback ends the reading */
  unsigned char rgb[FRAME_H][FRAME_W][3];
};

static int see_row(void *context, unsigned char *rgb, int y, struct mafat_diagnostic *d)
{
  struct seen_rows *seen = context;
  ck_assert_int_eq(y, seen->n++);
  memcpy(seen->rgb[y], rgb, sizeof seen->rgb[y]);
  memset(rgb, 0, sizeof seen->rgb[y]); /* callbacks may change the row */
  if (y < seen->last) return MAFAT_OK;
  strcpy(d->text, "enough");
  return MAFAT_ELIMIT;
}

#ifndef MAFAT_WITHOUT_JPEG
static int pass_row(void *context, unsigned char *rgb, int y, struct mafat_diagnostic *d)
{
  (void)context, (void)rgb, (void)y, (void)d;
  return MAFAT_OK;
}
#endif

/* Rows of a frame come from the top down, can be asked for several times, and leave the detections
 * as they were. */
START_TEST(test_rows_of_a_frame_are_its_pixels)
{
  struct mafat_model *m = open_for_frames("6x4:rgb24", NULL, true);
  struct mafat_detections *before, *after;
  struct mafat_diagnostic d;
  unsigned char *frame = mafat_model_frame_room(m), pixels[FRAME_H * FRAME_W * 3];
  for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = frame[i] = (unsigned char)(i * 37);
  ck_assert_int_eq(mafat_model_run_frame(m, frame, sizeof pixels, &d), MAFAT_OK);
  ck_assert_int_eq(mafat_model_detect(m, .1f, .45f, &before, &d), MAFAT_OK);
  for (int i = 0; i < 2; i++) {
    struct seen_rows seen = {.last = FRAME_H};
    ck_assert_int_eq(mafat_model_frame_rows(m, frame, sizeof pixels, see_row, &seen, &d), MAFAT_OK);
    ck_assert_int_eq(seen.n, FRAME_H);
    ck_assert_mem_eq(seen.rgb, pixels, sizeof pixels);
  }
  ck_assert_int_eq(mafat_model_detect(m, .1f, .45f, &after, &d), MAFAT_OK);
  ck_assert_uint_eq(before->n, after->n);
  mafat_detections_close(&before);
  mafat_detections_close(&after);
  mafat_model_close(&m);
}
END_TEST

/* A model opened for pictures gives, for a frame of any format, the same outputs as a model opened
 * for these frames. */
START_TEST(test_a_frame_needs_no_model_of_its_own)
{
  static const char *const formats[] = {"6x4:rgb24", "6x4:yuv420p", "6x4:nv12", "6x4:yuyv"};
  struct mafat_diagnostic d;
  unsigned char frame[FRAME_W * FRAME_H * 3];
  float outputs[2][API_OUT_H * API_OUT_W * API_OUT_C];
  struct mafat_run_facts run = {.size = sizeof run};
  for (size_t i = 0; i < sizeof frame; i++) frame[i] = (unsigned char)(i * 37);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    struct mafat_frame_facts facts = {.size = sizeof facts};
    ck_assert_int_eq(mafat_frame_describe(formats[i], &facts, &d), MAFAT_OK);
    struct mafat_model *m = open_for_frames(formats[i], NULL, true),
                       *other = api_open_model(api_detector, NULL);
    ck_assert_int_eq(mafat_model_run_frame(m, frame, facts.bytes, &d), MAFAT_OK);
    ck_assert_msg(mafat_model_run_frame_of(other, formats[i], frame, facts.bytes, &d) == MAFAT_OK,
                  "%s", d.text);
    mafat_model_last_run(other, &run);
    ck_assert(run.picture_w == FRAME_W && run.picture_h == FRAME_H);
    ck_assert_int_eq(mafat_model_read_layer(m, API_DETECTOR_LAYERS - 1, outputs[0], &d), MAFAT_OK);
    ck_assert_int_eq(mafat_model_read_layer(other, API_DETECTOR_LAYERS - 1, outputs[1], &d),
                     MAFAT_OK);
    ck_assert_mem_eq(outputs[0], outputs[1], sizeof *outputs);
    ck_assert_int_eq(mafat_model_run_frame_of(other, formats[i], frame, facts.bytes - 1, &d),
                     MAFAT_EINVAL);
    ck_assert_int_eq(mafat_model_run_frame_of(other, formats[i], NULL, facts.bytes, &d),
                     MAFAT_EINVAL);
    mafat_model_close(&other);
    mafat_model_close(&m);
  }
  struct mafat_model *m = api_open_model(api_detector, NULL);
  ck_assert_int_eq(mafat_model_run_frame_of(m, NULL, frame, 36, &d), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_run_frame_of(m, "6x4:p010", frame, 36, &d), MAFAT_EINVAL);
#ifdef MAFAT_WITHOUT_JPEG
  ck_assert_int_eq(mafat_model_run_frame_of(m, "6x4:mjpeg", frame, 36, &d), MAFAT_EUNSUPPORTED);
#else
  ck_assert_int_eq(mafat_model_run_frame_of(m, "6x4:mjpeg", frame, 36, &d), MAFAT_EFORMAT);
#endif
  mafat_model_close(&m);
}
END_TEST

#ifndef MAFAT_WITHOUT_JPEG
/* After a picture with a large decoder, the arena gives pages back before a decoder is opened.
 * Pages of a frame stored in it stay, and so do outputs when rows of a frame are decoded. */
START_TEST(test_pictures_before_leave_frames_and_outputs_alone)
{
  enum { W = 64, H = 48, LAST = API_DETECTOR_LAYERS - 1 };
  const struct jpeg_style plain = {.colours = JPEG_YCC, .h = 2, .v = 2},
                          large = {.colours = JPEG_YCC, .progressive = true};
  char picture[128], jpeg[128];
  static float before[API_OUT_H * API_OUT_W * API_OUT_C], after[API_OUT_H * API_OUT_W * API_OUT_C];
  struct mafat_diagnostic d;
  size_t n;
  snprintf(picture, sizeof picture, "%s/large.jpg", api_folder);
  snprintf(jpeg, sizeof jpeg, "%s/frame.jpg", api_folder);
  picture_write_jpeg(picture, 640, 480, &large);
  picture_write_jpeg(jpeg, W, H, _i ? &large : &plain);
  uint8_t *frame = picture_read_bytes(jpeg, &n);
  struct mafat_model *m = open_for_frames("64x48:mjpeg", "1x1/NoCut", true);
  memcpy(mafat_model_frame_room(m), frame, n);
  ck_assert_msg(mafat_model_run_frame(m, mafat_model_frame_room(m), n, &d) == MAFAT_OK, "%s",
                d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, LAST, before, &d), MAFAT_OK);
  mafat_model_close(&m);

  m = open_for_frames("64x48:mjpeg", "1x1/NoCut", true);
  ck_assert_msg(mafat_model_run_picture(m, picture, &d) == MAFAT_OK, "%s", d.text);
  memcpy(mafat_model_frame_room(m), frame, n);
  ck_assert_msg(mafat_model_run_frame(m, mafat_model_frame_room(m), n, &d) == MAFAT_OK, "%s",
                d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, LAST, after, &d), MAFAT_OK);
  ck_assert_mem_eq(before, after, sizeof before);
  mafat_model_close(&m);

  m = open_for_frames("64x48:mjpeg", "1x1/NoCut", true);
  ck_assert_msg(mafat_model_run_picture(m, picture, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, LAST, before, &d), MAFAT_OK);
  ck_assert_msg(mafat_model_frame_rows(m, frame, n, pass_row, NULL, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_msg(mafat_model_read_layer(m, LAST, after, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_mem_eq(before, after, sizeof before);
  mafat_model_close(&m);
  free(frame);
}
END_TEST
#endif

/* A picture in the model's own frame buffer (mafat_model_frame_room) gives the same outputs as one
 * elsewhere in memory. */
START_TEST(test_any_picture_in_memory_may_lie_in_the_room)
{
  enum { W = 256, H = 288, LAST = API_DETECTOR_LAYERS - 1 };
  static const char *const plans[] = {"1x1/NoCut", "rows2/NoCut"};
  static unsigned char frame[W * H * 3];
  static float elsewhere[API_OUT_H * API_OUT_W * API_OUT_C],
      here[API_OUT_H * API_OUT_W * API_OUT_C];
  struct mafat_diagnostic d;
  for (size_t i = 0; i < sizeof frame; i++) frame[i] = (unsigned char)(i * 37);
  struct mafat_model *m = open_for_frames("256x288:rgb24", plans[_i], false);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(mafat_model_run_frame_of(m, "256x288:rgb24", frame, sizeof frame, &d),
                     MAFAT_OK);
    ck_assert_int_eq(mafat_model_read_layer(m, LAST, elsewhere, &d), MAFAT_OK);
    memcpy(mafat_model_frame_room(m), frame, sizeof frame);
    ck_assert_int_eq(mafat_model_run_frame_of(m, "256x288:rgb24", mafat_model_frame_room(m),
                                              sizeof frame, &d),
                     MAFAT_OK);
    ck_assert_int_eq(mafat_model_read_layer(m, LAST, here, &d), MAFAT_OK);
    ck_assert_mem_eq(elsewhere, here, sizeof here);
    memcpy(mafat_model_frame_room(m), frame, sizeof frame);
    ck_assert_int_eq(mafat_model_run_pixels(m, mafat_model_frame_room(m), W, H, 3, W * 3, &d),
                     MAFAT_OK);
    ck_assert_int_eq(mafat_model_read_layer(m, LAST, here, &d), MAFAT_OK);
    ck_assert_mem_eq(elsewhere, here, sizeof here);
  }
  mafat_model_close(&m);
}
END_TEST

/* The callback can end the reading of rows. A frame of another length, and a model that takes no
 * frames, are refused. */
START_TEST(test_rows_of_a_frame_end_where_they_are_not_wanted)
{
  struct mafat_model *m = open_for_frames("6x4:yuv420p", NULL, true),
                     *none = api_open_model(api_detector, NULL);
  struct seen_rows seen = {.last = 1};
  struct mafat_diagnostic d;
  const unsigned char frame[FRAME_W * FRAME_H * 3 / 2] = {0};
  ck_assert_int_eq(mafat_model_frame_rows(m, frame, sizeof frame, see_row, &seen, &d),
                   MAFAT_ELIMIT);
  ck_assert_str_eq(d.text, "enough");
  ck_assert_int_eq(seen.n, 2);
  ck_assert_int_eq(mafat_model_frame_rows(m, frame, sizeof frame - 1, see_row, &seen, &d),
                   MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_frame_rows(m, NULL, sizeof frame, see_row, &seen, &d), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_frame_rows(m, frame, sizeof frame, NULL, &seen, &d), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_frame_rows(none, frame, sizeof frame, see_row, &seen, &d),
                   MAFAT_EINVAL);
  ck_assert_int_eq(seen.n, 2);
  mafat_model_close(&none);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_a_run_leaves_its_times)
{
  struct mafat_model *m = api_open_model(api_detector, "1x1/NoCut");
  struct mafat_run_facts f = {.size = sizeof f};
  struct mafat_layer_facts l = {.size = sizeof l};
  double sum = 0;
  mafat_model_last_run(m, &f);
  ck_assert(f.image_ms == 0 && f.layers_ms == 0 && !f.input_failed);
  ck_assert_int_eq(mafat_model_run_picture(m, api_picture, NULL), MAFAT_OK);
  mafat_model_last_run(m, &f);
  ck_assert(f.image_ms > 0 && f.layers_ms > 0);
  ck_assert(f.picture_w == 60 && f.picture_h == 40);
  ck_assert_uint_gt(f.weights_read_bytes, 0);
  for (int i = 0; i < API_DETECTOR_LAYERS; i++) {
    mafat_model_layer(m, i, &l);
    sum += l.ms;
  }
  ck_assert(sum > 0 && sum <= f.layers_ms);
  ck_assert_int_eq(mafat_model_run_floats(m, api_input, API_INPUTS, NULL), MAFAT_OK);
  mafat_model_last_run(m, &f);
  ck_assert(f.layers_ms > 0 && f.picture_w == 32 && f.picture_h == 24);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_what_failed_is_reported)
{
  struct mafat_model *m = api_open_model(api_detector, NULL);
  struct mafat_run_facts f = {.size = sizeof f};
  struct mafat_diagnostic d;
  ck_assert_int_eq(mafat_model_run_picture(m, "/nonexistent.jpg", &d), MAFAT_EIO);
  mafat_model_last_run(m, &f);
  ck_assert(f.input_failed);
  ck_assert_int_eq(mafat_model_run_raw(m, "/nonexistent", &d), MAFAT_EIO);
  ck_assert_int_eq(mafat_model_run_raw(m, api_picture, &d), MAFAT_EFORMAT);
  ck_assert_ptr_nonnull(strstr(d.text, "3 x 24 x 32"));
  mafat_model_last_run(m, &f);
  ck_assert(f.input_failed);
  ck_assert_int_eq(mafat_model_run_raw(m, api_raw, &d), MAFAT_OK);
  mafat_model_last_run(m, &f);
  ck_assert(!f.input_failed);
  mafat_model_close(&m);
}
END_TEST

/* A model with 2^32 inputs opens with a plan of rows, which reads them from a file. With 32-bit
 * sizes, their number is reported as SIZE_MAX, not 0, and no array of floats is accepted. */
START_TEST(test_more_floats_than_can_be_addressed_are_nobodys)
{
  enum { HALVES = 10, ROOM = 2048 };
  char cfg[ROOM];
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *m;
  struct mafat_diagnostic d;
  struct mafat_port_facts f = {.size = sizeof f};
  const float one = 0;
  int n = snprintf(cfg, ROOM, "[net]\nwidth=16384\nheight=16384\nchannels=16\n");
  for (int i = 0; i < HALVES; i++)
    n += snprintf(cfg + n, (size_t)(ROOM - n),
                  "[convolutional]\nfilters=2\nsize=1\nstride=2\nactivation=linear\n");
  options.best_effort = true;
  options.plan = "rows1/NoCut";
  options.floats_only = true;
  api_cut_weights(2 + 2 * 16 + (HALVES - 1) * (2 + 2 * 2));
  ck_assert_msg(mafat_model_open(&m, api_cfg(cfg), api_weights, &options, &d) == MAFAT_OK, "%s",
                d.text);
  ck_assert_int_eq(mafat_model_describe_input(m, 0, &f), MAFAT_OK);
  ck_assert(f.n == (sizeof(size_t) == 4 ? SIZE_MAX : (size_t)((uint64_t)1 << 32)));
  ck_assert_int_eq(mafat_model_run_floats(m, &one, 0, &d), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_run_floats(m, &one, SIZE_MAX, &d), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_set_input(m, NULL, &one, 0, &d), MAFAT_EINVAL);
  mafat_model_close(&m);
}
END_TEST

/* After a failed run, outputs of the run before cannot be read: a program could take them for those
 * of the new picture. */
START_TEST(test_after_a_run_that_failed_there_is_nothing_to_read)
{
  struct mafat_model *m = api_open_model(api_detector, NULL);
  const unsigned char pixels[12] = {0};
  for (int way = 0; way < 8; way++) {
    struct mafat_detections *found;
    struct mafat_diagnostic d;
    ck_assert_int_eq(mafat_model_run_floats(m, api_input, API_INPUTS, &d), MAFAT_OK);
    ck_assert_int_eq(mafat_model_detect(m, .5f, .45f, &found, &d), MAFAT_OK);
    mafat_detections_close(&found);
    int code = way == 0   ? mafat_model_run_picture(m, "/nonexistent.jpg", &d)
               : way == 1 ? mafat_model_run_floats(m, api_input, API_INPUTS - 1, &d)
               : way == 2 ? mafat_model_run_raw(m, api_picture, &d)
               : way == 3 ? mafat_model_run_pixels(m, pixels, 2, 2, 2, 4, &d)
               : way == 4 ? mafat_model_run_picture(m, NULL, &d)
               : way == 5 ? mafat_model_run_floats(m, NULL, API_INPUTS, &d)
               : way == 6 ? mafat_model_run_raw(m, NULL, &d)
                          : mafat_model_run_pixels(m, NULL, 2, 2, 3, 6, &d);
    ck_assert_int_lt(code, 0);
    ck_assert_int_eq(mafat_model_detect(m, .5f, .45f, &found, &d), MAFAT_EINVAL);
    ck_assert_ptr_null(found);
    ck_assert_ptr_nonnull(strstr(d.text, "its last run failed"));
  }
  mafat_model_close(&m);
}
END_TEST

/* A picture that is damaged in rows that no layer reads is refused too: these rows are decoded at
 * the end of the run. */
START_TEST(test_a_picture_that_is_damaged_where_nothing_is_read_fails_too)
{
  static const char every_fifth_row[] =
      "[net]\nwidth=32\nheight=24\nchannels=3\n"
      "[convolutional]\nfilters=6\nsize=3\nstride=5\nactivation=linear\n";
  char picture[13 + 32 * 24 * 3] = "P6\n32 24\n255\n";
  struct mafat_diagnostic d;
  struct mafat_run_facts run = {.size = sizeof run};
  struct mafat_model *m = api_open_model(every_fifth_row, "rows1/NoCut");
  float *output = malloc(6 * 5 * 6 * sizeof *output);
  ck_assert_ptr_nonnull(output);
  test_write_file(api_picture, picture, sizeof picture);
  ck_assert_msg(mafat_model_run_picture(m, api_picture, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_layer(m, 0, output, &d), MAFAT_OK);
  test_write_file(api_picture, picture, sizeof picture - 1);
  ck_assert_int_eq(mafat_model_run_picture(m, api_picture, &d), MAFAT_EFORMAT);
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
  struct mafat_model *m = api_open_model(api_detector, NULL);
  mafat_model_close(&m);
  ck_assert_int_eq(mafat_model_open(&m, api_cfg(api_detector), api_weights, NULL, &d), MAFAT_OK);
  mafat_model_close(&m);
  ck_assert_int_eq(mafat_model_open(&m, api_cfg(api_detector), NULL, NULL, &d), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_open(&m, NULL, api_weights, NULL, &d), MAFAT_EINVAL);
  struct mafat_dry_run *q = api_open_dry_run(api_detector, NULL);
  mafat_dry_run_close(&q);
  ck_assert_int_eq(mafat_dry_run_open(&q, NULL, NULL, NULL, &d), MAFAT_EINVAL);
  ck_assert_ptr_null(q);
  ck_assert(m == NULL);
}
END_TEST

START_TEST(test_a_file_of_floats_is_as_good_as_floats)
{
  static float from_floats[API_OUT_C * API_OUT_H * API_OUT_W],
      from_file[API_OUT_C * API_OUT_H * API_OUT_W];
  struct mafat_model *m = api_open_model(api_detector, "rows2/NoCut");
  float row[API_OUT_W];
  int last = API_DETECTOR_LAYERS - 1;
  ck_assert_int_eq(mafat_model_read_row(m, last, 0, 0, row, NULL),
                   MAFAT_EINVAL); /* before the first run */
  ck_assert_int_eq(mafat_model_run_floats(m, api_input, API_INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, from_floats, NULL),
                   MAFAT_OK);
  ck_assert_int_eq(mafat_model_run_raw(m, api_raw, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, from_file, NULL),
                   MAFAT_OK);
  ck_assert_mem_eq(from_floats, from_file, sizeof from_file);
  for (int c = 0; c < API_OUT_C; c++)
    for (int y = 0; y < API_OUT_H; y++) {
      ck_assert_int_eq(mafat_model_read_row(m, last, c, y, row, NULL), MAFAT_OK);
      ck_assert_mem_eq(row, from_file + (c * API_OUT_H + y) * API_OUT_W, sizeof row);
    }
  ck_assert_int_eq(mafat_model_read_row(m, last, API_OUT_C, 0, row, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_read_row(m, last, 0, -1, row, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_model_read_row(m, 0, 0, 0, row, NULL), MAFAT_EINVAL); /* overwritten */
  mafat_model_close(&m);
}
END_TEST

struct seen {
  const struct mafat_model *model;
  int n, rows_of_input;
  double end_ms;
  long long pixels[API_DETECTOR_LAYERS]; /* elements computed of each layer */
};

static void see(void *context, const struct mafat_step_facts *s)
{
  struct seen *seen = context;
  struct mafat_layer_facts l = {.size = sizeof l};
  ck_assert(s->from_ms >= seen->end_ms && s->to_ms >= s->from_ms);
  seen->end_ms = s->to_ms;
  seen->n++;
  if (s->layer < 0) {
    seen->rows_of_input += s->row_end - s->row_begin;
    return;
  }
  ck_assert_int_eq(mafat_model_layer(seen->model, s->layer, &l), MAFAT_OK);
  ck_assert(s->row_begin >= 0 && s->row_end <= l.out_h && s->col_end <= l.out_w &&
            s->channel_end <= l.out_c);
  seen->pixels[s->layer] += (long long)(s->row_end - s->row_begin) * (s->col_end - s->col_begin) *
                            (s->channel_end - s->channel_begin);
}

START_TEST(test_a_watch_is_reported_of_every_step)
{
  struct mafat_model *m = api_open_model(api_detector, "rows2/NoCut");
  struct seen seen = {.model = m};
  mafat_model_set_watch(m, see, &seen);
  ck_assert_int_eq(mafat_model_run_floats(m, api_input, API_INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(seen.rows_of_input, 24);
  for (int i = 0; i < API_DETECTOR_LAYERS; i++) {
    struct mafat_layer_facts l = {.size = sizeof l};
    mafat_model_layer(m, i, &l);
    long long all = (long long)l.out_h * l.out_w * l.out_c;
    ck_assert_msg(seen.pixels[i] == (l.inside < 0 ? all : 0), "layer %d: %lld of %lld", i,
                  seen.pixels[i], all);
  }
  int n = seen.n;
  mafat_model_set_watch(m, NULL, NULL);
  ck_assert_int_eq(mafat_model_run_floats(m, api_input, API_INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(seen.n, n);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_classes_come_likeliest_first)
{
  struct mafat_model *m = api_open_model(api_classifier, NULL);
  struct mafat_class_score top[8];
  struct mafat_diagnostic d;
  int n;
  float value;
  double sum = 0;
  ck_assert_int_eq(mafat_model_classify(m, top, 8, &n, &d), MAFAT_EINVAL); /* before a run */
  ck_assert_int_eq(mafat_model_run_picture(m, api_picture, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_classify(m, top, 8, &n, &d), MAFAT_OK);
  ck_assert_int_eq(n, 6);
  for (int i = 0; i < n; i++) {
    sum += (double)top[i].confidence;
    ck_assert(i == 0 || top[i].confidence <= top[i - 1].confidence);
    ck_assert(mafat_model_read_row(m, 2, top[i].class_id, 0, &value, NULL) == MAFAT_OK &&
              value == top[i].confidence);
  }
  ck_assert_double_eq_tol(sum, 1, 1e-5);
  ck_assert_int_eq(mafat_model_classify(m, top, 2, &n, &d), MAFAT_OK);
  ck_assert_int_eq(n, 2);
  mafat_model_close(&m);
  m = api_open_model(api_detector, NULL);
  ck_assert_int_eq(mafat_model_run_picture(m, api_picture, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_classify(m, top, 8, &n, &d), MAFAT_EINVAL);
  ck_assert_int_eq(n, 0);
  mafat_model_close(&m);
}
END_TEST

/* Boxes are collected in the arena. Asking for them changes no output, and asking twice or after
 * another run gives the same boxes. */
START_TEST(test_asking_for_boxes_changes_nothing)
{
  static float before[API_OUT_H * API_OUT_W * API_OUT_C], after[API_OUT_H * API_OUT_W * API_OUT_C];
  struct mafat_model *m = api_open_model(api_detector, "rows4/2/1x1:loaded");
  struct mafat_detections *all, *again;
  ck_assert_int_eq(mafat_model_run_picture(m, api_picture, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, before, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_detect(m, 0, 0, &all, NULL), MAFAT_OK);
  ck_assert_uint_eq(all->n, API_OUT_H * API_OUT_W * 2 * 2);
  ck_assert_uint_eq(all->left_out, 0);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, after, NULL), MAFAT_OK);
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert_int_eq(mafat_model_detect(m, 0, 0, &again, NULL), MAFAT_OK);
    ck_assert_uint_eq(again->n, all->n);
    ck_assert_mem_eq(again->list, all->list, all->n * sizeof *all->list);
    mafat_detections_close(&again);
    ck_assert_int_eq(mafat_model_run_picture(m, api_picture, NULL), MAFAT_OK);
  }
  mafat_detections_close(&all);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_so_many_boxes_are_looked_at)
{
  static const int bad[] = {-1, 1000001};
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model_facts f = {.size = sizeof f};
  struct mafat_detections *some;
  struct mafat_diagnostic d;
  struct mafat_model *m;
  m = api_open_model(api_detector, NULL);
  mafat_model_describe(m, &f);
  mafat_model_close(&m);
  ck_assert_int_eq(f.max_boxes, API_OUT_H * API_OUT_W * 2 * 2);
  api_cut_weights(8 + 8 * 27 + 14 + 14 * 8);
  for (int i = 0; i < 2; i++) {
    options.max_boxes = bad[i];
    ck_assert_int_eq(mafat_model_open(&m, api_cfg(api_detector), api_weights, &options, &d),
                     MAFAT_EINVAL);
    ck_assert_ptr_nonnull(strstr(d.text, "expected 1 to 1000000 boxes, found "));
  }
  options.max_boxes = 100;
  ck_assert_int_eq(mafat_model_open(&m, api_cfg(api_detector), api_weights, &options, &d),
                   MAFAT_OK);
  mafat_model_describe(m, &f);
  ck_assert_int_eq(f.max_boxes, 100);
  ck_assert_int_eq(mafat_model_run_floats(m, api_input, API_INPUTS, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_detect(m, 0, 0, &some, &d), MAFAT_OK);
  ck_assert_uint_eq(some->n, 100);
  ck_assert_uint_eq(some->left_out, API_OUT_H * API_OUT_W * 2 * 2 - 100);
  mafat_detections_close(&some);
  mafat_model_close(&m);
}
END_TEST

START_TEST(test_other_scalings_of_pictures_are_refused)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_model *m;
  struct mafat_dry_run *q;
  options.image_scaling = "slow";
  ck_assert_int_eq(mafat_model_open(&m, api_cfg(api_detector), api_weights, &options, &d),
                   MAFAT_EINVAL);
  ck_assert_str_eq(d.text, "expected a scaling of pictures (exact, fast), found slow");
  ck_assert_int_eq(mafat_dry_run_open(&q, api_cfg(api_detector), NULL, &options, &d), MAFAT_EINVAL);
  ck_assert_str_eq(d.text, "expected a scaling of pictures (exact, fast), found slow");
}
END_TEST

Suite *api_runs_suite(void)
{
  Suite *suite = suite_create("api_runs");
  TCase *runs = api_case(suite, "runs", 30);
  tcase_add_test(runs, test_a_run_leaves_its_times);
  tcase_add_test(runs, test_rows_of_a_frame_are_its_pixels);
  tcase_add_test(runs, test_a_frame_needs_no_model_of_its_own);
#ifndef MAFAT_WITHOUT_JPEG
  tcase_add_loop_test(runs, test_pictures_before_leave_frames_and_outputs_alone, 0, 2);
#endif
  tcase_add_loop_test(runs, test_any_picture_in_memory_may_lie_in_the_room, 0, 2);
  tcase_add_test(runs, test_rows_of_a_frame_end_where_they_are_not_wanted);
  tcase_add_test(runs, test_what_failed_is_reported);
  tcase_add_test(runs, test_more_floats_than_can_be_addressed_are_nobodys);
  tcase_add_test(runs, test_after_a_run_that_failed_there_is_nothing_to_read);
  tcase_add_test(runs, test_a_picture_that_is_damaged_where_nothing_is_read_fails_too);
  tcase_add_test(runs, test_what_is_left_out_is_usual_or_refused);
  tcase_add_test(runs, test_a_file_of_floats_is_as_good_as_floats);
  tcase_add_test(runs, test_a_watch_is_reported_of_every_step);
  tcase_add_test(runs, test_classes_come_likeliest_first);
  tcase_add_test(runs, test_asking_for_boxes_changes_nothing);
  tcase_add_test(runs, test_so_many_boxes_are_looked_at);
  tcase_add_test(runs, test_other_scalings_of_pictures_are_refused);
  return suite;
}

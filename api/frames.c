/* Runs models on frames of video, which are in the arena or in the caller's memory: implements
 * include/mafat_video.h. Called by programs/ and examples/, and by the Python
 * bindings. Runs the executor. */
#include "include/mafat_video.h"
#include "runner/image/frame.h"
#include "runner/os/process.h"
#include "api/footprint.h"
#include "api/model.h"
#include "base/sized.h"

int mafat_frame_describe(const char *frames, struct mafat_frame_facts *facts,
                         struct mafat_diagnostic *d)
{
  struct mafat_frame_format f;
  int code = frames ? mafat_frame_format_read(&f, frames, d)
                    : mafat_fail(d, MAFAT_EINVAL, "expected frames, found none");
  if (code) return code;
  const struct mafat_frame_facts found = {.width = f.width,
                                          .height = f.height,
                                          .format = f.name,
                                          .bytes = mafat_frame_format_bytes(&f),
                                          .varies = f.kind == MAFAT_FRAME_MJPEG};
  code = mafat_sized_give(facts, &found, sizeof found);
  return code ? mafat_fail(d, code, "facts: expected .size = sizeof of their struct, found %zu",
                           facts->size)
              : MAFAT_OK;
}

unsigned char *mafat_model_frame_room(struct mafat_model *m)
{
  return mafat_executor_frame_room(m->executor);
}

/* Checks that the decoder of a JPEG frame fits the budget. It may need more memory than predicted,
 * because predictions assume subsampled chroma; from then on the larger need counts. Sets
 * image_bytes to 0: otherwise the arena would return pages to the system to make room for the
 * decoder, and the outputs in these pages would be lost. */
static int take_decoder(struct mafat_model *m, size_t bytes, struct mafat_diagnostic *d)
{
  struct mafat_footprint footprint = m->footprint;
  if (bytes <= m->frame_decoder_bytes) return MAFAT_OK;
  footprint.image_bytes = 0;
  footprint.frames_bytes += bytes - m->frame_decoder_bytes;
  int code = mafat_model_take_footprint(m, &footprint, "frame", "decoding this frame", d);
  if (code == MAFAT_OK) m->frame_decoder_bytes = bytes;
  return code;
}

/* Checks that converting a frame in the caller's memory to rows fits the budget. */
static int take_frame(struct mafat_model *m, const struct mafat_image *image,
                      struct mafat_diagnostic *d)
{
  struct mafat_footprint footprint = m->footprint;
  mafat_footprint_set_picture(&footprint, image, m->network);
  return mafat_model_take_footprint(m, &footprint, "frame", "reading this frame", d);
}

int mafat_model_run_frame_of(struct mafat_model *m, const char *frames, const unsigned char *bytes,
                             size_t n, struct mafat_diagnostic *d)
{
  double before = mafat_process_now_ms();
  struct mafat_frame frame = {.bytes = bytes, .n = n};
  struct mafat_image *image = NULL;
  int code = mafat_model_begin_run(m, bytes, "a frame", d);
  if (code == MAFAT_OK && !frames)
    code = mafat_fail(d, MAFAT_EINVAL, "expected the size and format of the frame, found none");
  if (code == MAFAT_OK) code = mafat_frame_format_read(&frame.format, frames, d);
  if (code == MAFAT_OK) code = mafat_footprint_check_input(&m->picture.input, m->network, d);
  if (code == MAFAT_OK) code = mafat_image_open_frame(&image, &frame, &m->picture.input, d);
  if (code == MAFAT_OK) code = take_frame(m, image, d);
  if (code) {
    mafat_image_close(&image);
    return code;
  }
  m->placement = *mafat_image_placement(image);
  return mafat_model_run_image(m, &image, before, d);
}

int mafat_model_frame_rows(struct mafat_model *m, const unsigned char *bytes, size_t n,
                           int (*row)(void *context, unsigned char *rgb, int y,
                                      struct mafat_diagnostic *d),
                           void *context, struct mafat_diagnostic *d)
{
  const struct mafat_frame frame = {m->frame, bytes, n};
  /* the input's size does not matter, because rows are returned in the frame's own size */
  const struct mafat_image_input input = {.w = 1, .h = 1, .c = 3, .kernels = m->kernels};
  struct mafat_image *image;
  if (!m->frame.width)
    return mafat_fail(d, MAFAT_EINVAL, "frame: the model was opened without frames");
  if (!bytes || !row)
    return mafat_fail(d, MAFAT_EINVAL, "expected a frame and a callback for its rows, found none");
  int code = mafat_image_open_frame(&image, &frame, &input, d);
  if (code) return code;
  if (m->frame.kind == MAFAT_FRAME_MJPEG) code = take_decoder(m, mafat_image_bytes(image), d);
  if (code == MAFAT_OK) code = mafat_image_each_row(image, row, context, d);
  mafat_image_close(&image);
  return code;
}

int mafat_model_run_frame(struct mafat_model *m, const unsigned char *bytes, size_t n,
                          struct mafat_diagnostic *d)
{
  double before = mafat_process_now_ms();
  struct mafat_frame frame = {m->frame, bytes, n};
  struct mafat_image *image = NULL;
  int code = mafat_model_begin_run(m, bytes, "a frame", d);
  if (code == MAFAT_OK && !m->frame.width)
    code = mafat_fail(d, MAFAT_EINVAL, "frame: the model was opened without frames");
  if (code == MAFAT_OK) code = mafat_image_open_frame(&image, &frame, &m->picture.input, d);
  if (code == MAFAT_OK && m->frame.kind == MAFAT_FRAME_MJPEG)
    code = take_decoder(m, mafat_image_bytes(image), d);
  if (code) {
    mafat_image_close(&image);
    return code;
  }
  m->placement = *mafat_image_placement(image);
  return mafat_model_run_image(m, &image, before, d);
}

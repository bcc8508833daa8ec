/* Writes a picture's rows to a network's input, as floats or as quantized values. Called by
 * api/model.c and api/packing/observe.c, and by the executor, which requests rows through struct
 * mafat_input_source; api/footprint.c asks how much memory it needs. Reads the picture's file
 * through image.h; writes the input in the arena; allocates a row or a whole turned picture, which
 * closing frees. */
#include "runner/image/input.h"

#include <stdlib.h>
#include <string.h>

static size_t row_floats(struct mafat_shape s)
{
  return (size_t)s.w * (size_t)s.c;
}

size_t mafat_input_turned_bytes(const struct mafat_image *image, struct mafat_shape shape)
{
  return mafat_image_describe(image)->turned ? row_floats(shape) * (size_t)shape.h * sizeof(float)
                                             : 0;
}

int mafat_input_picture_open(struct mafat_picture_input *p, struct mafat_image *image,
                             struct mafat_shape shape, bool by_rows, bool integers,
                             struct mafat_diagnostic *d)
{
  *p = (struct mafat_picture_input){.image = image, .shape = shape};
  size_t bytes = by_rows || integers ? mafat_input_turned_bytes(image, shape) : 0;
  if (integers && !(p->line = malloc(row_floats(shape) * sizeof *p->line)))
    return mafat_fail(d, MAFAT_ENOMEM, "out of memory for a row of a picture");
  if (bytes == 0) return MAFAT_OK;
  p->whole = malloc(bytes);
  return p->whole ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "out of memory for a turned picture");
}

/* Decodes all rows of the picture to `pixels`. */
static int read_whole(struct mafat_picture_input *p, float *pixels, size_t stride,
                      struct mafat_diagnostic *d)
{
  struct mafat_image_target target = {pixels, stride};
  p->next_row = p->shape.h;
  return mafat_image_read(p->image, &target, d);
}

/* Decodes rows for a quantized input: passes floats to the executor, which quantizes them. */
static int read_numbers(struct mafat_picture_input *p, struct mafat_executor *e,
                        struct mafat_span rows, struct mafat_diagnostic *d)
{
  int code =
      p->whole && p->next_row == 0 ? read_whole(p, p->whole, row_floats(p->shape), d) : MAFAT_OK;
  for (int y = rows.begin; y < rows.end && code == MAFAT_OK; y++) {
    const float *line = p->whole ? p->whole + (size_t)y * row_floats(p->shape) : p->line;
    if (!p->whole) {
      code = mafat_image_read_row(p->image, p->line, d);
      p->next_row = y + 1;
    }
    if (code == MAFAT_OK) mafat_executor_set_input_pixels(e, y, line);
  }
  return code;
}

static int read_picture(void *context, struct mafat_executor *e, struct mafat_span rows,
                        struct mafat_diagnostic *d)
{
  struct mafat_picture_input *p = context;
  if (p->line) return read_numbers(p, e, rows, d);
  size_t stride, row_bytes = row_floats(p->shape) * sizeof(float);
  float *pixels = mafat_executor_input_row(e, rows.begin, &stride);
  int code = MAFAT_OK;
  if (rows.begin == 0 && rows.end == p->shape.h && !p->whole)
    return read_whole(p, pixels, stride, d);
  if (p->whole && p->next_row == 0) code = read_whole(p, p->whole, row_floats(p->shape), d);
  for (int y = rows.begin; y < rows.end && code == MAFAT_OK; y++) {
    pixels = mafat_executor_input_row(e, y, &stride);
    if (p->whole) {
      memcpy(pixels, p->whole + (size_t)y * row_floats(p->shape), row_bytes);
      continue;
    }
    code = mafat_image_read_row(p->image, pixels, d);
    p->next_row = y + 1;
  }
  return code;
}

struct mafat_input_source mafat_input_picture_source(struct mafat_picture_input *p)
{
  return (struct mafat_input_source){read_picture, p};
}

int mafat_input_picture_finish(struct mafat_picture_input *p, struct mafat_diagnostic *d)
{
  if (p->next_row == p->shape.h || p->next_row == 0) return MAFAT_OK;
  float *row = malloc(row_floats(p->shape) * sizeof(float));
  int code =
      row ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "out of memory for a picture's last rows");
  for (; code == MAFAT_OK && p->next_row < p->shape.h; p->next_row++)
    code = mafat_image_read_row(p->image, row, d);
  free(row);
  return code;
}

void mafat_input_picture_close(struct mafat_picture_input *p)
{
  free(p->whole);
  free(p->line);
  p->whole = p->line = NULL;
}

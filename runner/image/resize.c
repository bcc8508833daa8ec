/* Computes the taps with which rows and columns of a picture are resized (a tap: two pixels and
 * their weights), and converts rows to grey. Called by runner/image: image.c computes taps, and the
 * files that read pictures or pixels convert rows. Touches only its arguments. */
#include "runner/image/decoder.h"
#include "runner/image/image.h"

/* If the axis is resized to one pixel, that is the picture's last pixel, and the scale is not used.
 * Darknet does so for columns, but divides by zero for rows. If the axis is resized to 0 pixels,
 * the network's input is all padding. */
struct mafat_image_axis mafat_image_axis_make(int from, int to, int at, int in)
{
  struct mafat_image_axis axis = {from, to, at < 0 ? -at : 0, to < in ? to : in, 0};
  if (to > 1) axis.scale = (float)(from - 1) / (float)(to - 1);
  return axis;
}

static struct mafat_resample_tap tap_at_last(const struct mafat_image_axis *axis)
{
  return (struct mafat_resample_tap){axis->from - 1, axis->from - 1, 1, 0};
}

static struct mafat_resample_tap tap_between(const struct mafat_image_axis *axis, int i)
{
  float position = (float)i * axis->scale;
  int first = (int)position;
  if (first > axis->from - 1) first = axis->from - 1;
  float fraction = position - (float)first;
  int second = first + 1 < axis->from ? first + 1 : first;
  return (struct mafat_resample_tap){first, second, 1 - fraction, fraction};
}

struct mafat_resample_tap mafat_image_column_tap(const struct mafat_image_axis *axis, int i)
{
  if (i == axis->to - 1 || axis->from == 1) return tap_at_last(axis);
  return tap_between(axis, i);
}

/* The last resized row is computed from a single row of the picture, as in Darknet. If rounding
 * puts its position slightly before the picture's last row, the two weights are for example 0.0001
 * and 0, and the row is almost black. This is kept, because networks were trained with it. */
struct mafat_resample_tap mafat_image_row_tap(const struct mafat_image_axis *axis, int i)
{
  if (axis->to == 1) return tap_at_last(axis);
  struct mafat_resample_tap tap = tap_between(axis, i);
  if (i == axis->to - 1 || axis->from == 1) {
    tap.second = tap.first;
    tap.second_weight = 0;
  }
  return tap;
}

void mafat_image_grey_row(const uint8_t *rgb, uint8_t *grey, int n)
{
  /* 0.299, 0.587 and 0.114 as fixed point with 14 fraction bits */
  enum { SHIFT = 14, RED = 4899, GREEN = 9617, BLUE = (1 << SHIFT) - RED - GREEN };
  for (int i = 0; i < n; i++, rgb += 3)
    grey[i] = (uint8_t)((rgb[0] * RED + rgb[1] * GREEN + rgb[2] * BLUE +
                         (1 << (SHIFT - 1))) >> SHIFT);
}

#include "runner/surroundings.h"

#include "runner/input.h"
#include "runner/process.h"

#include <sys/stat.h>

/* Page cache that reading the picture takes. */
static size_t file_bytes(const char *path)
{
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return 0;
  return st.st_size < MAFAT_IMAGE_FILE_WINDOW ? (size_t)st.st_size : MAFAT_IMAGE_FILE_WINDOW;
}

static struct mafat_image_input image_input(const struct mafat_network *n)
{
  return (struct mafat_image_input){n->input.w, n->input.h, n->input.c,
                                    n->letterbox ? MAFAT_FIT_LETTERBOX : MAFAT_FIT_STRETCH};
}

int mafat_surroundings_input(struct mafat_image_input *input, const struct mafat_network *n,
                             struct mafat_diagnostic *d)
{
  *input = image_input(n);
  if (n->input.c == 1 || n->input.c == 3) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EUNSUPPORTED,
                    "%s: expected a network of 1 or 3 input channels for pictures, found %d: give it raw floats (--input)",
                    n->path, n->input.c);
}

void mafat_surroundings_set_picture(struct mafat_surroundings *around, const struct mafat_image *image,
                                    const char *path, const struct mafat_network *n)
{
  around->image_bytes = mafat_image_bytes(image);
  around->turned_bytes = mafat_input_turned_bytes(image, n->input);
  around->file_bytes = file_bytes(path);
}

void mafat_surroundings_assume_picture(struct mafat_surroundings *around, const struct mafat_network *n)
{
  struct mafat_image_input input = image_input(n);
  around->image_bytes = mafat_image_bytes_assumed(&input);
  around->turned_bytes = around->file_bytes = 0;
}

static int look_at_picture(struct mafat_surroundings *around, const struct mafat_surroundings_request *r,
                           struct mafat_diagnostic *d)
{
  struct mafat_image_input input;
  struct mafat_image *image;
  if (r->floats_only) return MAFAT_OK;
  int code = mafat_surroundings_input(&input, r->network, d);
  if (code) return code;
  mafat_surroundings_assume_picture(around, r->network);
  if (!r->picture) return MAFAT_OK;
  code = mafat_image_open(&image, r->picture, &input, d);
  if (code) return r->picture_may_fail ? MAFAT_OK : code;
  mafat_surroundings_set_picture(around, image, r->picture, r->network);
  mafat_image_close(&image);
  return MAFAT_OK;
}

int mafat_surroundings_measure(struct mafat_surroundings *around,
                               const struct mafat_surroundings_request *r, struct mafat_diagnostic *d)
{
  *around = (struct mafat_surroundings){
      .process_bytes = mafat_process_resident_bytes(),
      .late_bytes = mafat_process_is_static() ? MAFAT_LATE_PAGES : MAFAT_LATE_PAGES_DYNAMIC};
  return look_at_picture(around, r, d);
}

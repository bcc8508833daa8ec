#include "runner/memory/surroundings.h"

#include "runner/image/input.h"
#include "runner/image/raw_input.h"
#include "runner/memory/process.h"

#include <string.h>
#include <sys/stat.h>

enum {
  /* One more window of code or constants, on a path that nobody has stepped through,
   * and the heap of an open file. */
  LATE_WINDOW = 64 << 10,
  /* Of a program whose code does not stand together: kernels, decoders, detections,
   * measured with glibc 2.36. */
  LATE_ELSEWHERE = 640 << 10,
  /* Records of a layer in plan, layout, schedule, executor and weights, and what there is once. */
  LAYER_BYTES = 640,
  RECORDS_BYTES = 48 << 10
};

/* ---- code ---- */

/* By the linker, in this order; NULL where it was not asked to. */
extern const char mafat_run_png[] __attribute__((weak)), mafat_run_portable[] __attribute__((weak)),
    mafat_run_avx2[] __attribute__((weak)), mafat_run_jpeg[] __attribute__((weak)),
    mafat_run_common[] __attribute__((weak)), mafat_run_best[] __attribute__((weak)),
    mafat_run_end[] __attribute__((weak));

static bool code_stands_together(void)
{
  return mafat_run_end != NULL;
}

/* A few filters that are left over from blocks or, where each group is computed by
 * itself, are all there are: avx512 leaves them to avx2 (runner/kernels/conv.h). */
static bool has_narrow_calls(const struct mafat_network *n)
{
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    if (!mafat_layer_has_panels(l)) continue;
    bool depthwise = mafat_layer_is_depthwise(l);
    int filters = mafat_layer_is_grouped(l) && !depthwise ? l->out.c / l->groups : l->out.c;
    int left = filters % MAFAT_CHANNEL_BLOCK;
    if (left >= 1 && left <= MAFAT_NARROW_FILTERS) return true;
  }
  return false;
}

static void populate_code(const struct mafat_network *n, const struct mafat_kernels *kernels)
{
  const char *name = (kernels ? kernels : mafat_kernels_find(NULL))->name;
  bool avx512 = strcmp(name, "avx512") == 0, avx2 = strcmp(name, "avx2") == 0;
  if (strcmp(name, "portable") == 0) mafat_process_populate(mafat_run_portable, mafat_run_avx2);
  if (avx2 || (avx512 && has_narrow_calls(n))) mafat_process_populate(mafat_run_avx2, mafat_run_jpeg);
  if (avx512 || strcmp(name, "neon") == 0) mafat_process_populate(mafat_run_best, mafat_run_end);
  mafat_process_populate(mafat_run_common, mafat_run_best);
}

/* A decoder's code is resident from its first picture on. That of the first picture is
 * part of what is measured then. */
static void count_decoder(struct mafat_surroundings *around, const char *format)
{
  bool jpeg = strcmp(format, "JPEG") == 0, png = strcmp(format, "PNG") == 0;
  unsigned decoder = jpeg ? MAFAT_DECODER_JPEG : png ? MAFAT_DECODER_PNG : 0;
  if (!code_stands_together() || !decoder || around->decoders & decoder) return;
  const char *begin = jpeg ? mafat_run_jpeg : mafat_run_png, *end = jpeg ? mafat_run_common : mafat_run_portable;
  mafat_process_populate(begin, end);
  around->decoders |= decoder;
  if (around->process_bytes) around->decoder_bytes += (size_t)(end - begin);
}

/* ---- pictures ---- */

/* Page cache that reading the picture takes. */
static size_t file_bytes(const char *path)
{
  struct stat st;
  if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return 0;
  return st.st_size < MAFAT_IMAGE_FILE_WINDOW ? (size_t)st.st_size : MAFAT_IMAGE_FILE_WINDOW;
}

static struct mafat_image_input image_input(const struct mafat_network *n, bool shrinks)
{
  struct mafat_shape in = mafat_network_picture_shape(n);
  return (struct mafat_image_input){in.w, in.h, in.c, .shrinks = shrinks,
                                    .fit = n->letterbox ? MAFAT_FIT_LETTERBOX : MAFAT_FIT_STRETCH};
}

int mafat_surroundings_input(struct mafat_image_input *input, const struct mafat_network *n, bool shrinks,
                             struct mafat_diagnostic *d)
{
  *input = image_input(n, shrinks);
  if (input->c == 1 || input->c == 3) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EUNSUPPORTED,
                    "%s: expected a network of 1 or 3 input channels for pictures, found %d: give it raw floats (--input)",
                    n->path, input->c);
}

void mafat_surroundings_set_picture(struct mafat_surroundings *around, const struct mafat_image *image,
                                    const char *path, const struct mafat_network *n)
{
  count_decoder(around, mafat_image_describe(image)->format);
  around->image_bytes = mafat_image_bytes(image);
  around->turned_bytes = mafat_input_turned_bytes(image, mafat_network_picture_shape(n));
  around->file_bytes = file_bytes(path);
}

void mafat_surroundings_assume_picture(struct mafat_surroundings *around, const struct mafat_network *n, bool shrinks)
{
  struct mafat_image_input input = image_input(n, shrinks);
  count_decoder(around, "JPEG");
  around->image_bytes = mafat_image_bytes_assumed(&input);
  around->turned_bytes = around->file_bytes = 0;
}

void mafat_surroundings_set_floats(struct mafat_surroundings *around, const struct mafat_network *n)
{
  around->image_bytes = mafat_raw_input_bytes(mafat_network_picture_shape(n));
  around->turned_bytes = around->file_bytes = 0;
}

static int look_at_picture(struct mafat_surroundings *around, const struct mafat_surroundings_request *r,
                           struct mafat_diagnostic *d)
{
  struct mafat_image_input input;
  struct mafat_image *image;
  if (r->floats_only) {
    mafat_surroundings_set_floats(around, r->network);
    return MAFAT_OK;
  }
  int code = mafat_surroundings_input(&input, r->network, r->shrinks, d);
  if (code) return code;
  code = r->picture ? mafat_image_open(&image, r->picture, &input, d) : MAFAT_EINVAL;
  if (code) {
    if (r->picture && !r->picture_may_fail) return code;
    mafat_surroundings_assume_picture(around, r->network, r->shrinks);
    return MAFAT_OK;
  }
  mafat_surroundings_set_picture(around, image, r->picture, r->network);
  mafat_image_close(&image);
  return MAFAT_OK;
}

static void share_arena(struct mafat_surroundings *around, struct mafat_arena *arena)
{
  size_t resident;
  around->arena_bytes = mafat_arena_bytes(arena, &resident);
  around->process_bytes -= resident < around->process_bytes ? resident : around->process_bytes;
}

void mafat_surroundings_trim(void)
{
  if (code_stands_together()) mafat_process_trim_code();
}

int mafat_surroundings_measure(struct mafat_surroundings *around,
                               const struct mafat_surroundings_request *r, struct mafat_diagnostic *d)
{
  *around = (struct mafat_surroundings){.late_bytes = RECORDS_BYTES + (size_t)r->network->n_layers * LAYER_BYTES +
                                                      (code_stands_together() ? LATE_WINDOW : LATE_ELSEWHERE),
                                        .reserve_bytes = r->reserve_bytes};
  int code = look_at_picture(around, r, d);
  if (code) return code;
  if (code_stands_together()) populate_code(r->network, r->kernels);
  mafat_surroundings_trim();
  mafat_process_touch_stack();
  mafat_process_trim_heap();
  around->process_bytes = mafat_process_resident_bytes();
  if (r->arena) share_arena(around, r->arena);
  return MAFAT_OK;
}

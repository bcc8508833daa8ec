/* Measures the process footprint and makes code resident. Called by the other files of api/. Reads
 * /proc and picture headers; maps, drops and locks pages. */
#include "api/footprint.h"

#include "base/part.h"
#include "network/constant.h"
#include "runner/image/input.h"
#include "runner/image/raw_input.h"
#include "runner/kernels/integer.h"
#include "runner/os/headroom.h"
#include "runner/os/own.h"
#include "runner/os/parts.h"
#include "runner/os/process.h"

#include <stdint.h>
#include <string.h>

enum {
  /* bytes around a page fault that the kernel makes resident; counted once, for code that is
   * entered unexpectedly and for the heap of an open file */
  LATE_WINDOW = 64 << 10,
  PROGRAM_FILE = 4 << 20, /* upper bound of the program file's cached part */
  /* bytes of code that become resident during runs (kernels, decoders, detection) if the program is
   * linked without parts (base/part.h); measured with glibc 2.36 */
  LATE_ELSEWHERE = 640 << 10,
  /* bytes of heap in plan, layout, schedule, executor and weights: for each layer, and for these
   * structs themselves */
  LAYER_BYTES = 768,
  RECORDS_BYTES = 52 << 10
};

/* ---- code ---- */

/* True if the layer is computed by float kernels; integer kernels are separate code. */
static bool reads_floats(const struct mafat_network *n, int layer)
{
  return mafat_network_in_type(n, layer) == MAFAT_F32;
}

/* True if some calls of kernels compute few filters: the rest after blocks of 16, or a small group.
 * A kernel level may pass these calls to another level (runner/kernels/conv.h). */
static bool has_narrow_calls(const struct mafat_network *n)
{
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    if (!reads_floats(n, i) || (!mafat_layer_has_panels(l) && !mafat_layer_multiplies(l))) continue;
    bool depthwise = mafat_layer_is_depthwise(l);
    int filters = mafat_layer_is_grouped(l) && !depthwise ? l->out.c / l->groups : l->out.c;
    int left = filters % MAFAT_CHANNEL_BLOCK;
    if (left >= 1 && left <= MAFAT_NARROW_FILTERS) return true;
  }
  return false;
}

static bool has_depthwise(const struct mafat_network *n)
{
  for (int i = 0; i < n->n_layers; i++)
    if (reads_floats(n, i) && mafat_layer_has_panels(&n->layers[i]) &&
        mafat_layer_is_depthwise(&n->layers[i]))
      return true;
  return false;
}

/* True for layers that cannot come from a Darknet cfg: because of their kind, or because the
 * model's own file stores their weights in a narrow type. */
static bool is_apart(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  return mafat_layer_is_apart(l) || (mafat_layer_widens(l) && n->constants &&
                                     mafat_dtypes[n->constants->layers[layer].weights.type].narrow);
}

static bool has_apart(const struct mafat_network *n)
{
  for (int i = 0; i < n->n_layers; i++)
    if (is_apart(n, i)) return true;
  return false;
}

static bool has_integers(const struct mafat_network *n)
{
  for (int i = 0; i < n->n_layers; i++)
    if (n->layers[i].out_type == MAFAT_U8) return true;
  return false;
}

static const struct mafat_integer_kernels *integer_kernels_of(const struct mafat_kernels *kernels)
{
  return mafat_integer_kernels_find(kernels ? kernels : mafat_kernels_find(NULL));
}

/* Returns the bytes of stack that integer convolutions need beyond MAFAT_THREAD_PAGES (predict.h):
 * for tables of taps, and at some kernel levels for sorted lists of weights. */
static size_t stack_of_runs(const struct mafat_network *n, const struct mafat_kernels *kernels)
{
  enum { INTEGER_STACK = 20 << 10 };
  if (!has_integers(n)) return 0;
  return INTEGER_STACK +
         (integer_kernels_of(kernels)->sorts ? MAFAT_SORTED_ROOM * sizeof(uint16_t) : 0);
}

/* Properties that decide which parts of the program a run enters. */
struct footprint_run {
  const struct mafat_network *network;
  const char *level, *helper, *integer_level; /* helper: level that computes calls with few
                                                 filters; "": none */
  unsigned decoders, winograds;
  bool depthwise, apart, integers;
};

/* Returns the kernel level to which `level` passes calls with few filters; "": to none. */
static const char *helper_of(const char *level)
{
  static const struct { const char *level, *helper; } rows[MAFAT_N_LEVELS] = {
#define ITSELF ""
#define FEW(name, NAME) #name
#define HELPER(name, few) {name, few},
#define LEVEL(name, NAME, machine, features, few, ...) HELPER(#name, few)
#include "base/levels.def"
  };
  int i = MAFAT_N_LEVELS - 1;
  while (i > 0 && strcmp(rows[i].level, level) != 0) i--;
  return rows[i].helper;
}

static struct footprint_run run_of(const struct mafat_network *n,
                                   const struct mafat_kernels *kernels, unsigned decoders,
                                   unsigned winograds)
{
  const char *level = (kernels ? kernels : mafat_kernels_find(NULL))->name;
  return (struct footprint_run){.network = n,
                                .level = level,
                                .helper = has_narrow_calls(n) ? helper_of(level) : "",
                                .integer_level = integer_kernels_of(kernels)->name,
                                .decoders = decoders,
                                .winograds = winograds,
                                .depthwise = has_depthwise(n),
                                .apart = has_apart(n),
                                .integers = has_integers(n)};
}

/* Parts of the program's code that runs enter, in order of address. */
struct parts {
  struct mafat_process_part of[MAFAT_N_CODE_PARTS + 1];
  int n;
};

static void add_part(struct parts *p, bool entered, enum mafat_code_part part)
{
  if (entered) p->of[p->n++] = mafat_code_part(part);
}

/* Finds the parts that runs enter. `winograds`: bit set of the Winograd sizes that a plan uses. */
static struct parts parts_of_runs(const struct mafat_network *n,
                                  const struct mafat_kernels *kernels, unsigned decoders,
                                  unsigned winograds)
{
  const struct footprint_run of = run_of(n, kernels, decoders, winograds), *run = &of;
  struct parts p = {.of[0] = mafat_code_jumps(), .n = 1};
#define LEVEL_RUNS(name) (strcmp(run->level, #name) == 0)
#define LEVEL_HELPS(name) (strcmp(run->helper, #name) == 0)
#define INTEGERS_RUN(name) (run->integers && strcmp(run->integer_level, #name) == 0)
#define PART(name, begins, when) add_part(&p, when, MAFAT_CODE_##name);
#include "runner/os/parts.def"
  return p;
}

static size_t part_bytes(const struct mafat_process_part *part)
{
  size_t from = (uintptr_t)part->begin / MAFAT_PAGE,
         to = ((uintptr_t)part->end + MAFAT_PAGE - 1) / MAFAT_PAGE;
  return (to - from) * MAFAT_PAGE;
}

MAFAT_PART(opening)
static size_t parts_bytes(const struct mafat_footprint_request *r, unsigned decoders,
                          unsigned winograds)
{
  struct parts p = parts_of_runs(r->network, r->kernels, decoders, winograds);
  size_t bytes = 0;
  for (int i = 0; i < p.n; i++) bytes += part_bytes(&p.of[i]);
  return bytes;
}

static void populate(enum mafat_code_part part)
{
  struct mafat_process_part place = mafat_code_part(part);
  mafat_process_populate(place.begin, place.end);
}

/* Drops the program file's page cache, which is charged to the cgroup, if memory is short.
 * Otherwise it stays for the next start of the program. */
static void forget_code(size_t coming_bytes)
{
  size_t left = mafat_headroom_left("");
  if (left < coming_bytes || left - coming_bytes < PROGRAM_FILE) mafat_process_forget_code();
}

/* Makes the code resident with few system calls, instead of page faults. */
MAFAT_PART(opening) void mafat_footprint_begin(bool imports)
{
  if (!mafat_code_is_placed()) return;
  if (imports) populate(MAFAT_CODE_import);
  populate(MAFAT_CODE_opening);
  populate(MAFAT_CODE_run);
  mafat_process_advise_code();
  mafat_process_own_data();
  forget_code(0);
}

void mafat_footprint_settle(const struct mafat_footprint *footprint, const struct mafat_network *n,
                            const struct mafat_kernels *kernels, const struct mafat_layout *layout,
                            size_t coming_bytes)
{
  if (!mafat_code_is_placed()) return;
  struct parts p = parts_of_runs(n, kernels, footprint->decoders, layout->winograds);
  for (int i = 0; i < p.n; i++) mafat_process_populate(p.of[i].begin, p.of[i].end);
  mafat_process_keep_code(p.of, p.n);
  forget_code(coming_bytes);
}

void mafat_footprint_forget_import(void)
{
  struct mafat_process_part import = mafat_code_part(MAFAT_CODE_import);
  if (mafat_code_is_placed()) mafat_process_drop(import.begin, import.end);
}

struct mafat_own_range mafat_footprint_lock(const struct mafat_footprint *footprint,
                                            const struct mafat_network *n,
                                            const struct mafat_kernels *kernels,
                                            const struct mafat_layout *layout)
{
  if (!mafat_code_is_placed()) return (struct mafat_own_range){0, 0};
  struct parts p = parts_of_runs(n, kernels, footprint->decoders, layout->winograds);
  for (int i = 0; i < p.n; i++) mafat_process_lock(p.of[i].begin, p.of[i].end);
  return mafat_own_lock();
}

/* Returns the resident bytes of the program's code, and those of the process at the same moment: if
 * memory is short, the kernel may reclaim code at any time, so it measures again until both
 * agree. */
static size_t measure_code(size_t *resident_bytes)
{
  size_t mapped = mafat_process_code_bytes(), before;
  int tries = 8;
  do {
    before = mapped;
    *resident_bytes = mafat_process_resident_bytes();
    mapped = mafat_process_code_bytes();
  } while (mapped != before && --tries);
  return mapped;
}

/* Measures the process. Replaces the code that is resident now by the code that runs enter. */
MAFAT_PART(opening)
static void measure_process(struct mafat_footprint *footprint,
                            const struct mafat_footprint_request *r)
{
  size_t mapped = measure_code(&footprint->process_bytes);
  if (!footprint->process_bytes) /* without /proc */
    footprint->process_bytes = mafat_process_most_resident_bytes();
  footprint->process_bytes += r->absent_bytes;
  footprint->opening_bytes = footprint->process_bytes;
  if (!mafat_code_is_placed()) return;
  footprint->program_bytes = mafat_process_file_bytes();
  size_t bytes = parts_bytes(r, footprint->decoders, 0);
  footprint->process_bytes -= mapped < footprint->process_bytes ? mapped : footprint->process_bytes;
  footprint->process_bytes += bytes;
  for (int i = 0; i < MAFAT_N_WINOGRADS; i++)
    footprint->winograd_bytes[i] = parts_bytes(r, footprint->decoders, 1u << i) - bytes;
}

/* Returns the bytes that become resident when a run first enters a part. If parts are not aligned
 * to LATE_WINDOW (make WINDOW=0x1000), this includes neighboring parts in the same windows. */
static size_t late_part_bytes(const struct mafat_process_part *part)
{
  uintptr_t from = (uintptr_t)part->begin / LATE_WINDOW,
            to = ((uintptr_t)part->end + LATE_WINDOW - 1) / LATE_WINDOW;
  return (uintptr_t)part->begin % LATE_WINDOW == 0 ? part_bytes(part) : (to - from) * LATE_WINDOW;
}

static const char a_frame[] = "a frame"; /* format of video frames for count_decoder */

/* Counts the code of a format's decoder, which stays resident after its first use. For the first
 * picture, the decoder is part of what measure_process counts. */
static void count_decoder(struct mafat_footprint *footprint, const char *format)
{
  bool jpeg = strcmp(format, "JPEG") == 0, png = strcmp(format, "PNG") == 0;
  unsigned decoder = jpeg                           ? MAFAT_DECODER_JPEG
                     : png                          ? MAFAT_DECODER_PNG
                     : strcmp(format, a_frame) == 0 ? MAFAT_DECODER_VIDEO
                                                    : 0;
  if (!mafat_code_is_placed() || !decoder || footprint->decoders & decoder) return;
  footprint->decoders |= decoder;
  if (!footprint->process_bytes) return;
  enum mafat_code_part code = jpeg ? MAFAT_CODE_jpeg : png ? MAFAT_CODE_png : MAFAT_CODE_video;
  struct mafat_process_part part = mafat_code_part(code), after = mafat_code_gap_after(code);
  populate(code);
  mafat_process_drop(after.begin, after.end); /* this gap became resident with the part's end */
  footprint->decoder_bytes += late_part_bytes(&part);
}

/* ---- pictures ---- */

MAFAT_PART(opening)
struct mafat_image_input mafat_footprint_usual_input(const struct mafat_network *n)
{
  struct mafat_shape in = mafat_network_picture_shape(n);
  return (struct mafat_image_input){in.w, in.h, in.c,
                                    .fit = n->letterbox ? MAFAT_FIT_LETTERBOX : MAFAT_FIT_STRETCH};
}

int mafat_footprint_check_input(const struct mafat_image_input *input,
                                const struct mafat_network *n, struct mafat_diagnostic *d)
{
  if (input->c == 1 || input->c == 3) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EUNSUPPORTED,
                    "%s: expected a network of 1 or 3 input channels for pictures, found %d: give "
                    "it raw floats (--input)",
                    n->path, input->c);
}

/* Returns the bytes needed to read input `first` and all later inputs, each from a file. */
static size_t raw_bytes_from(const struct mafat_network *n, int first)
{
  struct mafat_file_order order;
  size_t bytes = 0;
  for (int i = first; i < n->n_inputs; i++) {
    mafat_network_input_order(n, i, &order);
    bytes += mafat_raw_input_bytes(&order);
  }
  return bytes;
}

void mafat_footprint_set_picture(struct mafat_footprint *footprint, const struct mafat_image *image,
                                    const struct mafat_network *n)
{
  const struct mafat_image_info *info = mafat_image_describe(image);
  count_decoder(footprint, info->frame ? a_frame : info->format);
  footprint->image_bytes = mafat_image_bytes(image);
  footprint->image_whole = info->whole ? info->format : NULL;
  footprint->floats_bytes = raw_bytes_from(n, 1);
  footprint->turned_bytes = mafat_input_turned_bytes(image, mafat_network_picture_shape(n));
  footprint->file_bytes = mafat_image_file_bytes(image);
}

void mafat_footprint_assume_picture(struct mafat_footprint *footprint,
                                    const struct mafat_network *n,
                                    const struct mafat_image_input *input)
{
  count_decoder(footprint, "JPEG");
  footprint->image_bytes = mafat_image_bytes_assumed(input);
  footprint->image_whole = NULL;
  footprint->floats_bytes = raw_bytes_from(n, 1);
  footprint->turned_bytes = footprint->file_bytes = 0;
}

void mafat_footprint_set_floats(struct mafat_footprint *footprint, const struct mafat_network *n)
{
  footprint->image_bytes = 0;
  footprint->floats_bytes = raw_bytes_from(n, 0);
  footprint->turned_bytes = footprint->file_bytes = 0;
}

static int look_at_picture(struct mafat_footprint *footprint,
                           const struct mafat_footprint_request *r, struct mafat_diagnostic *d)
{
  struct mafat_image_input input = r->input ? *r->input : mafat_footprint_usual_input(r->network);
  struct mafat_image *image;
  if (r->floats_only) {
    mafat_footprint_set_floats(footprint, r->network);
    return MAFAT_OK;
  }
  int code = mafat_footprint_check_input(&input, r->network, d);
  if (code) return code;
  if (input.rule) footprint->decoders |= MAFAT_DECODER_RULE;
  if (r->frame) {
    mafat_footprint_set_floats(footprint, r->network);
    footprint->floats_bytes = raw_bytes_from(r->network, 1);
    footprint->decoders |= MAFAT_DECODER_VIDEO;
    if (r->frame->kind == MAFAT_FRAME_MJPEG) count_decoder(footprint, "JPEG");
    footprint->frames_bytes += mafat_image_frame_bytes(r->frame, &input, r->frame_stays);
    return MAFAT_OK;
  }
  code = r->picture ? mafat_image_open(&image, r->picture, &input, d) : MAFAT_EINVAL;
  if (code) {
    if (r->picture && !r->picture_may_fail) return code;
    mafat_footprint_assume_picture(footprint, r->network, &input);
    return MAFAT_OK;
  }
  mafat_footprint_set_picture(footprint, image, r->network);
  mafat_image_close(&image);
  return MAFAT_OK;
}

static void share_arena(struct mafat_footprint *footprint, struct mafat_arena *arena)
{
  size_t resident;
  footprint->arena_bytes = mafat_arena_bytes(arena, &resident);
  footprint->process_bytes -=
      resident < footprint->process_bytes ? resident : footprint->process_bytes;
}

MAFAT_PART(opening) int mafat_footprint_measure(struct mafat_footprint *footprint,
                               const struct mafat_footprint_request *r, struct mafat_diagnostic *d)
{
  *footprint = (struct mafat_footprint){
      .late_bytes = RECORDS_BYTES + (size_t)r->network->n_layers * LAYER_BYTES +
                    (mafat_code_is_placed() ? LATE_WINDOW : LATE_ELSEWHERE),
      .stack_bytes = stack_of_runs(r->network, r->kernels),
      .reserve_bytes = r->reserve_bytes,
      .reading_bytes = r->reading_bytes,
      .frames_bytes = r->beside_bytes};
  int code = look_at_picture(footprint, r, d);
  if (code) return code;
  mafat_process_touch_stack();
  mafat_process_trim_heap();
  measure_process(footprint, r);
  if (r->arena) share_arena(footprint, r->arena);
  return MAFAT_OK;
}

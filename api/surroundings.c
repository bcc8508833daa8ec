#include "api/surroundings.h"

#include "network/constant.h"
#include "runner/image/input.h"
#include "runner/image/raw_input.h"
#include "runner/kernels/integer.h"
#include "runner/os/headroom.h"
#include "runner/os/own.h"
#include "runner/os/process.h"

#include <stdint.h>
#include <string.h>

enum {
  /* A window of code or constants, on paths that nobody has stepped through, and the
   * heap of an open file. */
  LATE_WINDOW = 64 << 10,
  PROGRAM_FILE = 4 << 20, /* more than that may be cached of it */
  /* Of a program whose code does not stand together: kernels, decoders, detections,
   * measured with glibc 2.36. */
  LATE_ELSEWHERE = 640 << 10,
  /* Records of a layer in plan, layout, schedule, executor and weights, and what there is once. */
  LAYER_BYTES = 768,
  RECORDS_BYTES = 52 << 10
};

/* ---- code ---- */

/* By the linker (run_inference.ld), in this order; NULL where it was not asked to. Each level of kernels begins with
 * Winograd's, F(6x6) and F(4x4); then come the depthwise convolution's and the rest. */
#define PLACE(name) extern const char name[] __attribute__((weak))
#define LEVEL_PLACES(name) PLACE(name); PLACE(name##_4); PLACE(name##_depthwise); PLACE(name##_rest); PLACE(name##_end)
PLACE(mafat_program_begin);
PLACE(mafat_program_jumps_end);
PLACE(mafat_run_setup);
PLACE(mafat_run_setup_end);
PLACE(mafat_run_png);
PLACE(mafat_run_png_end);
LEVEL_PLACES(mafat_run_portable);
LEVEL_PLACES(mafat_run_avx2);
PLACE(mafat_run_graph);
PLACE(mafat_run_graph_end);
#define INTEGER_PLACES(name) PLACE(mafat_run_integer_##name); PLACE(mafat_run_integer_##name##_end)
PLACE(mafat_run_integer);
PLACE(mafat_run_integer_end);
INTEGER_PLACES(portable);
INTEGER_PLACES(avx2);
INTEGER_PLACES(avxvnni);
INTEGER_PLACES(avx512);
INTEGER_PLACES(best);
PLACE(mafat_run_video);
PLACE(mafat_run_video_end);
PLACE(mafat_run_pixels);
PLACE(mafat_run_pixels_end);
PLACE(mafat_run_heads);
PLACE(mafat_run_heads_end);
PLACE(mafat_run_jpeg);
PLACE(mafat_run_jpeg_end);
PLACE(mafat_run_common);
PLACE(mafat_run_common_end);
LEVEL_PLACES(mafat_run_best);
PLACE(mafat_run_import);
PLACE(mafat_run_import_end);
PLACE(mafat_run_ctype);
PLACE(mafat_run_ctype_end);
PLACE(mafat_run_powers);
PLACE(mafat_run_powers_end);

/* The kernels of a level, by what needs them. */
struct level_code {
  struct mafat_process_part winograd[MAFAT_N_WINOGRADS], depthwise, rest;
};

#define LEVEL_CODE(name) \
  {{[MAFAT_WINOGRAD_6X6] = {name, name##_4}, [MAFAT_WINOGRAD_4X4] = {name##_4, name##_depthwise}}, \
   {name##_depthwise, name##_rest}, {name##_rest, name##_end}}

static const struct level_code portable_code = LEVEL_CODE(mafat_run_portable), avx2_code = LEVEL_CODE(mafat_run_avx2),
                               best_code = LEVEL_CODE(mafat_run_best);

static bool code_stands_together(void)
{
  return mafat_run_common != NULL;
}

/* Whole numbers have kernels of their own. */
static bool reads_floats(const struct mafat_network *n, int layer)
{
  return mafat_network_in_type(n, layer) == MAFAT_F32;
}

/* A few filters that are left over from blocks or, where each group is computed by
 * itself, are all there are: avx512 leaves them to avx2 (runner/kernels/conv.h). */
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
    if (reads_floats(n, i) && mafat_layer_has_panels(&n->layers[i]) && mafat_layer_is_depthwise(&n->layers[i])) return true;
  return false;
}

/* Such as no Darknet has: of a kind that none of its cfgs has, or weights that are narrow in the model's own file. */
static bool is_apart(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  return mafat_layer_is_apart(l) || (mafat_layer_widens(l) && n->constants && mafat_dtypes[n->constants->layers[layer].weights.type].narrow);
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

/* Kernels of integers, by the names of their levels; neon stands where avx512 does. */
static const struct {
  const char *name;
  struct mafat_process_part code;
} integer_code[] = {
#define INTEGER_CODE(place) {mafat_run_integer_##place, mafat_run_integer_##place##_end}
    {"portable", INTEGER_CODE(portable)}, {"avx2", INTEGER_CODE(avx2)}, {"avxvnni", INTEGER_CODE(avxvnni)},
    {"avx512", INTEGER_CODE(avx512)}, {"neon", INTEGER_CODE(avx512)}, {"avx512vnni", INTEGER_CODE(best)},
    {"neondot", INTEGER_CODE(best)}};

/* Parts that runs enter, in order. */
struct parts {
  struct mafat_process_part of[19];
  int n;
};

static void add_part(struct parts *p, bool entered, const char *begin, const char *end)
{
  if (entered) p->of[p->n++] = (struct mafat_process_part){begin, end};
}

static void add_level(struct parts *p, const struct level_code *level, bool depthwise, unsigned winograds)
{
  for (int i = MAFAT_N_WINOGRADS; i-- > 0;) add_part(p, winograds >> i & 1, level->winograd[i].begin, level->winograd[i].end);
  add_part(p, depthwise, level->depthwise.begin, level->depthwise.end);
  add_part(p, true, level->rest.begin, level->rest.end);
}

static const struct mafat_integer_kernels *integer_kernels_of(const struct mafat_kernels *kernels)
{
  return mafat_integer_kernels_find(kernels ? kernels : mafat_kernels_find(NULL));
}

/* Convolutions of whole numbers have more on their stacks than floats: tables of taps, and on some levels orders of weights. */
static size_t stack_of_runs(const struct mafat_network *n, const struct mafat_kernels *kernels)
{
  enum { INTEGER_STACK = 20 << 10 };
  if (!has_integers(n)) return 0;
  return INTEGER_STACK + (integer_kernels_of(kernels)->sorts ? MAFAT_SORTED_ROOM * sizeof(uint16_t) : 0);
}

static void add_integers(struct parts *p, const struct mafat_kernels *kernels)
{
  const char *name = integer_kernels_of(kernels)->name;
  add_part(p, true, mafat_run_integer, mafat_run_integer_end);
  for (size_t i = 0; i < sizeof integer_code / sizeof *integer_code; i++)
    add_part(p, strcmp(integer_code[i].name, name) == 0, integer_code[i].code.begin, integer_code[i].code.end);
}

static const struct level_code *level_code_of(const struct mafat_kernels *kernels)
{
  const char *name = (kernels ? kernels : mafat_kernels_find(NULL))->name;
  return strcmp(name, "portable") == 0 ? &portable_code : strcmp(name, "avx2") == 0 ? &avx2_code : &best_code;
}

/* Winograd's, as far as a plan has them. */
static struct parts parts_of_runs(const struct mafat_network *n, const struct mafat_kernels *kernels, unsigned decoders, unsigned winograds)
{
  const struct level_code *level = level_code_of(kernels);
  bool depthwise = has_depthwise(n);
  struct parts p = {.n = 0};
  add_part(&p, true, mafat_program_begin, mafat_program_jumps_end);
  add_part(&p, decoders & MAFAT_DECODER_VIDEO, mafat_run_video, mafat_run_video_end);
  add_part(&p, decoders & MAFAT_DECODER_PNG, mafat_run_png, mafat_run_png_end);
  if (level == &portable_code) add_level(&p, level, depthwise, winograds);
  if (level == &avx2_code) add_level(&p, level, depthwise, winograds);
  if (level == &best_code && avx2_code.rest.end > avx2_code.rest.begin && has_narrow_calls(n)) add_level(&p, &avx2_code, depthwise, 0);
  add_part(&p, has_apart(n), mafat_run_graph, mafat_run_graph_end);
  if (has_integers(n)) add_integers(&p, kernels);
  add_part(&p, decoders & MAFAT_DECODER_RULE, mafat_run_pixels, mafat_run_pixels_end);
  add_part(&p, n->decoded.head, mafat_run_heads, mafat_run_heads_end);
  add_part(&p, decoders & MAFAT_DECODER_JPEG, mafat_run_jpeg, mafat_run_jpeg_end);
  add_part(&p, true, mafat_run_common, mafat_run_common_end);
  if (level == &best_code) add_level(&p, level, depthwise, winograds);
  add_part(&p, true, mafat_run_ctype, mafat_run_ctype_end);
  add_part(&p, true, mafat_run_powers, mafat_run_powers_end);
  return p;
}

static size_t part_bytes(const struct mafat_process_part *part)
{
  size_t from = (uintptr_t)part->begin / MAFAT_PAGE, to = ((uintptr_t)part->end + MAFAT_PAGE - 1) / MAFAT_PAGE;
  return (to - from) * MAFAT_PAGE;
}

/* What is cached of the program's file is charged to the group that read it. Where there is room it stays, for whoever
 * starts the program next. */
static void forget_code(size_t coming_bytes)
{
  size_t left = mafat_headroom_left("");
  if (left < coming_bytes || left - coming_bytes < PROGRAM_FILE) mafat_process_forget_code();
}

/* What opening a model enters comes at once and not a window at a time. */
void mafat_surroundings_begin(bool imports)
{
  if (!code_stands_together()) return;
  if (imports) mafat_process_populate(mafat_run_import, mafat_run_import_end);
  mafat_process_populate(mafat_run_setup, mafat_run_setup_end);
  mafat_process_populate(mafat_run_common, mafat_run_common_end);
  mafat_process_advise_code();
  mafat_process_own_data();
  forget_code(0);
}

void mafat_surroundings_settle(const struct mafat_surroundings *around, const struct mafat_network *n,
                               const struct mafat_kernels *kernels, const struct mafat_layout *layout,
                               size_t coming_bytes)
{
  if (!code_stands_together()) return;
  struct parts p = parts_of_runs(n, kernels, around->decoders, layout->winograds);
  for (int i = 0; i < p.n; i++) mafat_process_populate(p.of[i].begin, p.of[i].end);
  mafat_process_keep_code(p.of, p.n);
  forget_code(coming_bytes);
}

void mafat_surroundings_forget_import(void)
{
  if (code_stands_together()) mafat_process_drop(mafat_run_import, mafat_run_import_end);
}

struct mafat_own_range mafat_surroundings_lock(const struct mafat_surroundings *around, const struct mafat_network *n,
                                               const struct mafat_kernels *kernels, const struct mafat_layout *layout)
{
  if (!code_stands_together()) return (struct mafat_own_range){0, 0};
  struct parts p = parts_of_runs(n, kernels, around->decoders, layout->winograds);
  for (int i = 0; i < p.n; i++) mafat_process_lock(p.of[i].begin, p.of[i].end);
  return mafat_own_lock();
}

/* Resident bytes of the process, and those of its code: of the same moment, for where there is little room the kernel
 * drops code at any time. */
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

/* The process with the parts that runs enter in place of those that are mapped now. */
static void measure_process(struct mafat_surroundings *around, const struct mafat_surroundings_request *r)
{
  size_t mapped = measure_code(&around->process_bytes);
  around->opening_bytes = around->process_bytes;
  if (!code_stands_together()) return;
  around->program_bytes = mafat_process_file_bytes();
  struct parts p = parts_of_runs(r->network, r->kernels, around->decoders, 0);
  const struct level_code *level = level_code_of(r->kernels);
  around->process_bytes -= mapped < around->process_bytes ? mapped : around->process_bytes;
  for (int i = 0; i < p.n; i++) around->process_bytes += part_bytes(&p.of[i]);
  for (int i = 0; i < MAFAT_N_WINOGRADS; i++) around->winograd_bytes[i] = part_bytes(&level->winograd[i]);
}

/* Where parts do not begin windows (run_inference.ld: mafat_window), one that is made resident late brings what shares its windows. */
static size_t late_part_bytes(const struct mafat_process_part *part)
{
  uintptr_t from = (uintptr_t)part->begin / LATE_WINDOW, to = ((uintptr_t)part->end + LATE_WINDOW - 1) / LATE_WINDOW;
  return (uintptr_t)part->begin % LATE_WINDOW == 0 ? part_bytes(part) : (to - from) * LATE_WINDOW;
}

static const char a_frame[] = "a frame"; /* in place of a picture's format */

/* A decoder's code is resident from its first picture on. That of the first picture is
 * part of what is measured then. */
static void count_decoder(struct mafat_surroundings *around, const char *format)
{
  bool jpeg = strcmp(format, "JPEG") == 0, png = strcmp(format, "PNG") == 0;
  unsigned decoder = jpeg ? MAFAT_DECODER_JPEG : png ? MAFAT_DECODER_PNG : strcmp(format, a_frame) == 0 ? MAFAT_DECODER_VIDEO : 0;
  if (!code_stands_together() || !decoder || around->decoders & decoder) return;
  around->decoders |= decoder;
  if (!around->process_bytes) return;
  struct mafat_process_part part = {mafat_run_png, mafat_run_png_end}, behind = {mafat_run_png_end, mafat_run_portable};
  if (jpeg) {
    part = (struct mafat_process_part){mafat_run_jpeg, mafat_run_jpeg_end};
    behind = (struct mafat_process_part){mafat_run_jpeg_end, mafat_run_common};
  }
  if (decoder == MAFAT_DECODER_VIDEO) {
    part = (struct mafat_process_part){mafat_run_video, mafat_run_video_end};
    behind = (struct mafat_process_part){mafat_run_video_end, mafat_run_png};
  }
  mafat_process_populate(part.begin, part.end);
  mafat_process_drop(behind.begin, behind.end); /* nothing is there; it came with the part's end */
  around->decoder_bytes += late_part_bytes(&part);
}

/* ---- pictures ---- */

struct mafat_image_input mafat_surroundings_usual_input(const struct mafat_network *n)
{
  struct mafat_shape in = mafat_network_picture_shape(n);
  return (struct mafat_image_input){in.w, in.h, in.c, .fit = n->letterbox ? MAFAT_FIT_LETTERBOX : MAFAT_FIT_STRETCH};
}

int mafat_surroundings_check_input(const struct mafat_image_input *input, const struct mafat_network *n, struct mafat_diagnostic *d)
{
  if (input->c == 1 || input->c == 3) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EUNSUPPORTED,
                    "%s: expected a network of 1 or 3 input channels for pictures, found %d: give it raw floats (--input)",
                    n->path, input->c);
}

/* What reading inputs from this one on takes, each in a file. */
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

void mafat_surroundings_set_picture(struct mafat_surroundings *around, const struct mafat_image *image,
                                    const struct mafat_network *n)
{
  const struct mafat_image_info *info = mafat_image_describe(image);
  count_decoder(around, info->frame ? a_frame : info->format);
  around->image_bytes = mafat_image_bytes(image);
  around->floats_bytes = raw_bytes_from(n, 1);
  around->turned_bytes = mafat_input_turned_bytes(image, mafat_network_picture_shape(n));
  around->file_bytes = mafat_image_file_bytes(image);
}

void mafat_surroundings_assume_picture(struct mafat_surroundings *around, const struct mafat_network *n,
                                       const struct mafat_image_input *input)
{
  count_decoder(around, "JPEG");
  around->image_bytes = mafat_image_bytes_assumed(input);
  around->floats_bytes = raw_bytes_from(n, 1);
  around->turned_bytes = around->file_bytes = 0;
}

void mafat_surroundings_set_floats(struct mafat_surroundings *around, const struct mafat_network *n)
{
  around->image_bytes = 0;
  around->floats_bytes = raw_bytes_from(n, 0);
  around->turned_bytes = around->file_bytes = 0;
}

static int look_at_picture(struct mafat_surroundings *around, const struct mafat_surroundings_request *r,
                           struct mafat_diagnostic *d)
{
  struct mafat_image_input input = r->input ? *r->input : mafat_surroundings_usual_input(r->network);
  struct mafat_image *image;
  if (r->floats_only) {
    mafat_surroundings_set_floats(around, r->network);
    return MAFAT_OK;
  }
  int code = mafat_surroundings_check_input(&input, r->network, d);
  if (code) return code;
  if (input.rule) around->decoders |= MAFAT_DECODER_RULE;
  if (r->frame) {
    mafat_surroundings_set_floats(around, r->network);
    around->floats_bytes = raw_bytes_from(r->network, 1);
    around->decoders |= MAFAT_DECODER_VIDEO;
    if (r->frame->kind == MAFAT_FRAME_MJPEG) count_decoder(around, "JPEG");
    around->frames_bytes += mafat_image_frame_bytes(r->frame, &input, r->frame_stays);
    return MAFAT_OK;
  }
  code = r->picture ? mafat_image_open(&image, r->picture, &input, d) : MAFAT_EINVAL;
  if (code) {
    if (r->picture && !r->picture_may_fail) return code;
    mafat_surroundings_assume_picture(around, r->network, &input);
    return MAFAT_OK;
  }
  mafat_surroundings_set_picture(around, image, r->network);
  mafat_image_close(&image);
  return MAFAT_OK;
}

static void share_arena(struct mafat_surroundings *around, struct mafat_arena *arena)
{
  size_t resident;
  around->arena_bytes = mafat_arena_bytes(arena, &resident);
  around->process_bytes -= resident < around->process_bytes ? resident : around->process_bytes;
}

int mafat_surroundings_measure(struct mafat_surroundings *around,
                               const struct mafat_surroundings_request *r, struct mafat_diagnostic *d)
{
  *around = (struct mafat_surroundings){.late_bytes = RECORDS_BYTES + (size_t)r->network->n_layers * LAYER_BYTES +
                                                      (code_stands_together() ? LATE_WINDOW : LATE_ELSEWHERE),
                                        .stack_bytes = stack_of_runs(r->network, r->kernels),
                                        .reserve_bytes = r->reserve_bytes, .frames_bytes = r->beside_bytes};
  int code = look_at_picture(around, r, d);
  if (code) return code;
  mafat_process_touch_stack();
  mafat_process_trim_heap();
  measure_process(around, r);
  if (r->arena) share_arena(around, r->arena);
  return MAFAT_OK;
}

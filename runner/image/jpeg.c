/* Decodes JPEG with libjpeg-turbo. Called by runner/image/image.c and frame.c, through struct
 * mafat_image_decoder_ops once it is open. Reads the file or frame; allocates the decoder, and
 * more through libjpeg; closing frees both. libjpeg reports errors by a callback that must not
 * return (longjmp), so every call that can fail is made through guarded(). */
#include <stdlib.h>

#include "runner/image/decoder.h"
#include "runner/image/jpeg_scans.h"

/* Parameters that determine libjpeg's memory use. */
struct jpeg_frame {
  int width, height, n_components;
  /* sampling factors of each component */
  int h[MAFAT_JPEG_COMPONENTS], v[MAFAT_JPEG_COMPONENTS];
  int shrunk; /* the picture is decoded at 1 / shrunk of its size: 1, 2, 4 or 8 */
  bool whole; /* libjpeg keeps the coefficients of the whole picture */
};

static size_t round_up(size_t n, size_t unit)
{
  return (n + unit - 1) / unit * unit;
}

/* Returns the largest jpeg_frame.shrunk with which both sides are at least the given ones. Other
 * scales than powers of two would save no work in libjpeg. */
static int most_shrunk(int width, int height, int least_width, int least_height)
{
  for (int n = 8; n > 1; n /= 2)
    if ((width + n - 1) / n >= least_width && (height + n - 1) / n >= least_height) return n;
  return 1;
}

/* Returns the side, in samples, that a block of component i has after decoding. If the picture is
 * shrunk, libjpeg may decode a subsampled component at a larger size instead of upsampling it. */
static size_t block_side(const struct jpeg_frame *f, int i, size_t h_max, size_t v_max)
{
  enum { BLOCK = 8 };
  size_t least = BLOCK / (size_t)f->shrunk, side = least;
  while (side < BLOCK && h_max * least % ((size_t)f->h[i] * side * 2) == 0 &&
         v_max * least % ((size_t)f->v[i] * side * 2) == 0)
    side *= 2;
  return side;
}

/* Returns an upper bound of libjpeg's heap in bytes; it is below 2^42. */
static uint64_t frame_bytes(const struct jpeg_frame *f)
{
  /* TABLES: Huffman, colour and range tables, and unused bytes of the pools. They were at most 27
   * kB in 2000 pictures of all kinds. */
  enum { TABLES = 48 * 1024, BLOCK = 8, BLOCK_BYTES = 128, ALIGN = 64 };
  /* Smooth upsampling of chroma keeps two more groups of rows. */
  enum { CONTEXT = 2 };

  size_t h_max = 1, v_max = 1;
  for (int i = 0; i < f->n_components; i++) {
    if ((size_t)f->h[i] > h_max) h_max = (size_t)f->h[i];
    if ((size_t)f->v[i] > v_max) v_max = (size_t)f->v[i];
  }
  size_t mcus_across = ((size_t)f->width + BLOCK * h_max - 1) / (BLOCK * h_max);
  size_t mcus_down = ((size_t)f->height + BLOCK * v_max - 1) / (BLOCK * v_max);
  size_t least = BLOCK / (size_t)f->shrunk;
  size_t full_row = round_up(mcus_across * least * h_max, 2 * ALIGN);

  uint64_t bytes = TABLES;
  if (f->n_components == 4) bytes += full_row * 4; /* a row of CMYK */
  for (int i = 0; i < f->n_components; i++) {
    size_t blocks = mcus_across * (size_t)f->h[i];
    size_t rows = mcus_down * (size_t)f->v[i];
    size_t side = block_side(f, i, h_max, v_max);
    size_t samples = round_up(blocks * side, 2 * ALIGN);
    bytes += samples * ((size_t)f->v[i] * side / least) * (least + CONTEXT);
    if ((size_t)f->h[i] < h_max || (size_t)f->v[i] < v_max)
      bytes += full_row * v_max; /* rows of the component after upsampling */
    if (f->whole) bytes += (uint64_t)(blocks * BLOCK_BYTES + sizeof(void *)) * rows;
  }
  return bytes;
}

size_t mafat_image_jpeg_bytes_assumed(int width, int height, int least_width, int least_height)
{
  int shrunk = most_shrunk(width, height, least_width, least_height);
  struct jpeg_frame f = {width, height, 3, {2, 1, 1}, {2, 1, 1}, shrunk, false};
  return (size_t)frame_bytes(&f);
}

#ifdef MAFAT_WITHOUT_JPEG

int mafat_image_jpeg_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                          const char *name, int channels, struct mafat_diagnostic *d)
{
  (void)out, (void)source, (void)channels;
  return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: this build cannot read JPEG", name);
}

#else

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

struct jpeg {
  struct mafat_image_decoder base;
  struct jpeg_decompress_struct cinfo; /* client_data is this struct */
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr bytes;
  struct jpeg_progress_mgr progress;
  struct mafat_jpeg_scans *scans; /* NULL: libjpeg reads the file itself */
  int shrunk;                     /* as in struct jpeg_frame */
  bool created, started, found_app1;
  bool in_scans;   /* the header is read */
  bool ends_early; /* the file ended in a scan, or after the last one, without an end marker */
  int scan;        /* number of the scan whose blocks are part of `work` */
  uint64_t work;   /* blocks of all scans so far */
  uint8_t *cmyk;   /* (width, 4), in libjpeg's pool */
  uint8_t *row;    /* destination row of the current step */

  jmp_buf escape; /* of guarded() */
  int code;       /* result of the current step */
  struct mafat_diagnostic *diagnostic;
};

/* ---- errors ---- */

static void give_up(struct jpeg *jpeg, int code) __attribute__((noreturn));
static void give_up(struct jpeg *jpeg, int code)
{
  jpeg->code = code;
  longjmp(jpeg->escape, 1);
}

static int code_of_message(int message)
{
  switch (message) {
  case JERR_OUT_OF_MEMORY: return MAFAT_ENOMEM;
  case JERR_ARITH_NOTIMPL:
  case JERR_BAD_PRECISION:
  case JERR_CCIR601_NOTIMPL:
  case JERR_COMPONENT_COUNT:
  case JERR_CONVERSION_NOTIMPL:
  case JERR_FRACT_SAMPLE_NOTIMPL:
  case JERR_NOT_COMPILED:
  case JERR_SOF_UNSUPPORTED: return MAFAT_EUNSUPPORTED;
  default: return MAFAT_EFORMAT;
  }
}

static void refuse_truncated(struct jpeg *jpeg) __attribute__((noreturn));
static void refuse_truncated(struct jpeg *jpeg)
{
  mafat_fail(jpeg->diagnostic, MAFAT_EFORMAT,
             "%s: truncated JPEG picture: the file ends after %lld bytes, before its end marker",
             jpeg->base.name, (long long)jpeg->base.source->position);
  give_up(jpeg, MAFAT_EFORMAT);
}

static void on_error(j_common_ptr cinfo)
{
  struct jpeg *jpeg = cinfo->client_data;
  int code = code_of_message(cinfo->err->msg_code);
  if (code == MAFAT_EFORMAT && jpeg->ends_early) refuse_truncated(jpeg);
  char reason[JMSG_LENGTH_MAX];
  cinfo->err->format_message(cinfo, reason);
  mafat_fail(jpeg->diagnostic, code, "%s: %s JPEG picture: %s", jpeg->base.name,
             code == MAFAT_EFORMAT ? "damaged" : "cannot read this", reason);
  give_up(jpeg, code);
}

/* If data ends early or is invalid, libjpeg warns and continues with invented pixels. We treat
 * these warnings as errors. Other warnings, such as of bytes between markers, are ignored, because
 * no pixels change. */
static void on_message(j_common_ptr cinfo, int level)
{
  if (level >= 0) return;
  switch (cinfo->err->msg_code) {
  case JWRN_ARITH_BAD_CODE:
  case JWRN_HIT_MARKER:
  case JWRN_HUFF_BAD_CODE:
  case JWRN_JPEG_EOF:
  case JWRN_MUST_RESYNC: on_error(cinfo);
  }
}

static uint64_t component_blocks(const jpeg_component_info *c)
{
  return (uint64_t)c->width_in_blocks * c->height_in_blocks;
}

/* Limits the work: a scan of a progressive file can have a few bytes, but libjpeg visits all its
 * blocks. */
static void count_scan(struct jpeg *jpeg)
{
  const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
  uint64_t blocks = 0;
  for (int i = 0; i < cinfo->num_components; i++) blocks += component_blocks(&cinfo->comp_info[i]);
  jpeg->scan = cinfo->input_scan_number;
  for (int i = 0; i < cinfo->comps_in_scan; i++)
    jpeg->work += component_blocks(cinfo->cur_comp_info[i]);
  if (jpeg->scan <= MAFAT_JPEG_SCANS && jpeg->work <= mafat_jpeg_most_work(blocks)) return;
  give_up(jpeg, mafat_jpeg_refuse_work(jpeg->base.name, (int)cinfo->image_width,
                                       (int)cinfo->image_height, jpeg->diagnostic));
}

/* Called by libjpeg for each row of blocks of each scan, before the first row is returned. */
static void on_progress(j_common_ptr cinfo)
{
  struct jpeg *jpeg = cinfo->client_data;
  int code = mafat_image_source_check(jpeg->base.source, jpeg->base.name, jpeg->diagnostic);
  if (code) give_up(jpeg, code);
  if (jpeg->cinfo.input_scan_number != jpeg->scan) count_scan(jpeg);
}

/* Runs a step, which calls libjpeg, and returns its error code. A step may end by longjmp, so
 * everything that it allocates must belong to libjpeg or to *jpeg. */
static int guarded(struct jpeg *jpeg, void (*step)(struct jpeg *), struct mafat_diagnostic *d)
{
  jpeg->diagnostic = d;
  jpeg->code = MAFAT_OK;
  if (setjmp(jpeg->escape) == 0) step(jpeg);
  return jpeg->code;
}

/* ---- input bytes ---- */

static void init_source(j_decompress_ptr cinfo)
{
  (void)cinfo;
}

/* Fills the buffer with the baseline JPEG that the scans are converted to. */
static void fill_from_scans(struct jpeg *jpeg)
{
  struct jpeg_source_mgr *bytes = &jpeg->bytes;
  uint8_t *buffer = jpeg->base.source->buffer;
  int code = mafat_jpeg_scans_read(jpeg->scans, buffer, &bytes->bytes_in_buffer, jpeg->diagnostic);
  bytes->next_input_byte = buffer;
  if (code) give_up(jpeg, code);
}

/* Refills the buffer. At the end of a file without an end marker, supplies one: libjpeg reads ahead
 * of what it needs, and reports missing data when it reaches the marker too early. */
static boolean fill_input_buffer(j_decompress_ptr cinfo)
{
  struct jpeg *jpeg = cinfo->client_data;
  static const uint8_t end_marker[] = {0xff, JPEG_EOI};
  struct mafat_image_source *source = jpeg->base.source;
  if (jpeg->in_scans && jpeg->scans) {
    fill_from_scans(jpeg);
    return TRUE;
  }
  int code = mafat_image_source_check(source, jpeg->base.name, jpeg->diagnostic);
  if (code) give_up(jpeg, code);
  int filled = mafat_image_source_fill(source);
  if (filled < 0) {
    mafat_fail(jpeg->diagnostic, MAFAT_EIO, "%s: cannot read: %s", jpeg->base.name,
               strerror(errno));
    give_up(jpeg, MAFAT_EIO);
  }
  cinfo->src->next_input_byte = source->next;
  cinfo->src->bytes_in_buffer = source->left;
  if (filled > 0) return TRUE;
  if (!jpeg->in_scans) refuse_truncated(jpeg);
  jpeg->ends_early = true;
  cinfo->src->next_input_byte = end_marker;
  cinfo->src->bytes_in_buffer = sizeof end_marker;
  return TRUE;
}

static void skip_input_data(j_decompress_ptr cinfo, long n)
{
  struct jpeg *jpeg = cinfo->client_data;
  if (n <= 0) return;
  size_t skip = (size_t)n;
  if (skip > cinfo->src->bytes_in_buffer) {
    jpeg->base.source->position += (off_t)(skip - cinfo->src->bytes_in_buffer);
    skip = cinfo->src->bytes_in_buffer;
  }
  cinfo->src->next_input_byte += skip;
  cinfo->src->bytes_in_buffer -= skip;
}

static unsigned take_byte(j_decompress_ptr cinfo)
{
  if (cinfo->src->bytes_in_buffer == 0) fill_input_buffer(cinfo);
  cinfo->src->bytes_in_buffer--;
  return *cinfo->src->next_input_byte++;
}

/* Reads the EXIF orientation from the first APP1 segment; ignores other APP1 segments, as OpenCV
 * does and so Darknet. */
static boolean on_app1(j_decompress_ptr cinfo)
{
  enum { LENGTH_BYTES = 2, EXIF_NAME_BYTES = 6 };
  struct jpeg *jpeg = cinfo->client_data;
  unsigned length = take_byte(cinfo) << 8;
  length += take_byte(cinfo);
  if (length < LENGTH_BYTES) ERREXIT(cinfo, JERR_BAD_LENGTH);
  length -= LENGTH_BYTES;

  off_t at = jpeg->base.source->position - (off_t)cinfo->src->bytes_in_buffer;
  if (!jpeg->found_app1 && length > EXIF_NAME_BYTES)
    jpeg->base.orientation = mafat_image_exif_orientation(
        jpeg->base.source->fd, at + EXIF_NAME_BYTES, length - EXIF_NAME_BYTES);
  jpeg->found_app1 = true;
  skip_input_data(cinfo, (long)length);
  return TRUE;
}

/* ---- steps ---- */

static void read_header(struct jpeg *jpeg)
{
  struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
  jpeg_create_decompress(cinfo);
  jpeg->created = true;

  jpeg->progress.progress_monitor = on_progress;
  cinfo->progress = &jpeg->progress;
  jpeg->bytes = (struct jpeg_source_mgr){.next_input_byte = jpeg->base.source->next,
                                         .bytes_in_buffer = jpeg->base.source->left,
                                         .init_source = init_source,
                                         .fill_input_buffer = fill_input_buffer,
                                         .skip_input_data = skip_input_data,
                                         .resync_to_restart = jpeg_resync_to_restart,
                                         .term_source = init_source};
  cinfo->src = &jpeg->bytes;
  jpeg_set_marker_processor(cinfo, JPEG_APP0 + 1, on_app1);
  jpeg_read_header(cinfo, TRUE);
}

/* Makes libjpeg read the converted scans instead of the file. */
static void begin_scans(struct jpeg *jpeg)
{
  struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
  J_COLOR_SPACE stored = cinfo->jpeg_color_space;
  jpeg_abort_decompress(cinfo);
  jpeg->bytes.bytes_in_buffer = 0;
  jpeg_read_header(cinfo, TRUE);
  cinfo->jpeg_color_space = stored;
}

static void start(struct jpeg *jpeg)
{
  struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
  jpeg->in_scans = true;
  if (jpeg->scans) begin_scans(jpeg);
  if (cinfo->num_components == 4) cinfo->out_color_space = JCS_CMYK;
  else cinfo->out_color_space = jpeg->base.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  cinfo->scale_num = 1;
  cinfo->scale_denom = (unsigned)jpeg->shrunk;
  jpeg_start_decompress(cinfo);
  if (cinfo->out_color_space == JCS_CMYK)
    jpeg->cmyk =
        cinfo->mem->alloc_large((j_common_ptr)cinfo, JPOOL_IMAGE, (size_t)cinfo->output_width * 4);
  jpeg->started = true;
}

static void read_row(struct jpeg *jpeg)
{
  JSAMPROW row = jpeg->cmyk ? jpeg->cmyk : jpeg->row;
  if (jpeg_read_scanlines(&jpeg->cinfo, &row, 1) != 1) give_up(jpeg, MAFAT_EFORMAT);
}

static void finish(struct jpeg *jpeg)
{
  jpeg_finish_decompress(&jpeg->cinfo);
  if (jpeg->ends_early && jpeg->base.source->fd >= 0)
    mafat_warn(jpeg->base.source->warnings,
               "%s: the JPEG picture has all its rows, but no end marker; is it truncated?",
               jpeg->base.name);
}

/* Converts n pixels of CMYK, inverted as Adobe stores it, to RGB with OpenCV's arithmetic. */
static void cmyk_to_rgb(const uint8_t *cmyk, uint8_t *rgb, int n)
{
  for (int i = 0; i < n; i++, cmyk += 4, rgb += 3) {
    int black = cmyk[3];
    for (int k = 0; k < 3; k++) rgb[k] = (uint8_t)(black - ((255 - cmyk[k]) * black >> 8));
  }
}

/* ---- decoder ---- */

static int jpeg_read_row(struct mafat_image_decoder *base, uint8_t *row, struct mafat_diagnostic *d)
{
  struct jpeg *jpeg = (struct jpeg *)base;
  int code = MAFAT_OK;
  if (!jpeg->started) code = guarded(jpeg, start, d);
  if (code != MAFAT_OK) return code;
  jpeg->row = row;
  code = guarded(jpeg, read_row, d);
  if (code != MAFAT_OK || !jpeg->cmyk) return code;
  cmyk_to_rgb(jpeg->cmyk, row, base->width);
  if (base->channels == 1) mafat_image_grey_row(row, row, base->width);
  return MAFAT_OK;
}

static int jpeg_finish(struct mafat_image_decoder *base, struct mafat_diagnostic *d)
{
  return guarded((struct jpeg *)base, finish, d);
}

static void jpeg_close(struct mafat_image_decoder *base)
{
  struct jpeg *jpeg = (struct jpeg *)base;
  if (jpeg->created) jpeg_destroy_decompress(&jpeg->cinfo);
  mafat_jpeg_scans_close(&jpeg->scans);
  free(jpeg);
}

static uint64_t bytes_of(const struct jpeg *jpeg)
{
  const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
  struct jpeg_frame f = {(int)cinfo->image_width,
                         (int)cinfo->image_height,
                         cinfo->num_components,
                         {0},
                         {0},
                         jpeg->shrunk,
                         jpeg->base.whole};
  for (int i = 0; i < f.n_components; i++) {
    f.h[i] = cinfo->comp_info[i].h_samp_factor;
    f.v[i] = cinfo->comp_info[i].v_samp_factor;
  }
  return frame_bytes(&f) + sizeof *jpeg + (jpeg->scans ? mafat_jpeg_scans_bytes(jpeg->scans) : 0);
}

static void jpeg_shrink(struct mafat_image_decoder *base, int least_width, int least_height)
{
  struct jpeg *jpeg = (struct jpeg *)base;
  int n = jpeg->shrunk = most_shrunk(base->width, base->height, least_width, least_height);
  base->width = (base->width + n - 1) / n;
  base->height = (base->height + n - 1) / n;
  base->bytes = (size_t)bytes_of(jpeg);
}

/* Finds the scans of a file that has several. */
static int find_scans(struct jpeg *jpeg, struct mafat_diagnostic *d)
{
  struct mafat_image_decoder *base = &jpeg->base;
  const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
  struct mafat_jpeg_frame frame = {.width = base->width,
                                   .height = base->height,
                                   .n_components = cinfo->num_components,
                                   .progressive = cinfo->progressive_mode,
                                   .arithmetic = cinfo->arith_code};
  for (int i = 0; i < frame.n_components; i++) {
    const jpeg_component_info *c = &cinfo->comp_info[i];
    frame.of[i].id = c->component_id;
    frame.of[i].h = c->h_samp_factor;
    frame.of[i].v = c->v_samp_factor;
    frame.of[i].quantization = c->quant_tbl_no;
  }
  int code = mafat_jpeg_scans_open(&jpeg->scans, &base->whole, base->source, &frame, base->name, d);
  if (code) return code;
  base->n_scans = mafat_jpeg_scans_count(jpeg->scans);
  if (base->whole) {
    mafat_jpeg_scans_close(&jpeg->scans);
    return MAFAT_OK;
  }
  jpeg->ends_early = mafat_jpeg_scans_endless(jpeg->scans);
  size_t window = mafat_jpeg_scans_file_bytes(jpeg->scans);
  if ((size_t)base->source->window < window) base->source->window = (off_t)window;
  return MAFAT_OK;
}

static int describe(struct jpeg *jpeg, struct mafat_diagnostic *d)
{
  struct mafat_image_decoder *base = &jpeg->base;
  struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
  if (cinfo->num_components > MAFAT_JPEG_COMPONENTS || cinfo->num_components == 2)
    return mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: expected a JPEG picture of 1, 3 or 4 components, found %d", base->name,
                      cinfo->num_components);

  base->format = "JPEG";
  base->width = (int)cinfo->image_width;
  base->height = (int)cinfo->image_height;
  base->source_channels = cinfo->num_components;
  base->n_scans = 1;
  int code = jpeg_has_multiple_scans(cinfo) ? find_scans(jpeg, d) : MAFAT_OK;
  if (code) return code;
  uint64_t bytes = bytes_of(jpeg);
  if (bytes > SIZE_MAX / 2)
    return mafat_fail(d, MAFAT_ELIMIT,
                      "%s: a JPEG picture of %dx%d needs more memory than this machine can address",
                      base->name, base->width, base->height);
  base->bytes = (size_t)bytes;
  return MAFAT_OK;
}

int mafat_image_jpeg_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                          const char *name, int channels, struct mafat_diagnostic *d)
{
  static const struct mafat_image_decoder_ops ops = {jpeg_read_row, jpeg_finish, jpeg_close,
                                                     jpeg_shrink, NULL};
  struct jpeg *jpeg = calloc(1, sizeof *jpeg);
  if (!jpeg) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  jpeg->base = (struct mafat_image_decoder){
      .ops = &ops, .name = name, .source = source, .channels = channels, .orientation = 1};
  jpeg->shrunk = 1;
  jpeg->cinfo.err = jpeg_std_error(&jpeg->errors);
  jpeg->cinfo.client_data = jpeg;
  jpeg->errors.error_exit = on_error;
  jpeg->errors.emit_message = on_message;

  int code = guarded(jpeg, read_header, d);
  if (code == MAFAT_OK) code = describe(jpeg, d);
  if (code != MAFAT_OK) {
    jpeg_close(&jpeg->base);
    return code;
  }
  *out = &jpeg->base;
  return MAFAT_OK;
}

#endif

/*
 * annotate: draws the detections of `run_inference --json` on their pictures.
 *
 * A program of its own, so that run_inference needs no drawing library in its memory budget. Three
 * stages, top to bottom: every line of JSON is read and checked; then every output gets its name;
 * then the pictures are drawn and written one by one. A mistake in the JSON is therefore found
 * before anything is written.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gd.h>
#include <gdfontg.h>
#include <json-c/json.h>
#include <libexif/exif-data.h>

#ifndef MAFAT_VERSION
#define MAFAT_VERSION "(unversioned)"
#endif

/* Exit codes; BAD_INPUT is also the answer to a misused command line. */
enum status { DONE = 0, FAILED = 1, BAD_INPUT = 2 };

enum {
  JPEG_QUALITY = 92,
  MAX_NAME_BYTES = 96, /* of a class name in a label; the rest is cut off */
  MAX_LABEL_BYTES = MAX_NAME_BYTES + 16,
};

struct options {
  const char *output;  /* NULL: a name made from the picture's, in the current folder */
  const char *picture; /* NULL: the path in the JSON */
  const char *json;    /* "-": standard input */
  double thresh;       /* detections below are left out; default 0 */
  bool quiet;
};

struct detection {
  const char *label; /* points into report.root; NULL: "class N" */
  int class_id;
  double confidence;          /* 0..1 */
  double x, y, width, height; /* pixels of the upright picture; may lie outside it */
};

/* One line of JSON. */
struct report {
  struct json_object *root; /* owns every string below */
  const char *image;        /* never NULL, but "" where --picture replaces it */
  const char *error;        /* not NULL: run_inference failed on this picture */
  struct detection *detections;
  size_t n_detections;
};

struct report_list {
  struct report *items;
  size_t n, capacity;
};

/* Half-open: [x0, x1) x [y0, y1). */
struct rect {
  int x0, y0, x1, y1;
};

/* Prints one line on stderr; control characters from file names and JSON become '?'. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
  char *text = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&text, format, args) < 0) text = NULL;
  va_end(args);
  for (char *c = text; c && *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
  fprintf(stderr, "annotate: %s\n", text ? text : "out of memory");
  free(text);
}

/* ---- Reading the JSON ---- */

/* Where a field stands, for messages. */
struct place {
  const char *file;
  size_t line;
  long detection; /* -1: the field is in the object itself */
};

static void complain_field(const struct place *place, const char *field, const char *expected,
                           struct json_object *found)
{
  enum { SHOWN = 40 };
  const char *text = found ? json_object_to_json_string_ext(found, JSON_C_TO_STRING_PLAIN) : NULL;
  const char *more = text && strlen(text) > SHOWN ? "..." : "";
  char index[48] = "";
  if (place->detection >= 0)
    snprintf(index, sizeof index, "detections[%ld]%s", place->detection, *field ? "." : "");
  say("%s:%zu: %s%s: expected %s, found %.*s%s", place->file, place->line, index, field, expected,
      SHOWN, text ? text : "nothing", more);
}

/* A key that is missing and one that is null are the same: NULL. */
static struct json_object *member(struct json_object *object, const char *key)
{
  struct json_object *value = NULL;
  return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

/* Reads parent[key]; `field` is its whole name for messages. The range is closed. */
static bool read_number(const struct place *place, struct json_object *parent, const char *key,
                        const char *field, double low, double high, const char *expected,
                        double *out)
{
  struct json_object *value = member(parent, key);
  if (json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int)) {
    *out = json_object_get_double(value);
    if (isfinite(*out) && *out >= low && *out <= high) return true;
  }
  complain_field(place, field, expected, value);
  return false;
}

/* A NUL inside a string would cut a path short, so it is refused. */
static bool is_text(struct json_object *value)
{
  return json_object_is_type(value, json_type_string) &&
         strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

static bool read_detection(const struct place *place, struct json_object *object,
                           struct detection *out)
{
  if (!json_object_is_type(object, json_type_object)) {
    complain_field(place, "", "an object", object);
    return false;
  }
  struct json_object *label = member(object, "label");
  if (label && !is_text(label)) {
    complain_field(place, "label", "a string", label);
    return false;
  }
  out->label = label ? json_object_get_string(label) : NULL;

  struct json_object *class_id = member(object, "class");
  int64_t id = json_object_is_type(class_id, json_type_int) ? json_object_get_int64(class_id) : -1;
  if (id < 0 || id > INT_MAX) {
    complain_field(place, "class", "a whole number from 0", class_id);
    return false;
  }
  out->class_id = (int)id;

  struct json_object *box = member(object, "box");
  if (!json_object_is_type(box, json_type_object)) {
    complain_field(place, "box", "an object with x, y, width and height", box);
    return false;
  }
  const char *any = "a finite number", *size = "a finite number, at least 0";
  return read_number(place, object, "confidence", "confidence", 0, 1, "a number from 0 to 1",
                     &out->confidence) &&
         read_number(place, box, "x", "box.x", -HUGE_VAL, HUGE_VAL, any, &out->x) &&
         read_number(place, box, "y", "box.y", -HUGE_VAL, HUGE_VAL, any, &out->y) &&
         read_number(place, box, "width", "box.width", 0, HUGE_VAL, size, &out->width) &&
         read_number(place, box, "height", "box.height", 0, HUGE_VAL, size, &out->height);
}

/* Parses one line, which is not blank, into a JSON object, or says what is wrong with it. */
static struct json_object *parse_line(const struct place *place, const char *text, size_t length)
{
  const char *start = text + strspn(text, " \t");
  if (*start != '{') {
    say("%s:%zu: expected a JSON object, found %.40s%s", place->file, place->line, start,
        strlen(start) > 40 ? "..." : "");
    return NULL;
  }
  struct json_tokener *tokener = json_tokener_new();
  if (!tokener || length > INT_MAX) {
    say("%s:%zu: %s", place->file, place->line,
        tokener ? "the line is longer than 2 GiB" : "out of memory");
    json_tokener_free(tokener);
    return NULL;
  }
  json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
  struct json_object *root = json_tokener_parse_ex(tokener, text, (int)length);
  enum json_tokener_error error = json_tokener_get_error(tokener);
  size_t end = json_tokener_get_parse_end(tokener);
  json_tokener_free(tokener);
  if (error == json_tokener_success && end == length) return root;

  if (error == json_tokener_continue)
    say("%s:%zu: expected a whole JSON object on the line, found one that stops after %zu bytes",
        place->file, place->line, length);
  else
    say("%s:%zu: expected a JSON object, found a mistake at byte %zu: %s", place->file, place->line,
        end + 1,
        error == json_tokener_success ? "more text after the object"
                                      : json_tokener_error_desc(error));
  json_object_put(root);
  return NULL;
}

static void report_close(struct report *report)
{
  free(report->detections);
  json_object_put(report->root);
  *report = (struct report){0};
}

/* Checks every field that is used later. On failure the report is left to report_close(). */
static enum status report_fill(struct place *place, bool needs_image, struct report *out)
{
  struct json_object *error = member(out->root, "error");
  if (error) {
    out->error = json_object_get_string(error);
    struct json_object *image = member(out->root, "image");
    out->image = is_text(image) ? json_object_get_string(image) : "";
    return DONE;
  }
  struct json_object *image = member(out->root, "image");
  if (is_text(image) && json_object_get_string_len(image) > 0) {
    out->image = json_object_get_string(image);
  } else if (needs_image) {
    complain_field(place, "image", "the path of the picture, a string", image);
    return BAD_INPUT;
  } else {
    out->image = "";
  }
  struct json_object *list = member(out->root, "detections");
  if (!json_object_is_type(list, json_type_array)) {
    complain_field(place, "detections", "an array", list);
    return BAD_INPUT;
  }
  out->n_detections = json_object_array_length(list);
  out->detections = calloc(out->n_detections + 1, sizeof *out->detections);
  if (!out->detections) {
    say("out of memory");
    return FAILED;
  }
  for (size_t i = 0; i < out->n_detections; i++) {
    place->detection = (long)i;
    if (!read_detection(place, json_object_array_get_idx(list, i), &out->detections[i]))
      return BAD_INPUT;
  }
  return DONE;
}

static enum status append_line(const struct options *options, struct place *place, const char *text,
                               size_t length, struct report_list *list)
{
  struct report report = {0};
  report.root = parse_line(place, text, length);
  if (!report.root) return BAD_INPUT;
  enum status status = report_fill(place, options->picture == NULL, &report);
  if (status == DONE && list->n == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 16;
    struct report *items = reallocarray(list->items, capacity, sizeof *items);
    if (items) {
      list->items = items;
      list->capacity = capacity;
    } else {
      say("out of memory");
      status = FAILED;
    }
  }
  if (status == DONE)
    list->items[list->n++] = report;
  else
    report_close(&report);
  return status;
}

static void report_list_close(struct report_list *list)
{
  for (size_t i = 0; i < list->n; i++) report_close(&list->items[i]);
  free(list->items);
  *list = (struct report_list){0};
}

/* Reads all lines; blank ones are skipped. The list is filled as far as it went, also on failure.
 */
static enum status read_reports(const struct options *options, struct report_list *list)
{
  bool is_stdin = strcmp(options->json, "-") == 0;
  const char *name = is_stdin ? "standard input" : options->json;
  FILE *file = is_stdin ? stdin : fopen(options->json, "r");
  if (!file) {
    say("%s: cannot open the JSON: %s", name, strerror(errno));
    return BAD_INPUT;
  }
  enum status status = DONE;
  char *line = NULL;
  size_t size = 0;
  ssize_t length;
  struct place place = {.file = name};
  while (status == DONE && (length = getline(&line, &size, file)) >= 0) {
    while (length > 0 && strchr(" \t\r\n", line[length - 1]) && line[length - 1]) length--;
    line[length] = '\0';
    place.line++;
    place.detection = -1;
    if (length > 0) status = append_line(options, &place, line, (size_t)length, list);
  }
  if (status == DONE && !feof(file)) {
    say("%s: cannot read the JSON: %s", name, strerror(errno));
    status = BAD_INPUT;
  } else if (status == DONE && list->n == 0) {
    say("%s: expected one JSON object per line, found nothing", name);
    status = BAD_INPUT;
  }
  free(line);
  if (!is_stdin) fclose(file);
  return status;
}

/* ---- Naming the outputs ---- */

static bool is_folder(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The name's part after the last slash. */
static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* The suffix with its dot, or "" - ".hidden" has none. */
static const char *suffix(const char *path)
{
  const char *base = base_name(path);
  const char *dot = strrchr(base, '.');
  return dot && dot != base ? dot : "";
}

static bool is_jpeg_name(const char *path)
{
  return strcasecmp(suffix(path), ".jpg") == 0 || strcasecmp(suffix(path), ".jpeg") == 0;
}

static bool is_output_name(const char *path)
{
  return is_jpeg_name(path) || strcasecmp(suffix(path), ".png") == 0;
}

/* Decides whether -o names a folder (then made, if missing) or a file; *folder is NULL for a file.
 */
static enum status resolve_output(const struct options *options, size_t n_reports,
                                  const char **folder)
{
  const char *output = options->output ? options->output : ".";
  size_t length = strlen(output);
  *folder = output;
  if (is_folder(output)) return DONE;
  bool says_folder = output[length - 1] == '/';
  if (!says_folder && n_reports == 1) {
    *folder = NULL;
    if (is_output_name(output)) return DONE;
    say("option -o expects a name ending in .png, .jpg or .jpeg, or a folder; found %s", output);
    return BAD_INPUT;
  }
  if (!says_folder && is_output_name(output)) {
    say("option -o expects a folder, as there are %zu pictures; found %s", n_reports, output);
    return BAD_INPUT;
  }
  if (mkdir(output, 0777) == 0) return DONE;
  say("%s: cannot make the folder: %s", output, strerror(errno));
  return FAILED;
}

/* FOLDER/dog-annotated.jpg for a/dog.jpg, FOLDER/dog-annotated-2.jpg for the second of that name;
 * `taken` counts names. NULL: no memory. */
static char *output_name(const char *folder, const char *picture, struct json_object *taken)
{
  const char *base = base_name(picture), *end = suffix(picture);
  int stem = (int)(strlen(base) - strlen(end));
  char *name = NULL, *key = NULL, number[24] = "";
  if (!is_output_name(picture)) end = ".png";
  if (asprintf(&key, "%.*s%s", stem, base, end) < 0) return NULL;
  struct json_object *count = member(taken, key);
  if (count) {
    json_object_int_inc(count, 1);
    snprintf(number, sizeof number, "-%d", json_object_get_int(count));
  } else {
    count = json_object_new_int(1);
    if (!count || json_object_object_add(taken, key, count) < 0) goto fail;
  }
  const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
  if (strcmp(folder, ".") == 0) folder = slash = "";
  if (asprintf(&name, "%s%s%.*s-annotated%s%s", folder, slash, stem, base, number, end) < 0)
    name = NULL;
fail:
  free(key);
  return name;
}

/* ---- Reading a picture ---- */

static char gd_message[256]; /* what gd, or decode_pnm(), said last, for the one line printed about
                                a picture */

static void keep_gd_message(int priority, const char *format, va_list args)
{
  (void)priority;
  vsnprintf(gd_message, sizeof gd_message, format, args);
  gd_message[strcspn(gd_message, "\n")] = '\0';
}

/* Reads a whole file; *out is the caller's to free. */
static bool read_file(const char *path, unsigned char **out, int *out_bytes)
{
  const size_t limit = (size_t)1 << 30; /* gd counts bytes in int */
  unsigned char *data = NULL;
  size_t used = 0, capacity = 0;
  const char *problem = NULL;
  FILE *file = fopen(path, "rb");
  if (!file) {
    say("%s: cannot open the picture: %s", path, strerror(errno));
    return false;
  }
  for (;;) {
    if (used == capacity) {
      capacity = capacity ? 2 * capacity : (size_t)1 << 18;
      unsigned char *grown = capacity <= limit ? realloc(data, capacity) : NULL;
      if (!grown) {
        problem = capacity > limit ? "it has 1 GiB or more" : "out of memory";
        break;
      }
      data = grown;
    }
    size_t got = fread(data + used, 1, capacity - used, file);
    used += got;
    if (got == 0) break;
  }
  if (ferror(file))
    problem = strerror(errno);
  else if (!problem && used == 0)
    problem = "the file is empty";
  fclose(file);
  if (problem) {
    say("%s: cannot read the picture: %s", path, problem);
    free(data);
    return false;
  }
  *out = data;
  *out_bytes = (int)used;
  return true;
}

/* Orientation 1..8 of a JPEG file, or of "Exif\0\0" and a TIFF structure; 1 where none is given. */
static int exif_orientation(const unsigned char *data, unsigned bytes)
{
  int orientation = 1;
  ExifData *exif = exif_data_new();
  if (!exif) return orientation;
  /* Otherwise libexif would put values of its own where some are missing. */
  exif_data_unset_option(exif, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
  exif_data_load_data(exif, data, bytes);
  ExifEntry *entry = exif_content_get_entry(exif->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
  if (entry && entry->format == EXIF_FORMAT_SHORT && entry->components == 1 && entry->data &&
      entry->size >= 2) {
    int value = exif_get_short(entry->data, exif_data_get_byte_order(exif));
    if (value >= 1 && value <= 8) orientation = value;
  }
  exif_data_unref(exif);
  return orientation;
}

/* The orientation in the eXIf chunk of a PNG file, which libexif does not look for. */
static int png_orientation(const unsigned char *data, size_t bytes)
{
  enum { SIGNATURE = 8, HEAD = 8, CRC = 4 };
  int orientation = 1;
  for (size_t at = SIGNATURE; at + HEAD <= bytes;) {
    const unsigned char *head = data + at;
    size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (length > bytes - at - HEAD) break;
    if (memcmp(head + 4, "eXIf", 4) == 0) {
      unsigned char *exif = malloc(length + 6);
      if (exif) {
        memcpy(exif, "Exif\0\0", 6);
        memcpy(exif + 6, head + HEAD, length);
        orientation = exif_orientation(exif, (unsigned)length + 6);
      }
      free(exif);
      break;
    }
    at += HEAD + length + CRC;
  }
  return orientation;
}

/* Turns and mirrors as Exif (JEITA CP-3451, tag 0x112) says, and drops transparency, which no
 * detector sees. Frees `stored`. */
static gdImagePtr make_upright(gdImagePtr stored, int orientation)
{
  bool transposed = orientation >= 5;
  bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  int w = gdImageSX(stored), h = gdImageSY(stored);
  gdImagePtr upright = gdImageCreateTrueColor(transposed ? h : w, transposed ? w : h);
  for (int y = 0; upright && y < gdImageSY(upright); y++) {
    for (int x = 0; x < gdImageSX(upright); x++) {
      int sx = transposed ? y : x, sy = transposed ? x : y;
      int color =
          gdImageGetTrueColorPixel(stored, mirror_x ? w - 1 - sx : sx, mirror_y ? h - 1 - sy : sy);
      gdImageTrueColorPixel(upright, x, y) = color & 0xffffff;
    }
  }
  gdImageDestroy(stored);
  return upright;
}

/* A damaged JPEG is decoded as far as it goes, with a message. */
static gdImagePtr decode_jpeg(int bytes, void *data)
{
  return gdImageCreateFromJpegPtrEx(bytes, data, 0);
}

struct cursor {
  const unsigned char *next, *end;
};

/* A decimal number behind white space and comments, and the one byte after it. False: there is
 * none, or it is above a million. */
static bool read_pnm_number(struct cursor *in, int *out)
{
  enum { LIMIT = 1 << 20 };
  while (in->next < in->end &&
         (*in->next == '#' || *in->next == ' ' || (*in->next >= '\t' && *in->next <= '\r'))) {
    bool comment = *in->next == '#';
    while (comment && in->next < in->end && *in->next != '\n' && *in->next != '\r') in->next++;
    if (in->next < in->end) in->next++;
  }
  if (in->next == in->end || *in->next < '0' || *in->next > '9') return false;
  for (*out = 0; in->next < in->end && *in->next >= '0' && *in->next <= '9'; in->next++)
    if ((*out = *out * 10 + *in->next - '0') > LIMIT) return false;
  if (in->next < in->end) in->next++;
  return true;
}

/* PPM and PGM, plain and raw, which gd does not read. As in OpenCV, only plain samples of 8 bits
 * are scaled by the maximum. */
static gdImagePtr decode_pnm(int bytes, void *data)
{
  struct cursor in = {(unsigned char *)data + 2, (unsigned char *)data + bytes};
  int kind = ((unsigned char *)data)[1], channels = kind == '3' || kind == '6' ? 3 : 1;
  bool plain = kind < '5';
  int width, height, maximum, value;
  gdImagePtr im = NULL;
  if (!read_pnm_number(&in, &width) || !read_pnm_number(&in, &height) ||
      !read_pnm_number(&in, &maximum) || width < 1 || height < 1 || maximum < 1 || maximum > 65535)
    goto damaged;
  size_t sample_bytes = maximum > 255 && !plain ? 2 : 1; /* at least, if plain */
  if ((size_t)(in.end - in.next) / sample_bytes / (size_t)channels / (size_t)width < (size_t)height)
    goto damaged;
  im = gdImageCreateTrueColor(width, height);
  for (int i = 0; im && i < height; i++) {
    for (int x = 0; x < width; x++) {
      int color = 0;
      for (int c = 0; c < channels; c++) {
        if (plain && !read_pnm_number(&in, &value)) goto damaged;
        if (plain) {
          value = value < maximum ? value : maximum;
          value = maximum > 255 ? value >> 8 : value * 255 / maximum;
        } else {
          value = *in.next;
          in.next += sample_bytes;
        }
        color = color << 8 | value;
      }
      gdImageTrueColorPixel(im, x, i) = channels == 3 ? color : color * 0x10101;
    }
  }
  return im;

damaged:
  snprintf(gd_message, sizeof gd_message, "damaged PPM or PGM, at byte %td",
           in.next - (unsigned char *)data);
  if (im) gdImageDestroy(im);
  return NULL;
}

/* The formats that run_inference reads, told by the first bytes. */
static gdImagePtr decode(unsigned char *data, int bytes, const char **problem)
{
  gdImagePtr stored;
  int orientation = 1;
  if (bytes >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0) {
    stored = decode_jpeg(bytes, data);
    orientation = exif_orientation(data, (unsigned)bytes);
  } else if (bytes >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0) {
    stored = gdImageCreateFromPngPtr(bytes, data);
    orientation = png_orientation(data, (size_t)bytes);
  } else if (bytes >= 3 && data[0] == 'P' && data[1] && strchr("2356", data[1])) {
    stored = decode_pnm(bytes, data);
  } else {
    *problem = "expected a JPEG, PNG, PPM or PGM picture, found something else";
    return NULL;
  }
  *problem = "cannot decode the picture";
  return stored ? make_upright(stored, orientation) : NULL;
}

static gdImagePtr read_picture(const char *path)
{
  unsigned char *data;
  int bytes;
  const char *problem;
  if (!read_file(path, &data, &bytes)) return NULL;
  *gd_message = '\0';
  gdImagePtr picture = decode(data, bytes, &problem);
  free(data);
  if (!picture)
    say("%s: %s%s%s", path, problem, *gd_message ? ": " : "", gd_message);
  else if (*gd_message)
    say("%s: warning: %s", path, gd_message);
  return picture;
}

/* ---- Colours and text ---- */

/* Hues step by the golden ratio, so that neighbouring classes differ most and no hue repeats;
 * saturation and value cycle beside them to keep 80 classes apart. Never dark: lines must show on a
 * photograph. */
static int class_color(int class_id)
{
  static const double saturation[] = {0.85, 0.60, 1.00}, value[] = {1.00, 0.95, 0.82};
  double hue = 6 * fmod(0.58 + class_id * 0.6180339887498949, 1.0);
  double s = saturation[class_id % 3], v = value[class_id % 3];
  int channel[3];
  for (int i = 0; i < 3; i++) {
    double k = fmod(5 - 2 * i + hue, 6);
    channel[i] = (int)lround(255 * (v - v * s * fmax(0, fmin(fmin(k, 4 - k), 1))));
  }
  return gdTrueColor(channel[0], channel[1], channel[2]);
}

/* Black or white, whichever stands out more (relative luminance of WCAG 2.1; 0.179 is where both
 * contrast alike). */
static int text_color(int background)
{
  const double weight[3] = {0.2126, 0.7152, 0.0722};
  const int channel[3] = {gdTrueColorGetRed(background), gdTrueColorGetGreen(background),
                          gdTrueColorGetBlue(background)};
  double luminance = 0;
  for (int i = 0; i < 3; i++) {
    double c = channel[i] / 255.0;
    luminance += weight[i] * (c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
  }
  return luminance > 0.179 ? gdTrueColor(0, 0, 0) : gdTrueColor(255, 255, 255);
}

/* How text is written on one picture; all lengths in pixels. */
struct pen {
  bool truetype;
  double points;       /* TrueType only */
  int scale;           /* built-in font only: picture pixels per font pixel */
  int ascent, descent; /* from the base line */
  int line;            /* width of a box's line */
};

/* The first of these families that is there; narrow ones, as labels should cover little. */
static char fontconfig_pattern[] =
    "Open Sans,Noto Sans,Liberation Sans,DejaVu Sans Condensed,sans-serif:bold";

/* gd's TrueType call reads HTML entities, so '&' is escaped. im NULL: only measure. False: no
 * usable font. */
static bool truetype_text(gdImagePtr im, double points, int x, int y, int color, const char *text,
                          int brect[8])
{
  char escaped[5 * MAX_LABEL_BYTES + 1];
  size_t used = 0;
  for (; *text && used + 6 < sizeof escaped; text++) {
    escaped[used++] = *text;
    if (*text == '&') {
      memcpy(escaped + used, "amp;", 4);
      used += 4;
    }
  }
  escaped[used] = '\0';
  return gdImageStringFT(im, brect, color, fontconfig_pattern, points, 0, x, y, escaped) == NULL;
}

static struct pen choose_pen(int width, int height)
{
  double size = sqrt((double)width * height);
  double text_px = fmax(13, size / 32);
  struct pen pen = {.line = (int)fmax(2, lround(size / 220))};
  int brect[8];
  pen.points = text_px * 0.75; /* gd assumes 96 pixels per inch */
  pen.truetype = truetype_text(NULL, pen.points, 0, 0, 0, "Alg", brect);
  if (pen.truetype) {
    pen.ascent = -brect[7];
    pen.descent = brect[1];
  } else {
    gdFontPtr font = gdFontGetGiant();
    pen.scale = (int)fmax(1, lround(text_px / font->h));
    pen.ascent = pen.scale * 11; /* of 15 rows, 4 are below the base line */
    pen.descent = pen.scale * (font->h - 11);
  }
  return pen;
}

static int text_width(const struct pen *pen, const char *text)
{
  int brect[8];
  if (pen->truetype)
    return truetype_text(NULL, pen->points, 0, 0, 0, text, brect) ? brect[2] - brect[0] : INT_MAX;
  int n = 0;
  for (; *text; text++) n += (*text & 0xc0) != 0x80;
  return n * pen->scale * gdFontGetGiant()->w;
}

/* The built-in font, each of its pixels a square; it is drawn for ASCII only, anything else is a
 * '?'. */
static void bitmap_text(gdImagePtr im, int scale, int x, int top, int color, const char *text)
{
  gdFontPtr font = gdFontGetGiant();
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if ((c & 0xc0) == 0x80) continue;
    const char *glyph = font->data + ((c < 0x80 ? c : '?') - font->offset) * font->w * font->h;
    for (int i = 0; i < font->w * font->h; i++) {
      int px = x + i % font->w * scale, py = top + i / font->w * scale;
      if (glyph[i]) gdImageFilledRectangle(im, px, py, px + scale - 1, py + scale - 1, color);
    }
    x += font->w * scale;
  }
}

/* (x, y): left end of the base line. */
static void draw_text(gdImagePtr im, const struct pen *pen, int x, int y, int color,
                      const char *text)
{
  int brect[8];
  if (!pen->truetype)
    bitmap_text(im, pen->scale, x, y - pen->ascent, color, text);
  else if (truetype_text(NULL, pen->points, 0, 0, 0, text, brect))
    truetype_text(im, pen->points, x - brect[0], y, color, text, brect);
}

/* ---- Drawing ---- */

/* A detection that is to be drawn. */
struct mark {
  const struct detection *detection;
  struct rect box; /* clipped, not empty */
};

/* Rounds the box to whole pixels and clips it. False: nothing of it is inside. Doubles throughout,
 * as boxes may be huge. */
static bool clip_box(const struct detection *d, int width, int height, struct rect *out)
{
  double x0 = fmax(0, round(d->x)), x1 = fmin(width, round(d->x + d->width));
  double y0 = fmax(0, round(d->y)), y1 = fmin(height, round(d->y + d->height));
  if (x0 >= width || y0 >= height || x1 < 0 || y1 < 0 || x1 < x0 || y1 < y0) return false;
  *out = (struct rect){
      .x0 = (int)x0, .y0 = (int)y0, .x1 = (int)fmax(x1, x0 + 1), .y1 = (int)fmax(y1, y0 + 1)};
  return true;
}

static int by_confidence_falling(const void *a, const void *b)
{
  const struct mark *p = a, *q = b;
  if (p->detection->confidence != q->detection->confidence)
    return p->detection->confidence < q->detection->confidence ? 1 : -1;
  return p->detection < q->detection ? -1 : p->detection > q->detection;
}

static void fill(gdImagePtr im, struct rect r, int color)
{
  if (r.x0 < r.x1 && r.y0 < r.y1)
    gdImageFilledRectangle(im, r.x0, r.y0, r.x1 - 1, r.y1 - 1,
                           color); /* gd clips, and counts the last pixel in */
}

/* A frame `line` pixels wide just inside the box. */
static void draw_frame(gdImagePtr im, struct rect box, int line, int color)
{
  int inner_y0 = box.y0 + line < box.y1 ? box.y0 + line : box.y1;
  int inner_y1 = box.y1 - line > inner_y0 ? box.y1 - line : inner_y0;
  int inner_x0 = box.x0 + line < box.x1 ? box.x0 + line : box.x1;
  int inner_x1 = box.x1 - line > inner_x0 ? box.x1 - line : inner_x0;
  fill(im, (struct rect){box.x0, box.y0, box.x1, inner_y0}, color);
  fill(im, (struct rect){box.x0, inner_y1, box.x1, box.y1}, color);
  fill(im, (struct rect){box.x0, inner_y0, inner_x0, inner_y1}, color);
  fill(im, (struct rect){inner_x1, inner_y0, box.x1, inner_y1}, color);
}

static double overlap(struct rect a, struct rect b)
{
  int w = (a.x1 < b.x1 ? a.x1 : b.x1) - (a.x0 > b.x0 ? a.x0 : b.x0);
  int h = (a.y1 < b.y1 ? a.y1 : b.y1) - (a.y0 > b.y0 ? a.y0 : b.y0);
  return w > 0 && h > 0 ? (double)w * h : 0;
}

static int clamp(int value, int low, int high)
{
  return value < low ? low : value > high ? high : value;
}

/* Above the box, else inside it, else below; then the same from its right edge: the first place
 * that covers no earlier label, or the one that covers least. Always inside the picture, which is
 * at least w x h. */
static struct rect place_label(gdImagePtr im, struct rect box, int line, int w, int h,
                               const struct rect *placed, size_t n_placed)
{
  const int y[] = {box.y0 - h, box.y0 + line, box.y1, box.y1 - line - h},
            n_y = sizeof y / sizeof *y;
  const int x[] = {box.x0, box.x1 - w};
  struct rect best = {0};
  double best_cost = HUGE_VAL;
  for (int i = 0; i < 2 * n_y && best_cost > 0; i++) {
    int left = clamp(x[i / n_y], 0, gdImageSX(im) - w),
        top = clamp(y[i % n_y], 0, gdImageSY(im) - h);
    struct rect r = {left, top, left + w, top + h};
    /* Being pushed off its place by the picture's edge is better than covering another label. */
    double cost = top == y[i % n_y] ? 0 : 1;
    for (size_t k = 0; k < n_placed; k++) cost += overlap(r, placed[k]);
    if (cost < best_cost) {
      best = r;
      best_cost = cost;
    }
  }
  return best;
}

/* "dog 94 %", the class name cut until it fits. False: nothing fits. */
static bool label_text(const struct pen *pen, const struct detection *d, int max_width,
                       char text[MAX_LABEL_BYTES], int *width)
{
  char name[MAX_NAME_BYTES + 1];
  if (d->label && *d->label)
    snprintf(name, sizeof name, "%s", d->label);
  else
    snprintf(name, sizeof name, "class %d", d->class_id);
  for (char *c = name; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f) *c = ' ';
  bool cut = d->label && strlen(d->label) > MAX_NAME_BYTES;
  for (size_t length = strlen(name);; cut = true) {
    snprintf(text, MAX_LABEL_BYTES, "%s%s%s%.0f %%", name, cut && length ? "..." : "",
             length ? " " : "", 100 * d->confidence);
    *width = text_width(pen, text);
    if (*width <= max_width && !(cut && length && (name[length - 1] & 0x80))) return true;
    if (length == 0) return false;
    while (length > 0 && (name[--length] & 0xc0) == 0x80) continue;
    name[length] = '\0';
  }
}

static void draw_marks(gdImagePtr im, const struct mark *marks, size_t n, struct rect *placed)
{
  struct pen pen = choose_pen(gdImageSX(im), gdImageSY(im));
  int shadow = gdTrueColorAlpha(0, 0, 0, gdAlphaMax / 2);
  gdImageAlphaBlending(im, 1);
  for (size_t i = n; i-- > 0;) { /* the surest on top */
    struct rect b = marks[i].box;
    draw_frame(im, (struct rect){b.x0 - 1, b.y0 - 1, b.x1 + 1, b.y1 + 1}, pen.line + 2, shadow);
    draw_frame(im, b, pen.line, class_color(marks[i].detection->class_id));
  }
  /* Less space below, where few letters reach down. */
  int em = pen.ascent + pen.descent, pad_x = (em + 3) / 4, pad_top = (em + 4) / 6,
      pad_bottom = (em + 8) / 12;
  int h = em + pad_top + pad_bottom;
  size_t n_placed = 0;
  for (size_t i = 0; i < n && h <= gdImageSY(im); i++) {
    char text[MAX_LABEL_BYTES];
    int w;
    if (!label_text(&pen, marks[i].detection, gdImageSX(im) - 2 * pad_x, text, &w)) continue;
    struct rect r = place_label(im, marks[i].box, pen.line, w + 2 * pad_x, h, placed, n_placed);
    int color = class_color(marks[i].detection->class_id);
    placed[n_placed++] = r;
    fill(im, r, color);
    draw_text(im, &pen, r.x0 + pad_x, r.y0 + pad_top + pen.ascent, text_color(color), text);
  }
}

/* ---- Writing ---- */

static bool write_all(int fd, const unsigned char *data, size_t bytes)
{
  while (bytes > 0) {
    ssize_t written = write(fd, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data += written;
    bytes -= (size_t)written;
  }
  return true;
}

/* Through a temporary file beside the output, so that a failure leaves the old one, or none. */
static enum status write_picture(gdImagePtr im, const char *path)
{
  int bytes = 0, fd = -1;
  char *temporary = NULL;
  enum status status = FAILED;
  gdImageInterlace(im, 0);
  void *data =
      is_jpeg_name(path) ? gdImageJpegPtr(im, &bytes, JPEG_QUALITY) : gdImagePngPtr(im, &bytes);
  if (!data || asprintf(&temporary, "%s.XXXXXX", path) < 0) {
    say("%s: cannot encode the picture: %s", path, data ? "out of memory" : gd_message);
    temporary = NULL;
    goto done;
  }
  fd = mkstemp(temporary);
  if (fd < 0) goto fail;
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(fd, 0666 & ~mask) < 0 || !write_all(fd, data, (size_t)bytes)) goto fail;
  int closed = close(fd);
  fd = -1;
  if (closed < 0 || rename(temporary, path) < 0) {
    int cause = errno;
    unlink(temporary);
    errno = cause;
    goto fail;
  }
  status = DONE;
  goto done;
fail:
  say("%s: cannot write: %s", path, strerror(errno));
  if (fd >= 0) {
    close(fd);
    unlink(temporary);
  }
done:
  free(temporary);
  gdFree(data);
  return status;
}

static bool same_file(const char *a, const char *b)
{
  struct stat p, q;
  return stat(a, &p) == 0 && stat(b, &q) == 0 && p.st_dev == q.st_dev && p.st_ino == q.st_ino;
}

/* Draws one report's picture and writes it to `output`. */
static enum status annotate(const struct options *options, const struct report *report,
                            const char *picture, const char *output)
{
  if (same_file(picture, output)) {
    say("%s: expected an output other than the picture itself", output);
    return BAD_INPUT;
  }
  gdImagePtr im = read_picture(picture);
  if (!im) return BAD_INPUT;
  enum status status = FAILED;
  struct mark *marks = calloc(report->n_detections + 1, sizeof *marks);
  struct rect *placed = calloc(report->n_detections + 1, sizeof *placed);
  if (marks && placed) {
    size_t n = 0;
    for (size_t i = 0; i < report->n_detections; i++) {
      const struct detection *d = &report->detections[i];
      if (d->confidence >= options->thresh &&
          clip_box(d, gdImageSX(im), gdImageSY(im), &marks[n].box))
        marks[n++].detection = d;
    }
    qsort(marks, n, sizeof *marks, by_confidence_falling);
    draw_marks(im, marks, n, placed);
    status = write_picture(im, output);
    if (status == DONE && !options->quiet)
      say("%s: %zu of %zu boxes drawn, written to %s", picture, n, report->n_detections, output);
  } else {
    say("out of memory");
  }
  free(placed);
  free(marks);
  gdImageDestroy(im);
  return status;
}

/* Every picture is tried; the gravest status is returned. */
static enum status annotate_all(const struct options *options, const struct report_list *list)
{
  const char *folder;
  enum status status = resolve_output(options, list->n, &folder);
  if (status != DONE) return status;
  struct json_object *taken = json_object_new_object();
  size_t n_errors = 0;
  for (size_t i = 0; i < list->n; i++) {
    const struct report *report = &list->items[i];
    if (report->error) {
      say("%s: skipped, run_inference reported: %s", *report->image ? report->image : "a picture",
          report->error);
      n_errors++;
      continue;
    }
    const char *picture = options->picture ? options->picture : report->image;
    char *output = folder ? output_name(folder, picture, taken) : strdup(options->output);
    enum status one = FAILED;
    if (output)
      one = annotate(options, report, picture, output);
    else
      say("out of memory");
    status = one > status ? one : status;
    free(output);
  }
  json_object_put(taken);
  return n_errors == list->n ? FAILED : status;
}

/* ---- Command line ---- */

static const char usage[] =
    "usage: run_inference --json ... PICTURE... | annotate [options] [JSON-FILE|-]\n"
    "Draws detections on their pictures: a coloured box and a label for each.\n"
    "\n"
    "  -o, --output NAME    where to write; NAME ends in .png, .jpg or .jpeg, or is a folder\n"
    "  -t, --thresh X       leave out detections with a confidence below X, 0 to 1 (default 0)\n"
    "  -p, --picture FILE   draw on FILE, whatever path the JSON gives; for one picture only\n"
    "  -q, --quiet          do not report the pictures written\n"
    "  -h, --help           print this help\n"
    "  -V, --version        print the version\n"
    "\n"
    "The JSON (default: standard input) holds one object per line and picture:\n"
    "  {\"image\": \"dog.jpg\", \"detections\": [{\"label\": \"dog\", \"class\": 16, \"confidence\": 0.94,\n"
    "   \"box\": {\"x\": 131, \"y\": 221, \"width\": 183, \"height\": 319}}]}\n"
    "(on one line), boxes in pixels from the top left of the upright picture. An object with\n"
    "\"error\" is reported and skipped.\n"
    "\n"
    "Without -o, dog.jpg becomes dog-annotated.jpg in the current folder; with -o FOLDER, or with\n"
    "several objects, FOLDER/dog-annotated.jpg. FOLDER is made if missing. A second dog.jpg becomes\n"
    "dog-annotated-2.jpg; pictures other than PNG and JPEG become .png.\n"
    "\n"
    "Exit status: 0 all was drawn; 1 a picture could not be written, or run_inference had failed on\n"
    "all of them; 2 misuse, bad JSON (nothing is written then) or a picture that cannot be read.\n";

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"thresh", required_argument, NULL, 't'},
    {"picture", required_argument, NULL, 'p'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static void complain_misuse(int answer, char *const *argv)
{
  static const char *const expects[][2] = {
      {"o", "option -o, --output expects a name ending in .png, .jpg or .jpeg, or a folder"},
      {"t", "option -t, --thresh expects a number from 0 to 1"},
      {"p", "option -p, --picture expects a picture file"},
  };
  const char *word = argv[optind - 1];
  for (size_t i = 0; answer == ':' && i < sizeof expects / sizeof *expects; i++)
    if (optopt == *expects[i][0]) say("%s, found nothing", expects[i][1]);
  /* getopt_long leaves optopt at the option's letter for a value that it does not take, at 0 for an
   * unknown or ambiguous long one. */
  if (answer == '?' && optopt && strncmp(word, "--", 2) == 0)
    say("option %.*s expects no value, found %s", (int)strcspn(word, "="), word,
        word + strcspn(word, "="));
  else if (answer == '?' && optopt)
    say("unknown option -%c; --help lists them", optopt);
  else if (answer == '?')
    say("unknown option %s; --help lists them", word);
}

/* True: go on; false: *status is the exit code. */
static bool read_options(int argc, char **argv, struct options *options, enum status *status)
{
  int c;
  char *end;
  opterr = 0;
  *status = BAD_INPUT;
  while ((c = getopt_long(argc, argv, ":o:t:p:qhV", long_options, NULL)) != -1) {
    switch (c) {
    case 'o': options->output = optarg; break;
    case 'p': options->picture = optarg; break;
    case 'q': options->quiet = true; break;
    case 't':
      options->thresh = strtod(optarg, &end);
      if (end == optarg || *end || !(options->thresh >= 0 && options->thresh <= 1)) {
        say("option -t, --thresh expects a number from 0 to 1, found %s", optarg);
        return false;
      }
      break;
    case 'h': *status = fputs(usage, stdout) < 0 || fflush(stdout) ? FAILED : DONE; return false;
    case 'V':
      *status = puts("annotate (mafat) " MAFAT_VERSION) < 0 || fflush(stdout) ? FAILED : DONE;
      return false;
    default: complain_misuse(c, argv); return false;
    }
  }
  if ((options->output && !*options->output) || (options->picture && !*options->picture)) {
    say("option %s expects a file name, found an empty one",
        options->output && !*options->output ? "-o" : "-p");
    return false;
  }
  if (argc - optind > 1) {
    say("expected one JSON-FILE at most, found also %s", argv[optind + 1]);
    return false;
  }
  options->json = optind < argc ? argv[optind] : "-";
  return true;
}

int main(int argc, char **argv)
{
  struct options options = {0};
  struct report_list list = {0};
  enum status status;
  if (!read_options(argc, argv, &options, &status)) return status;
  signal(
      SIGXFSZ,
      SIG_IGN); /* a file that grows past its limit is then an error of write(), and cleaned up */
  gdSetErrorMethod(keep_gd_message);
  gdFTUseFontConfig(1);

  status = read_reports(&options, &list);
  if (status == DONE && options.picture && list.n > 1) {
    say("option -p, --picture expects JSON for one picture, found %zu objects", list.n);
    status = BAD_INPUT;
  }
  if (status == DONE) status = annotate_all(&options, &list);
  report_list_close(&list);
  gdFontCacheShutdown();
  return status;
}

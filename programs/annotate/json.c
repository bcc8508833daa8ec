/* Reads and checks the lines of `run_inference --json`. Called by annotate.c. Reads the file;
 * allocates the reports, which mafat_annotate_json_close frees. */
#include "programs/annotate/json.h"

#include "include/mafat.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

enum {
  SHOWN_BYTES = 40, /* bytes of a wrong value that a message shows */
  /* bytes of the longest line: a million boxes, the most that run_inference considers, at about 200
   * bytes each */
  MOST_BYTES = 256 << 20
};

/* Position of a field, for messages; `detection` is the index of the detection. */
struct json_place {
  struct mafat_annotate_mistake *mistake;
  size_t detection;
  bool in_detection; /* else the field is in the line's object itself */
};

__attribute__((format(printf, 3, 4))) static int fail(struct mafat_annotate_mistake *mistake,
                                                      int code, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(mistake->text, sizeof mistake->text, format, args);
  va_end(args);
  return code;
}

static const char *dots(const char *text)
{
  return strlen(text) > SHOWN_BYTES ? "..." : "";
}

static int fail_field(const struct json_place *place, const char *field, const char *expected,
                      struct json_object *found)
{
  const char *text = found ? json_object_to_json_string_ext(found, JSON_C_TO_STRING_PLAIN) : NULL;
  char index[48] = "";
  if (!text) text = "nothing";
  if (place->in_detection)
    snprintf(index, sizeof index, "detections[%zu]%s", place->detection, *field ? "." : "");
  return fail(place->mistake, MAFAT_EFORMAT, "%s%s: expected %s, found %.*s%s", index, field,
              expected, SHOWN_BYTES, text, dots(text));
}

/* Value of a key; NULL: the key is missing or null. */
static struct json_object *member(struct json_object *object, const char *key)
{
  struct json_object *value = NULL;
  return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

/* True for a string without a NUL inside, which would truncate a path. */
static bool is_text(struct json_object *value)
{
  return json_object_is_type(value, json_type_string) &&
         strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

/* Reads a finite number that is at least `low`, which is 0 or, for any number, -HUGE_VAL. `field`
 * is the number's full name, for messages. */
static int read_number(const struct json_place *place, struct json_object *value, const char *field,
                       double low, double *out)
{
  if (json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int)) {
    *out = json_object_get_double(value);
    if (isfinite(*out) && *out >= low) return MAFAT_OK;
  }
  return fail_field(place, field, low < 0 ? "a finite number" : "a finite number, at least 0",
                    value);
}

static int read_box(const struct json_place *place, struct json_object *box,
                    struct mafat_annotate_detection *out)
{
  int code;
  if ((code = read_number(place, member(box, "x"), "box.x", -HUGE_VAL, &out->x))) return code;
  if ((code = read_number(place, member(box, "y"), "box.y", -HUGE_VAL, &out->y))) return code;
  if ((code = read_number(place, member(box, "width"), "box.width", 0, &out->width))) return code;
  return read_number(place, member(box, "height"), "box.height", 0, &out->height);
}

/* Reads the keypoints of a detection, if it has any. */
static int read_points(const struct json_place *place, struct json_object *list,
                       struct mafat_annotate_detection *out)
{
  if (!list) return MAFAT_OK;
  if (!json_object_is_type(list, json_type_array) ||
      json_object_array_length(list) > MAFAT_ANNOTATE_POINTS)
    return fail_field(place, "keypoints", "an array of at most 32", list);
  out->points = calloc(json_object_array_length(list) + 1, sizeof *out->points);
  if (!out->points) return fail(place->mistake, MAFAT_ENOMEM, "out of memory");
  for (size_t i = 0; i < json_object_array_length(list); i++) {
    struct json_object *point = json_object_array_get_idx(list, i);
    double x = 0, y = 0;
    if (!json_object_is_type(point, json_type_object))
      return fail_field(place, "keypoints", "objects with x and y", point);
    int code = read_number(place, member(point, "x"), "keypoints.x", -HUGE_VAL, &x);
    if (code == MAFAT_OK)
      code = read_number(place, member(point, "y"), "keypoints.y", -HUGE_VAL, &y);
    if (code) return code;
    out->points[i][0] = x;
    out->points[i][1] = y;
    out->n_points++;
  }
  return MAFAT_OK;
}

static int read_detection(const struct json_place *place, struct json_object *object,
                          struct mafat_annotate_detection *out)
{
  if (!json_object_is_type(object, json_type_object))
    return fail_field(place, "", "an object", object);

  struct json_object *label = member(object, "label");
  if (label && !is_text(label)) return fail_field(place, "label", "a string", label);
  out->label = label ? json_object_get_string(label) : NULL;

  struct json_object *class_id = member(object, "class");
  int64_t id = json_object_is_type(class_id, json_type_int) ? json_object_get_int64(class_id) : -1;
  if (id < 0 || id > INT_MAX) return fail_field(place, "class", "an integer from 0", class_id);
  out->class_id = (int)id;

  struct json_object *box = member(object, "box");
  if (!json_object_is_type(box, json_type_object))
    return fail_field(place, "box", "an object with x, y, width and height", box);
  struct json_object *confidence = member(object, "confidence");
  int code = read_number(place, confidence, "confidence", 0, &out->confidence);
  if (code == MAFAT_OK) code = read_box(place, box, out);
  return code ? code : read_points(place, member(object, "keypoints"), out);
}

/* Parses one line, which is not blank, into a JSON object. *out is NULL after a failure. */
static int parse_line(struct json_object **out, const char *text, size_t length,
                      struct mafat_annotate_mistake *mistake)
{
  const char *start = text + strspn(text, " \t");
  *out = NULL;
  if (*start != '{')
    return fail(mistake, MAFAT_EFORMAT, "expected a JSON object, found %.*s%s", SHOWN_BYTES, start,
                dots(start));
  struct json_tokener *tokener = json_tokener_new();
  if (!tokener) return fail(mistake, MAFAT_ENOMEM, "out of memory");
  json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
  struct json_object *root = json_tokener_parse_ex(tokener, text, (int)length);
  enum json_tokener_error error = json_tokener_get_error(tokener);
  size_t end = json_tokener_get_parse_end(tokener);
  json_tokener_free(tokener);
  if (error == json_tokener_success && end == length) {
    *out = root;
    return MAFAT_OK;
  }
  json_object_put(root);
  if (error == json_tokener_continue)
    return fail(mistake, MAFAT_EFORMAT,
                "expected a whole JSON object on the line, found one that stops after %zu bytes",
                length);
  return fail(mistake, MAFAT_EFORMAT, "expected a JSON object, found a mistake at byte %zu: %s",
              end + 1,
              error == json_tokener_success ? "more text after the object"
                                            : json_tokener_error_desc(error));
}

static void report_close(struct mafat_annotate_report *report)
{
  for (size_t i = 0; report->detections && i < report->n_detections; i++)
    free(report->detections[i].points);
  free(report->detections);
  free(report->path);
  json_object_put(report->root);
  *report = (struct mafat_annotate_report){0};
}

/* Decodes the member image_bytes, if it is present: the bytes of a path that is not UTF-8, as
 * hexadecimal digits. */
static int read_path(struct json_place *place, struct mafat_annotate_report *out)
{
  static const char expected[] = "the bytes of a path, in hexadecimal digits";
  struct json_object *bytes = member(out->root, "image_bytes");
  if (!bytes) return MAFAT_OK;
  const char *digits = is_text(bytes) ? json_object_get_string(bytes) : "";
  size_t n = strlen(digits);
  if (n == 0 || n % 2 || strspn(digits, "0123456789abcdefABCDEF") < n)
    return fail_field(place, "image_bytes", expected, bytes);
  out->path = calloc(n / 2 + 1, 1);
  if (!out->path) return fail(place->mistake, MAFAT_ENOMEM, "out of memory");
  for (size_t i = 0; i < n / 2; i++) {
    const char pair[] = {digits[2 * i], digits[2 * i + 1], '\0'};
    out->path[i] = (char)strtoul(pair, NULL, 16);
    if (!out->path[i]) return fail_field(place, "image_bytes", expected, bytes);
  }
  out->image = out->path;
  return MAFAT_OK;
}

/* Fills in a report from out->root, the line's JSON object. After a failure the caller frees it
 * with report_close(). */
static int report_fill(struct mafat_annotate_report *out, bool needs_image,
                       struct json_place *place)
{
  struct json_object *error = member(out->root, "error");
  struct json_object *image = member(out->root, "image");
  out->image = is_text(image) ? json_object_get_string(image) : "";
  int code = read_path(place, out);
  if (code) return code;
  if (error) {
    out->error = json_object_get_string(error);
    return MAFAT_OK;
  }
  if (needs_image && !*out->image)
    return fail_field(place, "image", "the path of the picture, a string", image);

  struct json_object *list = member(out->root, "detections");
  if (!json_object_is_type(list, json_type_array))
    return fail_field(place, "detections", "an array", list);
  out->n_detections = json_object_array_length(list);
  out->detections = calloc(out->n_detections + 1, sizeof *out->detections);
  if (!out->detections) return fail(place->mistake, MAFAT_ENOMEM, "out of memory");
  place->in_detection = true;
  for (size_t i = 0; i < out->n_detections; i++) {
    place->detection = i;
    code = read_detection(place, json_object_array_get_idx(list, i), &out->detections[i]);
    if (code) return code;
  }
  return MAFAT_OK;
}

static int make_room(struct mafat_annotate_json *json)
{
  if (json->n < json->capacity) return MAFAT_OK;
  size_t capacity = json->capacity ? 2 * json->capacity : 16;
  struct mafat_annotate_report *grown = reallocarray(json->reports, capacity, sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  json->reports = grown;
  json->capacity = capacity;
  return MAFAT_OK;
}

static int append_line(struct mafat_annotate_json *json, const char *text, size_t length,
                       bool needs_image, struct mafat_annotate_mistake *mistake)
{
  struct mafat_annotate_report report = {0};
  struct json_place place = {.mistake = mistake};
  int code = parse_line(&report.root, text, length, mistake);
  if (code == MAFAT_OK) code = report_fill(&report, needs_image, &place);
  if (code == MAFAT_OK && make_room(json)) code = fail(mistake, MAFAT_ENOMEM, "out of memory");
  if (code == MAFAT_OK)
    json->reports[json->n++] = report;
  else
    report_close(&report);
  return code;
}

struct text_line {
  char *text; /* n bytes, and a NUL */
  size_t n, capacity;
};

/* Grows the buffer so that one byte and the NUL fit. */
static int grow(struct text_line *line, struct mafat_annotate_mistake *mistake)
{
  if (line->n > MOST_BYTES)
    return fail(mistake, MAFAT_ELIMIT, "expected a line of at most %d MiB, found a longer one",
                MOST_BYTES >> 20);
  if (line->n + 1 < line->capacity) return MAFAT_OK;
  size_t capacity = line->capacity ? 2 * line->capacity : 4096;
  char *text = realloc(line->text, capacity);
  if (!text) return fail(mistake, MAFAT_ENOMEM, "out of memory");
  line->text = text;
  line->capacity = capacity;
  return MAFAT_OK;
}

/* Reads the next line, without blanks at its end. *more is false if there is none: at the end of
 * the file, or after a read error. */
static int read_line(struct text_line *line, FILE *file, bool *more,
                     struct mafat_annotate_mistake *mistake)
{
  int c, code;
  line->n = 0;
  if ((code = grow(line, mistake))) return code;
  while ((c = getc_unlocked(file)) != EOF && c != '\n') {
    line->text[line->n++] = (char)c;
    if ((code = grow(line, mistake))) return code;
  }
  *more = c != EOF || (line->n > 0 && !ferror(file));
  while (line->n > 0 && strchr(" \t\r", line->text[line->n - 1]) && line->text[line->n - 1])
    line->n--;
  line->text[line->n] = '\0';
  return MAFAT_OK;
}

static int read_lines(struct mafat_annotate_json *json, FILE *file, bool needs_image,
                      struct mafat_annotate_mistake *mistake)
{
  struct text_line line = {0};
  bool more = true;
  int code = MAFAT_OK;
  while (code == MAFAT_OK && more) {
    mistake->line++;
    code = read_line(&line, file, &more, mistake);
    if (code == MAFAT_OK && more && line.n > 0)
      code = append_line(json, line.text, line.n, needs_image, mistake);
  }
  if (code == MAFAT_OK) {
    mistake->line = 0;
    if (!feof(file))
      code = fail(mistake, MAFAT_EIO, "cannot read the JSON: %s", strerror(errno));
    else if (json->n == 0)
      code = fail(mistake, MAFAT_EFORMAT, "expected one JSON object per line, found nothing");
  }
  free(line.text);
  return code;
}

int mafat_annotate_json_read(struct mafat_annotate_json **out, const char *path, bool needs_image,
                             struct mafat_annotate_mistake *mistake)
{
  bool is_stdin = strcmp(path, "-") == 0;
  *out = NULL;
  *mistake = (struct mafat_annotate_mistake){.file = is_stdin ? "standard input" : path};
  FILE *file = is_stdin ? stdin : fopen(path, "r");
  if (!file) return fail(mistake, MAFAT_EIO, "cannot open the JSON: %s", strerror(errno));
  struct mafat_annotate_json *json = calloc(1, sizeof *json);
  int code = json ? read_lines(json, file, needs_image, mistake)
                  : fail(mistake, MAFAT_ENOMEM, "out of memory");
  if (code)
    mafat_annotate_json_close(&json);
  else
    *out = json;
  if (!is_stdin) fclose(file);
  return code;
}

void mafat_annotate_json_close(struct mafat_annotate_json **json)
{
  if (!*json) return;
  for (size_t i = 0; i < (*json)->n; i++) report_close(&(*json)->reports[i]);
  free((*json)->reports);
  free(*json);
  *json = NULL;
}

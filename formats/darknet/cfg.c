/* Parses .cfg files into sections, and looks up options. Called by formats/darknet, formats/packed,
 * api/packing and runner/calibrate. Allocates the parsed file. */
#include "formats/darknet/cfg.h"

#include "base/number.h"
#include "base/part.h"
#include "base/text_file.h"
#include "network/network.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int parse(struct mafat_cfg **out, const char *name, char *text, size_t bytes,
                 struct mafat_allowance *allowance, struct mafat_diagnostic *d);

MAFAT_PART(opening)
int mafat_cfg_read_source(struct mafat_cfg **out, const struct mafat_model_source *source,
                          struct mafat_diagnostic *d)
{
  char *text = NULL;
  size_t bytes = 0;
  *out = NULL;
  int code = mafat_text_source_read(source, "a cfg file", MAFAT_CFG_MAX_BYTES, &text, &bytes, d);
  return code ? code : parse(out, source->path, text, bytes, source->allowance, d);
}

int mafat_cfg_read(struct mafat_cfg **out, const char *path,
                   struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  *out = NULL;
  int code = mafat_model_source_open(&source, path, d);
  if (code == MAFAT_OK) code = mafat_cfg_read_source(out, source, d);
  mafat_model_source_close(&source);
  return code;
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

static bool is_of_number(char c)
{
  return (c >= '0' && c <= '9') || c == '.' || c == '-';
}

/* Copies a line of n bytes without its blanks, as Darknet does, and adds a NUL. `to` is at or
 * before `from` in the same text. Returns the length of the copy. Sets *joined if blanks separated
 * numbers of a value, so that "10 13" became 1013. */
static size_t strip_line(char *to, const char *from, size_t n, bool *joined)
{
  size_t length = 0;
  bool value = false, comment = false;
  *joined = false;
  for (size_t i = 0; i < n; i++) {
    if (is_blank(from[i])) continue;
    comment = comment || from[i] == '#';
    if (value && !comment && is_blank(from[i - 1]) && is_of_number(from[i]) &&
        is_of_number(to[length - 1]))
      *joined = true;
    value = value || from[i] == '=';
    to[length++] = from[i];
  }
  to[length] = '\0';
  return length;
}

static int parse_header(struct mafat_cfg *cfg, char *line, size_t length,
                        int number, struct mafat_diagnostic *d)
{
  if (line[length - 1] != ']' || length < 3)
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: expected a section like [net], found %.80s",
                      cfg->path, number, line);
  line[length - 1] = '\0';
  struct mafat_cfg_section *s = &cfg->sections[cfg->n_sections++];
  s->type = line + 1;
  s->line = number;
  return MAFAT_OK;
}

static int parse_option(struct mafat_cfg *cfg, char *line, int number, bool joined,
                        int *n_options, struct mafat_diagnostic *d)
{
  char *equals = strchr(line, '='), *comment = strchr(line, '#');
  if (comment) *comment = '\0'; /* Darknet's atoi stops there, too */
  if (comment && equals > comment) equals = NULL;
  if (!equals || equals == line || equals[1] == '\0')
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: expected key=value, found %.80s",
                      cfg->path, number, line);
  if (cfg->n_sections == 0)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s:%d: expected [net] before the first option, found %.80s", cfg->path,
                      number, line);
  *equals = '\0';
  struct mafat_cfg_section *s = &cfg->sections[cfg->n_sections - 1];
  if (s->n_options == MAFAT_CFG_MAX_KEYS)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s:%d: expected at most %d keys in a section, found one more in [%.60s]",
                      cfg->path, number, MAFAT_CFG_MAX_KEYS, s->type);
  struct mafat_cfg_option *o = &cfg->options[(*n_options)++];
  *o = (struct mafat_cfg_option){
      .key = line, .value = equals + 1, .line = number, .joined = joined};
  if (s->n_options++ == 0) s->options = o;
  return MAFAT_OK;
}

/* Strips the lines in place: a stripped line and its NUL are at most as long as the line and its
 * newline. The last line may have no newline; `text` has room for its NUL. */
static int parse_lines(struct mafat_cfg *cfg, size_t bytes, struct mafat_diagnostic *d)
{
  char *text = cfg->text, *free_text = text; /* free_text: first free byte */
  int number = 0, n_options = 0, code = MAFAT_OK;
  /* byte order mark, written by some editors */
  size_t bom = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  for (size_t begin = bom; begin < bytes && code == MAFAT_OK;) {
    const char *newline = memchr(text + begin, '\n', bytes - begin);
    size_t end = newline ? (size_t)(newline - text) : bytes;
    number++;
    char *line = free_text;
    bool joined;
    size_t length = strip_line(line, text + begin, end - begin, &joined);
    begin = end + 1;
    if (length == 0 || line[0] == '#' || line[0] == ';') continue;
    if (strlen(line) != length && number == 1)
      return mafat_fail(d, MAFAT_EFORMAT,
                        "%s: expected a cfg, found binary data, such as weights; the order is "
                        "MODEL.cfg MODEL.weights",
                        cfg->path);
    if (strlen(line) != length)
      return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: expected text, found a zero byte", cfg->path,
                        number);
    free_text += length + 1;
    code = line[0] == '[' ? parse_header(cfg, line, length, number, d)
                          : parse_option(cfg, line, number, joined, &n_options, d);
  }
  if (code == MAFAT_OK && cfg->n_sections == 0)
    code = mafat_fail(d, MAFAT_EFORMAT, "%s: expected a section [net], found none", cfg->path);
  return code;
}

struct capacity {
  size_t n_sections, n_options; /* upper bounds, but see room_for about byte order marks */
};

/* Counts upper bounds: the first character of a line may begin a section or a comment, and other
 * lines with = may be options. Does not count a section in the first line if it follows a byte
 * order mark; allocate() adds one section for it. */
static struct capacity room_for(const char *text, size_t n)
{
  struct capacity capacity = {0};
  for (size_t begin = 0, end; begin < n; begin = end + 1) {
    const char *newline = memchr(text + begin, '\n', n - begin);
    end = newline ? (size_t)(newline - text) : n;
    size_t first = begin;
    while (first < end && is_blank(text[first])) first++;
    if (first == end || text[first] == '#' || text[first] == ';') continue;
    if (text[first] == '[') capacity.n_sections++;
    else capacity.n_options += memchr(text + first, '=', end - first) != NULL;
  }
  /* parse_line() rejects a section with more keys */
  size_t most = (capacity.n_sections + 1) * MAFAT_CFG_MAX_KEYS;
  if (capacity.n_options > most) capacity.n_options = most;
  return capacity;
}

static int allocate(struct mafat_cfg *cfg, const char *name, const struct capacity *capacity)
{
  size_t sections = capacity->n_sections + 1, options = capacity->n_options + 1;
  cfg->path = strdup(name);
  if (!mafat_allowance_take(cfg->allowance, sections, sizeof *cfg->sections) ||
      !mafat_allowance_take(cfg->allowance, options, sizeof *cfg->options))
    return MAFAT_ENOMEM;
  cfg->sections = calloc(sections, sizeof *cfg->sections);
  cfg->options = calloc(options, sizeof *cfg->options);
  return cfg->path && cfg->sections && cfg->options ? MAFAT_OK : MAFAT_ENOMEM;
}

/* `text` must have room for one byte after its end. Takes over `text`: mafat_cfg_close frees it, or
 * parse() itself if it fails. */
MAFAT_PART(opening)
static int parse(struct mafat_cfg **out, const char *name, char *text, size_t bytes,
                 struct mafat_allowance *allowance, struct mafat_diagnostic *d)
{
  struct capacity capacity = room_for(text, bytes);
  struct mafat_cfg *cfg = calloc(1, sizeof *cfg);
  int code = cfg ? MAFAT_OK : MAFAT_ENOMEM;
  *out = NULL;
  if (cfg) cfg->text = text;
  else free(text);
  if (cfg) cfg->allowance = allowance;
  if (code == MAFAT_OK && allowance && capacity.n_sections > MAFAT_MAX_LAYERS + 1)
    code = mafat_fail(d, MAFAT_EFORMAT, "%s: expected at most %d layers, found %zu", name,
                      MAFAT_MAX_LAYERS, capacity.n_sections - 1);
  if (code == MAFAT_OK) code = allocate(cfg, name, &capacity);
  if (code == MAFAT_ENOMEM) mafat_fail(d, code, "%s: out of memory", name);
  if (code == MAFAT_OK) code = parse_lines(cfg, bytes, d);
  if (code == MAFAT_OK) *out = cfg;
  else mafat_cfg_close(&cfg);
  return code;
}

MAFAT_PART(opening) int mafat_cfg_parse(struct mafat_cfg **out, const char *name, const char *text,
                    size_t text_bytes, struct mafat_diagnostic *d)
{
  *out = NULL;
  if (text_bytes > MAFAT_CFG_MAX_BYTES)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: too large for a cfg file", name);
  char *own = malloc(text_bytes + 1);
  if (!own) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  memcpy(own, text, text_bytes);
  return parse(out, name, own, text_bytes, NULL, d);
}

void mafat_cfg_close(struct mafat_cfg **cfg)
{
  if (!cfg || !*cfg) return;
  free((*cfg)->path);
  free((*cfg)->text);
  free((*cfg)->sections);
  free((*cfg)->options);
  free(*cfg);
  *cfg = NULL;
}

MAFAT_PART(opening) const struct mafat_cfg_option *mafat_cfg_find(struct mafat_cfg_section *s,
                                              const char *key)
{
  for (int i = 0; i < s->n_options; i++)
    if (strcmp(s->options[i].key, key) == 0) {
      s->options[i].used = true;
      return &s->options[i];
    }
  return NULL;
}

static bool ends_number(const char *end)
{
  return *end == '\0' || *end == ',' || *end == ';';
}

MAFAT_PART(opening)
static int read_int(const struct mafat_cfg *cfg, const struct mafat_cfg_option *o,
                    const char *text, int *value, const char **rest,
                    struct mafat_diagnostic *d)
{
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (end == text || !ends_number(end))
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: %s expects an integer, found %.60s",
                      cfg->path, o->line, o->key, text);
  if (errno || v < INT_MIN || v > INT_MAX)
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: %s=%.60s is out of range",
                      cfg->path, o->line, o->key, text);
  *value = (int)v;
  *rest = end;
  return MAFAT_OK;
}

MAFAT_PART(opening)
static int read_float(const struct mafat_cfg *cfg, const struct mafat_cfg_option *o,
                      const char *text, float *value, const char **rest,
                      struct mafat_diagnostic *d)
{
  const char *end;
  float v = mafat_number_read(text, &end);
  if (end == text || !ends_number(end) || !isfinite(v))
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: %s expects a number, found %.60s",
                      cfg->path, o->line, o->key, text);
  *value = v;
  *rest = end;
  return MAFAT_OK;
}

MAFAT_PART(opening) int mafat_cfg_int(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                  const char *key, int least, int most, int *value,
                  struct mafat_diagnostic *d)
{
  const struct mafat_cfg_option *o = mafat_cfg_find(s, key);
  if (!o) return MAFAT_OK;
  const char *rest;
  int v, code = read_int(cfg, o, o->value, &v, &rest, d);
  if (code) return code;
  if (v < least || v > most)
    return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: %s expects %d to %d, found %d",
                      cfg->path, o->line, key, least, most, v);
  *value = v;
  return MAFAT_OK;
}

MAFAT_PART(opening) int mafat_cfg_float(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                    const char *key, float *value, struct mafat_diagnostic *d)
{
  const struct mafat_cfg_option *o = mafat_cfg_find(s, key);
  if (!o) return MAFAT_OK;
  const char *rest;
  return read_float(cfg, o, o->value, value, &rest, d);
}

/* Number of entries in a list: commas plus one; a trailing comma is ignored. */
MAFAT_PART(opening) static int count_entries(const char *text)
{
  int n = *text != '\0';
  for (; *text; text++) n += text[0] == ',' && text[1] != '\0';
  return n;
}

MAFAT_PART(opening)
static int check_commas(const struct mafat_cfg *cfg, const struct mafat_cfg_option *o,
                        struct mafat_diagnostic *d)
{
  if (!o->joined) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s:%d: %s expects commas between numbers, found blanks",
                    cfg->path, o->line, o->key);
}

MAFAT_PART(opening) int mafat_cfg_ints(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                   const char *key, int **values, int *n,
                   struct mafat_diagnostic *d)
{
  const struct mafat_cfg_option *o = mafat_cfg_find(s, key);
  *values = NULL;
  *n = 0;
  if (!o) return MAFAT_OK;
  int count = count_entries(o->value), code = check_commas(cfg, o, d);
  if (code) return code;
  int *list = calloc((size_t)count, sizeof *list);
  if (!list) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", cfg->path);
  const char *text = o->value;
  for (int i = 0; i < count && code == MAFAT_OK; i++) {
    code = read_int(cfg, o, text, &list[i], &text, d);
    if (code == MAFAT_OK && *text == ',') text++;
  }
  if (code) {
    free(list);
    return code;
  }
  *values = list;
  *n = count;
  return MAFAT_OK;
}

MAFAT_PART(opening) int mafat_cfg_floats(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                     const char *key, float **values, int *n,
                     struct mafat_diagnostic *d)
{
  const struct mafat_cfg_option *o = mafat_cfg_find(s, key);
  *values = NULL;
  *n = 0;
  if (!o) return MAFAT_OK;
  int count = count_entries(o->value), code = check_commas(cfg, o, d);
  if (code) return code;
  float *list = calloc((size_t)count, sizeof *list);
  if (!list) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", cfg->path);
  const char *text = o->value;
  for (int i = 0; i < count && code == MAFAT_OK; i++) {
    code = read_float(cfg, o, text, &list[i], &text, d);
    if (code == MAFAT_OK && *text == ',') text++;
  }
  if (code) {
    free(list);
    return code;
  }
  *values = list;
  *n = count;
  return MAFAT_OK;
}

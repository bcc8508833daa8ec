/* Writes text and JSON to a file descriptor through a small buffer, which is in the caller's
 * struct; allocates nothing. Called by programs that print results. */
#include "programs/shared/writer.h"

#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- The writer ---- */

void mafat_writer_open(struct mafat_writer *w, int fd)
{
  w->fd = fd;
  w->error = 0;
  w->comma = false;
  w->capacity = SIZE_MAX;
  w->used = 0;
}

static void drain(struct mafat_writer *w)
{
  size_t done = 0;
  if (w->used > w->capacity && !w->error) w->error = EFBIG;
  if (w->capacity != SIZE_MAX) w->capacity -= w->error ? 0 : w->used;
  while (done < w->used && !w->error) {
    ssize_t n = write(w->fd, w->buffer + done, w->used - done);
    if (n > 0) {
      done += (size_t)n;
    } else if (n == 0) {
      w->error = EIO; /* avoids an endless loop */
    } else if (errno == EAGAIN) {
      /* Another process may have made the shared terminal or pipe non-blocking. */
      struct pollfd ready = {w->fd, POLLOUT, 0};
      if (poll(&ready, 1, -1) < 0 && errno != EINTR) w->error = errno;
    } else if (errno != EINTR) {
      w->error = errno;
    }
  }
  w->used = 0;
}

int mafat_writer_flush(struct mafat_writer *w, struct mafat_diagnostic *d)
{
  drain(w);
  if (!w->error) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "cannot write the results: %s", strerror(w->error));
}

static void put_bytes(struct mafat_writer *w, const char *bytes, size_t n)
{
  while (n > 0) {
    if (w->used == sizeof w->buffer) drain(w);
    size_t capacity = sizeof w->buffer - w->used, part = n < capacity ? n : capacity;
    memcpy(w->buffer + w->used, bytes, part);
    w->used += part;
    bytes += part;
    n -= part;
  }
}

void mafat_writer_put(struct mafat_writer *w, const char *text)
{
  put_bytes(w, text, strlen(text));
}

void mafat_writer_put_spaces(struct mafat_writer *w, int n)
{
  while (n-- > 0) put_bytes(w, " ", 1);
}

/* ---- Numbers ---- */

/* Replaces the locale's decimal separator, which may have several bytes, by a point. */
static void normalize_point(char *text)
{
  char *to = text;
  bool in_point = false;
  for (const char *from = text; *from; from++) {
    bool is_number = (*from >= '0' && *from <= '9') || strchr("+-e", *from);
    if (is_number)
      *to++ = *from;
    else if (!in_point)
      *to++ = '.';
    in_point = !is_number;
  }
  *to = 0;
}

const char *mafat_format_fixed(char capacity[MAFAT_NUMBER_ROOM], double value, int decimals)
{
  if (!isfinite(value)) return "-";
  snprintf(capacity, MAFAT_NUMBER_ROOM, "%.*f", decimals, value);
  normalize_point(capacity);
  return capacity;
}

const char *mafat_format_integer(char capacity[MAFAT_NUMBER_ROOM], int64_t value)
{
  snprintf(capacity, MAFAT_NUMBER_ROOM, "%lld", (long long)value);
  return capacity;
}

void mafat_writer_put_fixed(struct mafat_writer *w, double value, int decimals)
{
  char capacity[MAFAT_NUMBER_ROOM];
  mafat_writer_put(w, mafat_format_fixed(capacity, value, decimals));
}

void mafat_writer_put_integer(struct mafat_writer *w, int64_t value)
{
  char capacity[MAFAT_NUMBER_ROOM];
  mafat_writer_put(w, mafat_format_integer(capacity, value));
}

void mafat_writer_put_right(struct mafat_writer *w, const char *text, int width)
{
  mafat_writer_put_spaces(w, width - (int)strlen(text));
  mafat_writer_put(w, text);
}

/* ---- Text from outside ---- */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

void mafat_writer_put_plain(struct mafat_writer *w, const char *text)
{
  for (size_t n; *text; text += n ? n : 1) {
    n = mafat_utf8_character(text);
    if (n == 0)
      mafat_writer_put(w, replacement);
    else if (mafat_utf8_is_control(text, n))
      mafat_writer_put(w, "?");
    else
      put_bytes(w, text, n);
  }
}

static const char hex[] = "0123456789abcdef";

static void put_escaped(struct mafat_writer *w, const char *text)
{
  for (size_t n; *text; text += n ? n : 1) {
    unsigned char first = (unsigned char)*text;
    n = mafat_utf8_character(text);
    if (n == 0) {
      mafat_writer_put(w, replacement);
    } else if (first == '"' || first == '\\') {
      char pair[] = {'\\', *text};
      put_bytes(w, pair, sizeof pair);
    } else if (first < 0x20 || first == 0x7f) {
      char escape[] = {'\\', 'u', '0', '0', hex[first >> 4], hex[first & 15]};
      put_bytes(w, escape, sizeof escape);
    } else {
      put_bytes(w, text, n);
    }
  }
}

/* ---- JSON ---- */

/* Writes a comma, except before the first element. Call it before every key and every element of an
 * array. */
void mafat_json_separate(struct mafat_writer *w)
{
  if (w->comma) mafat_writer_put(w, ",");
  w->comma = true;
}

void mafat_json_key(struct mafat_writer *w, const char *key)
{
  mafat_json_separate(w);
  mafat_writer_put(w, "\"");
  mafat_writer_put(w, key);
  mafat_writer_put(w, "\":");
}

/* Begins an object or array. bracket: "{" or "[". */
void mafat_json_begin(struct mafat_writer *w, const char *bracket)
{
  mafat_writer_put(w, bracket);
  w->comma = false;
}

void mafat_json_end(struct mafat_writer *w, const char *bracket)
{
  mafat_writer_put(w, bracket);
  w->comma = true;
}

static void put_string(struct mafat_writer *w, const char *text)
{
  mafat_writer_put(w, "\"");
  put_escaped(w, text);
  mafat_writer_put(w, "\"");
}

static void put_hex(struct mafat_writer *w, const char *text)
{
  mafat_writer_put(w, "\"");
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    char digits[] = {hex[byte >> 4], hex[byte & 15]};
    put_bytes(w, digits, sizeof digits);
  }
  mafat_writer_put(w, "\"");
}

static bool is_utf8(const char *text)
{
  size_t n;
  while (*text && (n = mafat_utf8_character(text)) > 0) text += n;
  return !*text;
}

/* Writes the key "NAME_bytes", whose value has the text's bytes in hexadecimal, because JSON cannot
 * represent invalid UTF-8. */
static void put_bytes_key(struct mafat_writer *w, const char *key)
{
  mafat_writer_put(w, ",\"");
  mafat_writer_put(w, key);
  mafat_writer_put(w, "_bytes\":");
}

void mafat_json_string(struct mafat_writer *w, const char *key, const char *text)
{
  if (key) mafat_json_key(w, key);
  else mafat_json_separate(w);
  if (!text) {
    mafat_writer_put(w, "null");
    return;
  }
  put_string(w, text);
  if (!key || is_utf8(text)) return;
  put_bytes_key(w, key);
  put_hex(w, text);
}

static void put_list(struct mafat_writer *w, const char *const *list,
                     void (*put)(struct mafat_writer *w, const char *text))
{
  mafat_json_begin(w, "[");
  for (; *list; list++) {
    mafat_json_separate(w);
    put(w, *list);
  }
  mafat_json_end(w, "]");
}

void mafat_json_strings(struct mafat_writer *w, const char *key, const char *const *list)
{
  const char *const *invalid = list;
  while (*invalid && is_utf8(*invalid)) invalid++;
  mafat_json_key(w, key);
  put_list(w, list, put_string);
  if (!*invalid) return;
  put_bytes_key(w, key);
  put_list(w, list, put_hex);
}

/* Writes a count, or null if the count is negative, which means that it is not known. */
void mafat_json_count(struct mafat_writer *w, const char *key, int64_t value)
{
  mafat_json_key(w, key);
  if (value < 0)
    mafat_writer_put(w, "null");
  else
    mafat_writer_put_integer(w, value);
}

/* Nine digits represent every float exactly. */
void mafat_json_put_number(struct mafat_writer *w, double value)
{
  char capacity[MAFAT_NUMBER_ROOM];
  if (!isfinite(value)) {
    mafat_writer_put(w, "null");
    return;
  }
  snprintf(capacity, sizeof capacity, "%.9g", value);
  normalize_point(capacity);
  mafat_writer_put(w, capacity);
}

void mafat_json_number(struct mafat_writer *w, const char *key, double value)
{
  mafat_json_key(w, key);
  mafat_json_put_number(w, value);
}

int mafat_json_finish_line(struct mafat_writer *w)
{
  mafat_json_end(w, "}");
  mafat_writer_put(w, "\n");
  w->comma = false;
  return mafat_writer_flush(w, NULL);
}

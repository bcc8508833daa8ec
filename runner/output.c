#include "runner/output.h"

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
  w->used = 0;
}

static void drain(struct mafat_writer *w)
{
  size_t done = 0;
  while (done < w->used && !w->error) {
    ssize_t n = write(w->fd, w->buffer + done, w->used - done);
    if (n > 0) {
      done += (size_t)n;
    } else if (n == 0) {
      w->error = EIO; /* a device that takes nothing would be asked for ever */
    } else if (errno == EAGAIN) {
      /* Whoever shares the terminal or pipe may have made it non-blocking. */
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
    size_t room = sizeof w->buffer - w->used, part = n < room ? n : room;
    memcpy(w->buffer + w->used, bytes, part);
    w->used += part;
    bytes += part;
    n -= part;
  }
}

static void put(struct mafat_writer *w, const char *text)
{
  put_bytes(w, text, strlen(text));
}

static void put_spaces(struct mafat_writer *w, int n)
{
  while (n-- > 0) put_bytes(w, " ", 1);
}

/* ---- Numbers ---- */

enum { NUMBER_ROOM = 352 }; /* %.1f of DBL_MAX has 311 characters */

/* Turns the locale's decimal point, of one or more bytes, into a point. */
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

static const char *format_fixed(char room[NUMBER_ROOM], double value, int decimals)
{
  if (!isfinite(value)) return "-";
  snprintf(room, NUMBER_ROOM, "%.*f", decimals, value);
  normalize_point(room);
  return room;
}

static const char *format_integer(char room[NUMBER_ROOM], int64_t value)
{
  snprintf(room, NUMBER_ROOM, "%lld", (long long)value);
  return room;
}

static void put_fixed(struct mafat_writer *w, double value, int decimals)
{
  char room[NUMBER_ROOM];
  put(w, format_fixed(room, value, decimals));
}

static void put_integer(struct mafat_writer *w, int64_t value)
{
  char room[NUMBER_ROOM];
  put(w, format_integer(room, value));
}

/* ---- Text from outside ---- */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* The length of the well-formed UTF-8 sequence at p (RFC 3629: nothing
 * overlong, no surrogates, nothing above U+10FFFF); 0 when there is none. */
static size_t utf8_length(const char *p)
{
  const unsigned char *u = (const unsigned char *)p;
  if (u[0] < 0x80) return 1;
  if (u[0] < 0xc2 || u[0] > 0xf4) return 0;
  size_t length = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
  unsigned char least = u[0] == 0xe0 ? 0xa0 : u[0] == 0xf0 ? 0x90 : 0x80;
  unsigned char most = u[0] == 0xed ? 0x9f : u[0] == 0xf4 ? 0x8f : 0xbf;
  if (u[1] < least || u[1] > most) return 0;
  for (size_t i = 2; i < length; i++)
    if ((u[i] & 0xc0) != 0x80) return 0; /* a NUL, too, ends here */
  return length;
}

static bool is_control(const char *p, size_t length)
{
  unsigned char first = (unsigned char)p[0];
  if (length == 1) return first < 0x20 || first == 0x7f;
  /* U+0080 to U+009F: some terminals obey them. */
  return length == 2 && first == 0xc2 && (unsigned char)p[1] < 0xa0;
}

static void put_plain(struct mafat_writer *w, const char *text)
{
  for (size_t n; *text; text += n ? n : 1) {
    n = utf8_length(text);
    if (n == 0)
      put(w, replacement);
    else if (is_control(text, n))
      put(w, "?");
    else
      put_bytes(w, text, n);
  }
}

static void put_escaped(struct mafat_writer *w, const char *text)
{
  static const char hex[] = "0123456789abcdef";
  for (size_t n; *text; text += n ? n : 1) {
    unsigned char first = (unsigned char)*text;
    n = utf8_length(text);
    if (n == 0) {
      put(w, replacement);
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

/* Goes before every key and every element of an array. */
static void json_separate(struct mafat_writer *w)
{
  if (w->comma) put(w, ",");
  w->comma = true;
}

static void json_key(struct mafat_writer *w, const char *key)
{
  json_separate(w);
  put(w, "\"");
  put(w, key);
  put(w, "\":");
}

/* `bracket` is { or [. */
static void json_begin(struct mafat_writer *w, const char *bracket)
{
  put(w, bracket);
  w->comma = false;
}

static void json_end(struct mafat_writer *w, const char *bracket)
{
  put(w, bracket);
  w->comma = true;
}

static void json_string(struct mafat_writer *w, const char *key, const char *text)
{
  json_key(w, key);
  if (!text) {
    put(w, "null");
    return;
  }
  put(w, "\"");
  put_escaped(w, text);
  put(w, "\"");
}

/* Negative: not known. */
static void json_count(struct mafat_writer *w, const char *key, int64_t value)
{
  json_key(w, key);
  if (value < 0)
    put(w, "null");
  else
    put_integer(w, value);
}

/* Nine digits give back every float; of milliseconds they show nanoseconds. */
static void put_json_number(struct mafat_writer *w, double value)
{
  char room[NUMBER_ROOM];
  if (!isfinite(value)) {
    put(w, "null");
    return;
  }
  snprintf(room, sizeof room, "%.9g", value);
  normalize_point(room);
  put(w, room);
}

static void json_number(struct mafat_writer *w, const char *key, double value)
{
  json_key(w, key);
  put_json_number(w, value);
}

static void json_network(struct mafat_writer *w, const struct mafat_run_report *r)
{
  json_key(w, "network");
  json_begin(w, "{");
  json_count(w, "width", r->network_w);
  json_count(w, "height", r->network_h);
  json_count(w, "layers", r->n_layers);
  json_end(w, "}");
}

static void json_latencies(struct mafat_writer *w, const struct mafat_run_report *r)
{
  json_key(w, "latencies_ms");
  json_begin(w, "[");
  for (int i = 0; i < r->n_latencies; i++) {
    json_separate(w);
    put_json_number(w, r->latencies_ms[i]);
  }
  json_end(w, "]");
}

static void json_class(struct mafat_writer *w, const struct mafat_names *names, int class,
                       float confidence)
{
  char room[MAFAT_NAMES_ROOM];
  json_string(w, "label", mafat_names_label(names, class, room));
  json_count(w, "class", class);
  json_number(w, "confidence", (double)confidence);
}

static void json_detection(struct mafat_writer *w, const struct mafat_names *names,
                           const struct mafat_detection *d)
{
  json_separate(w);
  json_begin(w, "{");
  json_class(w, names, d->class_id, d->confidence);
  json_key(w, "box");
  json_begin(w, "{");
  json_number(w, "x", (double)d->x);
  json_number(w, "y", (double)d->y);
  json_number(w, "width", (double)d->w);
  json_number(w, "height", (double)d->h);
  json_end(w, "}");
  json_end(w, "}");
}

static void json_detections(struct mafat_writer *w, const struct mafat_run_report *r)
{
  json_key(w, "detections");
  json_begin(w, "[");
  for (size_t i = 0; r->detections && i < r->detections->n; i++)
    json_detection(w, r->names, &r->detections->list[i]);
  json_end(w, "]");
}

static void json_classes(struct mafat_writer *w, const struct mafat_run_report *r)
{
  json_key(w, "classes");
  json_begin(w, "[");
  for (int i = 0; i < r->n_classes; i++) {
    json_separate(w);
    json_begin(w, "{");
    json_class(w, r->names, r->classes[i].class, r->classes[i].confidence);
    json_end(w, "}");
  }
  json_end(w, "]");
}

static int json_finish_line(struct mafat_writer *w)
{
  json_end(w, "}");
  put(w, "\n");
  w->comma = false;
  return mafat_writer_flush(w, NULL);
}

/* ---- Reports ---- */

void mafat_run_report_defaults(struct mafat_run_report *r)
{
  *r = (struct mafat_run_report){
      .network_w = -1, .network_h = -1, .n_layers = -1, .threads = -1,
      .memory_budget_bytes = -1, .arena_bytes = -1, .predicted_charge_bytes = -1,
      .predicted_resident_bytes = -1, .measured_resident_bytes = -1, .vm_hwm_bytes = -1,
      .load_ms = NAN, .image_ms = NAN, .layers_ms = NAN, .latency_ms = NAN, .total_ms = NAN,
      .swap_in_bytes = -1, .swap_out_bytes = -1, .major_faults = -1, .weights_read_bytes = -1};
}

int mafat_output_run_json(const struct mafat_run_report *r, struct mafat_writer *w)
{
  json_begin(w, "{");
  json_string(w, "image", r->image);
  json_network(w, r);
  json_string(w, "plan", r->plan);
  json_string(w, "algorithm", r->algorithm);
  json_count(w, "threads", r->threads);
  json_string(w, "cpu", r->cpu);
  json_count(w, "memory_budget_bytes", r->memory_budget_bytes);
  json_count(w, "arena_bytes", r->arena_bytes);
  json_count(w, "predicted_charge_bytes", r->predicted_charge_bytes);
  json_count(w, "predicted_resident_bytes", r->predicted_resident_bytes);
  json_count(w, "measured_resident_bytes", r->measured_resident_bytes);
  json_count(w, "vm_hwm_bytes", r->vm_hwm_bytes);
  json_number(w, "load_ms", r->load_ms);
  json_number(w, "image_ms", r->image_ms);
  json_number(w, "layers_ms", r->layers_ms);
  json_number(w, "latency_ms", r->latency_ms);
  json_latencies(w, r);
  json_number(w, "total_ms", r->total_ms);
  json_count(w, "swap_in_bytes", r->swap_in_bytes);
  json_count(w, "swap_out_bytes", r->swap_out_bytes);
  json_string(w, "swap_scope", r->swap_scope);
  json_count(w, "major_faults", r->major_faults);
  json_count(w, "weights_read_bytes", r->weights_read_bytes);
  json_detections(w, r);
  if (r->kind == MAFAT_RUN_CLASSIFIES) json_classes(w, r);
  return json_finish_line(w);
}

int mafat_output_error_json(const char *image, const char *message, int exit_code,
                            struct mafat_writer *w)
{
  json_begin(w, "{");
  json_string(w, "image", image);
  json_string(w, "error", message);
  json_count(w, "exit_code", exit_code);
  return json_finish_line(w);
}

static void text_heading(struct mafat_writer *w, const struct mafat_run_report *r)
{
  size_t n = r->detections ? r->detections->n : 0;
  put_plain(w, r->image ? r->image : "input");
  put(w, ": ");
  if (r->kind == MAFAT_RUN_DETECTS) {
    put_integer(w, (int64_t)n);
    put(w, n == 1 ? " detection" : " detections");
  } else {
    put(w, r->kind == MAFAT_RUN_CLASSIFIES ? "classified" : "run");
  }
  if (isfinite(r->latency_ms)) {
    put(w, " in ");
    put_fixed(w, r->latency_ms, 1);
    put(w, " ms");
  }
  put(w, "\n");
}

static void text_label(struct mafat_writer *w, const struct mafat_names *names, int class,
                       float confidence, int decimals)
{
  char room[MAFAT_NAMES_ROOM];
  put(w, "  ");
  put_plain(w, mafat_names_label(names, class, room));
  put(w, " ");
  put_fixed(w, (double)confidence * 100, decimals);
  put(w, " %");
}

/* Adding zero makes a rounded -0 a 0. */
static void text_pixels(struct mafat_writer *w, float value)
{
  put_fixed(w, round((double)value) + 0., 0);
}

static void text_detection(struct mafat_writer *w, const struct mafat_names *names,
                           const struct mafat_detection *d)
{
  text_label(w, names, d->class_id, d->confidence, 0);
  put(w, "  (");
  text_pixels(w, d->x);
  put(w, ", ");
  text_pixels(w, d->y);
  put(w, ") ");
  text_pixels(w, d->w);
  put(w, " x ");
  text_pixels(w, d->h);
  put(w, "\n");
}

int mafat_output_run_text(const struct mafat_run_report *r, struct mafat_writer *w)
{
  text_heading(w, r);
  for (size_t i = 0; r->detections && i < r->detections->n; i++)
    text_detection(w, r->names, &r->detections->list[i]);
  for (int i = 0; i < r->n_classes && r->kind == MAFAT_RUN_CLASSIFIES; i++) {
    text_label(w, r->names, r->classes[i].class, r->classes[i].confidence, 1);
    put(w, "\n");
  }
  return mafat_writer_flush(w, NULL);
}

/* ---- The table ---- */

enum { LAYERS_WIDTH = 11, WHAT_WIDTH = 36, MS_WIDTH = 10, COUNT_WIDTH = 15, RATE_WIDTH = 8 };

static void put_right(struct mafat_writer *w, const char *text, int width)
{
  put_spaces(w, width - (int)strlen(text));
  put(w, text);
}

static void put_cell(struct mafat_writer *w, int64_t value, int width)
{
  char room[NUMBER_ROOM];
  put_right(w, value < 0 ? "-" : format_integer(room, value), width);
}

/* A layer stands one step to the right of its group. */
static void table_name(struct mafat_writer *w, const struct mafat_report_row *row)
{
  char layers[48];
  const char *what = row->what ? row->what : "";
  if (row->kind == MAFAT_ROW_TOTAL)
    snprintf(layers, sizeof layers, "total");
  else if (row->first == row->last)
    snprintf(layers, sizeof layers, "%s%d", row->kind == MAFAT_ROW_LAYER ? "  " : "", row->first);
  else
    snprintf(layers, sizeof layers, "%d-%d", row->first, row->last);
  put(w, layers);
  put_spaces(w, LAYERS_WIDTH - (int)strlen(layers));
  put(w, " ");
  put_plain(w, what);
  /* `what` is ours and ASCII; a wider one only pushes its row to the right. */
  put_spaces(w, WHAT_WIDTH - (int)strnlen(what, WHAT_WIDTH));
}

static void table_row(struct mafat_writer *w, const struct mafat_report_row *row)
{
  char room[NUMBER_ROOM];
  bool has_rate = row->macs > 0 && row->ms > 0; /* false for a NaN */
  table_name(w, row);
  put_right(w, format_fixed(room, row->ms, 3), MS_WIDTH);
  put(w, " ");
  put_cell(w, row->macs, COUNT_WIDTH);
  put(w, " ");
  put_right(w, has_rate ? format_fixed(room, (double)row->macs / (row->ms * 1e6), 2) : "-",
            RATE_WIDTH);
  put(w, " ");
  put_cell(w, row->bytes, COUNT_WIDTH);
  put(w, "\n");
}

int mafat_output_table(const struct mafat_report_row *rows, size_t n, struct mafat_writer *w)
{
  put(w, "layers");
  put_spaces(w, LAYERS_WIDTH + 1 - (int)strlen("layers") + WHAT_WIDTH);
  put_right(w, "ms", MS_WIDTH);
  put_right(w, "MACs", COUNT_WIDTH + 1);
  put_right(w, "GMAC/s", RATE_WIDTH + 1);
  put_right(w, "bytes", COUNT_WIDTH + 1);
  put(w, "\n");
  for (size_t i = 0; i < n; i++) table_row(w, &rows[i]);
  return mafat_writer_flush(w, NULL);
}

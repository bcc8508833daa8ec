/* Parses heads of HTTP/1.1 requests. Called by connection.c for the bytes that it has received, and
 * by route.c for single fields. Touches only its arguments. */
#include "programs/mafat_serve/http.h"

#include <string.h>
#include <strings.h>

static enum mafat_http_progress refuse(struct mafat_http_request *r, int status, const char *wrong)
{
  r->status = status;
  r->wrong = wrong;
  return MAFAT_HTTP_BAD;
}

static enum mafat_http_progress mistake(struct mafat_http_request *r, const char *wrong)
{
  return refuse(r, 400, wrong);
}

/* ---- characters ---- */

/* Character of names and methods (RFC 9110: tchar). */
static bool is_token(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Character of a target: printable, no blank. */
static bool is_target(char c)
{
  return c > ' ' && c < 127;
}

static bool is_value(char c)
{
  unsigned char u = (unsigned char)c;
  return u == '\t' || (u >= ' ' && u != 127);
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static struct mafat_http_text trim(const char *begin, const char *end)
{
  while (begin < end && is_blank(*begin)) begin++;
  while (begin < end && is_blank(end[-1])) end--;
  return (struct mafat_http_text){begin, (size_t)(end - begin)};
}

static bool is_word(struct mafat_http_text t, const char *word)
{
  return t.n == strlen(word) && strncasecmp(t.bytes, word, t.n) == 0;
}

bool mafat_http_is(struct mafat_http_text t, const char *other)
{
  return t.bytes && t.n == strlen(other) && memcmp(t.bytes, other, t.n) == 0;
}

/* ---- the first line ---- */

static enum mafat_http_method find_method(struct mafat_http_text t)
{
  if (mafat_http_is(t, "GET")) return MAFAT_HTTP_GET;
  if (mafat_http_is(t, "HEAD")) return MAFAT_HTTP_HEAD;
  return mafat_http_is(t, "POST") ? MAFAT_HTTP_POST : MAFAT_HTTP_OTHER;
}

/* Splits "/a?b", "*", or the form for proxies, "http://host/a?b". False: invalid. */
static bool split_target(struct mafat_http_request *r, struct mafat_http_text t)
{
  static const char scheme[] = "http://", asterisk[] = "*";
  const size_t n = sizeof scheme - 1;
  const char *end = t.bytes + t.n, *path = t.bytes;
  if (t.n > n && strncasecmp(t.bytes, scheme, n) == 0) {
    path += n;
    while (path < end && *path != '/' && *path != '?') path++;
    if (path == t.bytes + n) return false;
  }
  const char *query = path < end ? memchr(path, '?', (size_t)(end - path)) : NULL;
  r->path = (struct mafat_http_text){path, (size_t)((query ? query : end) - path)};
  if (query) r->query = (struct mafat_http_text){query + 1, (size_t)(end - query - 1)};
  if (path > t.bytes && r->path.n == 0) r->path = (struct mafat_http_text){"/", 1};
  return r->path.n > 0 && (r->path.bytes[0] == '/' || mafat_http_is(r->path, asterisk));
}

static enum mafat_http_progress read_version(struct mafat_http_request *r, struct mafat_http_text t)
{
  if (t.n != 8 || memcmp(t.bytes, "HTTP/", 5) != 0 || !is_digit(t.bytes[5]) || t.bytes[6] != '.' ||
      !is_digit(t.bytes[7]))
    return mistake(r, "expected METHOD TARGET HTTP/1.1 in the first line");
  if (t.bytes[5] != '1') return refuse(r, 505, "expected HTTP/1.1 or 1.0");
  r->keeps_alive = t.bytes[7] != '0';
  return MAFAT_HTTP_WHOLE;
}

/* False if the incomplete first line has a byte that no request line has: a client of another
 * protocol is then rejected at once. */
static bool begins_well(const char *line, const char *end)
{
  for (const char *p = line; p < end; p++)
    if (!is_target(*p) && *p != ' ' && *p != '\r') return false;
  return line == end || is_token(*line);
}

static enum mafat_http_progress read_first(struct mafat_http_request *r, const char *line,
                                           const char *end)
{
  static const char expected[] = "expected METHOD TARGET HTTP/1.1 in the first line";
  const char *method = line;
  while (line < end && is_token(*line)) line++;
  struct mafat_http_text word = {method, (size_t)(line - method)};
  if (word.n == 0 || line == end || *line++ != ' ') return mistake(r, expected);
  const char *target = line;
  while (line < end && is_target(*line)) line++;
  struct mafat_http_text of = {target, (size_t)(line - target)};
  if (of.n == 0 || line == end || *line++ != ' ') return mistake(r, expected);
  enum mafat_http_progress p =
      read_version(r, (struct mafat_http_text){line, (size_t)(end - line)});
  if (p != MAFAT_HTTP_WHOLE) return p;
  r->method = find_method(word);
  return split_target(r, of) ? MAFAT_HTTP_WHOLE
                             : mistake(r, "expected a target that begins with /");
}

/* ---- fields ---- */

/* Fields that have been parsed: those that may occur only once, and "Connection: close", which
 * overrides keep-alive. */
struct seen_headers {
  bool host, length, coding, close;
};

static enum mafat_http_progress read_length(struct mafat_http_request *r, struct seen_headers *seen,
                                            struct mafat_http_text t)
{
  if (seen->length || t.n == 0) return mistake(r, "expected one Content-Length, a number");
  seen->length = r->has_length = true;
  for (size_t i = 0; i < t.n; i++) {
    if (!is_digit(t.bytes[i])) return mistake(r, "expected one Content-Length, a number");
    if (__builtin_mul_overflow(r->body_bytes, 10u, &r->body_bytes) ||
        __builtin_add_overflow(r->body_bytes, (uint64_t)(t.bytes[i] - '0'), &r->body_bytes))
      return refuse(r, 413, "the body is longer than can be counted");
  }
  return MAFAT_HTTP_WHOLE;
}

/* Finds "close" or "keep-alive" in a list with commas. */
static void read_connection(struct mafat_http_request *r, struct seen_headers *seen,
                            struct mafat_http_text t)
{
  for (const char *p = t.bytes, *end = t.bytes + t.n; p < end;) {
    const char *comma = memchr(p, ',', (size_t)(end - p));
    struct mafat_http_text word = trim(p, comma ? comma : end);
    if (is_word(word, "close")) seen->close = true;
    if (is_word(word, "keep-alive")) r->keeps_alive = true;
    p = comma ? comma + 1 : end;
  }
}

static enum mafat_http_progress take_field(struct mafat_http_request *r, struct seen_headers *seen,
                                           struct mafat_http_text name,
                                           struct mafat_http_text value)
{
  if (is_word(name, "content-length")) return read_length(r, seen, value);
  if (is_word(name, "host")) {
    if (seen->host) return mistake(r, "expected one Host");
    seen->host = true;
    r->host = value;
  } else if (is_word(name, "transfer-encoding")) {
    seen->coding = true;
  } else if (is_word(name, "connection")) {
    read_connection(r, seen, value);
  } else if (is_word(name, "expect")) {
    if (!is_word(value, "100-continue"))
      return refuse(r, 417, "expected Expect: 100-continue, or none");
    r->expects = true;
  } else if (is_word(name, "origin")) {
    r->origin = value;
  } else if (is_word(name, "sec-fetch-site")) {
    r->site = value;
  } else if (is_word(name, "sec-fetch-mode")) {
    r->mode = value;
  } else if (is_word(name, "content-type")) {
    r->type = value;
  } else if (is_word(name, "authorization")) {
    if (r->authorization.bytes) return mistake(r, "expected one Authorization");
    r->authorization = value;
  }
  return MAFAT_HTTP_WHOLE;
}

static enum mafat_http_progress read_field(struct mafat_http_request *r, struct seen_headers *seen,
                                           const char *line, const char *end)
{
  const char *name = line;
  if (is_blank(*line))
    return mistake(r, "expected a field in each line, found one that goes on in the next");
  while (line < end && is_token(*line)) line++;
  if (line == name || line == end || *line != ':')
    return mistake(r, "expected NAME: VALUE, with no blank before the colon");
  for (const char *p = line + 1; p < end; p++)
    if (!is_value(*p)) return mistake(r, "a header field contains a control character");
  return take_field(r, seen, (struct mafat_http_text){name, (size_t)(line - name)},
                    trim(line + 1, end));
}

static enum mafat_http_progress check(struct mafat_http_request *r, const struct seen_headers *seen,
                                      bool first_version)
{
  if (!seen->host && !first_version) return mistake(r, "expected a Host");
  if (seen->coding && seen->length)
    return mistake(r, "expected Content-Length or Transfer-Encoding, found both");
  if (seen->coding)
    return refuse(r, 411, "expected a Content-Length; Transfer-Encoding is not supported");
  if (r->method == MAFAT_HTTP_POST && !seen->length)
    return refuse(r, 411, "expected a Content-Length");
  r->expects = r->expects && !first_version && r->body_bytes > 0;
  r->keeps_alive = r->keeps_alive && !seen->close;
  return MAFAT_HTTP_WHOLE;
}

/* ---- the head ---- */

/* Returns the end of the line, and sets *next to the start of the next one. NULL: the line is
 * incomplete. */
static const char *find_end(const char *line, const char *end, const char **next)
{
  const char *feed = memchr(line, '\n', (size_t)(end - line));
  if (!feed) return NULL;
  *next = feed + 1;
  return feed > line && feed[-1] == '\r' ? feed - 1 : feed;
}

/* True if the line ends with CR LF. A lone LF is rejected: a proxy may not treat it as an end. */
static bool is_well_ended(const char *end)
{
  return *end == '\r';
}

enum mafat_http_progress mafat_http_read(struct mafat_http_request *r, const char *bytes, size_t n)
{
  const char *line = bytes, *all = bytes + n, *next, *end;
  struct seen_headers seen = {0};
  enum mafat_http_progress p;
  *r = (struct mafat_http_request){.status = 200};
  while (all - line >= 2 && line[0] == '\r' && line[1] == '\n') line += 2;
  if (all - line == 1 && line[0] == '\r') return MAFAT_HTTP_PART;
  end = find_end(line, all, &next);
  if (!end)
    return begins_well(line, all) ? MAFAT_HTTP_PART
                                  : mistake(r, "expected METHOD TARGET HTTP/1.1 in the first line");
  if (!is_well_ended(end)) return mistake(r, "expected lines that end with CR LF");
  if ((p = read_first(r, line, end)) != MAFAT_HTTP_WHOLE) return p;
  const bool first_version = !r->keeps_alive;
  for (line = next; (end = find_end(line, all, &next)); line = next) {
    if (!is_well_ended(end)) return mistake(r, "expected lines that end with CR LF");
    if (end == line) {
      r->head_bytes = (size_t)(next - bytes);
      return check(r, &seen, first_version);
    }
    if ((p = read_field(r, &seen, line, end)) != MAFAT_HTTP_WHOLE) return p;
  }
  return MAFAT_HTTP_PART;
}

/* ---- values of a request ---- */

static int hex_of(char c)
{
  if (is_digit(c)) return c - '0';
  c = (char)(c | 32);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies a text and decodes "%2F" and "+". False: it is longer than the capacity, or invalid. */
static bool decode(struct mafat_http_text t, char *text, size_t capacity)
{
  size_t to = 0;
  for (size_t i = 0; i < t.n; i++) {
    int c = t.bytes[i] == '+' ? ' ' : t.bytes[i];
    if (c == '%') {
      int high = i + 2 < t.n ? hex_of(t.bytes[i + 1]) : -1,
          low = i + 2 < t.n ? hex_of(t.bytes[i + 2]) : -1;
      if (high < 0 || low < 0) return false;
      c = high << 4 | low;
      i += 2;
    }
    if (c == 0 || to + 1 >= capacity) return false;
    text[to++] = (char)c;
  }
  text[to] = '\0';
  return true;
}

int mafat_http_parameter(const struct mafat_http_request *r, const char *name, char *text,
                         size_t capacity)
{
  const char *p = r->query.bytes, *end = p ? p + r->query.n : NULL;
  const size_t n = strlen(name);
  int found = 0;
  while (p && p < end) {
    const char *stop = memchr(p, '&', (size_t)(end - p));
    if (!stop) stop = end;
    if ((size_t)(stop - p) > n && memcmp(p, name, n) == 0 && p[n] == '=') {
      if (found ||
          !decode((struct mafat_http_text){p + n + 1, (size_t)(stop - p) - n - 1}, text, capacity))
        return -1;
      found = 1;
    }
    p = stop < end ? stop + 1 : end;
  }
  return found;
}

bool mafat_http_bears(const struct mafat_http_request *r, const char *token)
{
  static const char scheme[] = "Bearer ";
  const size_t skip = sizeof scheme - 1, n = strlen(token);
  if (!r->authorization.bytes || r->authorization.n <= skip ||
      strncasecmp(r->authorization.bytes, scheme, skip) != 0)
    return false;
  struct mafat_http_text given =
      trim(r->authorization.bytes + skip, r->authorization.bytes + r->authorization.n);
  volatile unsigned char differs =
      given.n != n; /* the loop's time depends only on the length of the client's token */
  for (size_t i = 0; i < given.n; i++)
    differs = (unsigned char)(differs | (given.bytes[i] ^ token[n ? i % n : 0]));
  return !differs && n > 0;
}

/* True if the field Sec-Fetch-Site is absent or names no other origin. Another port of this host is
 * another origin, too. */
static bool is_own_site(const struct mafat_http_request *r)
{
  return !r->site.bytes || is_word(r->site, "same-origin") || is_word(r->site, "none");
}

bool mafat_http_navigates(const struct mafat_http_request *r)
{
  return r->mode.bytes && is_word(r->mode, "navigate");
}

bool mafat_http_is_own(const struct mafat_http_request *r)
{
  if (!r->origin.bytes) return is_own_site(r);
  const char *end = r->origin.bytes + r->origin.n;
  for (const char *p = r->origin.bytes; p + 3 <= end; p++) {
    if (memcmp(p, "://", 3) != 0) continue;
    size_t n = (size_t)(end - p - 3);
    return r->host.bytes && n == r->host.n && strncasecmp(p + 3, r->host.bytes, n) == 0;
  }
  return false; /* "null": the origin of a local file, or a hidden one */
}

const char *mafat_http_reason(int status)
{
  switch (status) {
  case 200: return "OK";
  case 400: return "Bad Request";
  case 401: return "Unauthorized";
  case 403: return "Forbidden";
  case 404: return "Not Found";
  case 405: return "Method Not Allowed";
  case 408: return "Request Timeout";
  case 411: return "Length Required";
  case 413: return "Content Too Large";
  case 415: return "Unsupported Media Type";
  case 417: return "Expectation Failed";
  case 422: return "Unprocessable Content";
  case 429: return "Too Many Requests";
  case 431: return "Request Header Fields Too Large";
  case 500: return "Internal Server Error";
  case 503: return "Service Unavailable";
  case 505: return "HTTP Version Not Supported";
  default: return "";
  }
}

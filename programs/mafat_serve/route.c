/* Decides what a request asks for and whether it is allowed. Called by connection.c for each
 * request. Reads nothing but the request. */
#include "programs/mafat_serve/route.h"

#include "include/mafat_video.h"
#include "programs/run_inference/options.h"
#include "programs/shared/decimal.h"
#include "programs/shared/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SIDE = 1 << 16 }; /* largest width and height of a frame, pixels */

static const struct url_path {
  const char *path;
  bool get, post, open; /* methods; open: needs no token */
  enum mafat_route_kind kind; /* what GET asks for */
  enum mafat_job_kind job;    /* if `kind` is MAFAT_ROUTE_JOB */
} places[] = {{"/", true, true, true, MAFAT_ROUTE_PAGE, MAFAT_JOB_PICTURE},
              {"/detect", false, true, false, MAFAT_ROUTE_JOB, MAFAT_JOB_PICTURE},
              {"/plan", true, false, false, MAFAT_ROUTE_JOB, MAFAT_JOB_PLAN},
              {"/map", true, false, false, MAFAT_ROUTE_JOB, MAFAT_JOB_MAP},
              {"/metrics", true, false, false, MAFAT_ROUTE_METRICS, MAFAT_JOB_PICTURE},
              {"/healthz", true, false, true, MAFAT_ROUTE_HEALTH, MAFAT_JOB_PICTURE}};

static void refuse(struct mafat_route *route, int status, const char *wrong)
{
  route->kind = MAFAT_ROUTE_REFUSED;
  route->status = status;
  route->wrong = wrong;
}

static const struct url_path *find_place(const struct mafat_http_request *r)
{
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (mafat_http_is(r->path, places[i].path)) return &places[i];
  return NULL;
}

/* ---- parameters of the query ---- */

static bool read_fraction(const char *text, float *value)
{
  char *end;
  *value = strtof(text, &end);
  return mafat_decimal_begins(text) && !*end && *value >= 0 && *value <= 1;
}

/* Reads a fraction from the query. Without the parameter, the value stays. False: invalid. */
static bool take_fraction(const struct mafat_http_request *r, const char *name, float *value)
{
  char text[32];
  int found = mafat_http_parameter(r, name, text, sizeof text);
  return found == 0 || (found > 0 && read_fraction(text, value));
}

/* Finds a format by the name in ffmpeg or GStreamer. False: unknown. */
static bool find_format(struct mafat_job_frame *f, const char *name)
{
  static const struct {
    const char *name, *other;
    int channels; /* 0: Y, U and V */
  } formats[] = {{"rgb24", "RGB", 3}, {"gray", "GRAY8", 1},   {"rgb0", "RGBx", 4},
                 {"rgba", "RGBA", 4}, {"yuv420p", "I420", 0}, {"yuvj420p", "yuvj420p", 0},
                 {"nv12", "NV12", 0}, {"yuyv", "YUY2", 0}};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (strcmp(name, formats[i].name) != 0 && strcmp(name, formats[i].other) != 0) continue;
    f->channels = formats[i].channels;
    f->format = f->channels ? NULL : formats[i].name;
    return true;
  }
  return false;
}

/* Bytes of a frame; 0: the library rejects its size or format. */
static uint64_t frame_bytes(const struct mafat_job_frame *f)
{
  char text[40];
  struct mafat_frame_facts facts = {.size = sizeof facts};
  struct mafat_diagnostic d;
  if (!f->format) return (uint64_t)f->w * (uint64_t)f->h * (uint64_t)f->channels;
  snprintf(text, sizeof text, "%dx%d:%s", f->w, f->h, f->format);
  return mafat_frame_describe(text, &facts, &d) == MAFAT_OK ? facts.bytes : 0;
}

/* Finds a parameter of a media type such as video/x-raw: "; width=640", or in the form of
 * GStreamer's caps: ", format=(string)NV12". Returns 1: found, 0: absent, -1: invalid. */
static int find_word(struct mafat_http_text type, const char *name, char *value, size_t capacity)
{
  const char *at = type.bytes, *end = type.bytes + type.n;
  int found = 0;
  while (at < end) {
    const char *word = at;
    while (at < end && *at != ';' && *at != ',') at++;
    const char *stop = at;
    if (at < end) at++;
    while (word < stop && *word == ' ') word++;
    const char *equals = memchr(word, '=', (size_t)(stop - word));
    if (!equals || (size_t)(equals - word) != strlen(name) || memcmp(word, name, strlen(name)) != 0)
      continue;
    const char *begin = equals + 1, *typed = begin < stop && *begin == '('
                                                 ? memchr(begin, ')', (size_t)(stop - begin))
                                                 : NULL;
    if (typed) begin = typed + 1;
    while (begin < stop && stop[-1] == ' ') stop--;
    if (begin + 1 < stop && *begin == '"' && stop[-1] == '"') begin++, stop--;
    const size_t n = (size_t)(stop - begin);
    if (found || n == 0 || n >= capacity || memchr(begin, 0, n)) return -1;
    memcpy(value, begin, n);
    value[n] = '\0';
    found = 1;
  }
  return found;
}

/* Reads width and height: "640x480". */
static bool read_sides(const char *text, struct mafat_job_frame *f)
{
  char *end;
  unsigned long w, h;
  if (*text < '1' || *text > '9') return false;
  w = strtoul(text, &end, 10);
  if (*end++ != 'x' || *end < '1' || *end > '9') return false;
  h = strtoul(end, &end, 10);
  if (*end || w > SIDE || h > SIDE) return false;
  f->w = (int)w;
  f->h = (int)h;
  return true;
}

static bool is_type(const struct mafat_http_request *r, const char *type)
{
  const size_t n = strlen(type);
  if (!r->type.bytes || r->type.n < n || strncasecmp(r->type.bytes, type, n) != 0) return false;
  return r->type.n == n || strchr(" ;,", r->type.bytes[n]);
}

/* Reads size and format from the body's media type, if the query has none. False: invalid. */
static bool read_type(const struct mafat_http_request *r, char size[24], char format[16])
{
  char width[8], height[8];
  if (find_word(r->type, "width", width, sizeof width) != 1 ||
      find_word(r->type, "height", height, sizeof height) != 1)
    return false;
  snprintf(size, 24, "%sx%s", width, height);
  return find_word(r->type, "format", format, 16) == 1;
}

/* Reads size and format of a raw frame. Returns what is wrong; NULL: nothing, or no frame. */
static const char *take_frame(struct mafat_route *route, const struct mafat_http_request *r)
{
  char size[24], format[16];
  int has_size = mafat_http_parameter(r, "size", size, sizeof size),
      has_format = mafat_http_parameter(r, "format", format, sizeof format);
  struct mafat_job_frame f = {0};
  if (has_size == 0 && has_format == 0) {
    if (!is_type(r, "video/x-raw")) return NULL;
    if (!read_type(r, size, format))
      return "expected ?size=WIDTHxHEIGHT&format=nv12, or Content-Type: video/x-raw; width=640; "
             "height=480; format=NV12";
    has_size = has_format = 1;
  }
  if (has_size <= 0 || !read_sides(size, &f))
    return "expected ?size=WIDTHxHEIGHT&format=rgb24: a size, from 1x1 to 65536x65536";
  if (has_format <= 0 || !find_format(&f, format))
    return "expected ?size=WIDTHxHEIGHT&format=rgb24: a format, rgb24, gray, rgb0, rgba, yuv420p, "
           "yuvj420p, nv12 or yuyv";
  if (frame_bytes(&f) != r->body_bytes) return "the body has not as many bytes as such a frame";
  route->frame = f;
  return NULL;
}

/* True for the type of forms. curl sends it with -d, which drops bytes, and with --data-binary. */
static bool is_form(const struct mafat_http_request *r)
{
  return is_type(r, "application/x-www-form-urlencoded");
}

static void find_picture(struct mafat_route *route, const struct mafat_route_rules *rules,
                         const struct mafat_http_request *r)
{
  const char *wrong;
  route->thresh = rules->thresh;
  route->nms = rules->nms;
  route->form = is_form(r);
  if (r->body_bytes > rules->most_bytes)
    refuse(route, 413, "the body is larger than there is room for: see --room");
  else if (is_type(r, "multipart/form-data"))
    refuse(route, 415,
           "expected the picture itself as the body, not a form: curl --data-binary @FILE ADDRESS");
  else if (r->body_bytes == 0) refuse(route, 400, "expected a picture as the body, found nothing");
  else if (!take_fraction(r, "thresh", &route->thresh))
    refuse(route, 400, "?thresh expects a number from 0 to 1");
  else if (!take_fraction(r, "nms", &route->nms))
    refuse(route, 400, "?nms expects a number from 0 to 1");
  else if ((wrong = take_frame(route, r))) refuse(route, 400, wrong);
}

static void find_plan(struct mafat_route *route, const struct mafat_http_request *r)
{
  char text[32];
  int found = mafat_http_parameter(r, "memory", text, sizeof text);
  if (found < 0 || (found > 0 && !mafat_words_size(text, &route->memory_bytes)))
    refuse(route, 400, "?memory expects a size like 64M, 16384K or bytes");
}

/* ---- the route ---- */

static bool is_allowed(const struct url_path *p, const struct mafat_http_request *r)
{
  return r->method == MAFAT_HTTP_POST ? p->post : r->method != MAFAT_HTTP_OTHER && p->get;
}

static void refuse_method(struct mafat_route *route, const struct url_path *p)
{
  refuse(route, 405,
         p->get ? "expected another method: the field Allow lists those of this address"
                : "expected the picture as the body of a POST: curl --data-binary @FILE ADDRESS");
  route->allow = p->get ? p->post ? "GET, HEAD, POST" : "GET, HEAD" : "POST";
}

/* True if a browser opens the page itself. A link on another site may do that, because the page
 * contains no data. */
static bool opens_page(const struct url_path *p, const struct mafat_http_request *r)
{
  return p->kind == MAFAT_ROUTE_PAGE && r->method != MAFAT_HTTP_POST && !r->origin.bytes &&
         mafat_http_navigates(r);
}

void mafat_route_find(struct mafat_route *route, const struct mafat_route_rules *rules,
                      const struct mafat_http_request *r)
{
  const struct url_path *p = find_place(r);
  const bool posts = r->method == MAFAT_HTTP_POST;
  *route = (struct mafat_route){.kind = MAFAT_ROUTE_JOB};
  if (!p) {
    refuse(route, 404,
           "there is nothing of that name: /, /detect, /plan, /map, /metrics, /healthz");
    return;
  }
  if (!is_allowed(p, r)) {
    refuse_method(route, p);
    return;
  }
  if (!mafat_http_is_own(r) && !opens_page(p, r)) {
    refuse(route, 403, "refused: the request comes from a web page of another host");
    return;
  }
  if (rules->token && (posts || !p->open) && !mafat_http_bears(r, rules->token)) {
    refuse(route, 401, "expected Authorization: Bearer, with the token");
    return;
  }
  if (posts) {
    route->job = MAFAT_JOB_PICTURE;
    find_picture(route, rules, r);
    return;
  }
  route->kind = p->kind;
  route->job = p->job;
  if (r->body_bytes > 0) refuse(route, 400, "expected no body");
  else if (p->kind == MAFAT_ROUTE_JOB) find_plan(route, r);
}

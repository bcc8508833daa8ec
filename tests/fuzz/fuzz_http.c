/* libFuzzer target: reads any bytes as an HTTP request, in growing prefixes, and looks up its
 * route. Build with clang -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/mafat_video.h"
#include "programs/mafat_serve/http.h"
#include "programs/mafat_serve/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
  if (!holds) abort();
}

static void check_part(struct mafat_http_text t, const char *bytes, size_t n)
{
  static const char slash[] = "/";
  require(t.bytes || t.n == 0);
  if (!t.bytes || (t.n == 1 && strcmp(t.bytes, slash) == 0))
    return; /* an address without a path has "/" */
  require(t.bytes >= bytes && t.bytes + t.n <= bytes + n);
}

static void check_request(const struct mafat_http_request *r, const char *bytes, size_t n)
{
  static const char *const names[] = {"memory", "size", "format", "thresh", ""};
  char value[16];
  const struct mafat_http_text parts[] = {r->path,   r->query, r->host,
                                          r->origin, r->type,  r->authorization};
  require(r->head_bytes >= 4 && r->head_bytes <= n &&
          memcmp(bytes + r->head_bytes - 2, "\r\n", 2) == 0);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    check_part(parts[i], bytes, r->head_bytes);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (mafat_http_parameter(r, names[i], value, sizeof value) == 1)
      require(strlen(value) < sizeof value);
  mafat_http_is_own(r);
}

/* Checks that the frame's format exists and that a frame of this size has `bytes` bytes. */
static void check_frame(const struct mafat_job_frame *f, uint64_t bytes)
{
  char text[64];
  struct mafat_frame_facts facts = {.size = sizeof facts};
  snprintf(text, sizeof text, "%dx%d:%s", f->w, f->h, f->format);
  require(mafat_frame_describe(text, &facts, NULL) == MAFAT_OK && facts.bytes == bytes &&
          !facts.varies);
}

static void check_route(const struct mafat_http_request *r, const char *token)
{
  const struct mafat_route_rules rules = {token, 1 << 20, .5f, .45f};
  struct mafat_route route;
  mafat_route_find(&route, &rules, r);
  require((route.kind == MAFAT_ROUTE_REFUSED) == (route.wrong != NULL));
  if (route.kind == MAFAT_ROUTE_REFUSED) require(*mafat_http_reason(route.status));
  if (route.kind != MAFAT_ROUTE_JOB) return;
  require(!token || mafat_http_bears(r, token));
  if (route.job == MAFAT_JOB_PICTURE)
    require(r->body_bytes > 0 && r->body_bytes <= rules.most_bytes);
  if (route.frame.w && route.frame.format) check_frame(&route.frame, r->body_bytes);
  else if (route.frame.w)
    require((uint64_t)route.frame.w * (uint64_t)route.frame.h * (uint64_t)route.frame.channels ==
            r->body_bytes);
  require(route.thresh >= 0 && route.thresh <= 1 && route.nms >= 0 && route.nms <= 1);
}

/* Each prefix gives the whole request's result, or asks for more bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct mafat_http_request r, part;
  char *bytes = malloc(size ? size : 1); /* no spare bytes: sanitizers see reads past the end */
  require(bytes != NULL);
  memcpy(bytes, data, size);
  enum mafat_http_progress all = mafat_http_read(&r, bytes, size);
  if (all == MAFAT_HTTP_BAD) require(r.wrong && *mafat_http_reason(r.status));
  for (size_t n = 0; n < size; n += n < 64 ? 1 : 97) {
    enum mafat_http_progress p = mafat_http_read(&part, bytes, n);
    if (p == MAFAT_HTTP_WHOLE) require(all == MAFAT_HTTP_WHOLE && part.head_bytes == r.head_bytes);
    if (p == MAFAT_HTTP_BAD) require(all == MAFAT_HTTP_BAD);
    if (all == MAFAT_HTTP_WHOLE && n < r.head_bytes) require(p == MAFAT_HTTP_PART);
  }
  if (all == MAFAT_HTTP_WHOLE) {
    check_request(&r, bytes, size);
    check_route(&r, NULL);
    check_route(&r, "secret-1");
  }
  free(bytes);
  return 0;
}

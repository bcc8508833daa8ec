/* Covers programs/mafat_serve/route.c: how requests are mapped to answers, by path, method,
 * token, query and header fields. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "programs/mafat_serve/route.h"

Suite *route_suite(void);

static const struct mafat_route_rules open_rules = {NULL, 100000, .5f, .45f},
                                      closed_rules = {"secret-1", 100000, .5f, .45f};

static struct mafat_route find(const struct mafat_route_rules *rules, const char *first_line,
                               const char *fields)
{
  static char text[1024];
  struct mafat_http_request r;
  struct mafat_route route;
  snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: a\r\n%s\r\n", first_line, fields);
  ck_assert_msg(mafat_http_read(&r, text, strlen(text)) == MAFAT_HTTP_WHOLE, "%s", text);
  mafat_route_find(&route, rules, &r);
  ck_assert((route.kind == MAFAT_ROUTE_REFUSED) == (route.status != 0) &&
            (route.status == 0) == (route.wrong == NULL));
  ck_assert((route.status == 405) == (route.allow != NULL));
  return route;
}

#define LENGTH(n) "Content-Length: " #n "\r\n"
#define RAW "Content-Type: video/x-raw"
#define SITE "Sec-Fetch-Site: cross-site\r\n"
#define NAVIGATES "Sec-Fetch-Mode: navigate\r\n"
#define TOKEN "Authorization: Bearer secret-1\r\n"

static const struct row {
  const char *line, *fields;
  enum mafat_route_kind kind;
  int status;        /* HTTP status; 0: not refused */
  int closed_status; /* status if the server requires a token and the request has none */
} rows[] = {
    {"GET /", "", MAFAT_ROUTE_PAGE, 0, 0},
    {"HEAD /", "", MAFAT_ROUTE_PAGE, 0, 0},
    {"GET /healthz", "", MAFAT_ROUTE_HEALTH, 0, 0},
    {"GET /metrics", "", MAFAT_ROUTE_METRICS, 0, 401},
    {"GET /plan", "", MAFAT_ROUTE_JOB, 0, 401},
    {"GET /map?memory=8M", "", MAFAT_ROUTE_JOB, 0, 401},
    {"POST /", LENGTH(5), MAFAT_ROUTE_JOB, 0, 401},
    {"POST /detect", LENGTH(100000), MAFAT_ROUTE_JOB, 0, 401},
    {"POST /detect", LENGTH(100001), MAFAT_ROUTE_REFUSED, 413, 401},
    {"POST /detect", LENGTH(0), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /detect", LENGTH(5) "Content-Type: application/x-www-form-urlencoded\r\n",
     MAFAT_ROUTE_JOB, 0, 401}, /* the type that curl --data-binary sends */
    {"POST /detect", LENGTH(5) "Content-Type: Multipart/form-data; boundary=a\r\n",
     MAFAT_ROUTE_REFUSED, 415, 401},
    {"POST /plan", LENGTH(5), MAFAT_ROUTE_REFUSED, 405, 405},
    {"GET /detect", "", MAFAT_ROUTE_REFUSED, 405, 405},
    {"PUT /", LENGTH(5), MAFAT_ROUTE_REFUSED, 405, 405},
    {"GET /none", "", MAFAT_ROUTE_REFUSED, 404, 404},
    {"GET /plan/", "", MAFAT_ROUTE_REFUSED, 404, 404},
    {"GET /../etc/passwd", "", MAFAT_ROUTE_REFUSED, 404, 404},
    {"GET /", LENGTH(5), MAFAT_ROUTE_REFUSED, 400, 400},
    {"GET /plan?memory=", "", MAFAT_ROUTE_REFUSED, 400, 401},
    {"GET /plan?memory=8X", "", MAFAT_ROUTE_REFUSED, 400, 401},
    {"GET /plan?memory=1&memory=2", "", MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?thresh=0.25&nms=1", LENGTH(5), MAFAT_ROUTE_JOB, 0, 401},
    {"POST /?thresh=2", LENGTH(5), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?nms=nan", LENGTH(5), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?size=4x3&format=rgb24", LENGTH(36), MAFAT_ROUTE_JOB, 0, 401},
    {"POST /?size=4x3&format=gray", LENGTH(12), MAFAT_ROUTE_JOB, 0, 401},
    {"POST /?size=4x3&format=rgb24", LENGTH(35), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?size=4x3", LENGTH(36), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?format=gray", LENGTH(36), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?size=4x3&format=bmp", LENGTH(36), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?size=0x3&format=gray", LENGTH(36), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?size=4x-3&format=gray", LENGTH(36), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?size=4294967297x12&format=gray", LENGTH(12), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?size=4x3&format=yuv420p", LENGTH(20), MAFAT_ROUTE_JOB, 0, 401},
    {"POST /?size=4x3&format=nv12", LENGTH(20), MAFAT_ROUTE_JOB, 0, 401},
    {"POST /?size=4x3&format=nv12", LENGTH(18), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?size=4x3&format=yuyv", LENGTH(24), MAFAT_ROUTE_JOB, 0, 401},
    {"POST /?size=3x4&format=yuyv", LENGTH(24), MAFAT_ROUTE_REFUSED, 400, 401}, /* odd width */
    {"POST /?size=65536x65536&format=nv12", LENGTH(20), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /?size=4x3&format=mjpeg", LENGTH(20), MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /", LENGTH(20) RAW "; width=4; height=3; format=NV12\r\n", MAFAT_ROUTE_JOB, 0, 401},
    {"POST /", LENGTH(20) RAW ";width=4;height=3;format=\"I420\"\r\n", MAFAT_ROUTE_JOB, 0, 401},
    {"POST /",
     LENGTH(36) RAW
     ", format=(string)RGB, width=(int)4, height=(int)3, framerate=(fraction)30/1\r\n",
     MAFAT_ROUTE_JOB, 0, 401},
    {"POST /", LENGTH(24) RAW "; width=4; height=3; format=YUY2\r\n", MAFAT_ROUTE_JOB, 0, 401},
    {"POST /?size=4x3&format=gray", LENGTH(12) RAW "; width=9; height=9; format=NV12\r\n",
     MAFAT_ROUTE_JOB, 0, 401}, /* the query overrides the type */
    {"POST /", LENGTH(20) RAW "\r\n", MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /", LENGTH(20) RAW "; width=4; height=3\r\n", MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /", LENGTH(20) RAW "; width=4; width=4; height=3; format=NV12\r\n", MAFAT_ROUTE_REFUSED,
     400, 401},
    {"POST /", LENGTH(20) RAW "; width=; height=3; format=NV12\r\n", MAFAT_ROUTE_REFUSED, 400, 401},
    {"POST /", LENGTH(20) RAW "; width=0x4; height=3; format=NV12\r\n", MAFAT_ROUTE_REFUSED, 400,
     401},
    {"POST /", LENGTH(20) RAW "; width=4; height=3; format=P010\r\n", MAFAT_ROUTE_REFUSED, 400,
     401},
    {"POST /", LENGTH(21) RAW "; width=4; height=3; format=NV12\r\n", MAFAT_ROUTE_REFUSED, 400,
     401},
    {"POST /", LENGTH(20) RAW "er; width=4; height=3; format=NV12\r\n", MAFAT_ROUTE_JOB, 0,
     401}, /* another type: the body is a picture file */
    {"GET /", "Origin: http://b\r\n", MAFAT_ROUTE_REFUSED, 403, 403},
    {"POST /", LENGTH(5) "Origin: http://b\r\n", MAFAT_ROUTE_REFUSED, 403, 403},
    {"POST /", LENGTH(5) "Origin: http://a\r\n", MAFAT_ROUTE_JOB, 0, 401},
    {"GET /plan", "Sec-Fetch-Site: cross-site\r\n", MAFAT_ROUTE_REFUSED, 403, 403},
    {"GET /healthz", "Sec-Fetch-Site: same-site\r\n", MAFAT_ROUTE_REFUSED, 403, 403},
    {"GET /map", SITE NAVIGATES, MAFAT_ROUTE_REFUSED, 403, 403},
    {"GET /", SITE, MAFAT_ROUTE_REFUSED, 403, 403}, /* not a link */
    {"GET /", SITE NAVIGATES, MAFAT_ROUTE_PAGE, 0, 0}, /* a link */
    {"POST /", LENGTH(5) SITE NAVIGATES, MAFAT_ROUTE_REFUSED, 403, 403},
    {"GET /plan", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\n", MAFAT_ROUTE_JOB, 0,
     401},
    {"GET /plan", "Sec-Fetch-Site: none\r\n" NAVIGATES, MAFAT_ROUTE_JOB, 0, 401},
};

START_TEST(finds)
{
  const struct row *row = &rows[_i];
  char fields[256];
  struct mafat_route route = find(&open_rules, row->line, row->fields);
  ck_assert_msg(route.kind == row->kind && route.status == row->status, "%s: %d, %d", row->line,
                route.kind, route.status);
  route = find(&closed_rules, row->line, row->fields);
  ck_assert_msg(route.status == row->closed_status, "%s: %d", row->line, route.status);
  snprintf(fields, sizeof fields, "%s%s", row->fields, TOKEN);
  route = find(&closed_rules, row->line, fields);
  ck_assert_msg(route.kind == row->kind && route.status == row->status, "%s: %d, %d", row->line,
                route.kind, route.status);
}
END_TEST

START_TEST(says_how_to_send_a_picture)
{
  static const char form[] =
      LENGTH(5) "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n";
  ck_assert_ptr_nonnull(strstr(find(&open_rules, "GET /detect", "").wrong, "--data-binary"));
  ck_assert_ptr_nonnull(strstr(find(&open_rules, "PUT /plan", LENGTH(5)).wrong, "Allow"));
  ck_assert(find(&open_rules, "POST /", form).form);
  ck_assert(!find(&open_rules, "POST /", LENGTH(5)).form);
}
END_TEST

START_TEST(reads_what_is_asked_for)
{
  struct mafat_route route = find(&open_rules, "POST /", LENGTH(5));
  ck_assert(route.job == MAFAT_JOB_PICTURE && route.frame.w == 0 && route.thresh == .5f &&
            route.nms == .45f);
  route = find(&open_rules, "POST /?thresh=0.25&nms=0", LENGTH(5));
  ck_assert(route.thresh == .25f && route.nms == 0);
  route = find(&open_rules, "POST /?size=4x3&format=rgb0", LENGTH(48));
  ck_assert(route.frame.w == 4 && route.frame.h == 3 && route.frame.channels == 4 &&
            !route.frame.format);
  route = find(&open_rules, "POST /", LENGTH(20) RAW "; width=4; height=3; format=I420\r\n");
  ck_assert(route.frame.w == 4 && route.frame.h == 3);
  ck_assert_str_eq(route.frame.format, "yuv420p");
  route = find(&open_rules, "GET /map?memory=8M", "");
  ck_assert(route.job == MAFAT_JOB_MAP && route.memory_bytes == 8 << 20);
  route = find(&open_rules, "GET /plan", "");
  ck_assert(route.job == MAFAT_JOB_PLAN && route.memory_bytes == 0);
}
END_TEST

Suite *route_suite(void)
{
  Suite *suite = suite_create("route");
  TCase *tests = tcase_create("requests");
  tcase_add_loop_test(tests, finds, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tests, says_how_to_send_a_picture);
  tcase_add_test(tests, reads_what_is_asked_for);
  suite_add_tcase(suite, tests);
  return suite;
}

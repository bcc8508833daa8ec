/* Covers programs/mafat_serve/http.c: the parser of HTTP requests: which requests it accepts,
 * which it refuses, and with which status. Requests arrive at once or byte by byte. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "programs/mafat_serve/http.h"

Suite *http_suite(void);

/* Reads a request from the text. What comes after the request's head stays unread. */
static enum mafat_http_progress read_text(struct mafat_http_request *r, const char *text)
{
  return mafat_http_read(r, text, strlen(text));
}

static void check_text(struct mafat_http_text found, const char *expected)
{
  if (!expected) {
    ck_assert_ptr_null(found.bytes);
    return;
  }
  ck_assert_msg(mafat_http_is(found, expected), "expected '%s', found '%.*s'", expected,
                (int)found.n, found.bytes ? found.bytes : "");
}

/* ---- accepted requests ---- */

static const struct taken {
  const char *text;
  enum mafat_http_method method;
  const char *path, *query; /* query NULL: there is none */
  int body_bytes;
  bool keeps_alive, expects;
} taken[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", MAFAT_HTTP_GET, "/", NULL, 0, true, false},
    {"GET /plan?memory=8M HTTP/1.1\r\nHost: a\r\n\r\n", MAFAT_HTTP_GET, "/plan", "memory=8M", 0,
     true, false},
    {"HEAD /a?b?c HTTP/1.1\r\nhOsT:\ta \t\r\n\r\n", MAFAT_HTTP_HEAD, "/a", "b?c", 0, true, false},
    {"GET / HTTP/1.0\r\n\r\n", MAFAT_HTTP_GET, "/", NULL, 0, false, false},
    {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", MAFAT_HTTP_GET, "/", NULL, 0, true, false},
    {"GET / HTTP/1.2\r\nHost:\r\n\r\n", MAFAT_HTTP_GET, "/", NULL, 0, true, false},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade , Close\r\n\r\n", MAFAT_HTTP_GET, "/", NULL,
     0, false, false},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close, keep-alive\r\n\r\n", MAFAT_HTTP_GET, "/",
     NULL, 0, false, false},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: Keep-Alive\r\n\r\n",
     MAFAT_HTTP_GET, "/", NULL, 0, false, false},
    {"GET / HTTP/1.0\r\nConnection: keep-alive,close\r\n\r\n", MAFAT_HTTP_GET, "/", NULL, 0, false,
     false},
    {"POST /detect HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n", MAFAT_HTTP_POST, "/detect",
     NULL, 12, true, false},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0012\r\nExpect: 100-Continue\r\n\r\n",
     MAFAT_HTTP_POST, "/", NULL, 12, true, true},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
     MAFAT_HTTP_POST, "/", NULL, 0, true, false},
    {"POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", MAFAT_HTTP_POST, "/",
     NULL, 2, false, false},
    {"DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", MAFAT_HTTP_OTHER, "/", NULL, 0, true, false},
    {"get / HTTP/1.1\r\nHost: a\r\n\r\n", MAFAT_HTTP_OTHER, "/", NULL, 0, true, false},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", MAFAT_HTTP_OTHER, "*", NULL, 0, true, false},
    {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", MAFAT_HTTP_GET, "/", NULL, 0, true,
     false}, /* some clients send an empty line after a body */
    {"GET http://a:80/b?c HTTP/1.1\r\nHost: a\r\n\r\n", MAFAT_HTTP_GET, "/b", "c", 0, true,
     false}, /* the form of a request to a proxy */
    {"GET HTTP://a HTTP/1.1\r\nHost: a\r\n\r\n", MAFAT_HTTP_GET, "/", NULL, 0, true, false},
    {"GET http://a?b HTTP/1.1\r\nHost: a\r\n\r\n", MAFAT_HTTP_GET, "/", "b", 0, true, false},
    {"GET / HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Odd: \x80\xff\"\r\n\r\n", MAFAT_HTTP_GET, "/",
     NULL, 0, true, false},
};

START_TEST(takes)
{
  const struct taken *t = &taken[_i];
  struct mafat_http_request r;
  ck_assert_msg(read_text(&r, t->text) == MAFAT_HTTP_WHOLE, "%s: %s", t->text,
                r.wrong ? r.wrong : "");
  ck_assert_int_eq(r.method, t->method);
  check_text(r.path, t->path);
  check_text(r.query, t->query);
  ck_assert_int_eq((int)r.body_bytes, t->body_bytes);
  ck_assert_int_eq(r.keeps_alive, t->keeps_alive);
  ck_assert_int_eq(r.expects, t->expects);
  ck_assert_uint_eq(r.head_bytes, strlen(t->text));
}
END_TEST

START_TEST(takes_by_pieces)
{
  const struct taken *t = &taken[_i];
  struct mafat_http_request r;
  const size_t all = strlen(t->text);
  for (size_t n = 0; n < all; n++)
    ck_assert_msg(mafat_http_read(&r, t->text, n) == MAFAT_HTTP_PART, "%s: at %zu: %s", t->text, n,
                  r.wrong ? r.wrong : "");
}
END_TEST

START_TEST(leaves_what_follows)
{
  static const char text[] =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n";
  struct mafat_http_request r;
  ck_assert_int_eq(read_text(&r, text), MAFAT_HTTP_WHOLE);
  ck_assert_str_eq(text + r.head_bytes, "abcGET / HTTP/1.1\r\n");
}
END_TEST

/* ---- refused requests ---- */

static const struct refused {
  int status;
  const char *text;
} refused[] =
    {
        {400, "\x16\x03\x01\x02"}, /* TLS */
        {400, "\n"},
        {400, " GET / HTTP/1.1\r\n\r\n"},
        {400, "GET /\r\n\r\n"}, /* HTTP/0.9 */
        {400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"},
        {400, "GET / HTTP/11\r\nHost: a\r\n\r\n"},
        {400, "GET / http/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET a HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n"},
        {505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
        {400, "GET / HTTP/1.1\nHost: a\n\n"}, /* no CR: a proxy may split it otherwise */
        {400, "GET / HTTP/1.1\r\nHost: a\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n\r\n"}, /* no host */
        {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n"}, /* folded */
        {400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\x7f\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"},
        {413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: "
              "chunked\r\n\r\n"}, /* two lengths: request smuggling */
        {411, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"},
        {411, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n"},
        {411, "POST / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {417, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: a\r\n\r\n"},
        {400,
         "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"},
};

START_TEST(refuses)
{
  struct mafat_http_request r;
  const char *text = refused[_i].text;
  ck_assert_msg(read_text(&r, text) == MAFAT_HTTP_BAD, "taken: %s", text);
  ck_assert_msg(r.status == refused[_i].status, "%d: %s", r.status, text);
  ck_assert(r.wrong && *r.wrong && *mafat_http_reason(r.status));
}
END_TEST

START_TEST(refuses_a_nul)
{
  static const char text[] = "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
                    method[] = "G\0T / HTTP/1.1\r\n";
  struct mafat_http_request r;
  ck_assert_int_eq(mafat_http_read(&r, text, sizeof text - 1), MAFAT_HTTP_BAD);
  ck_assert_int_eq(mafat_http_read(&r, method, sizeof method - 1), MAFAT_HTTP_BAD);
}
END_TEST

START_TEST(waits_for_a_line_that_may_become_one)
{
  struct mafat_http_request r;
  ck_assert_int_eq(read_text(&r, ""), MAFAT_HTTP_PART);
  ck_assert_int_eq(read_text(&r, "\r"), MAFAT_HTTP_PART);
  ck_assert_int_eq(read_text(&r, "G"), MAFAT_HTTP_PART);
  ck_assert_int_eq(read_text(&r, "GET / HTTP/1.1\r\nHo"), MAFAT_HTTP_PART);
}
END_TEST

/* ---- parameters ---- */

static const struct parameter {
  const char *query, *name, *value; /* value NULL: not found, or invalid */
  int found;                        /* 1: found, 0: not found, -1: invalid */
} parameters[] = {
    {"memory=8M", "memory", "8M", 1},
    {"a=1&memory=8M&b", "memory", "8M", 1},
    {"memory=", "memory", "", 1},
    {"memory=a%20b+c%2f", "memory", "a b c/", 1},
    {"memory", "memory", NULL, 0},
    {"xmemory=1", "memory", NULL, 0},
    {"Memory=1", "memory", NULL, 0},
    {"", "memory", NULL, 0},
    {"memory=1&memory=1", "memory", NULL, -1},
    {"memory=%", "memory", NULL, -1},
    {"memory=%4", "memory", NULL, -1},
    {"memory=%g0", "memory", NULL, -1},
    {"memory=%00", "memory", NULL, -1},
    {"memory=12345678", "memory", NULL, -1}, /* too long for 8 bytes with the final NUL */
    {"memory=1234567", "memory", "1234567", 1},
};

START_TEST(finds_parameters)
{
  const struct parameter *p = &parameters[_i];
  char value[8];
  const struct mafat_http_request r = {.query = {p->query, strlen(p->query)}},
                                  none = {.query = {NULL, 0}};
  ck_assert_msg(mafat_http_parameter(&r, p->name, value, sizeof value) == p->found, "%s", p->query);
  if (p->value) ck_assert_str_eq(value, p->value);
  ck_assert_int_eq(mafat_http_parameter(&none, p->name, value, sizeof value), 0);
}
END_TEST

/* ---- tokens and origins ---- */

START_TEST(knows_a_token)
{
  static const struct {
    const char *field;
    bool bears;
  } rows[] = {
      {"Bearer secret-1", true}, {"bearer  secret-1", true},  {"Bearer secret-2", false},
      {"Bearer secret-", false}, {"Bearer secret-11", false}, {"Bearer secret-1secret-1", false},
      {"Bearer ", false},        {"Bearer", false},           {"", false},
      {"Basic secret-1", false}, {"secret-1", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct mafat_http_request r = {.authorization = {rows[i].field, strlen(rows[i].field)}};
    ck_assert_msg(mafat_http_bears(&r, "secret-1") == rows[i].bears, "%s", rows[i].field);
  }
  const struct mafat_http_request none = {.authorization = {NULL, 0}},
                                  empty = {.authorization = {"Bearer x", 8}};
  ck_assert(!mafat_http_bears(&none, "secret-1"));
  ck_assert(!mafat_http_bears(&empty, ""));
}
END_TEST

START_TEST(knows_its_own_pages)
{
  static const struct {
    const char *host, *origin, *site;
    bool own;
  } rows[] = {{"a:8080", NULL, NULL, true},
              {"a:8080", "http://a:8080", NULL, true},
              {"A", "https://a", NULL, true},
              {"a:8080", "http://a", NULL, false},
              {"a", "http://b", NULL, false},
              {"a", "null", NULL, false},
              {"a", "", NULL, false},
              {"a", "http://ab", NULL, false},
              {"ab", "http://a", NULL, false},
              {"a", NULL, "same-origin", true},
              {"a", NULL, "none", true},
              {"a", NULL, "cross-site", false},
              {"a", NULL, "Cross-Site", false},
              {"a", NULL, "same-site", false},
              {"a", NULL, "", false},
              {"a", "http://b", "same-origin", false},
              {"a", "http://a", "same-origin", true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct mafat_http_request r = {.host = {rows[i].host, strlen(rows[i].host)},
                                         .origin = {rows[i].origin,
                                                    rows[i].origin ? strlen(rows[i].origin) : 0},
                                         .site = {rows[i].site,
                                                  rows[i].site ? strlen(rows[i].site) : 0}};
    ck_assert_msg(mafat_http_is_own(&r) == rows[i].own, "%s, %s", rows[i].origin, rows[i].site);
  }
}
END_TEST

Suite *http_suite(void)
{
  Suite *suite = suite_create("http");
  TCase *tests = tcase_create("requests");
  tcase_add_loop_test(tests, takes, 0, sizeof taken / sizeof *taken);
  tcase_add_loop_test(tests, takes_by_pieces, 0, sizeof taken / sizeof *taken);
  tcase_add_test(tests, leaves_what_follows);
  tcase_add_loop_test(tests, refuses, 0, sizeof refused / sizeof *refused);
  tcase_add_test(tests, refuses_a_nul);
  tcase_add_test(tests, waits_for_a_line_that_may_become_one);
  tcase_add_loop_test(tests, finds_parameters, 0, sizeof parameters / sizeof *parameters);
  tcase_add_test(tests, knows_a_token);
  tcase_add_test(tests, knows_its_own_pages);
  suite_add_tcase(suite, tests);
  return suite;
}

/* Parses the head of an HTTP/1.1 request (RFC 9112) from bytes that arrive in parts. Rejects what a
 * proxy in front could interpret differently. Rejects transfer codings, so a body's length is
 * always known. Texts are not copied: they point into the caller's bytes. Pure functions. Included
 * by connection.c and route.h. */
#ifndef MAFAT_PROGRAM_SERVE_HTTP_H
#define MAFAT_PROGRAM_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the request, not ended by a NUL; bytes NULL: absent. */
struct mafat_http_text {
  const char *bytes;
  size_t n;
};

enum mafat_http_method { MAFAT_HTTP_GET, MAFAT_HTTP_HEAD, MAFAT_HTTP_POST, MAFAT_HTTP_OTHER };

struct mafat_http_request {
  enum mafat_http_method method;
  struct mafat_http_text path;  /* as sent, from the first / after scheme and host */
  struct mafat_http_text query; /* after the ? */
  struct mafat_http_text host, origin, type,
      authorization; /* fields Host, Origin, Content-Type, Authorization */
  struct mafat_http_text site, mode; /* fields Sec-Fetch-Site and Sec-Fetch-Mode of browsers */
  uint64_t body_bytes;
  bool has_length;  /* Content-Length is present */
  bool keeps_alive; /* another request may follow */
  bool expects;     /* "100-continue": the client waits before it sends the body */
  size_t head_bytes; /* including the empty line */

  /* On an error: the answer's status and the reason. */
  int status;
  const char *wrong;
};

enum mafat_http_progress { MAFAT_HTTP_PART, MAFAT_HTTP_WHOLE, MAFAT_HTTP_BAD };

/* Parses n bytes from the beginning of a request. PART: more bytes are needed, and nothing else
 * is set; errors are reported at once as BAD. Empty lines before a request are ignored. After
 * BAD the start of the next request is unknown. */
enum mafat_http_progress mafat_http_read(struct mafat_http_request *r, const char *bytes, size_t n);

/* Copies the decoded VALUE of name=VALUE in the query into text, with a NUL. Returns 1 if it is
 * found; 0: absent; -1: given twice, longer than the capacity, or not validly encoded. */
int mafat_http_parameter(const struct mafat_http_request *r, const char *name, char *text,
                         size_t capacity);

/* True if the texts are equal; case matters. */
bool mafat_http_is(struct mafat_http_text text, const char *other);

/* True if Authorization is "Bearer TOKEN". Takes the same time wherever the tokens differ. */
bool mafat_http_bears(const struct mafat_http_request *r, const char *token);

/* True if no page of another origin caused the request, according to two fields that browsers send.
 * Origin must name this host or be absent. Sec-Fetch-Site, which browsers send even without Origin,
 * must be "same-origin", "none" (typed by the user) or absent. */
bool mafat_http_is_own(const struct mafat_http_request *r);
/* True if a browser opens the answer as a page, as after a click on a link of any site. */
bool mafat_http_navigates(const struct mafat_http_request *r);

/* Reason phrase, such as "OK"; "" for a status that this server does not use. */
const char *mafat_http_reason(int status);

#endif

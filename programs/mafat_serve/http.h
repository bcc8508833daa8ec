/* Parses the head of an HTTP/1.1 request (RFC 9112) from bytes that arrive in parts. It is strict
 * where two readers could disagree, because a proxy may stand in front. Texts are not copied: they
 * point into the caller's bytes. A body's length is known, or there is no body: transfer codings
 * are refused. Pure. Included by connection.c and route.h. */
#ifndef MAFAT_PROGRAM_SERVE_HTTP_H
#define MAFAT_PROGRAM_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not ended by a NUL; bytes NULL: there is none. */
struct mafat_http_text {
  const char *bytes;
  size_t n;
};

enum mafat_http_method { MAFAT_HTTP_GET, MAFAT_HTTP_HEAD, MAFAT_HTTP_POST, MAFAT_HTTP_OTHER };

struct mafat_http_request {
  enum mafat_http_method method;
  struct mafat_http_text path;  /* as it was sent, behind scheme and host, from its first / on */
  struct mafat_http_text query; /* behind the ? */
  struct mafat_http_text host, origin, type,
      authorization; /* of the fields Host, Origin, Content-Type, Authorization */
  uint64_t body_bytes;
  bool has_length;  /* Content-Length was there */
  bool keeps_alive; /* another request may follow */
  bool expects;     /* "100-continue": the body comes when it is asked for */
  size_t head_bytes; /* with the empty line */

  /* On an error: the answer's status and the reason. */
  int status;
  const char *wrong;
};

enum mafat_http_progress { MAFAT_HTTP_PART, MAFAT_HTTP_WHOLE, MAFAT_HTTP_BAD };

/* Parses n bytes from the beginning of a request. PART: more bytes are needed, and nothing else
 * is set; errors are reported at once as BAD. Empty lines before a request are ignored. After
 * BAD the start of the next request is unknown. */
enum mafat_http_progress mafat_http_read(struct mafat_http_request *r, const char *bytes, size_t n);

/* Copies the decoded VALUE of name=VALUE in the query into text, with a NUL. 1: found; 0:
 * absent; -1: given twice, longer than the capacity, or no text. */
int mafat_http_parameter(const struct mafat_http_request *r, const char *name, char *text,
                         size_t capacity);

/* Is it this text, letter by letter? */
bool mafat_http_is(struct mafat_http_text text, const char *other);

/* "Bearer TOKEN": is it this one? In a time that tells nothing of where they differ. */
bool mafat_http_bears(const struct mafat_http_request *r, const char *token);

/* Does a page of this very host ask, or nobody's? A browser says so in Origin. */
bool mafat_http_is_own(const struct mafat_http_request *r);

/* "OK"; "" for a status that nobody here answers with. */
const char *mafat_http_reason(int status);

#endif

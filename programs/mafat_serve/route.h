/* Determines what a request asks for, and whether its sender may have that. Touches only its
 * arguments. Included by connection.c. */
#ifndef MAFAT_PROGRAM_SERVE_ROUTE_H
#define MAFAT_PROGRAM_SERVE_ROUTE_H

#include "programs/mafat_serve/job_queue.h"
#include "programs/mafat_serve/http.h"

/* Limits and defaults of requests. */
struct mafat_route_rules {
  const char *token;  /* NULL: none is required */
  size_t most_bytes;  /* largest body */
  float thresh, nms;  /* defaults */
};

enum mafat_route_kind {
  MAFAT_ROUTE_REFUSED, MAFAT_ROUTE_PAGE, MAFAT_ROUTE_HEALTH, MAFAT_ROUTE_METRICS,
  MAFAT_ROUTE_JOB
};

struct mafat_route {
  enum mafat_route_kind kind;
  int status;        /* HTTP status of a refusal */
  const char *wrong; /* text of a refusal: what is wrong, in one line */
  const char *allow; /* allowed methods for status 405; else NULL */
  /* Parameters of a job. */
  enum mafat_job_kind job;
  struct mafat_job_frame frame;
  bool form; /* the body is sent as a form, which curl -d does by default */
  float thresh, nms;
  size_t memory_bytes; /* budget for which a plan or map is asked; 0: that of the server */
};

/* Fills *route for the request r: the action and its parameters, or a refusal. */
void mafat_route_find(struct mafat_route *route, const struct mafat_route_rules *rules,
                      const struct mafat_http_request *r);

#endif

/* Determines what a request asks for, and whether the caller may. Performs nothing itself. Included
 * by connection.c. */
#ifndef MAFAT_PROGRAM_SERVE_ROUTE_H
#define MAFAT_PROGRAM_SERVE_ROUTE_H

#include "programs/mafat_serve/job_queue.h"
#include "programs/mafat_serve/http.h"

/* By what it is judged. */
struct mafat_route_rules {
  const char *token;  /* NULL: none is asked for */
  size_t most_bytes;  /* of a body */
  float thresh, nms;  /* where the request does not say */
};

enum mafat_route_kind {
  MAFAT_ROUTE_REFUSED, MAFAT_ROUTE_PAGE, MAFAT_ROUTE_HEALTH, MAFAT_ROUTE_METRICS,
  MAFAT_ROUTE_JOB
};

struct mafat_route {
  enum mafat_route_kind kind;
  int status;        /* refused: why */
  const char *wrong; /* a line */
  const char *allow; /* of 405: what is allowed; else NULL */
  /* of a job */
  enum mafat_job_kind job;
  struct mafat_job_frame frame;
  float thresh, nms;
  size_t memory_bytes;
};

void mafat_route_find(struct mafat_route *route, const struct mafat_route_rules *rules,
                      const struct mafat_http_request *r);

#endif

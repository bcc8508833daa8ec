/* What all connections share: how many there are, the room for their bodies, in the order in which they ask for it, and what is
 * counted of them. Of the thread that talks. */
#ifndef MAFAT_PROGRAM_SERVE_HALL_H
#define MAFAT_PROGRAM_SERVE_HALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/mafat_serve/desk.h"

enum {
  MAFAT_HALL_HELD = 64,  /* connections whose requests are read */
  MAFAT_HALL_TURNED = 8, /* those that are told to come again, and read no further */
  MAFAT_HALL_PLACES = MAFAT_HALL_HELD + MAFAT_HALL_TURNED
};

/* Statuses that are answered. */
enum { MAFAT_HALL_STATUSES = 18 };
extern const int mafat_hall_statuses[MAFAT_HALL_STATUSES];

struct mafat_hall {
  struct mafat_desk *desk;
  const char *token; /* NULL: everybody may ask */
  float thresh, nms; /* of requests that do not say */
  double timeout_ms, wait_ms;
  size_t budget_bytes, charge_bytes; /* as told */
  int n_held;        /* connections in those places */
  bool ends;         /* no request is taken any more */
  size_t room_bytes, room_used;
  int n_queued;      /* connections that wait for room */
  uint64_t tickets;  /* that such have been given: the lowest is the next */
  uint64_t answers[MAFAT_HALL_STATUSES], accepted, turned, lost, body_bytes;
};

/* Of a body, whole pages, and what its answer may need if that is more. */
size_t mafat_hall_need(size_t bytes);
/* Is there so much left? Then it is taken. */
bool mafat_hall_take(struct mafat_hall *hall, size_t bytes);
void mafat_hall_give(struct mafat_hall *hall, size_t bytes);

void mafat_hall_count(struct mafat_hall *hall, int status);

/* Milliseconds that another picture would wait, as pictures go now; 0 where nothing is before it, however long one takes. */
double mafat_hall_waiting_ms(struct mafat_hall *hall);

/* Prometheus' text, into a body's file; how many bytes, 0: no room. */
size_t mafat_hall_write_metrics(struct mafat_hall *hall, int fd, size_t room);

#endif

/* Memory for the bodies of requests. It is granted as bytes arrive, so a connection that only
 * announces a large body reserves none. Memory is granted only if afterwards all claims can still
 * get their whole need in some order, so no two wait for each other forever. Counts bytes,
 * allocates nothing. Only the connection thread calls it. Included by connection_pool.h. */
#ifndef MAFAT_PROGRAM_SERVE_ROOM_H
#define MAFAT_PROGRAM_SERVE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

enum { MAFAT_ROOM_CLAIMS = 64 };

/* Memory of one request's body. */
struct mafat_room_claim {
  size_t need; /* bytes of the whole body, at most the capacity */
  size_t held; /* bytes granted so far */
  bool open;
};

struct mafat_room {
  size_t capacity, used; /* bytes */
  int n_claims;
  struct mafat_room_claim *claims[MAFAT_ROOM_CLAIMS]; /* (n_claims) owned by the connections */
};

/* Opens a claim of `need` bytes, or of the capacity if that is less; it holds nothing yet. At most
 * MAFAT_ROOM_CLAIMS claims may be open at a time. */
void mafat_room_open(struct mafat_room *room, struct mafat_room_claim *claim, size_t need);
/* Makes the claim hold `bytes` in all, at most its need. False: there is not enough memory now. */
bool mafat_room_take(struct mafat_room *room, struct mafat_room_claim *claim, size_t bytes);
/* Lowers need and held bytes to at most `bytes`. */
void mafat_room_shrink(struct mafat_room *room, struct mafat_room_claim *claim, size_t bytes);
/* Frees all memory of the claim. Does nothing if the claim is not open. */
void mafat_room_close(struct mafat_room *room, struct mafat_room_claim *claim);

#endif

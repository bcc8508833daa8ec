/* Grants memory for bodies by the banker's algorithm (Dijkstra, 1965). Called by connection.c.
 * Changes only the structs that it is given. */
#include "programs/mafat_serve/room.h"

static bool fits(const struct mafat_room_claim *claim, size_t free)
{
  return claim->need - claim->held <= free;
}

/* True if all claims can get their whole need in some order. Each claim frees its memory before the
 * next one gets the rest of its need. */
static bool all_can_end(const struct mafat_room *room)
{
  bool ended[MAFAT_ROOM_CLAIMS] = {false};
  size_t free = room->capacity - room->used;
  int left = room->n_claims, before;
  do {
    before = left;
    for (int i = 0; i < room->n_claims; i++) {
      if (ended[i] || !fits(room->claims[i], free)) continue;
      free += room->claims[i]->held;
      ended[i] = true;
      left--;
    }
  } while (left > 0 && left < before);
  return left == 0;
}

static void hold(struct mafat_room *room, struct mafat_room_claim *claim, size_t bytes)
{
  room->used = room->used - claim->held + bytes;
  claim->held = bytes;
}

void mafat_room_open(struct mafat_room *room, struct mafat_room_claim *claim, size_t need)
{
  *claim = (struct mafat_room_claim){.need = need < room->capacity ? need : room->capacity,
                                     .open = true};
  room->claims[room->n_claims++] = claim;
}

bool mafat_room_take(struct mafat_room *room, struct mafat_room_claim *claim, size_t bytes)
{
  const size_t held = claim->held;
  if (bytes <= held) return true;
  if (bytes > claim->need || bytes - held > room->capacity - room->used) return false;
  hold(room, claim, bytes);
  if (all_can_end(room)) return true;
  hold(room, claim, held);
  return false;
}

void mafat_room_shrink(struct mafat_room *room, struct mafat_room_claim *claim, size_t bytes)
{
  if (bytes < claim->held) hold(room, claim, bytes);
  if (bytes < claim->need) claim->need = bytes > claim->held ? bytes : claim->held;
}

void mafat_room_close(struct mafat_room *room, struct mafat_room_claim *claim)
{
  if (!claim->open) return;
  hold(room, claim, 0);
  claim->open = false;
  int i = 0;
  while (room->claims[i] != claim) i++;
  room->claims[i] = room->claims[--room->n_claims];
}

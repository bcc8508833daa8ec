#include "formats/onnx/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct entry {
  const char *name;
  void *meaning;
  uint32_t hash;
};

/* Slots are a power of two, at most half of them taken: by number + 1 of an entry. */
struct mafat_onnx_names {
  int n;
  uint32_t n_slots;
  struct entry *entries; /* room for n_slots / 2 */
  int *slots;
};

enum { FIRST_SLOTS = 64, MOST_SLOTS = 1 << 24 };

void mafat_onnx_names_close(struct mafat_onnx_names **names)
{
  if (!names || !*names) return;
  free((*names)->entries);
  free((*names)->slots);
  free(*names);
  *names = NULL;
}

int mafat_onnx_names_count(const struct mafat_onnx_names *names)
{
  return names ? names->n : 0;
}

void *mafat_onnx_names_get(const struct mafat_onnx_names *names, int number)
{
  return names->entries[number].meaning;
}

/* FNV-1a. */
static uint32_t hash(const char *name)
{
  uint32_t h = UINT32_C(2166136261);
  for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT32_C(16777619);
  return h;
}

/* The slot where the name is, or would be. */
static int *slot_of(const struct mafat_onnx_names *names, const char *name, uint32_t h)
{
  for (uint32_t i = h;; i++) {
    int *slot = &names->slots[i & (names->n_slots - 1)];
    if (*slot == 0) return slot;
    const struct entry *e = &names->entries[*slot - 1];
    if (e->hash == h && strcmp(e->name, name) == 0) return slot;
  }
}

int mafat_onnx_names_find(const struct mafat_onnx_names *names, const char *name)
{
  return names && names->n > 0 ? *slot_of(names, name, hash(name)) - 1 : -1;
}

static bool grow(struct mafat_onnx_names *names)
{
  uint32_t n_slots = names->n_slots ? 2 * names->n_slots : FIRST_SLOTS;
  if (n_slots > MOST_SLOTS) return false;
  struct entry *entries = realloc(names->entries, n_slots / 2 * sizeof *entries);
  if (!entries) return false;
  names->entries = entries;
  int *slots = calloc(n_slots, sizeof *slots);
  if (!slots) return false;
  free(names->slots);
  names->slots = slots;
  names->n_slots = n_slots;
  for (int i = 0; i < names->n; i++) *slot_of(names, entries[i].name, entries[i].hash) = i + 1;
  return true;
}

bool mafat_onnx_names_put(struct mafat_onnx_names **names, const char *name, const void *meaning)
{
  if (!*names) *names = calloc(1, sizeof **names);
  struct mafat_onnx_names *all = *names;
  if (!all || (all->n == (int)(all->n_slots / 2) && !grow(all))) return false;
  uint32_t h = hash(name);
  all->entries[all->n] = (struct entry){name, (void *)meaning, h};
  *slot_of(all, name, h) = ++all->n;
  return true;
}

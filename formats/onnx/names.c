/* Maps names to pointers by a crit-bit tree. Called by formats/onnx (model.c, bind.c). Allocates
 * entries; names are not copied. */
#include "formats/onnx/names.h"

#include <stdlib.h>
#include <string.h>

struct name_entry {
  const char *name;
  void *meaning;
};

/* A branch of the tree. All names below it agree up to one bit, in which its two sides differ. */
struct fork {
  size_t byte;
  unsigned char others; /* the byte with all bits set but the one that differs */
  int any;              /* index of some name below the branch */
  int sides[2];         /* [0]: names whose bit is 0, [1]: whose bit is 1; index of a branch, or
                           ~index of an entry */
};

/* A tree of branches, later bits below earlier ones. A look-up takes at most as many steps as the
 * name has bits. A hash table would be slow for names chosen by an attacker. */
struct mafat_onnx_names {
  int n, capacity, root;
  struct name_entry *entries;
  struct fork *forks; /* (n - 1) */
  struct mafat_allowance *allowance;
};

enum {
  FIRST_ROOM = 32,
  MOST_ROOM = 1 << 23,
  ENTRY_BYTES = sizeof(struct name_entry) + sizeof(struct fork)
};

void mafat_onnx_names_close(struct mafat_onnx_names **names)
{
  if (!names || !*names) return;
  mafat_allowance_give((*names)->allowance, (size_t)(*names)->capacity * ENTRY_BYTES);
  free((*names)->entries);
  free((*names)->forks);
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

static int side_of(const struct fork *f, const char *name, size_t length)
{
  unsigned byte = f->byte < length ? (unsigned char)name[f->byte] : 0;
  return (int)((1 + (f->others | byte)) >> 8);
}

/* Returns the index of an entry whose name has the longest common prefix with `name`. Below a
 * branch at a byte past the end of `name`, all names begin with the same bytes, so any of them will
 * do. */
static int closest(const struct mafat_onnx_names *names, const char *name, size_t length)
{
  int at = names->root;
  while (at >= 0 && names->forks[at].byte <= length)
    at = names->forks[at].sides[side_of(&names->forks[at], name, length)];
  return at >= 0 ? names->forks[at].any : ~at;
}

int mafat_onnx_names_find(const struct mafat_onnx_names *names, const char *name)
{
  if (!names || names->n == 0) return -1;
  int number = closest(names, name, strlen(name));
  return strcmp(names->entries[number].name, name) == 0 ? number : -1;
}

static bool grow(struct mafat_onnx_names *names)
{
  int capacity = names->capacity ? 2 * names->capacity : FIRST_ROOM;
  size_t more = (size_t)(capacity - names->capacity);
  if (capacity > MOST_ROOM || !mafat_allowance_take(names->allowance, more, ENTRY_BYTES))
    return false;
  struct name_entry *entries = realloc(names->entries, (size_t)capacity * sizeof *entries);
  if (!entries) return false;
  names->entries = entries;
  struct fork *forks = realloc(names->forks, (size_t)capacity * sizeof *forks);
  if (!forks) return false;
  names->forks = forks;
  names->capacity = capacity;
  return true;
}

/* Returns a branch with the byte and bit of the first difference between two names; its other
 * fields are 0. */
static struct fork fork_between(const char *name, const char *other)
{
  struct fork f = {.byte = 0};
  while (name[f.byte] == other[f.byte]) f.byte++;
  unsigned differ = (unsigned)(unsigned char)name[f.byte] ^ (unsigned char)other[f.byte], bit = 128;
  while (!(differ & bit)) bit >>= 1;
  f.others = (unsigned char)(255 - bit);
  return f;
}

/* Inserts the branch for a new name, which will be the next entry. */
static void add_fork(struct mafat_onnx_names *names, const char *name)
{
  size_t length = strlen(name);
  struct fork f = fork_between(name, names->entries[closest(names, name, length)].name);
  int side = side_of(&f, name, length), *at = &names->root;
  while (*at >= 0) {
    struct fork *above = &names->forks[*at];
    if (above->byte > f.byte || (above->byte == f.byte && above->others > f.others)) break;
    at = &above->sides[side_of(above, name, length)];
  }
  f.any = names->n;
  f.sides[side] = ~names->n;
  f.sides[1 - side] = *at;
  names->forks[names->n - 1] = f;
  *at = names->n - 1;
}

bool mafat_onnx_names_put(struct mafat_onnx_names **names, const char *name, const void *meaning,
                          struct mafat_allowance *allowance)
{
  if (!*names) *names = calloc(1, sizeof **names);
  struct mafat_onnx_names *all = *names;
  if (all) all->allowance = allowance;
  if (!all || (all->n == all->capacity && !grow(all))) return false;
  if (all->n == 0) all->root = ~0;
  else add_fork(all, name);
  all->entries[all->n++] = (struct name_entry){name, (void *)meaning};
  return true;
}

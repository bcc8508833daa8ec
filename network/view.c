/* Operations on tensor views: laying out dimensions, reshape, transpose, refinement. A view maps
 * the dimensions of a tensor to the axes of its map; an atom is a factor of a dimension, with one
 * step along one axis (view.h). Called by formats/graph, formats/onnx and formats/tflite while a
 * model is read, and by network/port.c. Pure functions. */
#include "network/view.h"

#include "base/part.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#define MOST_STEP ((1LL << 59) - 1)

MAFAT_PART(run) long long mafat_view_elements(const struct mafat_view *v)
{
  long long n = 1;
  for (int i = 0; i < v->n_dims; i++) n *= v->dims[i];
  return n;
}

MAFAT_PART(run) int mafat_view_first_atom(const struct mafat_view *v, int dim)
{
  int first = 0;
  for (int i = 0; i < dim; i++) first += v->atoms_of[i];
  return first;
}

void mafat_view_lay(struct mafat_view *v, int n_dims, const long long *dims, const int *axes,
                    long long extents[MAFAT_N_AXES])
{
  *v = (struct mafat_view){.n_dims = n_dims};
  for (int a = 0; a < MAFAT_N_AXES; a++) extents[a] = 1;
  for (int i = 0; i < n_dims; i++) {
    v->dims[i] = dims[i];
    v->atoms_of[i] = dims[i] > 1;
    if (dims[i] > 1)
      v->atoms[v->n_atoms++] = (struct mafat_view_atom){.size = dims[i], .axis = axes[i]};
  }
  for (int k = v->n_atoms; k-- > 0;) {
    struct mafat_view_atom *atom = &v->atoms[k];
    atom->step = extents[atom->axis];
    long long *extent = &extents[atom->axis];
    if (__builtin_mul_overflow(*extent, atom->size, extent) || *extent > MOST_STEP)
      *extent = LLONG_MAX;
  }
}

void mafat_view_linear(struct mafat_view *v, int n_dims, const long long *dims, int axis)
{
  int axes[MAFAT_VIEW_DIMS];
  long long extents[MAFAT_N_AXES];
  for (int i = 0; i < n_dims; i++) axes[i] = axis;
  mafat_view_lay(v, n_dims, dims, axes, extents);
}

void mafat_view_usual_axes(int n_dims, int *axes)
{
  for (int i = 0; i < n_dims; i++)
    axes[i] = i == n_dims - 1 ? MAFAT_AXIS_C : i == n_dims - 2 ? MAFAT_AXIS_W : MAFAT_AXIS_H;
}

/* ---- atoms ---- */

/* Appends an atom to the dimension that begins at atom `first`. Merges it with the previous atom of
 * that dimension if together they are one atom. */
static void append(struct mafat_view *v, int first, struct mafat_view_atom atom)
{
  if (atom.size == 1) return;
  struct mafat_view_atom *last = v->n_atoms > first ? &v->atoms[v->n_atoms - 1] : NULL;
  if (last && last->axis == atom.axis && last->step == atom.step * atom.size) {
    last->size *= atom.size;
    last->step = atom.step;
    return;
  }
  v->atoms[v->n_atoms++] = atom;
}

/* Splits an atom into an outer one of size n and the inner rest. False: n does not divide its
 * size. */
static bool split_off(struct mafat_view_atom *atom, long long n, struct mafat_view_atom *outer)
{
  if (atom->size % n) return false;
  *outer = (struct mafat_view_atom){
      .size = n, .step = atom->step * (atom->size / n), .axis = atom->axis};
  atom->size /= n;
  return true;
}

static long long common_factor(long long a, long long b)
{
  while (b) {
    long long rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

MAFAT_PART(run)
bool mafat_view_reshape(struct mafat_view *out, const struct mafat_view *v, int n_dims,
                        const long long *dims)
{
  struct mafat_view r = {.n_dims = n_dims};
  struct mafat_view_atom left = {.size = 1};
  int next = 0;
  for (int i = 0; i < n_dims; i++) {
    int first = r.n_atoms;
    r.dims[i] = dims[i];
    for (long long wanted = dims[i]; wanted > 1;) {
      struct mafat_view_atom piece;
      if (left.size == 1) {
        if (next == v->n_atoms) return false;
        left = v->atoms[next++];
      }
      long long n = left.size <= wanted ? left.size : wanted;
      if (wanted % n || !split_off(&left, n, &piece) || r.n_atoms == MAFAT_VIEW_ATOMS) return false;
      append(&r, first, piece);
      wanted /= n;
    }
    r.atoms_of[i] = r.n_atoms - first;
  }
  if (next < v->n_atoms || left.size > 1) return false;
  *out = r;
  return true;
}

void mafat_view_transpose(struct mafat_view *out, const struct mafat_view *v, const int *order)
{
  struct mafat_view r = {.n_dims = v->n_dims};
  for (int i = 0; i < v->n_dims; i++) {
    int first = mafat_view_first_atom(v, order[i]);
    r.dims[i] = v->dims[order[i]];
    r.atoms_of[i] = v->atoms_of[order[i]];
    for (int k = 0; k < r.atoms_of[i]; k++) r.atoms[r.n_atoms++] = v->atoms[first + k];
  }
  *out = r;
}

/* Merges atoms of a dimension that together are one atom. */
MAFAT_PART(run) static void normalize(struct mafat_view *v)
{
  struct mafat_view r = {.n_dims = v->n_dims};
  for (int i = 0; i < v->n_dims; i++) {
    int from = mafat_view_first_atom(v, i), first = r.n_atoms;
    r.dims[i] = v->dims[i];
    for (int k = 0; k < v->atoms_of[i]; k++) append(&r, first, v->atoms[from + k]);
    r.atoms_of[i] = r.n_atoms - first;
  }
  *v = r;
}

MAFAT_PART(run) bool mafat_view_equals(const struct mafat_view *a, const struct mafat_view *b)
{
  struct mafat_view x = *a, y = *b;
  normalize(&x);
  normalize(&y);
  if (x.n_dims != y.n_dims || x.n_atoms != y.n_atoms) return false;
  for (int i = 0; i < x.n_dims; i++)
    if (x.dims[i] != y.dims[i] || x.atoms_of[i] != y.atoms_of[i]) return false;
  for (int k = 0; k < x.n_atoms; k++)
    if (x.atoms[k].size != y.atoms[k].size || x.atoms[k].step != y.atoms[k].step ||
        x.atoms[k].axis != y.atoms[k].axis)
      return false;
  return true;
}

void mafat_view_add(const struct mafat_view *v, int dim, long long at,
                    long long places[MAFAT_N_AXES])
{
  int first = mafat_view_first_atom(v, dim);
  for (int k = first + v->atoms_of[dim]; k-- > first;) {
    places[v->atoms[k].axis] += at % v->atoms[k].size * v->atoms[k].step;
    at /= v->atoms[k].size;
  }
}

void mafat_view_set_size(struct mafat_view *v, int dim, long long n)
{
  int first = mafat_view_first_atom(v, dim);
  v->dims[dim] = n;
  v->atoms[first].size = n;
  if (n > 1) return;
  memmove(&v->atoms[first], &v->atoms[first + 1],
          (size_t)(v->n_atoms - first - 1) * sizeof *v->atoms);
  v->n_atoms--;
  v->atoms_of[dim] = 0;
}

/* ---- common refinement ---- */

struct refiner {
  const struct mafat_view *from;
  struct mafat_view out;       /* atoms made so far */
  struct mafat_view_atom left; /* rest of the current atom; size 1: used up */
  int next;                    /* index of the next atom of `from` */
};

/* Appends an atom of size n, split off the current one. */
static bool put(struct refiner *r, long long n)
{
  struct mafat_view_atom piece;
  if (!split_off(&r->left, n, &piece) || r->out.n_atoms == MAFAT_VIEW_ATOMS) return false;
  r->out.atoms[r->out.n_atoms++] = piece;
  return true;
}

static bool refine_dim(struct refiner *a, struct refiner *b, int dim)
{
  int first = a->out.n_atoms;
  for (long long wanted = a->from->dims[dim]; wanted > 1;) {
    if (a->left.size == 1) a->left = a->from->atoms[a->next++];
    if (b->left.size == 1) b->left = b->from->atoms[b->next++];
    /* Split off an atom of the same size n from both; the smaller size must divide the larger. */
    long long n = common_factor(a->left.size, b->left.size);
    if (n != (a->left.size < b->left.size ? a->left.size : b->left.size)) return false;
    if (!put(a, n) || !put(b, n)) return false;
    wanted /= n;
  }
  a->out.atoms_of[dim] = b->out.atoms_of[dim] = a->out.n_atoms - first;
  return true;
}

bool mafat_view_refine(struct mafat_view *a, struct mafat_view *b)
{
  normalize(a);
  normalize(b);
  struct refiner x = {.from = a, .left = {.size = 1}}, y = {.from = b, .left = {.size = 1}};
  if (a->n_dims != b->n_dims) return false;
  x.out.n_dims = y.out.n_dims = a->n_dims;
  for (int i = 0; i < a->n_dims; i++) {
    if (a->dims[i] != b->dims[i]) return false;
    x.out.dims[i] = y.out.dims[i] = a->dims[i];
    if (!refine_dim(&x, &y, i)) return false;
  }
  *a = x.out;
  *b = y.out;
  return true;
}

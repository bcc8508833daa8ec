/* Maps the dimensions of a port (a network's input or output) to its map, and finds the storage
 * order of input files. Called by api/ports.c, runner/engine and, through mafat_network_input_order
 * (network.h), api/ and experiments/planners. Separate from view.c, whose code is dropped from
 * memory after a model is read, because this code is needed in runs. Pure functions. */
#include "network/port.h"

void mafat_view_planes(struct mafat_view *view, struct mafat_shape shape)
{
  static const int axes[] = {MAFAT_AXIS_C, MAFAT_AXIS_H, MAFAT_AXIS_W};
  const int sizes[] = {shape.c, shape.h, shape.w};
  *view = (struct mafat_view){.n_dims = 3};
  for (int i = 0; i < 3; i++) {
    view->dims[i] = sizes[i];
    view->atoms_of[i] = sizes[i] > 1;
    if (sizes[i] > 1)
      view->atoms[view->n_atoms++] =
          (struct mafat_view_atom){.size = sizes[i], .step = 1, .axis = axes[i]};
  }
}

/* The index is a number with one digit for each atom of the view, the outermost first; the base of
 * a digit is the atom's size. */
void mafat_view_find(const struct mafat_view *view, long long index, long long places[MAFAT_N_AXES])
{
  for (int k = view->n_atoms; k-- > 0; index /= view->atoms[k].size)
    places[view->atoms[k].axis] += index % view->atoms[k].size * view->atoms[k].step;
}

/* True if the file stores the map channel by channel, row by row. */
static bool is_planes(const struct mafat_view *view, struct mafat_shape shape)
{
  struct mafat_view planes;
  mafat_view_planes(&planes, shape);
  return mafat_view_reshape(&planes, &planes, view->n_dims, view->dims) &&
         mafat_view_equals(&planes, view);
}

/* True if the file stores the map row by row, in any order within a row. */
static bool is_rows(const struct mafat_view *view, struct mafat_shape shape)
{
  long long row = (long long)shape.w * shape.c, left = row * shape.h;
  for (int k = 0; k < view->n_atoms && left > row; k++) {
    const struct mafat_view_atom *atom = &view->atoms[k];
    left /= atom->size;
    if (atom->axis != MAFAT_AXIS_H || atom->step * row != left) return false;
  }
  return true;
}

/* Sets each atom's stride, in elements, as if the file were one row. */
static void set_strides(struct mafat_file_order *o)
{
  long long stride = 1;
  for (int k = o->view.n_atoms; k-- > 0; stride *= o->view.atoms[k].size) o->strides[k] = stride;
}

/* Sets the strides of an axis to 0, because the axis selects a plane or a row, and strides count
 * elements within a row. */
static void forget_axis(struct mafat_file_order *o, int axis)
{
  for (int k = 0; k < o->view.n_atoms; k++)
    if (o->view.atoms[k].axis == axis) o->strides[k] = 0;
}

/* Sets o->column: the elements between neighboring columns; 0 if that is not constant. */
static void set_column(struct mafat_file_order *o)
{
  int n = 0, last = 0;
  for (int k = 0; k < o->view.n_atoms; k++)
    if (o->view.atoms[k].axis == MAFAT_AXIS_W) n++, last = k;
  o->column = n == 0 ? 1 : n == 1 && o->view.atoms[last].step == 1 ? o->strides[last] : 0;
}

/* How the file is divided: the whole file is one row; one plane of rows; a plane per channel. */
enum form { WHOLE, ROWS, PLANES };

static void lay(struct mafat_file_order *o, const struct mafat_view *view, struct mafat_shape shape,
                enum form form)
{
  *o = (struct mafat_file_order){.shape = shape, .planes = form == PLANES ? shape.c : 1,
                                 .rows = form == WHOLE ? 1 : shape.h, .view = *view};
  set_strides(o);
  if (form != WHOLE) forget_axis(o, MAFAT_AXIS_H);
  if (form == PLANES) forget_axis(o, MAFAT_AXIS_C);
  o->row_elements = (size_t)shape.w * (form == PLANES ? 1 : (size_t)shape.c) *
                    (form == WHOLE ? (size_t)shape.h : 1);
  set_column(o);
}

/* True for a map of one short row, which is read at once rather than channel by channel. */
static bool is_short(struct mafat_shape shape)
{
  enum { MOST = 16 << 10 };
  return shape.h == 1 && (long long)shape.w * shape.c <= MOST;
}

void mafat_file_order_make(struct mafat_file_order *o, const struct mafat_view *view,
                           struct mafat_shape shape)
{
  bool planes = !is_short(shape) && is_planes(view, shape);
  lay(o, view, shape, planes ? PLANES : is_rows(view, shape) ? ROWS : WHOLE);
}

void mafat_file_order_planes(struct mafat_file_order *o, struct mafat_shape shape)
{
  struct mafat_view view;
  mafat_view_planes(&view, shape);
  lay(o, &view, shape, PLANES);
}

long long mafat_file_order_offset(const struct mafat_file_order *o, int axis, int at)
{
  long long offset = 0;
  for (int k = 0; k < o->view.n_atoms; k++)
    if (o->view.atoms[k].axis == axis)
      offset += at / o->view.atoms[k].step % o->view.atoms[k].size * o->strides[k];
  return offset;
}

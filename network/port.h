/* Named inputs and outputs of a network (ONNX, TFLite), and how a port's dimensions map to the
 * axes of a map. A port has a type and up to eight dimensions in any order. Included by
 * network/network.h. Allocates nothing. */
#ifndef MAFAT_NETWORK_PORT_H
#define MAFAT_NETWORK_PORT_H

#include "network/layer.h"
#include "network/view.h"

#include <stddef.h>

struct mafat_port {
  char *name;                   /* owned, as are the sources */
  struct mafat_view view;       /* its dimensions on the axes of the map */
  struct mafat_sources sources; /* of an input: its own tensor */
  struct mafat_shape shape;
  /* in files; may differ from the map's: int8 for a map of bytes, int64 for one of floats */
  enum mafat_dtype type;
};

/* Adds to `places` the position in the map of element `index`, in row-major order of the
 * dimensions. */
void mafat_view_find(const struct mafat_view *view, long long index,
                     long long places[MAFAT_N_AXES]);

static inline void mafat_port_find(const struct mafat_port *p, long long index, int *c, int *y,
                                   int *x)
{
  long long places[MAFAT_N_AXES] = {0};
  mafat_view_find(&p->view, index, places);
  *y = (int)places[MAFAT_AXIS_H];
  *x = (int)places[MAFAT_AXIS_W];
  *c = (int)places[MAFAT_AXIS_C];
}

/* Sets three dimensions: channels, rows, columns. */
void mafat_view_planes(struct mafat_view *view, struct mafat_shape shape);

/* Storage order of an input in a row-major file, divided so that its map can be read by rows:
 * *planes* of *rows* of row_elements each, contiguous. Row y of the map is row y of each plane: one
 * plane per channel, or one plane with all channels. If neither fits, the whole file is one row. */
struct mafat_file_order {
  enum mafat_dtype type;    /* of an element */
  struct mafat_shape shape; /* of the map */
  int planes, rows;
  size_t row_elements;
  struct mafat_view view;
  long long strides[MAFAT_VIEW_ATOMS]; /* per atom: elements within a row of a plane */
  long long column;         /* elements between neighbouring columns; 0: not constant */
};

/* The view must cover every element of the map once. */
void mafat_file_order_make(struct mafat_file_order *order, const struct mafat_view *view,
                           struct mafat_shape shape);
/* Order of floats stored channel by channel, row by row, for any shape. */
void mafat_file_order_planes(struct mafat_file_order *order, struct mafat_shape shape);
/* Elements from the start of a plane's row to index `at` along an axis. */
long long mafat_file_order_offset(const struct mafat_file_order *order, int axis, int at);

#endif

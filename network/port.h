/* Named inputs and outputs of a network (ONNX, TFLite), and how a port's dimensions map to the axes
 * of a map. A port has a type and up to eight dimensions in any order. Included by
 * network/network.h; called by network/, api/ and runner/engine. Allocates nothing. */
#ifndef MAFAT_NETWORK_PORT_H
#define MAFAT_NETWORK_PORT_H

#include "network/layer.h"
#include "network/view.h"

#include <stddef.h>

struct mafat_port {
  char *name;                   /* owned, as are the sources */
  struct mafat_view view;       /* how the port's dimensions map to the axes of the map */
  struct mafat_sources sources; /* of an input: its own tensor */
  struct mafat_shape shape;
  /* type in files. It may differ from the map's: int8 for a map of unsigned bytes, int64 for a map
   * of floats */
  enum mafat_dtype type;
};

/* Finds the position in the map of element `index`, in row-major order of the dimensions; adds it
 * to `places`. */
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

/* Makes a view of three dimensions: channels, rows, columns. */
void mafat_view_planes(struct mafat_view *view, struct mafat_shape shape);

/* Storage order of an input in a row-major file, for reading its map row by row. The file consists
 * of `planes` planes, each of `rows` rows, each of row_elements contiguous elements. Row y of the
 * map consists of row y of all planes. There is one plane per channel, or one with all channels. If
 * neither is possible, the whole file is one row. */
struct mafat_file_order {
  enum mafat_dtype type;    /* of an element */
  struct mafat_shape shape; /* of the map */
  int planes, rows;
  size_t row_elements;
  struct mafat_view view;
  /* per atom of the view: elements between its neighboring indices, within a row of a plane */
  long long strides[MAFAT_VIEW_ATOMS];
  long long column;         /* elements between neighbouring columns; 0: not constant */
};

/* Finds the order by the port's view, which must cover every element of the map once. The caller
 * sets order->type. */
void mafat_file_order_make(struct mafat_file_order *order, const struct mafat_view *view,
                           struct mafat_shape shape);
/* Sets the order of elements stored channel by channel, row by row. */
void mafat_file_order_planes(struct mafat_file_order *order, struct mafat_shape shape);
/* Returns the number of elements from the start of a plane's row to index `at` along an axis. */
long long mafat_file_order_offset(const struct mafat_file_order *order, int axis, int at);

#endif

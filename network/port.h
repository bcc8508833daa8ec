/* An input or output of a network by its name, and how its elements lie in a map: what files of ONNX and TFLite call
 * their inputs and outputs have a type and up to eight dimensions, in an order of their own. */
#ifndef MAFAT_NETWORK_PORT_H
#define MAFAT_NETWORK_PORT_H

#include "network/layer.h"
#include "network/view.h"

#include <stddef.h>

struct mafat_port {
  char *name;                   /* owned, as are the sources */
  struct mafat_view view;       /* its dimensions on the axes of the map that the sources make */
  struct mafat_sources sources; /* of an input: its own tensor */
  struct mafat_shape shape;
  enum mafat_dtype type;        /* of its elements in files: int8 of a tensor of bytes, int64 of one of floats, too */
};

/* Element `index` of the dimensions in row-major order: where in the map; added to places. */
void mafat_view_find(const struct mafat_view *view, long long index, long long places[MAFAT_N_AXES]);

static inline void mafat_port_find(const struct mafat_port *p, long long index, int *c, int *y, int *x)
{
  long long places[MAFAT_N_AXES] = {0};
  mafat_view_find(&p->view, index, places);
  *y = (int)places[MAFAT_AXIS_H];
  *x = (int)places[MAFAT_AXIS_W];
  *c = (int)places[MAFAT_AXIS_C];
}

/* Three dimensions: channels, rows, columns. */
void mafat_view_planes(struct mafat_view *view, struct mafat_shape shape);

/* How the elements of an input follow each other in a file that has its dimensions in row-major order, as far as its
 * map can be read in rows: *planes* of *rows* of so many elements, one after the other. Row y of the map is row y of
 * each plane, a plane for each channel, or of the only one, all channels in it; where neither holds, the only row is
 * the whole file. */
struct mafat_file_order {
  enum mafat_dtype type;    /* of an element */
  struct mafat_shape shape; /* of the map */
  int planes, rows;
  size_t row_elements;
  struct mafat_view view;
  long long strides[MAFAT_VIEW_ATOMS]; /* of its atoms: elements within a row of a plane */
  long long column;         /* from one column to the next; 0: they are not all alike */
};

/* view: every element of the map once. */
void mafat_file_order_make(struct mafat_file_order *order, const struct mafat_view *view, struct mafat_shape shape);
/* That of floats channel by channel, row by row, read so whatever their shape. */
void mafat_file_order_planes(struct mafat_file_order *order, struct mafat_shape shape);
/* Elements from the beginning of a row of a plane to those of that index along an axis. */
long long mafat_file_order_offset(const struct mafat_file_order *order, int axis, int at);

#endif

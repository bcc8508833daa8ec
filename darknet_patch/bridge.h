/* Runs Darknet's networks with libmafat, so that programs that call Darknet need no change.
 *
 * Darknet's parser makes the network as always, but as a skeleton: layers that libmafat runs get
 * no weights and no buffers, except outputs that are read later. The first layer's `forward`
 * runs all of them on each picture of the batch and fills these outputs. The `forward` of the
 * others does nothing. So network_predict() and its variants, which call these pointers, and
 * get_network_boxes() and others, which read outputs, work unchanged.
 *
 * Compiled into the drop-in library (dropin.c) and into the patched Darknet (hooks.c and
 * 0003-mafat.patch). Both call these functions at the beginning of Darknet's functions with
 * similar names. If they return true, the work is done; if false, Darknet's own function has to do
 * it. A failure prints one line on stderr and ends the process, as in Darknet: status 2 for bad
 * files and wrong usage, 3 if the network does not fit the budget, 1 while running. */
#ifndef MAFAT_DARKNET_BRIDGE_H
#define MAFAT_DARKNET_BRIDGE_H

#include <darknet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* All texts may be NULL. The *_name fields are used in messages, like "-memory" or
 * "MAFAT_MEMORY". */
struct mafat_bridge_settings {
  const char *memory;   /* "64M", "16384K" or bytes; NULL: libmafat's default budget */
  const char *plan;     /* as in run_inference --plan; NULL: search */
  const char *threads;  /* 1 to 64 or "auto"; NULL: 1 */
  /* "3,7" or "all": layers whose outputs the program reads, besides heads and the last layer */
  const char *outputs;
  const char *memory_name, *threads_name, *outputs_name;
  bool keeps_arena; /* keep the arena's pages between predictions */
  /* true: if libmafat cannot run all layers, it runs the leading ones and Darknet the rest; false:
   * Darknet then runs the whole network */
  bool mixes;
};

/* Darknet's own functions, for the bridge to call. */
struct mafat_bridge_darknet {
  network *(*parse_network_cfg)(char *);
  int (*resize_network)(network *, int, int);
  void (*free_network)(network *);
  /* true if free_network frees what Debian's forgets (free_forgotten in bridge.c) */
  bool frees_all;
};

/* From now on libmafat runs networks. Settings are copied; their texts must stay valid. */
void mafat_bridge_start(const struct mafat_bridge_settings *settings);

/* ---- networks ---- */

bool mafat_bridge_parse(const struct mafat_bridge_darknet *darknet, char *cfg, network **out);
/* Sets the weights file of the networks that this thread parses from now on, until the next call.
 * NULL or "": there is none; then Darknet runs these networks. */
void mafat_bridge_expect(const char *weights);
bool mafat_bridge_load(network *net, char *weights, int start, int cutoff);
bool mafat_bridge_resize(const struct mafat_bridge_darknet *darknet, network *net, int w, int h);
bool mafat_bridge_free(const struct mafat_bridge_darknet *darknet, network *net);
/* True if libmafat runs the network, or at least its first layers. */
bool mafat_bridge_owns(const network *net);
/* End the process if libmafat runs the network or layer, because `what` needs weights, which a
 * skeleton lacks. */
void mafat_bridge_refuse(const network *net, const char *what);
void mafat_bridge_refuse_layer(const layer *l, const char *what);

/* ---- layers, while the parser runs ---- */

/* Call before the parser makes layer i. Needed only if settings.mixes. */
void mafat_bridge_layer(int i);
/* Skips the weights of layer i in a weights file if libmafat runs the layer. */
bool mafat_bridge_skip(const network *net, int i, FILE *weights);

/* Make the layer as a skeleton if libmafat is to run it, and return true; else return false. */
bool mafat_bridge_convolutional(layer *out, int batch, int h, int w, int c, int n, int groups,
                                int size, int stride, int padding, ACTIVATION activation,
                                int batch_normalize);
bool mafat_bridge_connected(layer *out, int batch, int inputs, int outputs, ACTIVATION activation,
                            int batch_normalize);
bool mafat_bridge_local(layer *out, int batch, int h, int w, int c, int n, int size, int stride,
                        int pad, ACTIVATION activation);
bool mafat_bridge_maxpool(layer *out, int batch, int h, int w, int c, int size, int stride,
                          int padding);
bool mafat_bridge_route(layer *out, int batch, int n, int *input_layers, int *input_sizes);
bool mafat_bridge_shortcut(layer *out, int batch, int index, int w, int h, int c, int w2, int h2,
                           int c2);

#endif

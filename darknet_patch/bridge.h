/* Runs networks of Darknet's own struct by libmafat, so that what calls Darknet stays as it is.
 *
 * Darknet's parser makes the network as it always does, but as a skeleton: layers that
 * libmafat runs get neither weights nor buffers, except the outputs that somebody reads
 * later. The first layer's `forward` runs them all, on each picture of the batch, and
 * fills these outputs; that of the others does nothing. Whatever goes through the
 * pointers (network_predict(), network_predict_image(), network_predict_data() ...) or
 * reads outputs (get_network_boxes() ...) needs no change.
 *
 * Compiled into the drop-in library (dropin.c) and into the patched Darknet
 * (command.c). Both call these functions at the beginning of Darknet's functions of
 * similar names; `true`: the work is done, `false`: Darknet's function does it. A failure
 * prints one line on stderr and ends the process, like failures in Darknet: status 2 for bad
 * files and wrong usage, 3 for what does not fit, 1 while running. */
#ifndef MAFAT_DARKNET_BRIDGE_H
#define MAFAT_DARKNET_BRIDGE_H

#include <darknet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Names in messages: "-memory" or "MAFAT_MEMORY". All texts may be NULL. */
struct mafat_bridge_settings {
  const char *memory;   /* 64M, 16384K, bytes; NULL: the smallest limit of the process's cgroups,
                           else the memory that is available */
  const char *plan;     /* as in run_inference --plan; NULL: search */
  const char *threads;  /* a number or "auto"; NULL: 1 */
  const char *outputs;  /* "3,7" or "all": layers whose outputs the program reads, beside the heads'
                           and the last */
  const char *memory_name, *threads_name, *outputs_name;
  bool keeps_arena; /* between predictions, rather than give its pages back */
  bool mixes;       /* leading layers by libmafat, the rest by Darknet; else a network that libmafat
                       does not run whole is Darknet's */
};

/* Darknet's own functions, for the bridge to call. */
struct mafat_bridge_darknet {
  network *(*parse_network_cfg)(char *);
  int (*resize_network)(network *, int, int);
  void (*free_network)(network *);
  bool frees_all; /* does it free what Debian's forgets? */
};

/* From now on networks are libmafat's; the settings are copied, their texts are not. */
void mafat_bridge_start(const struct mafat_bridge_settings *settings);

/* ---- networks ---- */

bool mafat_bridge_parse(const struct mafat_bridge_darknet *darknet, char *cfg, network **out);
/* Names the weights of networks that this thread loads without weights, until the next call. */
void mafat_bridge_expect(const char *weights);
bool mafat_bridge_load(network *net, char *weights, int start, int cutoff);
bool mafat_bridge_resize(const struct mafat_bridge_darknet *darknet, network *net, int w, int h);
bool mafat_bridge_free(const struct mafat_bridge_darknet *darknet, network *net);
/* Is it a network that libmafat runs, at least its first layers? */
bool mafat_bridge_owns(const network *net);
/* Ends the process where the network, or the layer, has no weights for `what`. */
void mafat_bridge_refuse(const network *net, const char *what);
void mafat_bridge_refuse_layer(const layer *l, const char *what);

/* ---- layers, while the parser runs ---- */

/* The parser comes to layer i; needed where settings.mixes. */
void mafat_bridge_layer(int i);
/* Skips, in a weights file, those of a layer that libmafat runs. */
bool mafat_bridge_skip(const network *net, int i, FILE *weights);

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

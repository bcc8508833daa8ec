/* Saves memory in commands that only infer: makes no training buffers, does not initialize weights
 * that a file replaces, and gives each layer's output back to the system after the last layer that
 * reads it. Results are bit-identical to Debian's Darknet. Compiled into the patched Darknet:
 * 0001-inference-only.patch inserts the calls. State is static: a process has one mode and at most
 * one dropped picture; not safe for two threads. */
#ifndef MAFAT_INFERENCE_H
#define MAFAT_INFERENCE_H

#include "darknet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each mode also does what the modes before it do. */
enum {
  INFERENCE_OFF = 0,  /* as Debian's Darknet */
  INFERENCE_ONLY = 1, /* no training buffers; a small workspace, given back after each layer */
  INFERENCE_LEAN = 2  /* outputs are given back, too, except those of heads and of the last layer */
};

/* Sets the mode of networks made and run after the call. The library starts with INFERENCE_OFF,
 * the program with INFERENCE_LEAN if its command only infers. Training such a network, or
 * reading its gradients, dereferences null pointers. Not thread-safe. */
void inference_only(int mode);
int inference_mode(void);

/* Sets the mode for a command line of the program. If it only infers, malloc also returns freed
 * memory to the system. */
void inference_command(int argc, char **argv);

/* True if the layer being made needs its training buffers: the mode is off, or it is recurrent. */
int inference_trains(void);
void inference_layer(LAYER_TYPE type); /* call before a layer of this type is made */

/* True if the network being made gets all its weights from a file. */
int inference_loads(void);

/* Call with the weights file before its network is made, and with NULL afterwards. */
void inference_weights(const char *file);

/* Checks the options of a section of the cfg, and notes whether its layer keeps initial weights. */
void inference_options(list *options);

/* Call after layer i of a forward pass: gives back memory that no later layer reads. */
void inference_done(const network *net, int i);

/* Computes one group of a convolution in bands of output rows, so that the workspace holds the
 * im2col columns of one band only. Each output is the same sum in the same order. Returns 0
 * without computing anything if the mode is off, one band covers the map or the filter is 1x1. */
int inference_convolves(layer l, const float *input, float *weights, float *output,
                        float *workspace);
size_t inference_workspace(layer l); /* bytes of workspace that the layer uses */

/* Frees a picture's pixels while the network runs. Does nothing unless the file can be read
 * again. */
void inference_drop_picture(image *im, const char *file);

/* Reads dropped pixels again, to draw boxes on them. A black picture if the file has changed. */
void inference_reload_picture(image *im, char *file);

/* The picture of a character for labels, loaded at its first use. */
image inference_character(image **alphabet, int size, int character);

/* Strips a trailing \r and shrinks the allocation to the text. Returns the line, which may move. */
char *inference_line(char *line);

/* Free what free_layer() and free_network() forget. */
void inference_free_layer(layer l);
void inference_free_network(network *net);

/* Prints one line on stderr and ends the process with `status`. */
void inference_fail(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

#ifdef __cplusplus
}
#endif
#endif

/* Shows which of Darknet's buffers an inference touches: darknet_memory MODEL.cfg MODEL.weights
 * PICTURE [LAYERS]. Loads the network, runs it on a picture, and counts the resident pages of
 * each layer's buffers (/proc/self/pagemap). Prints CSV. Needs memory for the whole network.
 * Started by run.py. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <darknet.h>
#pragma GCC diagnostic pop

static FILE *out;      /* the real standard output; the library's output is dropped */
static int pagemap;    /* /proc/self/pagemap: 8 bytes a page */
static size_t counted; /* resident bytes of all buffers so far */

/* Resident bytes of the buffer: pages with bit 63 set. */
static size_t resident_bytes(const void *start, size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
  uintptr_t begin = (uintptr_t)start, end = begin + bytes;
  for (uintptr_t at = begin / page * page; at < end; at += page) {
    uint64_t entry = 0;
    if (pread(pagemap, &entry, sizeof entry, (off_t)(at / page * sizeof entry)) != sizeof entry)
      return 0;
    uintptr_t from = at < begin ? begin : at, to = at + page > end ? end : at + page;
    if (entry >> 63) n += to - from;
  }
  return n;
}

static void print_buffer(int layer_number, const layer *l, const char *name, const void *start,
                         size_t bytes)
{
  if (!start || !bytes) return;
  size_t resident = resident_bytes(start, bytes);
  counted += resident;
  if (l)
    fprintf(out, "%d,%s,%d,%d,%d,%s,%zu,%zu\n", layer_number,
            l->type == CONVOLUTIONAL ? "convolutional" : "maxpool", l->out_w, l->out_h, l->out_c,
            name, bytes, resident);
  else
    fprintf(out, ",,,,,%s,%zu,%zu\n", name, bytes, resident);
}

static void print_layer(int i, const layer *l)
{
  size_t values = (size_t)l->outputs * (size_t)l->batch * sizeof(float),
         weights = (size_t)l->nweights * sizeof(float);
  int convolutional = l->type == CONVOLUTIONAL;
  print_buffer(i, l, "output", l->output, values);
  print_buffer(i, l, "delta", l->delta, values);
  if (convolutional && l->batch_normalize) {
    print_buffer(i, l, "x", l->x, values);
    print_buffer(i, l, "x_norm", l->x_norm, values);
  }
  if (l->type == MAXPOOL)
    print_buffer(i, l, "indexes", l->indexes, values / sizeof(float) * sizeof(int));
  if (convolutional) {
    print_buffer(i, l, "weights", l->weights, weights);
    print_buffer(i, l, "weight_updates", l->weight_updates, weights);
  }
}

static size_t process_bytes(void)
{
  char line[256];
  size_t kilobytes = 0;
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  while (file && !kilobytes && fgets(line, sizeof line, file)) sscanf(line, "Rss: %zu", &kilobytes);
  if (file) fclose(file);
  return kilobytes * 1024;
}

int main(int argc, char **argv)
{
  if (argc != 4 && argc != 5) {
    fprintf(stderr, "darknet_memory: expected MODEL.cfg MODEL.weights PICTURE [LAYERS]\n");
    return 2;
  }
  pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  out = fdopen(dup(STDOUT_FILENO), "w");
  if (pagemap < 0 || !out || !freopen("/dev/null", "w", stdout) ||
      !freopen("/dev/null", "w", stderr)) {
    perror("darknet_memory: /proc/self/pagemap or standard output");
    return 1;
  }
  network *net = load_network(argv[1], argv[2], 0);
  set_batch_network(net, 1);
  int n_loaded = net->n;
  if (argc == 5 && atoi(argv[4]) > 0 && atoi(argv[4]) < net->n) net->n = atoi(argv[4]);
  size_t loaded_bytes = process_bytes(), workspace = 0;
  for (int i = 0; i < n_loaded; i++) /* all layers share one workspace, of the largest size */
    if (net->layers[i].workspace_size > workspace) workspace = net->layers[i].workspace_size;
  image loaded = load_image(argv[3], 0, 0, net->c),
        fitted = letterbox_image(loaded, net->w, net->h);
  network_predict(net, fitted.data);
  fputs("layer,type,width,height,channels,buffer,allocated_bytes,resident_bytes\n", out);
  for (int i = 0; i < net->n; i++) print_layer(i, &net->layers[i]);
  print_buffer(0, NULL, "workspace", net->workspace, workspace);
  print_buffer(0, NULL, "input", net->input, (size_t)net->inputs * sizeof(float));
  print_buffer(0, NULL, "picture", loaded.data,
               (size_t)loaded.w * (size_t)loaded.h * (size_t)loaded.c * sizeof(float));
  print_buffer(0, NULL, "letterbox", fitted.data,
               (size_t)fitted.w * (size_t)fitted.h * (size_t)fitted.c * sizeof(float));
  size_t process = process_bytes();
  fprintf(out, ",,,,,rest,%zu,%zu\n,,,,,loaded,%zu,%zu\n,,,,,process,%zu,%zu\n", process - counted,
          process - counted, loaded_bytes, loaded_bytes, process, process);
  return fclose(out) == 0 ? 0 : 1;
}

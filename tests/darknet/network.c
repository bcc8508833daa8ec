/* Calls Darknet's library as other programs do, so that its results with and without
 * libmafat-darknet.so can be compared. Started by tests/cli/darknet_bridge.sh and
 * tests/valgrind.sh.
 *
 *   network layers CFG WEIGHTS TO
 *       runs on generated floats, and writes every layer that has an output to the file TO:
 *       layer number, number of floats (both int32), floats
 *   network batch CFG WEIGHTS TO
 *       writes the network's output for a batch as large as the cfg's, in the same format
 *   network resize CFG WEIGHTS W H TO
 *       writes the output after resize_network(), and again after resizing back
 *   network cycles N CFG WEIGHTS CFG WEIGHTS...
 *       N times: loads all networks, runs each, frees all. Prints the resident memory in kB
 *       after a tenth of the cycles and at the end
 *   network threads N CFG WEIGHTS CFG WEIGHTS...
 *       runs each network N times in a thread of its own; prints the sums of the outputs
 *   network images CFG WEIGHTS
 *       prints the size of each layer's image
 *   network seen CFG WEIGHTS CLEAR
 *       prints how many pictures the network was trained on (its field `seen`)
 *   network replaced CFG WEIGHTS OTHER
 *       renames the file OTHER to WEIGHTS while WEIGHTS is in use, then calls resize_network()
 *   network WHAT CFG WEIGHTS
 *       calls a function that a network without weights must refuse: train, save, forget (runs
 *       without weights), twice (a batch of two), warm (a temperature) */
#include <darknet.h>
#include <stdint.h>

#include "status.h"

static float *make_input(const network *net, int pictures)
{
  size_t n = (size_t)net->inputs * (size_t)pictures;
  float *x = malloc(n * sizeof *x);
  uint32_t state = 1;
  for (size_t i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u; /* Numerical Recipes' constants */
    x[i] = (float)(state >> 8) * 0x1p-24f;
  }
  return x;
}

static void run(network *net, int pictures)
{
  float *x = make_input(net, pictures);
  set_batch_network(net, pictures);
  network_predict(net, x);
  free(x);
}

static void write_floats(FILE *to, int32_t layer, const float *x, int32_t n)
{
  fwrite(&layer, sizeof layer, 1, to);
  fwrite(&n, sizeof n, 1, to);
  fwrite(x, sizeof *x, (size_t)n, to);
}

static FILE *create(const char *path)
{
  FILE *to = fopen(path, "wb");
  if (!to) exit(4);
  return to;
}

static int write_layers(char **a)
{
  network *net = load_network(a[0], a[1], 0);
  run(net, 1);
  FILE *to = create(a[2]);
  for (int i = 0; i < net->n; i++)
    if (net->layers[i].output && net->layers[i].type != COST)
      write_floats(to, i, net->layers[i].output, net->layers[i].outputs);
  free_network(net);
  return fclose(to);
}

static int write_batch(char **a)
{
  network *net = load_network(a[0], a[1], 0);
  int batch = net->batch;
  run(net, batch);
  FILE *to = create(a[2]);
  for (int i = 0; i < batch; i++) write_floats(to, i, net->output + i * net->outputs, net->outputs);
  free_network(net);
  return fclose(to);
}

static int write_resized(char **a)
{
  network *net = load_network(a[0], a[1], 0);
  int w = net->w, h = net->h;
  FILE *to = create(a[4]);
  resize_network(net, atoi(a[2]), atoi(a[3]));
  run(net, 1);
  write_floats(to, 0, net->output, net->outputs);
  resize_network(net, w, h);
  run(net, 1);
  write_floats(to, 1, net->output, net->outputs);
  free_network(net);
  return fclose(to);
}

static int cycle(int n, int networks, char **a)
{
  network *nets[8];
  for (int i = 0; i < n; i++) {
    if (i == n / 10) printf("%ld ", status_kb("VmRSS"));
    for (int k = 0; k < networks && k < 8; k++) nets[k] = load_network(a[2 * k], a[2 * k + 1], 0);
    for (int k = 0; k < networks && k < 8; k++) run(nets[k], 1);
    for (int k = 0; k < networks && k < 8; k++) free_network(nets[k]);
  }
  printf("%ld\n", status_kb("VmRSS"));
  return 0;
}

struct job {
  char **files;
  int n;
  double sum;
};

static void *work(void *argument)
{
  struct job *job = argument;
  for (int i = 0; i < job->n; i++) {
    network *net = load_network(job->files[0], job->files[1], 0);
    for (int k = 0; k < 3; k++) run(net, 1);
    for (int k = 0; k < net->outputs; k++) job->sum += (double)net->output[k] / job->n;
    free_network(net);
  }
  return NULL;
}

static int run_threads(int n, int networks, char **a)
{
  pthread_t threads[8];
  struct job jobs[8];
  for (int k = 0; k < networks && k < 8; k++) {
    jobs[k] = (struct job){a + 2 * k, n, 0};
    pthread_create(&threads[k], NULL, work, &jobs[k]);
  }
  for (int k = 0; k < networks && k < 8; k++) {
    pthread_join(threads[k], NULL);
    printf("%.5g\n", jobs[k].sum);
  }
  return 0;
}

static int print_images(char **a)
{
  network *net = load_network(a[0], a[1], 0);
  run(net, 1);
  for (int i = 0; i < net->n; i++) {
    image m = get_network_image_layer(net, i);
    printf("%d %d %d %d %d\n", i, m.w, m.h, m.c, m.data != NULL);
  }
  image last = get_network_image(net);
  printf("last %d %d %d\n", last.w, last.h, last.c);
  free_network(net);
  return 0;
}

static int replace(char **a)
{
  network *net = load_network(a[0], a[1], 0);
  run(net, 1);
  if (rename(a[2], a[1]) != 0) return 4;
  resize_network(net, net->w + 32, net->h);
  run(net, 1);
  free_network(net);
  return 0;
}

static int ask_for(const char *what, char **a)
{
  network *net = what[0] == 'f' ? parse_network_cfg(a[0]) : load_network(a[0], a[1], 0);
  if (strcmp(what, "train") == 0) train_network_datum(net);
  if (strcmp(what, "save") == 0) save_weights(net, "/dev/null");
  if (strcmp(what, "forget") == 0) run(net, 1);
  if (strcmp(what, "twice") == 0) run(net, 2);
  if (strcmp(what, "warm") == 0) {
    set_temp_network(net, 2);
    run(net, 1);
  }
  return 0;
}

int main(int argc, char **argv)
{
  const char *what = argc > 3 ? argv[1] : "";
  if (strcmp(what, "layers") == 0) return write_layers(argv + 2);
  if (strcmp(what, "batch") == 0) return write_batch(argv + 2);
  if (strcmp(what, "resize") == 0) return write_resized(argv + 2);
  if (strcmp(what, "cycles") == 0) return cycle(atoi(argv[2]), (argc - 3) / 2, argv + 3);
  if (strcmp(what, "threads") == 0) return run_threads(atoi(argv[2]), (argc - 3) / 2, argv + 3);
  if (strcmp(what, "images") == 0) return print_images(argv + 2);
  if (strcmp(what, "replaced") == 0 && argc > 4) return replace(argv + 2);
  if (strcmp(what, "seen") == 0) {
    printf("%zu\n", *load_network(argv[2], argv[3], atoi(argv[4]))->seen);
    return 0;
  }
  return *what ? ask_for(what, argv + 2) : 4;
}

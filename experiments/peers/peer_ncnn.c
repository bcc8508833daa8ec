/* ncnn as a peer, through its C API. Reads a PPM, resizes it with ncnn's function and runs the
 * network up to its heads; or reads raw floats. ncnn's options are the defaults, except that
 * everything is float32. The arguments MODEL.cfg and MODEL.weights are the .param and the .bin file
 * that write_ncnn.py writes. Started by run.py. Options besides those of peer.h:
 *     --threads N    default 1
 *     --output NAME  for raw inputs: an output; may be repeated */
#include "peer.h"

#include <ncnn/c_api.h>

enum { MOST_OUTPUTS = 16 };

static int n_threads = 1, n_names;
static const char *names[MOST_OUTPUTS];

/* Removes this program's options from the command line. Returns the number of arguments left. */
static int read_options(int argc, char **argv)
{
  int n = 1;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      n_threads = atoi(argv[++i]);
      if (n_threads < 1) peer_fail("--threads expects a number from 1");
    } else if (strcmp(argv[i], "--output") == 0 && i + 1 < argc && n_names < MOST_OUTPUTS) {
      names[n_names++] = argv[++i];
    } else {
      argv[n++] = argv[i];
    }
  }
  return n;
}

struct picture {
  unsigned char *pixels;
  int w, h;
};

static struct picture read_ppm(const char *path)
{
  struct picture picture = {0};
  FILE *file = fopen(path, "rb");
  if (!file || fscanf(file, "P6 %d %d 255", &picture.w, &picture.h) != 2 || fgetc(file) == EOF ||
      picture.w < 1 || picture.h < 1 || picture.w > 1 << 14 || picture.h > 1 << 14)
    peer_fail("expected a PPM with 8 bits");
  size_t n = (size_t)picture.w * (size_t)picture.h * 3;
  picture.pixels = malloc(n);
  if (!picture.pixels || fread(picture.pixels, 1, n, file) != n)
    peer_fail("the PPM ends too early");
  fclose(file);
  return picture;
}

static int parameter(const char *line, const char *key)
{
  const char *found = strstr(line, key);
  return found ? atoi(found + strlen(key)) : 0;
}

struct size {
  int w, h, c;
};

/* Reads the input's size from the .param file; the API does not report it. */
static struct size read_input_size(const char *param)
{
  char line[512];
  struct size size = {0, 0, 0};
  FILE *file = fopen(param, "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, "Input ", 6) == 0)
      size = (struct size){parameter(line, " 0="), parameter(line, " 1="), parameter(line, " 2=")};
  if (file) fclose(file);
  if (size.w < 1 || size.h < 1 || size.c < 1)
    peer_fail("the .param does not tell the input's size");
  return size;
}

static ncnn_net_t load(const struct peer *p)
{
  ncnn_net_t net = ncnn_net_create();
  ncnn_option_t option = ncnn_net_get_option(net); /* owned by the net */
  ncnn_option_set_num_threads(option, n_threads);
  ncnn_option_set_use_fp16_packed(option, 0);
  ncnn_option_set_use_fp16_storage(option, 0);
  ncnn_option_set_use_fp16_arithmetic(option, 0);
  ncnn_option_set_use_bf16_packed(option, 0);
  ncnn_option_set_use_bf16_storage(option, 0);
  if (ncnn_net_load_param(net, p->cfg) != 0 || ncnn_net_load_model(net, p->weights) != 0)
    peer_fail("ncnn cannot read the model");
  return net;
}

static ncnn_mat_t read_pixels(const struct peer *p, struct size size)
{
  static const float none[3] = {0, 0, 0}, to_one[3] = {1 / 255.f, 1 / 255.f, 1 / 255.f};
  struct picture picture = read_ppm(p->picture);
  ncnn_mat_t input = ncnn_mat_from_pixels_resize(picture.pixels, NCNN_MAT_PIXEL_RGB, picture.w,
                                                 picture.h, 3 * picture.w, size.w, size.h, NULL);
  ncnn_mat_substract_mean_normalize(input, none, to_one);
  free(picture.pixels);
  return input;
}

static ncnn_mat_t read_floats(const struct peer *p, struct size size)
{
  ncnn_mat_t input = ncnn_mat_create_3d(size.w, size.h, size.c, NULL);
  size_t plane = (size_t)size.w * (size_t)size.h;
  FILE *file = fopen(p->picture, "rb");
  for (int c = 0; c < size.c; c++)
    if (!file || fread(ncnn_mat_get_channel_data(input, c), sizeof(float), plane, file) != plane)
      peer_fail("the input's file ends too early");
  fclose(file);
  return input;
}

static int is_raw(const struct peer *p)
{
  size_t n = strlen(p->picture);
  return n > 4 && strcmp(p->picture + n - 4, ".raw") == 0;
}

/* Writes an output without the padding between its channels. */
static void dump(FILE *file, ncnn_mat_t output)
{
  size_t dims = (size_t)ncnn_mat_get_dims(output), plane = (size_t)ncnn_mat_get_w(output);
  if (dims > 1) plane *= (size_t)ncnn_mat_get_h(output);
  if (!file || dims > 3 || ncnn_mat_get_elempack(output) != 1)
    peer_fail("ncnn's output is packed or has more than 3 dimensions, or --dump cannot be opened");
  for (int c = 0; c < (dims > 2 ? ncnn_mat_get_c(output) : 1); c++)
    if (fwrite(ncnn_mat_get_channel_data(output, c), sizeof(float), plane, file) != plane)
      peer_fail("cannot write --dump");
}

/* Dumps the last output of a picture, or all named outputs. */
static void dump_outputs(const struct peer *p, const ncnn_mat_t *outputs, int n)
{
  FILE *file = fopen(p->dump, "wb");
  for (int i = n_names ? 0 : n - 1; i < n; i++) dump(file, outputs[i]);
  if (fclose(file) != 0) peer_fail("cannot write --dump");
}

static int extract(ncnn_extractor_t extractor, ncnn_net_t net, int i, ncnn_mat_t *output)
{
  return n_names
             ? ncnn_extractor_extract(extractor, names[i], output)
             : ncnn_extractor_extract_index(extractor, ncnn_net_get_output_index(net, i), output);
}

/* Runs the network. Outputs are those named, else those that no layer reads, in the layers'
 * order. */
static void run(struct peer *p, ncnn_net_t net, struct size size, int is_last)
{
  int n_outputs = n_names ? n_names : ncnn_net_get_output_count(net);
  double before = peer_now_ms(), between;
  ncnn_mat_t input = is_raw(p) ? read_floats(p, size) : read_pixels(p, size), outputs[MOST_OUTPUTS];
  if (n_outputs < 1 || n_outputs > MOST_OUTPUTS) peer_fail("expected 1 to 16 outputs");
  between = peer_now_ms();
  ncnn_extractor_t extractor = ncnn_extractor_create(net);
  int code = ncnn_extractor_input_index(extractor, ncnn_net_get_input_index(net, 0), input);
  for (int i = 0; i < n_outputs && code == 0; i++) code = extract(extractor, net, i, &outputs[i]);
  if (code != 0) peer_fail("ncnn fails");
  peer_add_run(p, before, between);
  if (p->dump && is_last) dump_outputs(p, outputs, n_outputs);
  for (int i = 0; i < n_outputs; i++) ncnn_mat_destroy(outputs[i]);
  ncnn_extractor_destroy(extractor);
  ncnn_mat_destroy(input);
}

int main(int argc, char **argv)
{
  static struct peer p;
  peer_begin(&p, read_options(argc, argv), argv);
  p.version = ncnn_version();
  if (!p.idle) {
    double before = peer_now_ms();
    struct size size = read_input_size(p.cfg);
    ncnn_net_t net = load(&p);
    p.load_ms = peer_now_ms() - before;
    for (int i = 0; i < p.repeat; i++) run(&p, net, size, i == p.repeat - 1);
  }
  peer_report(&p); /* while the network is in memory */
  return 0;
}

/* Memory of a Darknet that only infers; see the header. Called from Darknet's sources through
 * 0001-inference-only.patch. Gives pages of the network's buffers back with madvise(). */
#include "inference.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gemm.h"
#include "guard.h"
#include "option_list.h"

static int mode;          /* INFERENCE_OFF, _ONLY or _LEAN */
static int recurrent;     /* 1 if the layer being made is recurrent */
static int filled;        /* 1 if the network being made gets all its weights from a file */

void inference_fail(int status, const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fputs("darknet: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(status);
}

/* --- which mode --- */

void inference_only(int wanted)
{
    mode = wanted;
}

int inference_mode(void)
{
    return mode;
}

struct command {
    const char *name;
    const char *verbs; /* each followed by a space; NULL: any */
    int mode;
};

/* Commands that neither train nor need gradients. INFERENCE_ONLY if they read outputs of inner
 * layers. */
static const struct command commands[] = {
    {"detector", "test valid valid2 recall demo ", INFERENCE_LEAN},
    {"detect", NULL, INFERENCE_LEAN},
    {"classifier",
     "predict fout demo gun threat test csv label valid validmulti valid10 validcrop validfull ",
     INFERENCE_LEAN},
    {"classifier", "try ", INFERENCE_ONLY},
    {"classify", NULL, INFERENCE_LEAN},
    {"yolo", "test valid recall demo ", INFERENCE_LEAN},
    {"coco", "test valid recall demo ", INFERENCE_LEAN},
    {"tag", "test ", INFERENCE_LEAN},
    {"regressor", "test demo ", INFERENCE_ONLY},
    {"segmenter", "test demo ", INFERENCE_ONLY},
    {"isegmenter", "test demo ", INFERENCE_ONLY},
    {"speed", NULL, INFERENCE_ONLY},
};

static int has_verb(const char *verbs, const char *verb)
{
    size_t length = strlen(verb);
    for (const char *at = verbs; *at; at = strchr(at, ' ') + 1) {
        if (strncmp(at, verb, length) == 0 && at[length] == ' ') return 1;
    }
    return 0;
}

void inference_command(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        if (argc < 2 || strcmp(argv[1], commands[i].name) != 0) continue;
        if (commands[i].verbs && (argc < 3 || !argv[2] || !has_verb(commands[i].verbs, argv[2])))
          continue;
        mode = commands[i].mode;
    }
    if (!mode) return;
    /* Malloc returns freed blocks to the system at once. Otherwise they stay in the heap below
     * blocks that are in use. */
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

/* --- making layers --- */

void inference_layer(LAYER_TYPE type)
{
    /* Recurrent layers consist of inner layers. They zero and shift the inner layers' gradients
     * even when they only infer, so these buffers must exist. */
    recurrent = type == RNN || type == GRU || type == LSTM || type == CRNN;
}

int inference_trains(void)
{
    return !mode || recurrent;
}

void inference_weights(const char *file)
{
    filled = mode && file && file[0];
}

void inference_options(list *options)
{
    if (mode) guard_section(options);
    /* This layer keeps some random initial weights. They depend on every number drawn before
     * them, so no layer may skip its initialization. */
    if (option_find(options, "dontload") || option_find(options, "numload") ||
        option_find(options, "dontloadscales"))
      filled = 0;
}

int inference_loads(void)
{
    return filled;
}

/* --- running --- */

/* Gives the pages that are completely inside a buffer back to the system. They read as zeros. */
static void give_back(void *buffer, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)buffer + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)buffer + bytes) / page * page;
    if (buffer && end > begin) madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* True if the output of layer i is read after the forward pass, or in ways that reads() does not
 * know. */
static int stays(const network *net, int i)
{
    const layer *l = &net->layers[i];
    if (l->truth || i == net->n - 1 || l->output == net->output) return 1;
    switch (l->type) {
    case YOLO: case REGION: case DETECTION: case ISEG:
    case RNN: case GRU: case LSTM: case CRNN:
        return 1;
    default:
        return 0;
    }
}

static int reads(const network *net, int i, const float *output)
{
    const layer *l = &net->layers[i];
    if (l->type == ROUTE) {
        for (int k = 0; k < l->n; ++k) {
            if (net->layers[l->input_layers[k]].output == output) return 1;
        }
        return 0;
    }
    if (l->type == SHORTCUT && net->layers[l->index].output == output) return 1;
    return i > 0 && net->layers[i - 1].output == output;
}

/* Gives the output of layer j back unless a layer after i reads it. A dropout layer shares its
 * buffer with the layer before it, so all layers with this buffer are checked. */
static void release(const network *net, int j, int i)
{
    const layer *from = &net->layers[j];
    for (int k = 0; k < net->n; ++k) {
        if (net->layers[k].output == from->output && stays(net, k)) return;
        if (k > i && reads(net, k, from->output)) return;
    }
    give_back(from->output, (size_t)from->outputs * from->batch * sizeof(float));
}

void inference_done(const network *net, int i)
{
    const layer *l = &net->layers[i];
    if (mode < INFERENCE_ONLY || net->train) return;
    if (l->workspace_size) give_back(net->workspace, inference_workspace(*l));
    if (mode < INFERENCE_LEAN) return;
    release(net, i, i);
    if (l->type == ROUTE) {
        for (int k = 0; k < l->n; ++k) release(net, l->input_layers[k], i);
    } else if (i > 0) {
        release(net, i - 1, i);
    }
    if (l->type == SHORTCUT) release(net, l->index, i);
}

/* size of a band's columns, so that they stay in cache while all filters are applied */
enum { BAND_BYTES = 1 << 20 };

static int band_rows(layer l)
{
    size_t row = (size_t)l.out_w * l.size * l.size * (l.c / l.groups) * sizeof(float);
    int rows = row ? (int)(BAND_BYTES / row) : 0;
    return rows < 1 ? 1 : rows < l.out_h ? rows : l.out_h;
}

size_t inference_workspace(layer l)
{
    if (!mode || l.type != CONVOLUTIONAL) return l.workspace_size;
    if (l.size == 1) return 0;
    return (size_t)band_rows(l) * l.out_w * l.size * l.size * (l.c / l.groups) * sizeof(float);
}

/* Writes a row of the im2col matrix: for each output pixel in rows [begin, end), the value of
 * `channel` at filter position (ky, kx). */
static void column_row(layer l, const float *channel, int ky, int kx, int begin, int end, float *to)
{
    for (int y = begin; y < end; ++y) {
        int in_y = y * l.stride + ky - l.pad;
        const float *row = in_y >= 0 && in_y < l.h ? channel + (size_t)in_y * l.w : NULL;
        for (int x = 0; x < l.out_w; ++x) {
            int in_x = x * l.stride + kx - l.pad;
            *to++ = row && in_x >= 0 && in_x < l.w ? row[in_x] : 0;
        }
    }
}

int inference_convolves(layer l, const float *input, float *weights, float *output,
                        float *workspace)
{
    int channels = l.c / l.groups;
    int depth = l.size * l.size * channels;
    int pixels = l.out_w * l.out_h;
    int rows = band_rows(l);
    if (!mode || l.size == 1 || rows >= l.out_h) return 0;
    for (int begin = 0; begin < l.out_h; begin += rows) {
        int end = begin + rows < l.out_h ? begin + rows : l.out_h;
        int n = (end - begin) * l.out_w;
        float *to = workspace;
        for (int i = 0; i < depth; ++i, to += n) {
            const float *channel = input + (size_t)(i / (l.size * l.size)) * l.h * l.w;
            column_row(l, channel, i / l.size % l.size, i % l.size, begin, end, to);
        }
        gemm(0, 0, l.n / l.groups, n, depth, 1, weights, depth, workspace, n, 1,
             output + (size_t)begin * l.out_w, pixels);
    }
    return 1;
}

/* --- pictures, labels, freeing --- */

static struct stat dropped; /* state of the picture's file when its pixels were dropped */

void inference_drop_picture(image *im, const char *file)
{
    /* Only a regular file can be read again. */
    if (mode < INFERENCE_LEAN || stat(file, &dropped) != 0 || !S_ISREG(dropped.st_mode)) return;
    free_image(*im);
    im->data = NULL;
}

static int same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

void inference_reload_picture(image *im, char *file)
{
    struct stat now;
    if (im->data) return;
    if (stat(file, &now) == 0 && now.st_dev == dropped.st_dev && now.st_ino == dropped.st_ino &&
        now.st_size == dropped.st_size && same_time(now.st_mtim, dropped.st_mtim)) {
      image again = load_image_color(file, 0, 0);
      if (again.w == im->w && again.h == im->h) {
        *im = again;
        return;
      }
      free_image(again);
    }
    /* The file may be a camera's latest picture, overwritten meanwhile. The detections still
     * belong to the picture that was read, so they are not drawn on the new one. */
    fprintf(stderr, "darknet: %s was changed while the network ran: boxes are drawn on black\n",
            file);
    *im = make_image(im->w, im->h, 3);
}

image inference_character(image **alphabet, int size, int character)
{
    char file[256];
    if (!alphabet[size][character].data && mode) {
        snprintf(file, sizeof file, "/usr/share/darknet/data/labels/%d_%d.png", character, size);
        alphabet[size][character] = load_image_color(file, 0, 0);
    }
    return alphabet[size][character];
}

char *inference_line(char *line)
{
    size_t length = strlen(line);
    if (mode && length > 0 && line[length - 1] == '\r') line[length - 1] = 0;
    char *shorter = mode ? realloc(line, strlen(line) + 1) : NULL;
    return shorter ? shorter : line;
}

/* Frees a layer inside a recurrent layer. Buffers shared with the outer layer are cleared first:
 * free_layer() would free them twice. */
static void free_inner(layer *inner, layer outer)
{
    if (!inner) return;
    if (inner->output == outer.output) inner->output = NULL;
    if (inner->delta == outer.delta) inner->delta = NULL;
    free_layer(*inner);
    free(inner);
}

void inference_free_layer(layer l)
{
  float *buffers[] = {
      l.bias_m,    l.bias_v,    l.scale_m, l.scale_v,        l.loss,          l.temp_cpu,
      l.temp2_cpu, l.temp3_cpu, l.dh_cpu,  l.prev_state_cpu, l.prev_cell_cpu, l.cell_cpu,
      l.f_cpu,     l.i_cpu,     l.g_cpu,   l.o_cpu,          l.c_cpu,         l.dc_cpu,
  };
  layer *inner[] = {
      l.input_layer, l.self_layer, l.output_layer, l.wz, l.uz, l.wr, l.ur, l.wh, l.uh,
      l.uo,          l.wo,         l.uf,           l.wf, l.ui, l.wi, l.ug, l.wg,
  };
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; ++i) free(buffers[i]);
  for (size_t i = 0; i < sizeof inner / sizeof inner[0]; ++i) free_inner(inner[i], l);
  free(l.mask);
  free(l.counts);
  for (int i = 0; l.sums && i < 90; ++i) free(l.sums[i]);
  free(l.sums);
}

static void free_tree(tree *t)
{
    if (!t) return;
    for (int i = 0; t->name && i < t->n; ++i) free(t->name[i]);
    free(t->name);
    free(t->leaf);
    free(t->parent);
    free(t->child);
    free(t->group);
    free(t->group_size);
    free(t->group_offset);
    free(t);
}

void inference_free_network(network *net)
{
    for (int i = 0; i < net->n; ++i) {
        if (net->layers[i].softmax_tree != net->hierarchy) free_tree(net->layers[i].softmax_tree);
    }
    free_tree(net->hierarchy);
    free(net->seen);
    free(net->t);
    free(net->cost);
    free(net->workspace);
    free(net->scales);
    free(net->steps);
}

/* Implements --memory-trace, --dump and the other options that report on a run. Called from
 * Darknet's sources, where 0002-instrument.patch inserts the calls. Writes stderr, stdout and the
 * files of --dump; reads the file of --input and /proc; keeps static variables. */
#include "instrument.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "inference.h"
#include "network.h"

/* --- options --- */

static struct {
    const char *layers, *dump, *input, *trace, *boxes, *memory, *plan, *threads;
} given;

static const struct option {
    const char *name;  /* without dashes */
    const char *value; /* description for messages; NULL: the option has no value */
    const char **to;
} options[] = {
    {"memory-trace", NULL, &given.trace},
    {"layers", "a number", &given.layers},
    {"dump", "a folder", &given.dump},
    {"input", "a file of raw floats", &given.input},
    {"boxes", NULL, &given.boxes},
    {"memory", "a size, as in 64M", &given.memory},
    {"plan", "a plan, as in rows4/12/panels", &given.plan},
    {"threads", "a number, or auto", &given.threads},
};

static const struct option *find_option(const char *argument)
{
    const char *name = argument + (argument[1] == '-' ? 2 : 1);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i) {
        size_t length = strlen(options[i].name);
        if (strncmp(name, options[i].name, length) == 0 &&
            (name[length] == 0 || name[length] == '='))
          return &options[i];
    }
    return NULL;
}

int instrument_options(int argc, char **argv)
{
    int left = 1;
    for (int i = 1; i < argc; ++i) {
        const struct option *option = argv[i][0] == '-' && argv[i][1] ? find_option(argv[i]) : NULL;
        if (!option) {
            argv[left++] = argv[i];
            continue;
        }
        const char *value = strchr(argv[i], '=');
        if (!option->value) {
            if (value) inference_fail(2, "--%s has no value", option->name);
            *option->to = "";
            continue;
        }
        value = value ? value + 1 : i + 1 < argc ? argv[++i] : "";
        if (!*value) inference_fail(2, "--%s expects %s", option->name, option->value);
        *option->to = value;
    }
    for (int i = left; i < argc; ++i) argv[i] = NULL;
    return left;
}

const char *instrument_given(const char *name)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i) {
        if (strcmp(options[i].name, name) == 0) return *options[i].to;
    }
    return NULL;
}

void instrument_check(int argc, char **argv)
{
    if (inference_mode()) {
        for (int i = 1; i < argc; ++i) {
          if (argv[i][0] == '-' && argv[i][1] == '-')
            inference_fail(2, "unknown option %s", argv[i]);
        }
        return;
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i) {
        if (*options[i].to) {
          inference_fail(2, "--%s is for commands that only infer, not for %s %s", options[i].name,
                         argc > 1 ? argv[1] : "none", argc > 2 ? argv[2] : "");
        }
    }
}

/* --- layers --- */

static const network *made; /* the network made last */

void instrument_layers(network *net)
{
    made = net;
    if (!given.layers) return;
    char *end;
    long n = strtol(given.layers, &end, 10);
    if (*end || n < 1) inference_fail(2, "--layers expects a number from 1, not %s", given.layers);
    if (n > net->n) inference_fail(2, "--layers %ld: the network has %d", n, net->n);
    net->n = (int)n;
}

layer instrument_head(network *net, layer last)
{
    for (int i = net->n - 1; !last.classes && i >= 0; --i) {
        const layer *l = &net->layers[i];
        if (l->type == YOLO || l->type == REGION || l->type == DETECTION) last = *l;
    }
    return last;
}

static const char *type_name(LAYER_TYPE type)
{
    switch (type) { /* Darknet has no names for these */
    case UPSAMPLE: return "upsample";
    case ISEG: return "iseg";
    case LOGXENT: return "logistic";
    case L2NORM: return "l2norm";
    default: return get_layer_string(type);
    }
}

/* --- trace --- */

static struct timespec began;
static double total_ms;
static long long most_resident;
static size_t most_workspace;

static double ms_since(struct timespec from)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - from.tv_sec) * 1e3 + (now.tv_nsec - from.tv_nsec) / 1e6;
}

static long long resident_bytes(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %lld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static long long peak_bytes(void)
{
    char line[256];
    long long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %lld", &kb);
    if (file) fclose(file);
    return kb * 1024;
}

static void trace(const network *net, int i)
{
    const layer *l = &net->layers[i];
    double ms = ms_since(began);
    long long resident = resident_bytes();
    size_t workspace = inference_workspace(*l);
    if (i == 0) {
        total_ms = 0;
        most_workspace = 0;
        most_resident = 0;
        fprintf(stderr, "trace layer type                     ms       resident      workspace\n");
    }
    total_ms += ms;
    if (workspace > most_workspace) most_workspace = workspace;
    if (resident > most_resident) most_resident = resident;
    fprintf(stderr, "trace %5d %-16s %10.3f %14lld %14zu\n", i, type_name(l->type), ms, resident,
            workspace);
    if (i < net->n - 1) return;
    /* the kernel's peak includes what is used between layers, but is updated in larger steps */
    long long peak = peak_bytes();
    fprintf(stderr, "trace   all %-16s %10.3f %14lld %14zu\n", "peak", total_ms,
            peak > most_resident ? peak : most_resident, most_workspace);
}

/* --- dump --- */

static void write_floats(const float *values, size_t n, FILE *to)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        fwrite(values, sizeof *values, n, to);
        return;
    }
    for (size_t i = 0; i < n; ++i) {
        unsigned char bytes[4];
        memcpy(bytes, &values[i], 4);
        for (int k = 3; k >= 0; --k) putc(bytes[k], to);
    }
}

static void dump(const network *net, int i)
{
    const layer *l = &net->layers[i];
    char file[PATH_MAX];
    if (i == 0 && mkdir(given.dump, 0777) != 0 && errno != EEXIST)
      inference_fail(2, "cannot make the folder %s: %s", given.dump, strerror(errno));
    snprintf(file, sizeof file, "%s/%03d-%s.f32", given.dump, i, type_name(l->type));
    FILE *to = fopen(file, "wb");
    if (!to) inference_fail(2, "cannot write %s: %s", file, strerror(errno));
    if (l->output) write_floats(l->output, (size_t)l->outputs * l->batch, to);
    int failed = ferror(to);
    if (fclose(to) != 0 || failed) inference_fail(1, "cannot write %s: %s", file, strerror(errno));
}

void instrument_before(const network *net, int i)
{
    (void)net;
    (void)i;
    if (given.trace) clock_gettime(CLOCK_MONOTONIC, &began);
}

void instrument_after(const network *net, int i)
{
    if (given.trace) trace(net, i);
    if (given.dump) dump(net, i);
}

/* --- input --- */

float *instrument_input(const network *net, float *input)
{
    static float *floats;
    static size_t n_floats;
    size_t n = (size_t)net->inputs * net->batch;
    if (!given.input) return input;
    if (n_floats == n) return floats;
    FILE *from = fopen(given.input, "rb");
    if (!from) inference_fail(2, "cannot open %s: %s", given.input, strerror(errno));
    struct stat status;
    if (fstat(fileno(from), &status) == 0 && S_ISREG(status.st_mode) &&
        (size_t)status.st_size != n * 4) {
      inference_fail(2, "%s: has %lld bytes, %d x %d x %d floats are %zu", given.input,
                     (long long)status.st_size, net->w, net->h, net->c, n * 4);
    }
    free(floats);
    floats = malloc(n * sizeof *floats);
    if (!floats) inference_fail(1, "no memory for %s", given.input);
    for (n_floats = 0; n_floats < n; ++n_floats) {
        unsigned char b[4];
        if (fread(b, 1, 4, from) != 4)
          inference_fail(2, "%s: ends after %zu floats, the network has %zu", given.input,
                     n_floats, n);
        unsigned bits = b[0] | b[1] << 8 | b[2] << 16 | (unsigned)b[3] << 24;
        memcpy(&floats[n_floats], &bits, 4);
    }
    fclose(from);
    return floats;
}

char *instrument_picture(char *file)
{
    return file || !given.input ? file : (char *)given.input;
}

int instrument_is_input(const char *file)
{
    return given.input && file && strcmp(file, given.input) == 0;
}

image instrument_canvas(void)
{
    return make_image(made && made->w ? made->w : 1, made && made->h ? made->h : 1, 3);
}

/* --- boxes --- */

static float clip(float value, int size)
{
    return value < 0 ? 0 : value > size - 1 ? size - 1 : value;
}

void instrument_boxes(image im, const detection *detections, int n, float threshold, char **names,
                      int classes)
{
    if (!given.boxes) return;
    for (int i = 0; i < n; ++i) {
        box b = detections[i].bbox;
        for (int j = 0; j < classes; ++j) {
            if (!(detections[i].prob[j] > threshold)) continue;
            printf("box\t%s\t%.6f\t%.2f\t%.2f\t%.2f\t%.2f\n", names[j], detections[i].prob[j],
                   clip((b.x - b.w / 2) * im.w, im.w), clip((b.y - b.h / 2) * im.h, im.h),
                   clip((b.x + b.w / 2) * im.w, im.w), clip((b.y + b.h / 2) * im.h, im.h));
        }
    }
}

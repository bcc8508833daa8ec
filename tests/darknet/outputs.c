/* outputs LIBRARY MODE CFG WEIGHTS INPUT TO: runs a network by a libdarknet.so on raw floats and writes the raw floats of layers to TO. MODE
 * is debian (nothing is asked for), or what inference_only() is given. Layers: those of the heads and the last; with modes that keep the outputs of
 * others all (but those of layers whose output is another's). MODE debian-heads, too, writes those of heads alone. Prints the peak of resident kB.
 * A further argument N runs load, predict, free N times. */
#include <dlfcn.h>

#include "darknet.h"

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "outputs: %s\n", dlerror());
        exit(2);
    }
    return found;
}

static long peak_kb(void)
{
    char line[256];
    long kb = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kb);
    if (status) fclose(status);
    return kb;
}

static void write_outputs(const network *net, int all, const char *file)
{
    FILE *to = fopen(file, "wb");
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        int head = l->type == YOLO || l->type == REGION || l->type == DETECTION || l->output == net->output;
        if (!l->output || !(all || head)) continue;
        fwrite(l->output, sizeof(float), l->outputs, to);
    }
    fclose(to);
}

int main(int argc, char **argv)
{
    if (argc < 7) return 2;
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "outputs: %s\n", dlerror());
        return 2;
    }
    network *(*load)(char *, char *, int) = (network * (*)(char *, char *, int)) symbol(library, "load_network");
    void (*set_batch)(network *, int) = (void (*)(network *, int))symbol(library, "set_batch_network");
    float *(*predict)(network *, float *) = (float *(*)(network *, float *))symbol(library, "network_predict");
    void (*release)(network *) = (void (*)(network *))symbol(library, "free_network");
    int mode = strncmp(argv[2], "debian", 6) == 0 ? 0 : atoi(argv[2]);
    if (strncmp(argv[2], "debian", 6) != 0) ((void (*)(int))symbol(library, "inference_only"))(mode);

    for (int left = argc > 7 ? atoi(argv[7]) : 1; left > 0; --left) {
        network *net = load(argv[3], argv[4], 0);
        set_batch(net, 1);
        float *input = calloc(net->inputs, sizeof(float));
        FILE *from = fopen(argv[5], "rb");
        if (!from || fread(input, sizeof(float), net->inputs, from) != (size_t)net->inputs) return 2;
        fclose(from);
        predict(net, input);
        write_outputs(net, mode < 2 && strcmp(argv[2], "debian-heads") != 0, argv[6]);
        free(input);
        release(net);
    }
    printf("%ld\n", peak_kb());
    return 0;
}

/*   outputs LIBRARY MODE CFG WEIGHTS INPUT TO [N]
 *
 * Loads LIBRARY (a libdarknet.so); then, N times, loads the network, runs it on the raw floats
 * of the file INPUT and frees it. Prints the process's peak resident memory in kB. Started by
 * tests/cli/darknet_patch.sh.
 * MODE is the argument of the library's inference_only(), or `debian` for Debian's library,
 * which has no such function. The file TO.heads gets the raw outputs of the heads and the last
 * layer. The file TO gets the raw outputs of all layers, except in mode 2, which does not keep
 * them.
 * MODE train: instead trains three steps on the input and writes the weights to TO. The initial
 * weights are always the same. */
#include <dlfcn.h>

#include "darknet.h"

#include "status.h"

static void *library;

static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "outputs: %s\n", dlerror());
        exit(2);
    }
    return found;
}
#define CALL(name) ((__typeof__(&(name)))symbol(#name))

static void write_outputs(const network *net, int all, const char *file)
{
    FILE *to = fopen(file, "wb");
    for (int i = 0; to && i < net->n; ++i) {
        const layer *l = &net->layers[i];
        int head = l->type == YOLO || l->type == REGION || l->type == DETECTION ||
                   l->output == net->output;
        if (l->output && (all || head)) fwrite(l->output, sizeof(float), l->outputs, to);
    }
    if (to) fclose(to);
}

static void train(network *net, const float *input, char *to)
{
    for (int i = 0; i < net->inputs; ++i) net->input[i] = input[i];
    for (int i = 0; i < net->truths; ++i) net->truth[i] = i % 3 == 0;
    for (int step = 0; step < 3; ++step) CALL(train_network_datum)(net);
    CALL(save_weights)(net, to);
}

int main(int argc, char **argv)
{
    if (argc < 7 || !(library = dlopen(argv[1], RTLD_NOW))) {
        fprintf(stderr, "outputs: %s\n", argc < 7 ? "too few arguments" : dlerror());
        return 2;
    }
    int trains = strcmp(argv[2], "train") == 0;
    int mode = atoi(argv[2]);
    char heads[4096];
    snprintf(heads, sizeof heads, "%s.heads", argv[6]);
    if (mode) ((void (*)(int))symbol("inference_only"))(mode);

    for (int left = argc > 7 ? atoi(argv[7]) : 1; left > 0; --left) {
        srand(1);
        network *net = CALL(load_network)(argv[3], argv[4], 0);
        CALL(set_batch_network)(net, 1);
        float *input = calloc(net->inputs, sizeof(float));
        FILE *from = fopen(argv[5], "rb");
        if (!input || !from ||
            fread(input, sizeof(float), net->inputs, from) != (size_t)net->inputs)
          return 2;
        fclose(from);
        if (trains) {
            train(net, input, argv[6]);
        } else {
            CALL(network_predict)(net, input);
            write_outputs(net, 0, heads);
            if (mode < 2) write_outputs(net, 1, argv[6]);
        }
        free(input);
        CALL(free_network)(net);
    }
    printf("%ld\n", status_kb("VmHWM"));
    return 0;
}

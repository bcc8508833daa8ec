#include "hooks.h"

#include "inference.h"

static const struct mafat_bridge_darknet darknet = {parse_network_cfg, resize_network, free_network, true};

static char *take(int argc, char **argv, char *name, char *expected)
{
    char *value = find_char_arg(argc, argv, name, 0);
    if (!value && find_arg(argc, argv, name)) inference_fail(2, "%s expects %s", name, expected);
    return value;
}

void mafat_command(int argc, char **argv)
{
    struct mafat_bridge_settings s = {.memory_name = "-memory", .threads_name = "-threads", .outputs_name = "MAFAT_OUTPUTS", .mixes = true};
    s.memory = take(argc, argv, "-memory", "a size, as in -memory 64M");
    s.plan = take(argc, argv, "-plan", "a plan, as in -plan rows4/12/panels");
    s.threads = take(argc, argv, "-threads", "a number, or auto");
    s.outputs = getenv("MAFAT_OUTPUTS");
    s.keeps_arena = argc > 2 && argv[2] && strcmp(argv[2], "demo") == 0;
    if (!s.memory && !s.plan && !s.threads) return;
    if (!s.memory && !s.plan) inference_fail(2, "-threads expects -memory or -plan beside it");
    if (!inference_mode()) inference_fail(2, "%s %s: expected a command that only infers with -memory and -plan", argv[1], argc > 2 && argv[2] ? argv[2] : "");
    mafat_bridge_start(&s);
}

network *mafat_parse(char *cfg)
{
    network *net;
    return mafat_bridge_parse(&darknet, cfg, &net) ? net : NULL;
}

bool mafat_resize(network *net, int w, int h)
{
    return mafat_bridge_resize(&darknet, net, w, h);
}

bool mafat_free(network *net)
{
    return mafat_bridge_free(&darknet, net);
}

bool mafat_has_no_image(const network *net, int i)
{
    return mafat_bridge_owns(net) && !net->layers[i].output;
}

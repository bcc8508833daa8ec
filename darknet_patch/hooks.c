/* Options of Darknet's command line, and the bridge bound to this Darknet; see the header. */
#include "hooks.h"

#include "inference.h"
#include "instrument.h"

static const struct mafat_bridge_darknet darknet = {parse_network_cfg, resize_network, free_network,
                                                    true};

void mafat_command(int argc, char **argv)
{
  struct mafat_bridge_settings s = {.memory_name = "-memory",
                                    .threads_name = "-threads",
                                    .outputs_name = "MAFAT_OUTPUTS",
                                    .mixes = true};
  s.memory = instrument_given("memory");
  s.plan = instrument_given("plan");
  s.threads = instrument_given("threads");
  s.outputs = instrument_given("dump") ? "all" : getenv("MAFAT_OUTPUTS");
  s.keeps_arena = argc > 2 && argv[2] && strcmp(argv[2], "demo") == 0;
  if (s.memory || s.plan) mafat_bridge_start(&s);
  else if (s.threads) inference_fail(2, "-threads expects -memory or -plan beside it");
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

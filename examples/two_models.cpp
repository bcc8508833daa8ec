/* Two networks that share one arena: two_models FIRST.cfg FIRST.weights SECOND.cfg
 * SECOND.weights PICTURE
 *
 * They run one after the other. Results of a run have to be read before the other network runs,
 * because it overwrites them.
 *
 *     c++ two_models.cpp $(pkg-config --cflags --libs mafat) */
#include <cstdio>
#include <mafat.hpp>

static void run_on(mafat::model &model, const char *name, const char *picture)
{
  model.run_picture(picture);
  std::printf("%s: %zu boxes\n", name, model.detect().size());
}

int main(int argc, char **argv)
{
  if (argc != 6) {
    std::fputs("usage: two_models FIRST.cfg FIRST.weights SECOND.cfg SECOND.weights PICTURE\n",
               stderr);
    return 2;
  }
  try {
    mafat::arena arena; // destroyed after its models
    mafat::options options;
    options.arena = arena.get();
    mafat::model first(argv[1], argv[2], options), second(argv[3], argv[4], options);
    run_on(first, argv[1], argv[5]);
    run_on(second, argv[3], argv[5]);
  } catch (const mafat::error &e) {
    std::fprintf(stderr, "two_models: %s\n", e.what());
    return 1;
  }
}

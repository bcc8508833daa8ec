/* Two networks that share the memory of their maps: two_models FIRST.cfg FIRST.weights SECOND.cfg
 * SECOND.weights PICTURE
 *
 * They run one after the other; what a run has made is read before the other one runs, which takes
 * its place.
 *
 *     c++ two_models.cpp $(pkg-config --cflags --libs mafat) */
#include <cstdio>
#include <mafat.hpp>

static void look(mafat::model &model, const char *name, const char *picture)
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
    mafat::arena arena; // closed after its models
    mafat::options options;
    options.arena = arena.get();
    mafat::model first(argv[1], argv[2], options), second(argv[3], argv[4], options);
    look(first, argv[1], argv[5]);
    look(second, argv[3], argv[5]);
  } catch (const mafat::error &e) {
    std::fprintf(stderr, "two_models: %s\n", e.what());
    return 1;
  }
}

/* Counts the boxes of each picture: many_pictures MODEL.cfg MODEL.weights PICTURE...
 *
 * The model is opened once and its memory is mapped once for all pictures. A picture that cannot
 * be read is reported, and the next one follows.
 *
 *     c++ many_pictures.cpp $(pkg-config --cflags --libs mafat) */
#include <cstdio>
#include <mafat.hpp>

static void run_on(mafat::model &model, const char *picture)
{
  model.run_picture(picture);
  std::printf("%s: %zu boxes\n", picture, model.detect().size());
}

static int report(const mafat::error &e)
{
  std::fprintf(stderr, "many_pictures: %s\n", e.what());
  return 1;
}

int main(int argc, char **argv)
{
  int status = 0;
  if (argc < 4) {
    std::fputs("usage: many_pictures MODEL.cfg MODEL.weights PICTURE...\n", stderr);
    return 2;
  }
  try {
    mafat::options options;
    options.picture = argv[3]; // the budget includes decoding a picture like this one
    options.picture_may_fail = true;
    mafat::model model(argv[1], argv[2], options);
    for (int i = 3; i < argc; i++) {
      try {
        run_on(model, argv[i]);
      } catch (const mafat::error &e) {
        status = report(e);
      }
    }
  } catch (const mafat::error &e) {
    return report(e);
  }
  return status;
}

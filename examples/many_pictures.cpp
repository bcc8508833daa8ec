/* How many boxes each of many pictures has: many_pictures MODEL.cfg MODEL.weights PICTURE...
 *
 * Opened once, run as often as there are pictures: what a run needs is mapped already. A picture
 * that cannot be read is reported, and the others go on.
 *
 *     c++ many_pictures.cpp $(pkg-config --cflags --libs mafat) */
#include <cstdio>
#include <mafat.hpp>

static void look_at(mafat::model &model, const char *picture)
{
  model.run_picture(picture);
  std::printf("%s: %zu boxes\n", picture, model.detect().size());
}

static int told(const mafat::error &e)
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
    options.picture = argv[3]; // decoding one like it is part of what is predicted
    options.picture_may_fail = true;
    mafat::model model(argv[1], argv[2], options);
    for (int i = 3; i < argc; i++) {
      try {
        look_at(model, argv[i]);
      } catch (const mafat::error &e) {
        status = told(e);
      }
    }
  } catch (const mafat::error &e) {
    return told(e);
  }
  return status;
}

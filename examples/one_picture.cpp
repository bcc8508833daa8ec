/* Prints the boxes of one picture: one_picture MODEL.cfg MODEL.weights PICTURE
 *
 *     c++ one_picture.cpp $(pkg-config --cflags --libs mafat) */
#include <cstdio>
#include <mafat.hpp>

int main(int argc, char **argv)
{
  if (argc != 4) {
    std::fputs("usage: one_picture MODEL.cfg MODEL.weights PICTURE\n", stderr);
    return 2;
  }
  try {
    mafat::options options;
    options.memory_bytes = 64 << 20; // for the whole process
    mafat::model model(argv[1], argv[2], options);
    model.run_picture(argv[3]);
    for (const mafat_detection &b : model.detect())
      std::printf("class %d: %.2f at %.0f, %.0f, %.0f x %.0f\n", b.class_id, b.confidence, b.x, b.y,
                  b.w, b.h);
  } catch (const mafat::error &e) {
    std::fprintf(stderr, "one_picture: %s\n", e.what());
    return 1;
  }
}

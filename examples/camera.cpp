/* Counts the boxes in each frame of a camera or another video. Frames are read from standard
 * input directly into the model's arena:
 *
 *     ffmpeg -v error -f v4l2 -video_size 640x480 -i /dev/video0 -f rawvideo -pix_fmt yuv420p -
 *     |
 *         camera MODEL.cfg MODEL.weights 640x480
 *
 *     c++ camera.cpp $(pkg-config --cflags --libs mafat) */
#include <cstdio>
#include <mafat.hpp>

int main(int argc, char **argv)
{
  if (argc != 4) {
    std::fputs("usage: camera MODEL.cfg MODEL.weights WIDTHxHEIGHT[:FORMAT]\n", stderr);
    return 2;
  }
  try {
    mafat::options options;
    options.memory_bytes = 64 << 20; // for the whole process
    options.frames = argv[3];        // the plan reserves memory for one frame
    const mafat_frame_facts frames = mafat::frame_facts(argv[3]);
    if (frames.varies)
      throw mafat::error(
          MAFAT_EINVAL,
          (std::string("expected a format whose frames have one size, found ") + argv[3]).c_str());
    const std::size_t bytes = frames.bytes;
    mafat::model model(argv[1], argv[2], options);
    for (int n = 0; std::fread(model.frame_room(), 1, bytes, stdin) == bytes; n++) {
      model.run_frame(model.frame_room(), bytes);
      std::printf("frame %d: %zu boxes\n", n, model.detect().size());
    }
  } catch (const mafat::error &e) {
    std::fprintf(stderr, "camera: %s\n", e.what());
    return 1;
  }
}

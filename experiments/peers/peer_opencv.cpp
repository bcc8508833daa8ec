/* OpenCV's DNN module as a peer: imread, blobFromImage (stretched), and forward to the outputs
 * that no layer reads: heads with their boxes, or the last layer. Started by run.py. */
#include "peer.h"

#include <opencv2/dnn.hpp>
#include <opencv2/imgcodecs.hpp>

static cv::Size input_size(const char *cfg)
{
  int width = 0, height = 0;
  char line[256];
  FILE *file = fopen(cfg, "r");
  while (file && fgets(line, sizeof line, file)) {
    sscanf(line, " width = %d", &width);
    sscanf(line, " height = %d", &height);
  }
  if (file) fclose(file);
  return cv::Size(width, height);
}

static void run_model(struct peer *p)
{
  double start = peer_now_ms();
  cv::Size size = input_size(p->cfg);
  cv::dnn::Net net = cv::dnn::readNetFromDarknet(p->cfg, p->weights);
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
  std::vector<std::string> names = net.getUnconnectedOutLayersNames();
  std::vector<cv::Mat> outputs;
  p->load_ms = peer_now_ms() - start;
  for (int i = 0; i < p->repeat; i++) {
    double before = peer_now_ms();
    cv::Mat picture = cv::imread(p->picture, cv::IMREAD_COLOR);
    if (picture.empty()) peer_fail("cannot read the picture");
    net.setInput(cv::dnn::blobFromImage(picture, 1 / 255., size, cv::Scalar(), true, false));
    double between = peer_now_ms();
    net.forward(outputs, names);
    peer_add_run(p, before, between);
  }
  if (p->dump) peer_dump(p, outputs.back().ptr<float>(), outputs.back().total());
  peer_report(p); /* while the network is in memory */
}

int main(int argc, char **argv)
{
  static struct peer p;
  peer_begin(&p, argc, argv);
  p.version = CV_VERSION;
  cv::setNumThreads(1);
  try {
    if (p.idle) peer_report(&p);
    else run_model(&p);
  } catch (const cv::Exception &e) {
    peer_fail((e.func + ": " + e.err).c_str());
  }
  return 0;
}

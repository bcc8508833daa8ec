/* Debian's Darknet as a peer: a picture is decoded, letterboxed and run. */
#include "peer.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <darknet.h>
#pragma GCC diagnostic pop

static int detects(const network *net)
{
  LAYER_TYPE type = net->layers[net->n - 1].type;
  return type == YOLO || type == REGION || type == DETECTION;
}

static void run(struct peer *p, network *net)
{
  double before = peer_now_ms();
  image loaded = load_image((char *)p->picture, 0, 0, net->c);
  image fitted = letterbox_image(loaded, net->w, net->h);
  double between = peer_now_ms();
  network_predict(net, fitted.data);
  peer_add_run(p, before, between);
  free_image(fitted);
  free_image(loaded);
}

static int count_detections(network *net)
{
  int n = 0, good = 0, classes = net->layers[net->n - 1].classes;
  detection *found = get_network_boxes(net, net->w, net->h, .5f, .5f, NULL, 1, &n);
  do_nms_sort(found, n, classes, .45f);
  for (int i = 0; i < n; i++)
    for (int c = 0; c < classes; c++) good += found[i].prob[c] > .5f;
  free_detections(found, n);
  return good;
}

int main(int argc, char **argv)
{
  static struct peer p;
  peer_begin(&p, argc, argv);
  p.version = DARKNET_VERSION; /* the package's: the library does not tell */
  if (!p.idle) {
    double before = peer_now_ms();
    network *net = load_network((char *)p.cfg, (char *)p.weights, 0);
    set_batch_network(net, 1);
    p.load_ms = peer_now_ms() - before;
    for (int i = 0; i < p.repeat; i++) run(&p, net);
    if (detects(net)) p.n_detections = count_detections(net);
    layer last = net->layers[net->n - 1];
    if (p.dump) peer_dump(&p, last.output, (size_t)last.outputs);
  }
  peer_report(&p); /* while the network is in memory */
  return 0;
}

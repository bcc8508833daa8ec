/* Prints the boxes found on pictures, through Darknet's C interface. It does not use
 * mafat's interface; with LD_PRELOAD=.../libmafat-darknet.so the same program runs the network with
 * mafat and needs a fraction of the memory.
 *
 *   gcc -I/usr/lib/darknet/include detect.c -o detect \
 *     -L/usr/lib/darknet -ldarknet -Wl,-rpath,/usr/lib/darknet -Wl,--allow-shlib-undefined
 *   ./detect yolov3-tiny.cfg yolov3-tiny.weights coco.names 0.5 dog.jpg */
#include <darknet.h>

#define NMS .45f
#define HIER .5f

static void print_boxes(detection *boxes, int n, int classes, char **names)
{
  for (int i = 0; i < n; i++)
    for (int k = 0; k < classes; k++) {
      box b = boxes[i].bbox; /* x, y: centre; in pixels of the picture */
      if (boxes[i].prob[k] > 0)
        printf("%s %.3f %.1f %.1f %.1f %.1f\n", names[k], boxes[i].prob[k], b.x - b.w / 2,
               b.y - b.h / 2, b.w, b.h);
    }
}

int main(int argc, char **argv)
{
  if (argc < 6) {
    fprintf(stderr, "usage: %s MODEL.cfg MODEL.weights NAMES THRESHOLD PICTURE...\n", argv[0]);
    return 2;
  }
  network *net = load_network(argv[1], argv[2], 0);
  char **names = get_labels(argv[3]);
  float threshold = strtof(argv[4], NULL);
  set_batch_network(net, 1);
  for (int i = 5; i < argc; i++) {
    image picture = load_image_color(argv[i], 0, 0);
    network_predict_image(net, picture);
    int n = 0, classes = net->layers[net->n - 1].classes;
    detection *boxes = get_network_boxes(net, picture.w, picture.h, threshold, HIER, NULL, 0, &n);
    do_nms_sort(boxes, n, classes, NMS);
    print_boxes(boxes, n, classes, names);
    free_detections(boxes, n);
    free_image(picture);
  }
  free_network(net);
  return 0;
}

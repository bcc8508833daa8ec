/* Small constants, and the options of custom operators: what must be known to know what an operator does. */
#ifndef MAFAT_FORMATS_TFLITE_VALUES_H
#define MAFAT_FORMATS_TFLITE_VALUES_H

#include "formats/tflite/model.h"

/* The numbers of a constant tensor of at most `most` elements, in their order, *n of them: of type INT32, INT64, INT16, INT8, UINT8 or
 * BOOL; floats: of these or FLOAT32. Quantized ones as they lie there. MAFAT_EUNSUPPORTED: no constant, of another type, too many. */
int mafat_tflite_ints(const struct mafat_tflite *m, struct mafat_model_file *file, int tensor, int most, int64_t *values, int *n,
                      struct mafat_diagnostic *d);
int mafat_tflite_floats(const struct mafat_tflite *m, struct mafat_model_file *file, int tensor, int most, float *values, int *n,
                        struct mafat_diagnostic *d);

/* The file of that number that constants lie in: the model's, which is open, or *own, to be closed. */
int mafat_tflite_open(const struct mafat_tflite *m, struct mafat_model_file *file, int number, struct mafat_model_file **out,
                      struct mafat_model_file **own, struct mafat_diagnostic *d);

/* Options of the custom operator TFLite_Detection_PostProcess. */
struct mafat_tflite_detection {
  int max_detections, max_classes_per_detection, detections_per_class, num_classes;
  bool use_regular_nms;
  float nms_score_threshold, nms_iou_threshold;
  float y_scale, x_scale, h_scale, w_scale;
};

/* Those of operator o, which is one. MAFAT_EFORMAT: damaged, or one of them is missing or makes no sense. */
int mafat_tflite_detection_read(struct mafat_tflite_detection *to, const struct mafat_tflite *m, struct mafat_model_file *file,
                                const struct mafat_tflite_operator *o, struct mafat_diagnostic *d);

#endif

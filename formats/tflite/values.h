/* Reads small constants and the options of custom operators: values that the import needs itself.
 * Included by formats/tflite/import.c, formats/tflite/import_detection.c and
 * formats/tflite/picture.c. Reads the model's file, or opens the file that the user gives for a
 * constant. */
#ifndef MAFAT_FORMATS_TFLITE_VALUES_H
#define MAFAT_FORMATS_TFLITE_VALUES_H

#include "formats/tflite/model.h"

/* Read the values of a constant tensor with at most `most` elements, and set *n to their number.
 * mafat_tflite_ints reads types INT32, INT64, INT16, INT8, UINT8 and BOOL; mafat_tflite_floats
 * reads these and FLOAT32. Quantized values are not dequantized.
 * MAFAT_EUNSUPPORTED: not constant, another type, or too many. */
int mafat_tflite_ints(const struct mafat_tflite *m, struct mafat_model_file *file, int tensor,
                      int most, int64_t *values, int *n, struct mafat_diagnostic *d);
int mafat_tflite_floats(const struct mafat_tflite *m, struct mafat_model_file *file, int tensor,
                        int most, float *values, int *n, struct mafat_diagnostic *d);

/* Returns in *out the file with this number (mafat_tflite_tensor.file). 0 is the model's `file`;
 * another one is opened as *own, which the caller closes. */
int mafat_tflite_open(const struct mafat_tflite *m, struct mafat_model_file *file, int number,
                      struct mafat_model_file **out, struct mafat_model_file **own,
                      struct mafat_diagnostic *d);

/* Options of the custom operator TFLite_Detection_PostProcess. */
struct mafat_tflite_detection {
  int max_detections, max_classes_per_detection, detections_per_class, num_classes;
  bool use_regular_nms;
  float nms_score_threshold, nms_iou_threshold;
  float y_scale, x_scale, h_scale, w_scale;
};

/* Reads the options of operator o, a TFLite_Detection_PostProcess. MAFAT_EFORMAT: damaged, missing
 * or invalid options. */
int mafat_tflite_detection_read(struct mafat_tflite_detection *to, const struct mafat_tflite *m,
                                struct mafat_model_file *file,
                                const struct mafat_tflite_operator *o, struct mafat_diagnostic *d);

#endif

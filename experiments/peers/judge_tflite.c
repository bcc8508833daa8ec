/* Runs TFLite files from standard input, each with an input and the expected outputs (frames of
 * tests/differential/random_graphs.c), by the TFLite library with its own kernels, and compares.
 * A file that the library rejects is reported and does not count as a failure. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/lite/c/c_api.h"

static long long n_graphs, n_floats, n_refused, n_failures;
static double worst; /* of what a value may be off */

static void *take(size_t n)
{
  void *all = malloc(n + 1);
  if (!all || fread(all, 1, n, stdin) != n) {
    fputs("judge_tflite: a frame ends too early\n", stderr);
    exit(2);
  }
  ((char *)all)[n] = '\0';
  return all;
}

static uint32_t take_word(void)
{
  uint32_t word;
  if (fread(&word, sizeof word, 1, stdin) != 1) exit(2);
  return word;
}

/* An output, and how far it is off, over how far it may be. */
static void compare(uint32_t number, const TfLiteInterpreter *interpreter, int index)
{
  uint32_t name_bytes = take_word(), n = take_word();
  char *name = take(name_bytes);
  float *off = take(sizeof *off), *expected = take(n * sizeof *expected);
  const TfLiteTensor *tensor =
      interpreter ? TfLiteInterpreterGetOutputTensor(interpreter, index) : NULL;
  double most = 0;
  if (tensor && (TfLiteTensorType(tensor) != kTfLiteFloat32 ||
                 TfLiteTensorByteSize(tensor) != n * sizeof *expected)) {
    printf("FAIL graph %u: output %s: %zu bytes, expected %zu\n", number, name,
           TfLiteTensorByteSize(tensor), n * sizeof *expected);
    n_failures++;
  } else if (tensor) {
    const float *found = TfLiteTensorData(tensor);
    for (uint32_t i = 0; i < n; i++) {
      double d = fabs((double)found[i] - (double)expected[i]) / (double)*off;
      if (!(d <= most)) most = d;
    }
    n_floats += n;
    if (most > 1 || isnan(most)) {
      printf("FAIL graph %u: output %s is off by %.2f times what it may be\n", number, name, most);
      n_failures++;
    } else if (most > worst) worst = most;
  }
  free(name);
  free(off);
  free(expected);
}

static TfLiteInterpreter *run(TfLiteModel *model, const float *input, uint32_t n)
{
  TfLiteInterpreterOptions *options = TfLiteInterpreterOptionsCreate();
  TfLiteInterpreterOptionsSetNumThreads(options, 1);
  TfLiteInterpreter *interpreter = model ? TfLiteInterpreterCreate(model, options) : NULL;
  TfLiteInterpreterOptionsDelete(options);
  if (!interpreter) return NULL;
  if (TfLiteInterpreterAllocateTensors(interpreter) == kTfLiteOk &&
      TfLiteTensorCopyFromBuffer(TfLiteInterpreterGetInputTensor(interpreter, 0), input,
                                 n * sizeof *input) == kTfLiteOk &&
      TfLiteInterpreterInvoke(interpreter) == kTfLiteOk)
    return interpreter;
  TfLiteInterpreterDelete(interpreter);
  return NULL;
}

int main(void)
{
  char magic[4];
  while (fread(magic, 1, sizeof magic, stdin) == sizeof magic &&
         memcmp(magic, "MGRF", sizeof magic) == 0) {
    uint32_t number = take_word(), bytes = take_word(), n = take_word(), n_outputs = take_word();
    char *file = take(bytes);
    float *input = take(n * sizeof *input);
    TfLiteModel *model = TfLiteModelCreate(file, bytes);
    TfLiteInterpreter *interpreter = run(model, input, n);
    if (!interpreter) {
      printf("refused: graph %u\n", number);
      n_refused++;
    }
    for (uint32_t i = 0; i < n_outputs; i++) compare(number, interpreter, (int)i);
    n_graphs += interpreter != NULL;
    if (interpreter) TfLiteInterpreterDelete(interpreter);
    if (model) TfLiteModelDelete(model);
    free(file);
    free(input);
  }
  printf("%s %lld graphs as TFLite puts them out, %lld values, %.2f of what they may be off at "
         "most; %lld refused, %lld failures\n",
         n_failures ? "FAIL" : "ok", n_graphs, n_floats, worst, n_refused, n_failures);
  return n_failures != 0;
}

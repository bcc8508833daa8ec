/* Runs TFLite files from standard input with the TFLite library's own kernels and compares
 * outputs. Input: frames of tests/differential/random_graphs.c, each a file, its input and the
 * expected outputs. A file that the library rejects is counted but is no failure. Started by
 * tests/differential/run.py. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/lite/c/c_api.h"

static long long n_graphs, n_floats, n_refused, n_failures;
static double worst; /* largest difference relative to its tolerance */

static void *read_bytes(size_t n)
{
  void *all = malloc(n + 1);
  if (!all || fread(all, 1, n, stdin) != n) {
    fputs("judge_tflite: a frame ends too early\n", stderr);
    exit(2);
  }
  ((char *)all)[n] = '\0';
  return all;
}

static uint32_t read_word(void)
{
  uint32_t word;
  if (fread(&word, sizeof word, 1, stdin) != 1) exit(2);
  return word;
}

/* Compares an output. Divides each difference by the output's tolerance. */
static void compare(uint32_t number, const TfLiteInterpreter *interpreter, int index)
{
  uint32_t name_bytes = read_word(), n = read_word();
  char *name = read_bytes(name_bytes);
  float *off = read_bytes(sizeof *off), *expected = read_bytes(n * sizeof *expected);
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
      printf("FAIL graph %u: output %s differs by %.2f times its tolerance\n", number, name, most);
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
    uint32_t number = read_word(), bytes = read_word(), n = read_word(), n_outputs = read_word();
    char *file = read_bytes(bytes);
    float *input = read_bytes(n * sizeof *input);
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
  printf("%s %lld graphs compared with TFLite, %lld values, largest difference %.2f of its "
         "tolerance; %lld refused, %lld failures\n",
         n_failures ? "FAIL" : "ok", n_graphs, n_floats, worst, n_refused, n_failures);
  return n_failures != 0;
}

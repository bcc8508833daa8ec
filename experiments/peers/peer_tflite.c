/* TFLite as a peer, through its C API. Reads raw inputs and runs the model with one thread, by
 * TFLite's kernels or its XNNPACK delegate's. Integer outputs are dumped dequantized. Started by
 * run.py. Option besides those of peer.h:
 *     --xnnpack    use the delegate, also for quantized operators, which it leaves to TFLite by
 *                  default */
#include "peer.h"

#include "tensorflow/lite/c/c_api.h"

/* The first fields of the delegate's options in version 2.9; the others are 0. Declared here
 * because the package lacks the delegate's header. */
struct delegate_options {
  int32_t n_threads;
  uint32_t flags;
  void *rest[6];
};
enum { TAKES_INT8 = 1, TAKES_UINT8 = 2 }; /* values of `flags` */
TfLiteDelegate *TfLiteXNNPackDelegateCreate(const struct delegate_options *options);

static int uses_xnnpack;

/* Removes this program's option from the command line. Returns the number of arguments left. */
static int read_options(int argc, char **argv)
{
  int n = 1;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--xnnpack") == 0) uses_xnnpack = 1;
    else argv[n++] = argv[i];
  }
  return n;
}

static TfLiteInterpreter *load(const struct peer *p)
{
  const struct delegate_options of_delegate = {.n_threads = 1, .flags = TAKES_INT8 | TAKES_UINT8};
  TfLiteModel *model = TfLiteModelCreateFromFile(p->cfg);
  TfLiteInterpreterOptions *options = TfLiteInterpreterOptionsCreate();
  if (!model || !options) peer_fail("TFLite cannot read the model");
  TfLiteInterpreterOptionsSetNumThreads(options, 1);
  if (uses_xnnpack)
    TfLiteInterpreterOptionsAddDelegate(options, TfLiteXNNPackDelegateCreate(&of_delegate));
  TfLiteInterpreter *interpreter = TfLiteInterpreterCreate(model, options);
  if (!interpreter || TfLiteInterpreterAllocateTensors(interpreter) != kTfLiteOk)
    peer_fail("TFLite cannot run the model");
  return interpreter;
}

/* Reads the file directly into the input tensors, one after the other. */
static void read_input(const struct peer *p, TfLiteInterpreter *interpreter)
{
  FILE *file = fopen(p->picture, "rb");
  for (int i = 0; i < TfLiteInterpreterGetInputTensorCount(interpreter); i++) {
    TfLiteTensor *tensor = TfLiteInterpreterGetInputTensor(interpreter, i);
    size_t n = TfLiteTensorByteSize(tensor);
    if (!file || fread(TfLiteTensorData(tensor), 1, n, file) != n)
      peer_fail("the input's file ends too early");
  }
  if (file) fclose(file);
}

static float value_at(const TfLiteTensor *tensor, size_t i)
{
  const TfLiteQuantizationParams q = TfLiteTensorQuantizationParams(tensor);
  const void *data = TfLiteTensorData(tensor);
  switch (TfLiteTensorType(tensor)) {
  case kTfLiteFloat32: return ((const float *)data)[i];
  case kTfLiteInt8: return q.scale * (float)(((const signed char *)data)[i] - q.zero_point);
  case kTfLiteUInt8: return q.scale * (float)(((const unsigned char *)data)[i] - q.zero_point);
  default: peer_fail("expected outputs of floats or of 8 bits");
  }
  return 0;
}

static size_t element_bytes(const TfLiteTensor *tensor)
{
  return TfLiteTensorType(tensor) == kTfLiteFloat32 ? sizeof(float) : 1;
}

static void dump(const struct peer *p, const TfLiteInterpreter *interpreter)
{
  FILE *file = fopen(p->dump, "wb");
  if (!file) peer_fail("cannot write --dump");
  for (int i = 0; i < TfLiteInterpreterGetOutputTensorCount(interpreter); i++) {
    const TfLiteTensor *tensor = TfLiteInterpreterGetOutputTensor(interpreter, i);
    for (size_t k = 0; k < TfLiteTensorByteSize(tensor) / element_bytes(tensor); k++) {
      const float value = value_at(tensor, k);
      if (fwrite(&value, sizeof value, 1, file) != 1) peer_fail("cannot write --dump");
    }
  }
  if (fclose(file) != 0) peer_fail("cannot write --dump");
}

static void run(struct peer *p, TfLiteInterpreter *interpreter)
{
  double before = peer_now_ms(), between;
  read_input(p, interpreter);
  between = peer_now_ms();
  if (TfLiteInterpreterInvoke(interpreter) != kTfLiteOk) peer_fail("TFLite fails");
  peer_add_run(p, before, between);
}

int main(int argc, char **argv)
{
  static struct peer p;
  peer_begin_files(&p, read_options(argc, argv), argv, 2);
  p.version = TfLiteVersion();
  if (!p.idle) {
    double before = peer_now_ms();
    TfLiteInterpreter *interpreter = load(&p);
    p.load_ms = peer_now_ms() - before;
    for (int i = 0; i < p.repeat; i++) run(&p, interpreter);
    if (p.dump) dump(&p, interpreter);
  }
  peer_report(&p); /* while the network is in memory */
  return 0;
}

/* TFLite as a peer, by its C API: raw floats as the model's input has them are read and run, one thread. Its kernels are its
 * own, or those of its XNNPACK delegate. Beside the options of peer.h
 *     --xnnpack    the delegate, where it takes operators; quantised types are left to TFLite, as by default */
#include "peer.h"

#include "tensorflow/lite/c/c_api.h"

/* Of the delegate's header, which the package lacks: the start of its options in version 2.9; the rest stays 0. */
struct delegate_options {
  int32_t n_threads;
  uint32_t flags;
  void *rest[6];
};
TfLiteDelegate *TfLiteXNNPackDelegateCreate(const struct delegate_options *options);

static int uses_xnnpack;

/* Takes this program's own option out of the command line. */
static int take_options(int argc, char **argv)
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
  const struct delegate_options of_delegate = {.n_threads = 1};
  TfLiteModel *model = TfLiteModelCreateFromFile(p->cfg);
  TfLiteInterpreterOptions *options = TfLiteInterpreterOptionsCreate();
  if (!model || !options) peer_fail("TFLite cannot read the model");
  TfLiteInterpreterOptionsSetNumThreads(options, 1);
  if (uses_xnnpack) TfLiteInterpreterOptionsAddDelegate(options, TfLiteXNNPackDelegateCreate(&of_delegate));
  TfLiteInterpreter *interpreter = TfLiteInterpreterCreate(model, options);
  if (!interpreter || TfLiteInterpreterAllocateTensors(interpreter) != kTfLiteOk) peer_fail("TFLite cannot run the model");
  if (TfLiteInterpreterGetInputTensorCount(interpreter) != 1) peer_fail("expected a model with one input");
  return interpreter;
}

/* Straight into the input, as ours. */
static void read_input(const struct peer *p, TfLiteInterpreter *interpreter)
{
  TfLiteTensor *tensor = TfLiteInterpreterGetInputTensor(interpreter, 0);
  size_t n = TfLiteTensorByteSize(tensor);
  FILE *file = fopen(p->picture, "rb");
  if (TfLiteTensorType(tensor) != kTfLiteFloat32) peer_fail("expected an input of floats");
  if (!file || fread(TfLiteTensorData(tensor), 1, n, file) != n) peer_fail("the input's file ends too early");
  fclose(file);
}

static void dump(const struct peer *p, const TfLiteInterpreter *interpreter)
{
  FILE *file = fopen(p->dump, "wb");
  for (int i = 0; i < TfLiteInterpreterGetOutputTensorCount(interpreter); i++) {
    const TfLiteTensor *tensor = TfLiteInterpreterGetOutputTensor(interpreter, i);
    size_t n = TfLiteTensorByteSize(tensor);
    if (TfLiteTensorType(tensor) != kTfLiteFloat32) peer_fail("expected outputs of floats");
    if (!file || fwrite(TfLiteTensorData(tensor), 1, n, file) != n) peer_fail("cannot write --dump");
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
  peer_begin_files(&p, take_options(argc, argv), argv, 2);
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

/* Opens a model, packed or weights file by its path, reads from it a network, the types of the
 * weights or the kind of the weights file, and closes the file. The caller closes the network.
 * Included by unit tests, fuzz targets and test programs that read model files. */
#ifndef MAFAT_TESTS_SUPPORT_NETWORK_FILES_H
#define MAFAT_TESTS_SUPPORT_NETWORK_FILES_H

#include "formats/onnx/import.h"
#include "formats/packed/graph.h"
#include "formats/packed/packed.h"
#include "formats/tflite/import.h"

static inline int test_network_read(struct mafat_network **out, const struct mafat_reader *reader,
                                    const char *path, const struct mafat_given *given,
                                    struct mafat_diagnostic *d)
{
  struct mafat_model_file *file;
  *out = NULL;
  int code = mafat_model_file_open(&file, path, d);
  if (code == MAFAT_OK) code = reader->graph(out, file, given, d);
  mafat_model_file_close(&file);
  return code;
}

static inline int test_onnx_network_read(struct mafat_network **out, const char *path,
                                         const struct mafat_given *given,
                                         struct mafat_diagnostic *d)
{
  return test_network_read(out, &mafat_onnx_reader, path, given, d);
}

static inline int test_tflite_network_read(struct mafat_network **out, const char *path,
                                           const struct mafat_given *given,
                                           struct mafat_diagnostic *d)
{
  return test_network_read(out, &mafat_tflite_reader, path, given, d);
}

static inline int test_packed_network_read(struct mafat_network **out, const char *path,
                                           const struct mafat_darknet_overrides *overrides,
                                           const struct mafat_warning_sink *warnings,
                                           struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  *out = NULL;
  int code = mafat_model_source_open(&source, path, d);
  if (code == MAFAT_OK)
    code = mafat_packed_network(
        out, source, &(struct mafat_reading){.overrides = overrides, .warnings = warnings}, d);
  mafat_model_source_close(&source);
  return code;
}

/* *embedded_graph: the graph stored in the packed file. reader NULL: the format is detected from
 * the file's first bytes. */
static inline int test_packed_graph_read(struct mafat_network **out,
                                         struct mafat_embedded_graph **embedded_graph,
                                         const struct mafat_reader *reader, const char *path,
                                         const struct mafat_given *given,
                                         struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  *out = NULL;
  *embedded_graph = NULL;
  int code = mafat_model_source_open(&source, path, d);
  if (code == MAFAT_OK && reader) source->reader = reader;
  if (code == MAFAT_OK) code = mafat_packed_graph_read(out, embedded_graph, source, given, d);
  mafat_model_source_close(&source);
  return code;
}

static inline int test_packed_types(struct mafat_network *n, const char *path,
                                    struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  int code = mafat_model_source_open(&source, path, d);
  if (code == MAFAT_OK) code = mafat_packed_types(n, source, d);
  mafat_model_source_close(&source);
  return code;
}

static inline int test_weights_kind(const char *path, struct mafat_weights_kind *kind,
                                    struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  int code = mafat_model_source_open_regular(&source, path, d);
  if (code == MAFAT_OK) *kind = mafat_reader_weights_kind(source);
  mafat_model_source_close(&source);
  return code;
}

#endif

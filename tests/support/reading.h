/* Limits of memory and CPU time for reading a file. Each limit is a constant plus a term
 * proportional to the file's size. Included by tests/unit/formats/test_bounds.c, whose files are
 * made to be expensive, and by tests/fuzz/bounded.h, which checks the memory for every input.
 * Touches nothing. */
#ifndef MAFAT_TESTS_SUPPORT_READING_H
#define MAFAT_TESTS_SUPPORT_READING_H

#include <stddef.h>

enum test_reader {
  TEST_READER_CFG,
  TEST_READER_ONNX,
  TEST_READER_TFLITE,
  TEST_READER_PACKED,       /* packed from a cfg */
  TEST_READER_PACKED_GRAPH, /* packed from ONNX or TFLite */
  TEST_READER_LABELS,
  TEST_READER_PLAN,
  TEST_READER_ARRAY,
  TEST_READER_CALIBRATION,
  TEST_READER_VIDEO,        /* a stream of frames; the caller allocates their buffer */
  TEST_READER_JSON          /* text that annotate reads */
};

struct test_reading {
  size_t bytes, bytes_a_byte;
  double seconds, seconds_a_megabyte;
};

/* The constants of ONNX and TFLite are large because, whatever its file's size, a graph may compute
 * 4 Mi values (32 MiB of doubles) and divide maps into 2 Mi parts (40 MiB). TFLite has 16 MiB more,
 * because all names of a TFLite file may be stored as the same bytes. A packed graph may come from
 * either format. */
static const struct test_reading test_readings[] = {
    [TEST_READER_CFG] = {256 << 10, 40, .1, 1},
    [TEST_READER_ONNX] = {80 << 20, 120, 1, 1},
    [TEST_READER_TFLITE] = {96 << 20, 120, 1, 1},
    [TEST_READER_PACKED] = {256 << 10, 40, .1, 1},
    [TEST_READER_PACKED_GRAPH] = {96 << 20, 120, 1, 1},
    [TEST_READER_LABELS] = {64 << 10, 6, .1, 1},
    [TEST_READER_PLAN] = {64 << 10, 40, .1, 1},
    [TEST_READER_ARRAY] = {20 << 10, 0, .1, 0},
    [TEST_READER_CALIBRATION] = {0, 0, .1, 0},
    [TEST_READER_VIDEO] = {0, 0, .1, 4},
    [TEST_READER_JSON] = {64 << 10, 320, .1, 2},
};

static inline size_t test_reading_bytes(enum test_reader reader, size_t n)
{
  return test_readings[reader].bytes + test_readings[reader].bytes_a_byte * n;
}

static inline double test_reading_seconds(enum test_reader reader, size_t n)
{
  return test_readings[reader].seconds +
         test_readings[reader].seconds_a_megabyte * 1e-6 * (double)n;
}

#endif

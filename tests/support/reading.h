/* Bounds for reading a file: memory at one time and processor seconds, each a constant plus a
 * share for each byte of the file. Tests check readers with files made to be expensive
 * (tests/unit/formats/test_bounds.c), fuzz targets with every input. */
#ifndef MAFAT_TESTS_SUPPORT_READING_H
#define MAFAT_TESTS_SUPPORT_READING_H

#include <stddef.h>

enum test_reader {
  TEST_READER_CFG,
  TEST_READER_ONNX,
  TEST_READER_TFLITE,
  TEST_READER_PACKED,       /* of a cfg's network */
  TEST_READER_PACKED_GRAPH, /* of an ONNX or TFLite file's */
  TEST_READER_LABELS,
  TEST_READER_PLAN,
  TEST_READER_ARRAY,
  TEST_READER_CALIBRATION,
  TEST_READER_VIDEO,        /* frames as they come, whose room is the run's */
  TEST_READER_JSON          /* annotate's */
};

struct test_reading {
  size_t bytes, bytes_a_byte;
  double seconds, seconds_a_megabyte;
};

/* A graph may work out 4 Mi numbers, 32 MiB of doubles, and cut maps into 2 Mi parts, 40 MiB,
 * whatever its size; names in a TFLite file, which may be one name for all, are 16 MiB. A packed
 * file of such a graph may be of either. */
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

/* Covers network/dtype.c: the table of element types, and that all tensors that a layer reads have
 * the same type. */
#include <check.h>
#include <string.h>

#include "network/network.h"
#include "tests/support/support.h"

Suite *dtypes_suite(void);

/* ---- the table ---- */

START_TEST(every_type_has_its_own_name)
{
  for (int t = 0; t < MAFAT_N_DTYPES; t++) {
    const char *name = mafat_dtype_name((enum mafat_dtype)t);
    ck_assert_msg(name && *name, "type %d has no name", t);
    for (int other = 0; other < t; other++)
      ck_assert_str_ne(name, mafat_dtype_name((enum mafat_dtype)other));
  }
}
END_TEST

/* Each type of packed weights is found by its name, and going from it to the next wider type again
 * and again ends at floats. */
START_TEST(packings_have_names_and_wider_types)
{
  enum mafat_dtype type;
  for (int t = 0; t < MAFAT_N_DTYPES; t++) {
    if (!mafat_dtypes[t].packing) continue;
    ck_assert(mafat_dtype_find_packing(&type, mafat_dtypes[t].packing) && (int)type == t);
    int steps = 0;
    for (; type != MAFAT_F32; type = mafat_dtypes[type].wider, steps++)
      ck_assert_msg(steps < MAFAT_N_DTYPES &&
                        mafat_dtypes[mafat_dtypes[type].wider].bits > mafat_dtypes[type].bits,
                    "wider types of type %d do not lead to floats", t);
  }
  ck_assert(!mafat_dtype_find_packing(&type, "float64") && !mafat_dtype_find_packing(&type, ""));
}
END_TEST

/* A cache line of 64 bytes holds an integer number of elements of each type. */
START_TEST(elements_fill_cache_lines)
{
  for (int t = 0; t < MAFAT_N_DTYPES; t++) {
    unsigned bits = mafat_dtypes[t].bits;
    ck_assert_msg(bits > 0 && 64 * 8 % bits == 0, "%s has %u bits",
                  mafat_dtype_name((enum mafat_dtype)t), bits);
  }
}
END_TEST

START_TEST(sizes_are_as_named)
{
  ck_assert_str_eq(mafat_dtype_name(MAFAT_F32), "float32");
  ck_assert_uint_eq(mafat_dtype_bytes(MAFAT_F32, 1), sizeof(float));
  ck_assert_uint_eq(mafat_dtype_bytes(MAFAT_F16, 3), 6);
  ck_assert_uint_eq(mafat_dtype_bytes(MAFAT_I8, 3), 3);
  ck_assert_uint_eq(mafat_dtype_bytes(MAFAT_I32, 3), 12);
}
END_TEST

/* A byte holds two elements of 4 bits. If the number of bytes overflows, it is UINT64_MAX. */
START_TEST(elements_of_4_bits_are_packed)
{
  for (uint64_t n = 0; n < 9; n++) ck_assert_uint_eq(mafat_dtype_bytes(MAFAT_I4, n), (n + 1) / 2);
  ck_assert_uint_eq(mafat_dtype_bytes(MAFAT_I4, UINT64_MAX), (uint64_t)1 << 63);
  ck_assert_uint_eq(mafat_dtype_bytes(MAFAT_F32, UINT64_MAX), UINT64_MAX);
  ck_assert_double_eq(mafat_dtype_size(MAFAT_I4), 0.5);
}
END_TEST

/* ---- networks ---- */

/* Checks that all tensors that the layer reads have its input type. */
static void check_sources(const struct mafat_network *n, int layer, const char *cfg)
{
  const struct mafat_sources *sources = mafat_layer_sources(&n->layers[layer]);
  for (int i = 0; i < mafat_sources_count(sources); i++)
    if (mafat_network_tensor_type(n, sources->list[i].tensor) != mafat_network_in_type(n, layer))
      test_fail_case(cfg, "-", "layer %d reads tensors of several types", layer);
}

START_TEST(a_layer_reads_one_type)
{
  for (int seed = 0; seed < 100; seed++) {
    struct test_rng rng = test_rng((uint64_t)seed);
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM];
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    for (int l = 0; l < n->n_layers; l++) check_sources(n, l, cfg);
    mafat_network_close(&n);
  }
}
END_TEST

Suite *dtypes_suite(void)
{
  Suite *suite = suite_create("dtypes");
  TCase *table = tcase_create("table"), *networks = tcase_create("networks");
  tcase_add_test(table, every_type_has_its_own_name);
  tcase_add_test(table, packings_have_names_and_wider_types);
  tcase_add_test(table, elements_fill_cache_lines);
  tcase_add_test(table, sizes_are_as_named);
  tcase_add_test(table, elements_of_4_bits_are_packed);
  suite_add_tcase(suite, table);
  tcase_add_test(networks, a_layer_reads_one_type);
  suite_add_tcase(suite, networks);
  return suite;
}

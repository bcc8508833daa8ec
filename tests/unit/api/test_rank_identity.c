/* Covers api/rank_identity.c: comparing the facts that must be the same on all ranks (version,
 * class of processor, files and plan). */
#include "predictor/plan/plan.h"
#include "api/rank_identity.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *rank_identity_suite(void);

static struct mafat_rank_identity like(const char *host)
{
  struct mafat_rank_identity id = {.version = "2.0", .class = "fused", .model = 1, .weights = 2};
  snprintf(id.host, sizeof id.host, "%s", host);
  return id;
}

START_TEST(the_first_that_differs_is_named)
{
  struct mafat_rank_identity list[3] = {like("a"), like("b"), like("c")};
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_rank_identity_compare(list, 3, &d), MAFAT_OK);
  switch (_i) {
  case 0: strcpy(list[2].version, "2.1"); break;
  case 1: strcpy(list[2].class, "plain"); break;
  case 2: list[2].model = 0x1f; break;
  default: list[2].weights = 0x1f; break;
  }
  static const char *const lines[] = {
      "rank 2 (c): its version is not that of rank 0 (a): 2.1 instead of 2.0",
      "rank 2 (c): its processor's class is not that of rank 0 (a): plain instead of fused",
      "rank 2 (c): its model file is not that of rank 0 (a): checksum 000000000000001f instead of "
      "0000000000000001",
      "rank 2 (c): its weights file is not that of rank 0 (a): checksum 000000000000001f instead "
      "of 0000000000000002"};
  ck_assert_int_eq(mafat_rank_identity_compare(list, 3, &d), MAFAT_EINVAL);
  ck_assert_str_eq(d.text, lines[_i]);
}
END_TEST

static uint64_t checksum_at(const char *path)
{
  struct mafat_model_source *source;
  mafat_model_source_open_regular(&source, path, NULL);
  uint64_t sum = mafat_rank_identity_checksum(source);
  mafat_model_source_close(&source);
  return sum;
}

/* Unknown facts (a file that cannot be read, an unknown kernel level) count as equal; the caller
 * that opens the file or chooses the level reports the error. */
START_TEST(what_is_not_known_does_not_differ)
{
  struct mafat_rank_identity list[2] = {like("a"), like("b")};
  struct mafat_diagnostic d = {""};
  list[1].model = list[1].weights = 0;
  list[1].class[0] = '\0';
  ck_assert_int_eq(mafat_rank_identity_compare(list, 2, &d), MAFAT_OK);
  ck_assert_uint_eq(checksum_at("/nonexistent"), 0);
  ck_assert_uint_eq(checksum_at("/dev/null"), 0);
}
END_TEST

static uint64_t checksum_of(const char *path, size_t bytes, size_t changed)
{
  FILE *f = fopen(path, "wb");
  for (size_t i = 0; i < bytes; i++) fputc(i == changed ? 1 : 0, f);
  ck_assert_int_eq(fclose(f), 0);
  return checksum_at(path);
}

/* The checksum covers all of a small file; of a large one its length, both ends, and some parts in
 * between. */
START_TEST(checksums_of_files)
{
  char path[] = "/tmp/mafat-identity-XXXXXX";
  close(mkstemp(path));
  uint64_t small = checksum_of(path, 10000, SIZE_MAX), large = checksum_of(path, 1 << 20, SIZE_MAX);
  ck_assert_uint_ne(small, 0);
  ck_assert_uint_eq(checksum_of(path, 10000, SIZE_MAX), small);
  ck_assert_uint_ne(checksum_of(path, 10001, SIZE_MAX), small);
  for (size_t at = 0; at < 10000; at += 999) ck_assert_uint_ne(checksum_of(path, 10000, at), small);
  ck_assert_uint_ne(checksum_of(path, 1 << 20, 0), large);
  ck_assert_uint_ne(checksum_of(path, 1 << 20, (1 << 20) - 1), large);
  unlink(path);
}
END_TEST

/* The checksum covers the plan's text, and the algorithms that a budget or the number of threads
 * decided. */
START_TEST(checksum_of_a_plan)
{
  struct mafat_network *n = test_network(
      "[net]\nwidth=8\nheight=8\nchannels=4\n[convolutional]\nfilters=8\nsize=3\npad=1\n");
  struct mafat_plan *plan = test_plan(n, "1x1/NoCut");
  uint64_t sum = mafat_rank_identity_plan("1x1/NoCut", plan);
  ck_assert_uint_eq(mafat_rank_identity_plan("1x1/NoCut", plan), sum);
  ck_assert_uint_ne(mafat_rank_identity_plan("1x1/NoCat", plan), sum);
  plan->algorithms[0] = plan->algorithms[0] == MAFAT_DIRECT ? MAFAT_WINOGRAD : MAFAT_DIRECT;
  ck_assert_uint_ne(mafat_rank_identity_plan("1x1/NoCut", plan), sum);
  mafat_plan_close(&plan);
  mafat_network_close(&n);
}
END_TEST

Suite *rank_identity_suite(void)
{
  Suite *s = suite_create("rank identity");
  TCase *c = tcase_create("rank identity");
  tcase_add_loop_test(c, the_first_that_differs_is_named, 0, 4);
  tcase_add_test(c, what_is_not_known_does_not_differ);
  tcase_add_test(c, checksums_of_files);
  tcase_add_test(c, checksum_of_a_plan);
  suite_add_tcase(s, c);
  return s;
}

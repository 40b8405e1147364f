#include "apps/common/glibc_random.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pinstudy {
namespace {

void expect_first(std::uint32_t seed, const std::vector<std::uint32_t>& expected) {
    GlibcRandom random(seed);
    for (const std::uint32_t value : expected) {
        EXPECT_EQ(random.next(), value) << "seed " << seed;
    }
}

// 1804289383, 846930886, 1681692777 are the numbers every program that never seeds rand() meets on
// a GNU system.
TEST(GlibcRandom, BeginsWithTheKnownNumbersOfSeed1) {
    expect_first(1, {1804289383, 846930886, 1681692777});
}

TEST(GlibcRandom, TakesSeed0For1) {
    expect_first(0, {1804289383, 846930886, 1681692777});
}

TEST(GlibcRandom, BeginsWithTheKnownNumbersOfSeed31416) {
    expect_first(31416, {1794486976, 353868831, 2069989076});
}

#ifdef __GLIBC__
TEST(GlibcRandom, GoesOnLikeTheCLibrary) {
    for (const std::uint32_t seed : {0u, 1u, 2u, 31416u, 2147483647u, 2147483648u, 4294967295u}) {
        GlibcRandom random(seed);
        srandom(seed);
        for (int i = 0; i < 5000; ++i) {
            ASSERT_EQ(random.next(), static_cast<std::uint32_t>(::random()))
                << "seed " << seed << ", number " << i;
        }
        srand(seed);
        GlibcRandom again(seed);
        ASSERT_EQ(again.next(), static_cast<std::uint32_t>(std::rand())) << "seed " << seed;
    }
}
#endif

}  // namespace
}  // namespace pinstudy

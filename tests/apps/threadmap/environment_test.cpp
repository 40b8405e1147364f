// Variables that place threads are shown, and nothing in them can act on a terminal.
#include "apps/threadmap/environment.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pinstudy::threadmap {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

TEST(PlacingVariables, AreThoseOfRuntimesAndLaunchersSorted) {
    const std::array<const char*, 9> environment = {
        "SLURM_CPUS_PER_TASK=4", "PATH=/bin", "OMP_PLACES=cores", "KMP_AFFINITY=", "NO_EQUALS",
        "GOMP_SPINCOUNT=1=2",    "XOMP_=1",   "LIKWID_PIN=1,0",   nullptr};
    EXPECT_EQ(placing_variables(environment.data()), (Variables{{"GOMP_SPINCOUNT", "1=2"},
                                                                {"KMP_AFFINITY", ""},
                                                                {"LIKWID_PIN", "1,0"},
                                                                {"OMP_PLACES", "cores"},
                                                                {"SLURM_CPUS_PER_TASK", "4"}}));
    EXPECT_TRUE(placing_variables(nullptr).empty());
}

TEST(PlacingVariables, AreShownWithHarmlessCharactersOnly) {
    const std::array<const char*, 3> environment = {"OMP_\x1b[31m=\x07\n\xc3\xa4~", "OMP_A=b",
                                                    nullptr};
    EXPECT_EQ(placing_variables(environment.data()),
              (Variables{{"OMP_?[31m", "????~"}, {"OMP_A", "b"}}));
}

TEST(Harmless, CutsWhatIsVeryLong) {
    EXPECT_EQ(harmless(std::string(5000, 'x')).size(), 303u);
}

}  // namespace
}  // namespace pinstudy::threadmap

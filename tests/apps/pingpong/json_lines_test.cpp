// The lines that a program reads.
#include "apps/pingpong/json_lines.hpp"

#include <gtest/gtest.h>

namespace pinstudy::pingpong {
namespace {

TEST(JsonLines, TheFirstOneSaysByWhatIsMeasured) {
    Settings settings;
    settings.method = "store";
    settings.sampling.precision = 0.005;
    EXPECT_EQ(header_line(settings, 28, 25.5),
              R"({"pingpong":1,"method":"store","pause":false,"sample_ns":50000.0,)"
              R"("samples_least":30,"samples_most":300,"precision":0.005,"addresses":2,)"
              R"("seed":1,"pairs":28,"clock_ns":25.5})");
}

TEST(JsonLines, APairNamesForEachRunWhoBegan) {
    PlayedRun played;
    played.run.round_trips = 400;
    played.run.one_way_ns = {61.25, 1234567.0004};
    played.switches = 3;
    const PairResult result{{4, 9}, {{false, 1, 0}, {true, 0, 0}}, {played, played}, "", false};
    EXPECT_EQ(pair_line(result),
              R"({"cpus":[4,9],"runs":[{"from":9,"to":4,"address":1,"round_trips":400,)"
              R"("one_way_ns":[61.25,1234567.0],"switched":3},{"from":4,"to":9,"address":0,)"
              R"("round_trips":400,"one_way_ns":[61.25,1234567.0],"switched":3}]})");
}

TEST(JsonLines, APairThatWasLeftOutHasTheReason) {
    const PairResult result{{0, 1}, {}, {}, "no \"CPU\" 1\n\\", false};
    EXPECT_EQ(pair_line(result), R"({"cpus":[0,1],"left_out":"no \"CPU\" 1\n\\"})");
}

TEST(JsonLines, TheLastOneCounts) {
    EXPECT_EQ(end_line(27, 1, 12.3456),
              R"({"end":true,"measured":27,"left_out":1,"elapsed_s":12.346})");
}

}  // namespace
}  // namespace pinstudy::pingpong

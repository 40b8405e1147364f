#include "apps/pingpong/json_lines.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace pinstudy::pingpong {
namespace {

using Json = nlohmann::ordered_json;

double in_thousandths(double value) {
    return std::round(1e3 * value) / 1e3;
}

Json run_object(const CpuPair& cpus, const RunPlan& plan, const PlayedRun& played) {
    Json one_way_ns = Json::array();
    for (const double sample : played.run.one_way_ns) {
        one_way_ns.push_back(in_thousandths(sample));
    }
    return {{"from", plan.first_begins ? cpus.first : cpus.second},
            {"to", plan.first_begins ? cpus.second : cpus.first},
            {"address", plan.address},
            {"round_trips", played.run.round_trips},
            {"one_way_ns", one_way_ns},
            {"switched", played.switches}};
}

}  // namespace

std::string header_line(const Settings& settings, std::size_t pairs, double clock_ns) {
    const Sampling& sampling = settings.sampling;
    return Json{{"pingpong", 1},
                {"method", settings.method},
                {"pause", settings.pause},
                {"sample_ns", sampling.sample_ns},
                {"samples_least", sampling.least},
                {"samples_most", sampling.most},
                {"precision", sampling.precision},
                {"addresses", settings.addresses},
                {"seed", settings.seed},
                {"pairs", pairs},
                {"clock_ns", clock_ns}}
        .dump();
}

std::string pair_line(const PairResult& result) {
    Json pair{{"cpus", {result.cpus.first, result.cpus.second}}};
    if (!result.left_out.empty()) {
        pair["left_out"] = result.left_out;
        return pair.dump();
    }
    Json& runs = pair["runs"] = Json::array();
    for (std::size_t i = 0; i < result.runs.size(); ++i) {
        runs.push_back(run_object(result.cpus, result.plan[i], result.runs[i]));
    }
    return pair.dump();
}

std::string end_line(std::size_t measured, std::size_t left_out, double elapsed_s) {
    return Json{{"end", true},
                {"measured", measured},
                {"left_out", left_out},
                {"elapsed_s", in_thousandths(elapsed_s)}}
        .dump();
}

}  // namespace pinstudy::pingpong

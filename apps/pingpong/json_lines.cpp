#include "apps/pingpong/json_lines.hpp"

#include <array>
#include <cstdio>
#include <iomanip>
#include <sstream>

namespace pinstudy::pingpong {
namespace {

// Numbers with so many decimals; never an exponent, a comma or a word.
std::ostringstream with_decimals(int decimals) {
    std::ostringstream line;
    line << std::fixed << std::setprecision(decimals);
    return line;
}

const char* separator(std::size_t i) {
    return i == 0 ? "" : ",";
}

void add_run(std::ostringstream& line, const CpuPair& cpus, const RunPlan& plan,
             const PlayedRun& played) {
    line << "{\"from\":" << (plan.first_begins ? cpus.first : cpus.second)
         << ",\"to\":" << (plan.first_begins ? cpus.second : cpus.first)
         << ",\"address\":" << plan.address << ",\"round_trips\":" << played.run.round_trips
         << ",\"one_way_ns\":[";
    for (std::size_t i = 0; i < played.run.one_way_ns.size(); ++i) {
        line << separator(i) << played.run.one_way_ns[i];
    }
    line << "],\"switched\":" << played.switches << "}";
}

}  // namespace

std::string header_line(const Settings& settings, std::size_t pairs, double clock_ns) {
    const Sampling& sampling = settings.sampling;
    std::ostringstream line = with_decimals(6);
    line << "{\"pingpong\":1,\"method\":\"" << settings.method
         << "\",\"pause\":" << (settings.pause ? "true" : "false")
         << ",\"sample_ns\":" << sampling.sample_ns << ",\"samples_least\":" << sampling.least
         << ",\"samples_most\":" << sampling.most << ",\"precision\":" << sampling.precision
         << ",\"addresses\":" << settings.addresses << ",\"seed\":" << settings.seed
         << ",\"pairs\":" << pairs << ",\"clock_ns\":" << clock_ns << "}";
    return line.str();
}

std::string pair_line(const PairResult& result) {
    std::ostringstream line = with_decimals(3);
    line << "{\"cpus\":[" << result.cpus.first << "," << result.cpus.second << "]";
    if (!result.left_out.empty()) {
        line << ",\"left_out\":\"" << escaped(result.left_out) << "\"}";
        return line.str();
    }
    line << ",\"runs\":[";
    for (std::size_t i = 0; i < result.runs.size(); ++i) {
        line << separator(i);
        add_run(line, result.cpus, result.plan[i], result.runs[i]);
    }
    line << "]}";
    return line.str();
}

std::string end_line(std::size_t measured, std::size_t left_out, double elapsed_s) {
    std::ostringstream line = with_decimals(3);
    line << "{\"end\":true,\"measured\":" << measured << ",\"left_out\":" << left_out
         << ",\"elapsed_s\":" << elapsed_s << "}";
    return line.str();
}

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
            result += code.data();
        } else {
            result += c;
        }
    }
    return result;
}

}  // namespace pinstudy::pingpong

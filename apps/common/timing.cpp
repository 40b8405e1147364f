#include "apps/common/timing.hpp"

#include "apps/common/columns.hpp"

namespace pinstudy {

Spread spread_of(const Samples& samples) {
    Spread spread{median(samples), mean(samples), {}};
    if (samples.size() > 1) {
        spread.sd = standard_deviation(samples);
    }
    return spread;
}

std::string sd_text(const Spread& spread, int digits) {
    return spread.sd ? fixed(*spread.sd, digits) : "-";
}

std::optional<Timed> time_rounds(std::int64_t rounds, const std::function<Sample()>& round) {
    Samples ms;
    std::map<std::string, Samples> quantities;
    while (static_cast<std::int64_t>(ms.size()) < rounds) {
        const Sample sample = round();
        if (!sample.failure.empty()) {
            break;
        }
        ms.push_back(1e3 * sample.seconds);
        for (const auto& [quantity, value] : sample.quantities) {
            quantities[quantity].push_back(value);
        }
    }
    if (ms.empty()) {
        return std::nullopt;
    }
    Timed timed{static_cast<std::int64_t>(ms.size()), spread_of(ms), {}};
    for (const auto& [quantity, samples] : quantities) {
        timed.quantities[quantity] = spread_of(samples);
    }
    return timed;
}

}  // namespace pinstudy

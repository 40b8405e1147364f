#include "apps/common/columns.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace pinstudy {

std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - row[i].size(), ' ');
            line += i == 0 ? "" : "  ";
            line += i < left ? row[i] + padding : padding + row[i];
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return text;
}

std::string fixed(double number, int digits) {
    std::array<char, 400> text{};  // the largest double has 309 digits
    std::snprintf(text.data(), text.size(), "%.*f", digits, number);
    return text.data();
}

}  // namespace pinstudy

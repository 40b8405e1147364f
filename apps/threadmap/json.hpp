// JSON as text: each function takes what is JSON already, but for json_text().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/common/affinity.hpp"

namespace pinstudy::threadmap {

// A text in quotes. Bytes that are not printable ASCII are written as '?'.
std::string json_text(const std::string& text);
std::string json_list(const std::vector<std::string>& values);
std::string json_object(const std::vector<std::pair<std::string, std::string>>& members);
std::string json_numbers(const Cpus& numbers);
std::string json_bool(bool value);

}  // namespace pinstudy::threadmap

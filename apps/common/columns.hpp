// Text in columns.
#pragma once

#include <string>
#include <vector>

namespace pinstudy {

// One line a row, its cells two blanks apart and as wide as the widest of their column: the first
// `left` columns begin in line, the others end in line. Lines end without blanks. Rows may be
// shorter than others.
std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::size_t left);

// A number with so many digits after the point.
std::string fixed(double number, int digits);

}  // namespace pinstudy

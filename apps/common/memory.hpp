// Whether an amount of memory is available on this node.
#pragma once

#include <string>

namespace pinstudy {

// A number of bytes for a person to read, e.g. "1.5 GiB".
std::string readable_bytes(double bytes);

// Why `bytes` of memory for `what` are not available on this node, or an empty text.
std::string why_too_large(const std::string& what, double bytes);

}  // namespace pinstudy

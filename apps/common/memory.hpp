// What fits into this node's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pinstudy {

// Bytes of physical memory of this node; the largest number there is if the system does not tell.
std::uint64_t physical_memory_bytes();

// A number of bytes for a person to read, e.g. "1.5 GiB".
std::string readable_bytes(double bytes);

// The reason why `bytes` of memory for `what` cannot be had on this node, or an empty text.
std::string why_too_large(const std::string& what, double bytes);

}  // namespace pinstudy

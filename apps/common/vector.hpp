// The widest vector of doubles that the target processor computes with.
#pragma once

#include <cstddef>

namespace pinstudy {

#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;  // SSE2, NEON, VSX
#endif

// GCC's and Clang's vector extension: +, -, * and comparisons work on all elements at once, each
// exactly as on a double, and [] is one element.
using Vector [[gnu::vector_size(kVectorBytes)]] = double;

inline constexpr std::size_t kVectorLength = kVectorBytes / sizeof(double);

}  // namespace pinstudy

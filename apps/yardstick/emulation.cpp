#include "apps/yardstick/emulation.hpp"

#if defined(__x86_64__)
    #include <cpuid.h>

    #include <array>
    #include <cstring>
    #include <string_view>
#endif

namespace pinstudy::yardstick {

bool is_emulated() {
#if defined(__x86_64__)
    // Linux Documentation/virt/kvm/x86/cpuid.rst: a hypervisor sets bit 31, and signs its first
    // leaf.
    constexpr unsigned kHypervisor = 1U << 31;
    constexpr unsigned kSignatureLeaf = 0x40000000;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kHypervisor) == 0) {
        return false;
    }
    std::array<unsigned, 3> words{};
    __cpuid(kSignatureLeaf, a, words[0], words[1], words[2]);
    std::array<char, sizeof words> text{};
    std::memcpy(text.data(), words.data(), sizeof words);
    return std::string_view(text.data(), text.size()) == "TCGTCGTCGTCG";
#else
    return false;
#endif
}

}  // namespace pinstudy::yardstick

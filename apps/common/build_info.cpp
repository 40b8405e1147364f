#include "apps/common/build_info.hpp"

namespace pinstudy {

std::string version_text(const std::string& app) {
    std::string text = app + " (pinstudy) " + PINSTUDY_VERSION + "\n";
    text += "variant: " PINSTUDY_VARIANT "\n";
    text += "compiler: " PINSTUDY_COMPILER "\n";
    text += "flags: " PINSTUDY_FLAGS "\n";
#ifdef _OPENMP
    text += "openmp: " + std::to_string(_OPENMP);
#else
    text += "openmp: none";
#endif
    return text;
}

}  // namespace pinstudy

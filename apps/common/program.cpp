#include "apps/common/program.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace pinstudy {

int report(const Verdict& verdict) {
    std::printf("Check: %s (%s)\n", verdict.passed ? "passed" : "FAILED", verdict.reason.c_str());
    return verdict.passed ? kExitOk : kExitCheckFailed;
}

std::string version_text(const std::string& app) {
    std::string text = app + " (pinstudy) " + PINSTUDY_VERSION + "\n";
    text += "build: " PINSTUDY_BUILD "\n";
    text += "compiler: " PINSTUDY_COMPILER "\n";
    text += "flags: " PINSTUDY_FLAGS "\n";
#ifdef _OPENMP
    text += "openmp: " + std::to_string(_OPENMP);
#else
    text += "openmp: none";
#endif
    return text;
}

int run_program(const char* name, int (*run)(int, char**), int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    try {
        return run(argc, argv);
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "%s: not enough memory\n", name);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
    }
    return kExitFailed;
}

std::string printed(const char* format, ...) {
    std::va_list values;
    va_start(values, format);
    char* made = nullptr;
    const int length = vasprintf(&made, format, values);
    va_end(values);
    if (length < 0) {
        throw std::bad_alloc();
    }
    const std::string result(made);
    std::free(made);
    return result;
}

}  // namespace pinstudy

#include "apps/threadmap/runtime.hpp"

#ifdef _OPENMP
    #include <dlfcn.h>
    #include <omp.h>

    #include <array>
    #include <filesystem>
    #include <system_error>
#endif

namespace pinstudy::threadmap {

#ifdef _OPENMP
namespace {

// The file that the loader took the runtime from. Its name with all links resolved shows the
// release, if anything does: the runtimes have no function that returns it.
std::string library_of_runtime() {
    Dl_info found{};
    if (dladdr(reinterpret_cast<void*>(&omp_get_num_threads), &found) == 0 ||
        found.dli_fname == nullptr) {
        return "unknown";
    }
    std::error_code unresolved;
    const auto path = std::filesystem::canonical(found.dli_fname, unresolved);
    return unresolved ? found.dli_fname : path.string();
}

std::string bind_word(omp_proc_bind_t bind) {
    // OpenMP 5.2 section 18.2.24: 0 to 4.
    constexpr std::array<const char*, 5> kWords = {"false", "true", "master", "close", "spread"};
    const auto number = static_cast<std::size_t>(bind);
    return number < kWords.size() ? kWords[number] : std::to_string(number);
}

}  // namespace

Runtime describe_runtime() {
    Runtime runtime;
    runtime.library = library_of_runtime();
    runtime.openmp = _OPENMP;
    runtime.proc_bind = bind_word(omp_get_proc_bind());
    runtime.dynamic = omp_get_dynamic() != 0;
    runtime.thread_limit = omp_get_thread_limit();
    for (int place = 0; place < omp_get_num_places(); ++place) {
        Cpus cpus(static_cast<std::size_t>(omp_get_place_num_procs(place)));
        omp_get_place_proc_ids(place, cpus.data());
        runtime.places.push_back(cpus);
    }
    return runtime;
}

int place_of_this_thread() {
    return omp_get_place_num();
}

int default_team_size(const Cpus& /*allowed*/) {
    int size = 0;
    #pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            size = omp_get_num_threads();
        }
    }
    return size;
}

#else

Runtime describe_runtime() {
    return {};
}

int place_of_this_thread() {
    return -1;
}

int default_team_size(const Cpus& allowed) {
    return static_cast<int>(allowed.size());
}

#endif

}  // namespace pinstudy::threadmap

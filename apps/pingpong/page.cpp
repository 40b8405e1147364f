#include "apps/pingpong/page.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace pinstudy::pingpong {

Page::Page() : bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::bad_alloc();
    }
    memory_ = static_cast<std::byte*>(memory);
}

Page::~Page() {
    munmap(memory_, bytes_);
}

Line& Page::line(int slot) {
    return *new (memory_ + static_cast<std::size_t>(slot) * sizeof(Line)) Line;
}

}  // namespace pinstudy::pingpong

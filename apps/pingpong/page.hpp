// Memory of a run's own, so that its line has no past in other cores' caches.
#pragma once

#include <cstddef>

#include "apps/pingpong/handover.hpp"

namespace pinstudy::pingpong {

// A page that nobody has touched before: the kernel takes it from the NUMA node of the thread that
// touches it first.
class Page {
  public:
    // Lines in a page of any size that Linux has.
    static constexpr int kSlots = 4096 / sizeof(Line);

    // Throws std::bad_alloc when there is no memory.
    Page();
    ~Page();
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;

    // Makes the line at a place of the page, from 0 to kSlots - 1: this touches the page.
    Line& line(int slot);

  private:
    std::size_t bytes_;
    std::byte* memory_;
};

}  // namespace pinstudy::pingpong

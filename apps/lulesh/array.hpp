// Memory that its first writer places.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace pinstudy::lulesh {

// A fixed number of elements without any initial value, aligned to cache lines. The operating
// system places a page on the node of the thread that writes it first, so an array must be filled
// by the threads that will work on it; that is why this is no std::vector.
template <class T>
class Array {
    static_assert(std::is_trivial_v<T>);

  public:
    // Throws std::bad_alloc.
    explicit Array(std::size_t size)
        : data_(static_cast<T*>(::operator new(size * sizeof(T), kAlignment))), size_(size) {}
    ~Array() { ::operator delete(data_, kAlignment); }
    Array(Array&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Array& operator=(Array&&) = delete;

    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

  private:
    static constexpr std::align_val_t kAlignment{64};
    T* data_;
    std::size_t size_;
};

}  // namespace pinstudy::lulesh

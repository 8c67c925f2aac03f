// shaders/support/small_vector.h -- a vector whose first few elements need no allocation: compilers
// are full of lists of one to four.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace gnomon {

/// As std::vector, of elements that are copied by their bytes, `N` of them in place.
template <class T, std::uint32_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() {}  // NOLINT: elements in place are not initialised
  SmallVector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  SmallVector(std::span<const T> values) {  // NOLINT: implicit, as lists of other kinds come
    assign(values.begin(), values.end());
  }
  SmallVector(const std::vector<T>& values) {  // NOLINT: implicit
    assign(values.begin(), values.end());
  }
  template <class I>
  SmallVector(I first, I last) {
    assign(first, last);
  }
  SmallVector(const SmallVector& o) { copy(o); }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) copy(o);
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      release();
      take(o);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  operator std::vector<T>() const { return {begin(), end()}; }  // NOLINT: implicit

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return capacity_ > N ? elements_.heap : elements_.in_place; }
  const T* data() const { return capacity_ > N ? elements_.heap : elements_.in_place; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return end()[-1]; }
  const T& back() const { return end()[-1]; }

  void clear() { size_ = 0; }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    T* larger = new T[capacity];
    std::copy(begin(), end(), larger);
    release();
    elements_.heap = larger;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void resize(std::size_t size) {
    if (size > capacity_) reserve(std::max<std::size_t>(size, 2 * capacity_));
    for (std::size_t i = size_; i < size; ++i) data()[i] = T{};
    size_ = static_cast<std::uint32_t>(size);
  }
  void push_back(T value) {
    if (size_ == capacity_) reserve(2 * std::size_t{capacity_});
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  template <class I>
  void assign(I first, I last) {
    clear();
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    reserve(count);
    T* place = data();
    for (; first != last; ++first) *place++ = *first;
    size_ = static_cast<std::uint32_t>(count);
  }
  /// The elements inserted may not be elements of this list.
  template <class I>
  T* insert(const T* before, I first, I last) {
    const auto at = static_cast<std::size_t>(before - data());
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    if (size_ + count > capacity_) reserve(std::max<std::size_t>(size_ + count, 2 * capacity_));
    T* place = data() + at;
    std::copy_backward(place, end(), end() + count);
    std::copy(first, last, place);
    size_ += static_cast<std::uint32_t>(count);
    return place;
  }
  T* insert(const T* before, T value) { return insert(before, &value, &value + 1); }
  T* erase(const T* first, const T* last) {
    T* to = begin() + (first - begin());
    std::copy(last, static_cast<const T*>(end()), to);
    size_ -= static_cast<std::uint32_t>(last - first);
    return to;
  }
  T* erase(const T* at) { return erase(at, at + 1); }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const SmallVector& a, const SmallVector& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  union Elements {
    Elements() {}  // NOLINT: as above
    T in_place[N];
    T* heap;
  };

  void release() {
    if (capacity_ > N) delete[] elements_.heap;
    capacity_ = N;
  }
  void copy(const SmallVector& o) {
    if (o.capacity_ > N) return assign(o.begin(), o.end());
    release();
    size_ = o.size_;
    elements_ = o.elements_;  // all of them: a fixed number takes no loop
  }
  void take(SmallVector& o) {
    size_ = std::exchange(o.size_, 0);
    capacity_ = std::exchange(o.capacity_, N);
    elements_ = o.elements_;
  }

  std::uint32_t size_ = 0, capacity_ = N;
  Elements elements_;
};

}  // namespace gnomon

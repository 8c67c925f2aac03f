// engine/runtime/parallel.h -- the same work for many numbers, on the host's cores.
#pragma once
#include <cstddef>
#include <functional>

namespace gnomon {

/// Calls work(0), ..., work(count - 1), each once, in threads of its own and the caller's:
/// `threads` of them at most, as many as the host has cores when that is 0. Returns when all have
/// ended.
///
/// When calls throw, no further ones begin, and the exception of the lowest number is thrown: the
/// same one whatever the threads did, since numbers are begun in their order.
void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t)>& work);

}  // namespace gnomon

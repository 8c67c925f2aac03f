// samples/own_device/png.cpp -- pictures without a library for them but zlib.
#include <zlib.h>

#include <cstdio>
#include <stdexcept>

#include "samples/own_device/app.h"

namespace own_device {
namespace {

void put(std::string& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 255);
}

// Length, kind, what is in it, and a checksum of the latter two.
void put_chunk(std::string& to, const std::string& kind, const std::string& data) {
  const std::string summed = kind + data;
  put(to, static_cast<std::uint32_t>(data.size()));
  to += summed;
  put(to, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(summed.data()),
                                           static_cast<uInt>(summed.size()))));
}

}  // namespace

// Source: Portable Network Graphics, W3C Recommendation, second edition, sections 5, 9 and 11.
void write_png(const std::string& path, const std::uint8_t* rgba, std::uint32_t size) {
  std::string rows;
  for (std::uint32_t y = 0; y < size; ++y) {
    rows += '\0';  // rows are as they are, not differences
    for (std::uint32_t x = 0; x < size; ++x)
      rows.append(reinterpret_cast<const char*>(rgba) + std::size_t{4} * (y * size + x), 3);
  }
  uLongf bytes = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(bytes, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &bytes,
            reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()), 1);
  packed.resize(bytes);
  std::string header;
  put(header, size);
  put(header, size);
  header += std::string("\x08\x02\x00\x00\x00", 5);  // eight bits, red green blue
  std::string file = "\x89PNG\r\n\x1a\n";
  put_chunk(file, "IHDR", header);
  put_chunk(file, "IDAT", packed);
  put_chunk(file, "IEND", "");
  std::FILE* out = std::fopen(path.c_str(), "wb");
  if (out == nullptr || std::fwrite(file.data(), 1, file.size(), out) != file.size())
    throw std::runtime_error(path + " cannot be written");
  std::fclose(out);
}

}  // namespace own_device

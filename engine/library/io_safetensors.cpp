// engine/library/io_safetensors.cpp -- the safetensors format: a JSON header, then all elements.
#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/library/file_source.h"
#include "gnomon/checksum.h"

namespace gnomon::io {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t most_header = 100'000'000;  // as the format says

struct TypeCode {
  DType dtype;
  std::string_view text;
};
constexpr TypeCode type_codes[] = {
    {DType::boolean, "BOOL"}, {DType::i8, "I8"},   {DType::u8, "U8"},     {DType::i16, "I16"},
    {DType::u16, "U16"},      {DType::i32, "I32"}, {DType::u32, "U32"},   {DType::i64, "I64"},
    {DType::u64, "U64"},      {DType::f16, "F16"}, {DType::bf16, "BF16"}, {DType::f32, "F32"},
    {DType::f64, "F64"}};

/// What the header says of an array.
struct HeaderEntry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<std::uint64_t>> shape, offsets;
};

/// Takes the header as it is parsed, so that nothing is built that the format does not have. What
/// else an entry says of its array is passed over, as by the format's own library.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const Source& source) : source_(source) {}
  std::vector<HeaderEntry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;

  bool start_object(std::size_t) override {
    if (passed_over()) return ++unknown_ > 0;
    if (list_ || depth_ == 2 || (depth_ == 1 && key_.empty() && !named_)) bad();
    ++depth_;
    if (depth_ == 2) {
      in_metadata_ = key_ == "__metadata__";
      if (!in_metadata_) entries.push_back({key_, {}, {}, {}});
      keys_.clear();
    }
    return true;
  }
  bool end_object() override {
    if (unknown_ > 0) return unknown_-- > 0;
    --depth_;
    return true;
  }
  bool key(std::string& text) override {
    if (unknown_ > 0) return true;
    std::set<std::string>& known = depth_ == 1 ? names_ : keys_;
    if (!known.insert(text).second) source_.fail("has `" + text + "` twice in its header");
    key_ = text;
    named_ = true;
    return true;
  }
  bool start_array(std::size_t) override {
    if (passed_over()) return ++unknown_ > 0;
    if (depth_ != 2 || in_metadata_ || list_) bad();
    if (key_ == "shape")
      list_ = &entries.back().shape.emplace();
    else if (key_ == "data_offsets")
      list_ = &entries.back().offsets.emplace();
    else
      bad();
    return true;
  }
  bool end_array() override {
    if (unknown_ > 0) return unknown_-- > 0;
    list_ = nullptr;
    return true;
  }
  bool number_unsigned(std::uint64_t n) override {
    if (passed_over()) return true;
    if (!list_) bad();
    if (list_->size() > Shape::max_rank)
      source_.fail("has more dimensions than arrays; at most 8 dimensions are possible");
    list_->push_back(n);
    return true;
  }
  bool string(std::string& text) override {
    if (passed_over()) return true;
    if (depth_ != 2 || list_) bad();
    if (in_metadata_) {
      metadata.emplace_back(key_, text);
      return true;
    }
    if (key_ != "dtype") bad();
    for (const TypeCode& c : type_codes)
      if (text == c.text) entries.back().dtype = c.dtype;
    if (!entries.back().dtype)
      source_.fail("has elements of type " + text + " in `" + entries.back().name +
                   "`; arrays have none of these");
    return true;
  }
  bool null() override { return unknown_value(); }
  bool boolean(bool) override { return unknown_value(); }
  bool number_integer(std::int64_t) override { return unknown_value(); }
  bool number_float(double, const std::string&) override { return unknown_value(); }
  bool binary(Json::binary_t&) override { return unknown_value(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    source_.fail("has a header that is no JSON from byte " + std::to_string(position) + " on");
  }

 private:
  /// Whether the value that comes belongs to a key that the format does not have.
  bool passed_over() const {
    return unknown_ > 0 || (depth_ == 2 && !in_metadata_ && key_ != "dtype" && key_ != "shape" &&
                            key_ != "data_offsets");
  }
  bool unknown_value() const {
    if (!passed_over()) bad();
    return true;
  }
  [[noreturn]] void bad() const {
    source_.fail("has a header that is not of the format" +
                 (named_ ? " (at `" + key_ + "`)" : std::string()));
  }

  const Source& source_;
  int depth_ = 0;
  int unknown_ = 0;  // objects and arrays that are open in what is passed over
  bool in_metadata_ = false, named_ = false;
  std::string key_;
  std::set<std::string> names_, keys_;
  std::vector<std::uint64_t>* list_ = nullptr;
};

// The checksum's place in the metadata, and what stands there while it is computed.
constexpr std::string_view checksum_key = "xxh3";
const std::string no_checksum(32, '0');

/// Digests of the header, with zeros in place of the checksum, and of each array in order.
class Checksum {
 public:
  explicit Checksum(const std::string& header) : text_(digest(header).text()) {}
  void add(const FileArray& a) {
    text_ += digest({reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size()}).text();
  }
  std::string text() const { return digest(text_).text(); }

 private:
  std::string text_;
};

/// Where the header of a file has its checksum; nothing where it has none.
std::optional<std::size_t> checksum_place(std::string_view header) {
  const std::string before = "\"" + std::string(checksum_key) + "\":\"";
  const std::size_t at = header.find(before);
  if (at == std::string_view::npos || header.size() < at + before.size() + no_checksum.size())
    return std::nullopt;
  return at + before.size();
}

/// Type and range of an array.
struct Placed {
  std::string name;
  Aval aval;
  std::uint64_t begin = 0, end = 0;
};

Placed placed(const HeaderEntry& e, const Source& source) {
  const std::string who = "`" + e.name + "`";
  if (!e.dtype || !e.shape || !e.offsets || e.offsets->size() != 2)
    source.fail("does not say dtype, shape and data_offsets of " + who);
  if (e.shape->size() > Shape::max_rank)
    source.fail("has more dimensions than arrays in " + who +
                "; at most 8 dimensions are possible");
  Placed p{e.name, {*e.dtype, {}}, (*e.offsets)[0], (*e.offsets)[1]};
  for (std::uint64_t d : *e.shape) {
    if (d > static_cast<std::uint64_t>(std::numeric_limits<Dim>::max()))
      source.fail("has a dimension of " + std::to_string(d) + " in " + who);
    p.aval.shape.append(static_cast<Dim>(d));
  }
  const auto bytes = bytes_of(p.aval);
  if (p.begin > p.end || !bytes || *bytes != p.end - p.begin)
    source.fail("gives " + who + ", " + to_string(p.aval) + ", bytes " + std::to_string(p.begin) +
                " to " + std::to_string(p.end));
  return p;
}

}  // namespace

Safetensors read_safetensors(const std::string& path, SafetensorsOptions options) {
  FileSource file("read_safetensors", path);
  const std::string length = file.take(8);
  const auto header_bytes = number_at<std::uint64_t>(length, 0);
  if (header_bytes > most_header)
    file.fail("has a header of " + std::to_string(header_bytes) + " bytes; at most " +
              std::to_string(most_header) + " are allowed: is it a safetensors file?");
  const std::string text = file.take(header_bytes);
  if (text.empty() || text[0] != '{') file.fail("is not a safetensors file");
  HeaderReader header(file);
  Json::sax_parse(text, &header);

  std::vector<Placed> arrays;
  for (const HeaderEntry& e : header.entries) arrays.push_back(placed(e, file));
  std::stable_sort(arrays.begin(), arrays.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Placed& p = arrays[i];
    if (p.begin < at)
      file.fail("has bytes " + std::to_string(p.begin) + " to " +
                std::to_string(std::min(at, p.end)) + " in two arrays, `" + arrays[i - 1].name +
                "` and `" + p.name + "`");
    if (p.begin > at)
      file.fail("has bytes " + std::to_string(at) + " to " + std::to_string(p.begin) +
                " in no array, before `" + p.name + "`");
    at = p.end;
  }
  if (at != file.left())
    file.fail("has " + std::to_string(file.left()) + " bytes of elements and should have " +
              std::to_string(at));

  Safetensors result;
  std::string wanted;
  for (auto& entry : header.metadata) {
    if (entry.first == checksum_key)
      wanted = entry.second;
    else
      result.metadata.push_back(std::move(entry));
  }
  if (wanted.empty() && options.checksum) file.fail("has no checksum; it is damaged or not ours");
  const std::uint64_t data = 8 + header_bytes;
  std::string covered = length + text;
  const auto place = checksum_place(covered);
  if (place) covered.replace(*place, no_checksum.size(), no_checksum);
  Checksum sum(covered);
  for (const Placed& p : arrays) {
    file.select(data + p.begin, data + p.end);
    if (wanted.empty()) {
      result.arrays.emplace_back(p.name, read_elements(file, p.aval));
      continue;
    }
    // As they are: bytes of bool beside 0 and 1 are damage.
    FileArray raw = read_elements(file, {DType::u8, p.aval.shape});
    raw.aval = p.aval;
    sum.add(raw);
    result.arrays.emplace_back(p.name, std::move(raw));
  }
  if (!wanted.empty() && (!place || wanted != sum.text()))
    file.fail("is damaged: its checksum is " + (place ? sum.text() : "of no known form") +
              " and should be " + wanted);
  return result;
}

void write_safetensors(const std::string& path, const Safetensors& what,
                       SafetensorsOptions options) {
  std::vector<const std::pair<std::string, FileArray>*> order;
  std::set<std::string> names;
  for (const auto& named : what.arrays) {
    if (named.first == "__metadata__" || !names.insert(named.first).second)
      usage_error("write_safetensors",
                  "`" + named.first + "` is the name of two arrays or of the metadata", {});
    check_bytes("write_safetensors", named.first, named.second);
    order.push_back(&named);
  }
  std::set<std::string> keys;
  for (const auto& entry : what.metadata) {
    if (entry.first == checksum_key)
      usage_error("write_safetensors",
                  "`" + entry.first +
                      "` of the metadata is the checksum's; use another name, or the option "
                      "`checksum`",
                  {});
    if (!keys.insert(entry.first).second)
      usage_error("write_safetensors", "the metadata has `" + entry.first + "` twice", {});
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.aval.dtype) > size_of(b->second.aval.dtype);
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto& [key, value] : what.metadata) header["__metadata__"][key] = value;
  if (options.checksum) header["__metadata__"][checksum_key] = no_checksum;
  std::uint64_t at = 0;
  for (const auto* named : order) {
    const FileArray& a = named->second;
    auto& entry = header[named->first];
    for (const TypeCode& c : type_codes)
      if (c.dtype == a.aval.dtype) entry["dtype"] = c.text;
    entry["shape"] = std::vector<Dim>(a.aval.shape.begin(), a.aval.shape.end());
    entry["data_offsets"] = {at, at + a.bytes.size()};
    at += a.bytes.size();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    usage_error("write_safetensors", "a name or a text of the metadata is not UTF-8", {});
  }
  text.append((8 - text.size() % 8) % 8, ' ');

  std::string front;
  append_number<std::uint64_t>(front, text.size());
  front += text;
  if (options.checksum) {
    Checksum sum(front);
    for (const auto* named : order) sum.add(named->second);
    front.replace(checksum_place(front).value(), no_checksum.size(), sum.text());
  }
  Sink sink("write_safetensors", path);
  sink.write(front);
  for (const auto* named : order)
    sink.write(named->second.bytes.data(), named->second.bytes.size());
  sink.close();
}

}  // namespace gnomon::io

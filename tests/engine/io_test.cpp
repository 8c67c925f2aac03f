// tests/engine/io_test.cpp -- .npy, .npz and safetensors: both ways, as others write them, damaged.
#include "gnomon/io.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/support/temporary_folder.h"

namespace gnomon::testing {
namespace {

using io::FileArray;
using ::testing::HasSubstr;

std::string file(const std::string& name) {
  static const TemporaryFolder folder;
  return (folder / name).string();
}
void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

template <class T>
FileArray array_of(DType dtype, const Shape& shape, const std::vector<T>& values) {
  FileArray a{{dtype, shape}, {}};
  a.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}
/// Arrays of every type and several ranks.
io::NamedFileArrays samples() {
  io::NamedFileArrays all;
  int n = 0;
  for (DType t :
       {DType::boolean, DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32,
        DType::i64, DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}, Shape{1, 2, 1, 3}}) {
      FileArray a{{t, shape}, {}};
      a.bytes.resize(static_cast<std::size_t>(shape.size()) * size_of(t));
      for (std::size_t i = 0; i < a.bytes.size(); ++i)
        a.bytes[i] = static_cast<std::byte>(t == DType::boolean ? i % 2 : i + 1);
      all.emplace_back("array." + std::to_string(n++), a);
    }
  }
  return all;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const FileError& e) {
    return e.what();
  }
  return "no error";
}

// Two arrays as np.savez_compressed writes them, made by another program: deflated, with sizes in
// the 64-bit fields of their headers.
constexpr std::string_view made_elsewhere =
    "504b03042d00000008000000210050b44d84ffffffffffffffff05001400612e6e7079010010009800000000"
    "00000055000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a2aea3a09e965f5452"
    "9498179f5f94920a12774bcc294e058a17672416a402f91a463a0ac69a3a0ab50a64032e0620600462262066"
    "0662162066056200504b03042d000000080000002100297689ebffffffffffffffff05001400622e6e707901"
    "001000880000000000000047000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a1"
    "aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a9a3a0ab50a14012e0630f861"
    "0f00504b01022d032d00000008000000210050b44d8455000000980000000500000000000000000000008001"
    "00000000612e6e7079504b01022d032d000000080000002100297689eb470000008800000005000000000000"
    "000000000080018c000000622e6e7079504b05060000000002000200660000000a0100000000";

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// A safetensors file with this header and these elements.
std::string tensors(const std::string& header, const std::string& data) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text + header + data;
}

// ---- both ways

TEST(Io, NpyGivesBackEveryElementTypeAndRank) {
  for (const auto& [name, a] : samples()) {
    io::write_npy(file("round.npy"), a);
    EXPECT_EQ(io::read_npy(file("round.npy")), a) << to_string(a.aval);
  }
}

TEST(Io, NpzGivesBackNamesOrderAndElements) {
  const auto all = samples();
  io::write_npz(file("round.npz"), all);
  EXPECT_EQ(io::read_npz(file("round.npz")), all);
  io::write_npz(file("none.npz"), {});
  EXPECT_TRUE(io::read_npz(file("none.npz")).empty());
}

TEST(Io, SafetensorsGivesBackNamesMetadataAndElements) {
  auto all = samples();
  const std::vector<std::pair<std::string, std::string>> about{{"format", "pt"}, {"by", "\"us\""}};
  io::write_safetensors(file("round.safetensors"), {all, about});
  auto got = io::read_safetensors(file("round.safetensors"));
  EXPECT_EQ(got.metadata, about);
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::sort(got.arrays.begin(), got.arrays.end(),
            [](auto& a, auto& b) { return a.first < b.first; });
  EXPECT_EQ(got.arrays, all);
}

// ---- as others write them

TEST(Io, NpzReadsDeflatedArchives) {
  write(file("other.npz"), from_hex(made_elsewhere));
  const auto arrays = io::read_npz(file("other.npz"));
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].first, "a");
  EXPECT_EQ(arrays[0].second, array_of<std::int32_t>(DType::i32, {2, 3}, {0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(arrays[1].first, "b");
  EXPECT_EQ(arrays[1].second, array_of<double>(DType::f64, {}, {1.5}));
}

TEST(Io, NpzIsStoredWithTheChecksumThatItsDirectoryRepeats) {
  io::write_npz(file("format.npz"), {{"x", array_of<float>(DType::f32, {2}, {1, -2})}});
  const std::string text = read(file("format.npz"));
  EXPECT_EQ(text.substr(0, 4), "PK\x03\x04");
  EXPECT_EQ(text.substr(8, 2), std::string(2, '\0'));  // stored
  const std::size_t directory = text.find("PK\x01\x02");
  ASSERT_NE(directory, text.npos);
  EXPECT_EQ(text.substr(14, 12), text.substr(directory + 16, 12));  // checksum and sizes
  EXPECT_EQ(text.substr(30, 11), "x.npy\x93NUMPY");
  EXPECT_EQ(text.substr(text.size() - 22, 4), "PK\x05\x06");
}

TEST(Io, SafetensorsReadsWhatTheFormatSays) {
  write(
      file("format.safetensors"),
      tensors(R"({"__metadata__":{"k":"v"},"b":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]},)"
              R"("a":{"data_offsets":[0,8],"dtype":"F32","shape":[2,1]}}   )",
              std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x01\x07", 11)));
  const auto got = io::read_safetensors(file("format.safetensors"));
  ASSERT_EQ(got.arrays.size(), 2u);
  EXPECT_EQ(got.arrays[0].first, "a");
  EXPECT_EQ(got.arrays[0].second, array_of<float>(DType::f32, {2, 1}, {1, -2}));
  EXPECT_EQ(got.arrays[1].second, array_of<std::uint8_t>(DType::boolean, {3}, {0, 1, 1}));
  EXPECT_EQ(got.metadata[0].second, "v");
}

// As the format's own library does: a later version of it may say more of an array.
TEST(Io, SafetensorsPassesOverWhatTheFormatDoesNotHave) {
  write(file("more.safetensors"),
        tensors(R"({"a":{"dtype":"U8","note":"x","scale":0.5,"zero":-1,"none":null,"fixed":true,)"
                R"("axes":[1,[2,{"shape":[9]}]],"of":{"dtype":"F32","shape":{"shape":[]}},)"
                R"("shape":[2],"data_offsets":[0,2]}})",
                "\x05\x06"));
  const auto got = io::read_safetensors(file("more.safetensors"));
  ASSERT_EQ(got.arrays.size(), 1u);
  EXPECT_EQ(got.arrays[0].second, array_of<std::uint8_t>(DType::u8, {2}, {5, 6}));
}

TEST(Io, SafetensorsAlignsElements) {
  io::write_safetensors(file("aligned.safetensors"),
                        {{{"small", array_of<std::uint8_t>(DType::u8, {3}, {1, 2, 3})},
                          {"large", array_of<double>(DType::f64, {1}, {0.5})}},
                         {}});
  const std::string text = read(file("aligned.safetensors"));
  EXPECT_EQ(text.size() % 8, 3u);  // the header is padded, and the f64 comes first
  EXPECT_EQ(text.substr(text.size() - 3), "\x01\x02\x03");
}

// ---- damaged

TEST(Io, SaysWhatIsWrongWithAFile) {
  const auto npy = [](const std::string& dictionary, const std::string& data) {
    std::string text("\x93NUMPY\x01\x00", 8);
    text += static_cast<char>(dictionary.size());
    text += '\0';
    write(file("bad.npy"), text + dictionary + data);
    return error_of([] { io::read_npy(file("bad.npy")); });
  };
  EXPECT_THAT(
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }\n", "1234"),
      HasSubstr("bad.npy should have at least 2^56 bytes of elements"));
  EXPECT_THAT(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000,), }\n", "1234"),
              HasSubstr("should have at least 4000000000 bytes of elements, and no more, for "
                        "f32[1000000000], but has 4"));
  EXPECT_THAT(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n", "1234"),
              HasSubstr("has a header that NumPy does not write"));
  EXPECT_THAT(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1), }\n", "1234"),
              HasSubstr("has a header that NumPy does not write"));
  EXPECT_THAT(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", "1234"),
              HasSubstr("has elements of several fields"));
  EXPECT_THAT(error_of([] { io::read_npy(::testing::TempDir()); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(error_of([] { io::read_npz(file("nowhere.npz")); }), HasSubstr("cannot be opened"));

  const auto safetensors = [](const std::string& header, const std::string& data) {
    write(file("bad.safetensors"), tensors(header, data));
    return error_of([] { io::read_safetensors(file("bad.safetensors")); });
  };
  EXPECT_THAT(safetensors(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "1"),
              HasSubstr("has elements of type F8_E4M3 in `a`"));
  EXPECT_THAT(safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("gives `a`, f32[2], bytes 0 to 4"));
  EXPECT_THAT(safetensors(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "123456"),
              HasSubstr("has 6 bytes of elements and should have 4"));
  EXPECT_THAT(safetensors(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                          R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                          "123"),
              HasSubstr("has bytes 1 to 2 in two arrays, `a` and `b`"));
  EXPECT_THAT(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                          R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                          "123"),
              HasSubstr("has bytes 1 to 2 in no array, before `b`"));
  EXPECT_THAT(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                          R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                          "1"),
              HasSubstr("has `a` twice in its header"));
  for (const std::string entry :
       {R"("shape":[-1])", R"("shape":{})", R"("shape":3)", R"("dtype":["U8"])", R"("dtype":null)",
        R"("data_offsets":[0,"1"])", R"("shape":[[1]])", R"("shape":[1.0])"})
    EXPECT_THAT(safetensors(R"({"a":{)" + entry + "}}", ""),
                HasSubstr("is not of the format (at `"))
        << entry;
  EXPECT_THAT(safetensors(R"({"a":{"note":1,"note":2}})", ""), HasSubstr("has `note` twice"));
  EXPECT_THAT(safetensors(R"({"a":{"note":[1,{"shape":[2]}]}})", ""),
              HasSubstr("does not say dtype, shape and data_offsets of `a`"));
  EXPECT_THAT(safetensors(R"({"a":[[[[]]]]})", ""), HasSubstr("is not of the format (at `a`)"));
  EXPECT_THAT(safetensors(R"({"a": nonsense)", ""), HasSubstr("is no JSON from byte 8 on"));
  write(file("bad.safetensors"), std::string(8, '\xff'));
  EXPECT_THAT(error_of([] { io::read_safetensors(file("bad.safetensors")); }),
              HasSubstr("is it a safetensors file?"));
}

TEST(Io, WritesNothingThatCannotBeRead) {
  const std::string path = file("unwritten");
  const auto refused = [&](const auto& write_to) {
    std::string error = "no error";
    try {
      write_to(path);
    } catch (const UsageError& e) {
      error = e.what();
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    return error;
  };
  FileArray few = array_of<float>(DType::f32, {3}, {1});
  EXPECT_THAT(
      refused([&](const auto& to) { io::write_npy(to, few); }),
      HasSubstr("write_npy: the array is f32[3] and has 4 bytes of elements instead of 12"));
  EXPECT_THAT(refused([&](const auto& to) {
                io::write_npz(to, {{"a", few}});
              }),
              HasSubstr("write_npz: `a` is f32[3] and has 4 bytes of elements instead of 12"));
  EXPECT_THAT(refused([&](const auto& to) {
                io::write_safetensors(to, {{{"a", few}}, {}});
              }),
              HasSubstr("`a` is f32[3] and has 4 bytes of elements instead of 12"));
  few.aval.shape = {Dim{1} << 62};
  EXPECT_THAT(refused([&](const auto& to) { io::write_npy(to, few); }),
              HasSubstr("has 4 bytes of elements"));
  EXPECT_THAT(refused([](const auto& to) {
                io::write_safetensors(to, {{}, {{"k", "1"}, {"k", "2"}}});
              }),
              HasSubstr("the metadata has `k` twice"));
  EXPECT_THAT(refused([](const auto& to) {
                io::write_safetensors(to, {{}, {{"xxh3", "1"}}});
              }),
              HasSubstr("`xxh3` of the metadata is the checksum's; use another name"));
}

TEST(Io, NpzNoticesOtherElements) {
  std::string text = from_hex(made_elsewhere);
  io::write_npz(file("sum.npz"), {{"x", array_of<float>(DType::f32, {2}, {1, -2})}});
  std::string stored = read(file("sum.npz"));
  const std::size_t data = stored.find("PK\x01\x02") - 1;
  stored[data] = static_cast<char>(stored[data] ^ 1);
  write(file("sum.npz"), stored);
  EXPECT_THAT(error_of([] { io::read_npz(file("sum.npz")); }),
              HasSubstr("sum.npz holds `x.npy`, which does not have the checksum it should have"));
  // A file that claims more than can be in it is refused before memory is taken.
  const std::size_t entry = text.find("PK\x01\x02");
  text.replace(entry + 24, 4, "\xf0\xff\xff\x7f");
  write(file("bomb.npz"), text);
  EXPECT_THAT(error_of([] { io::read_npz(file("bomb.npz")); }),
              HasSubstr("cannot have 2147483632 bytes, packed in"));
}

/// Whatever happens to a file, it is read or refused by name.
template <class Read>
void expect_refusals(const std::string& path, const Read& read_file, unsigned seed) {
  const std::string good = read(path);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return std::size_t{random()} % n; };
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string bad = good;
    switch (below(4)) {
      case 0:
        bad.resize(below(bad.size()));
        break;
      case 1:
        bad.insert(below(bad.size()), std::string(1 + below(9), static_cast<char>(random())));
        break;
      default:
        for (std::size_t n = 1 + below(4); n-- > 0;) {
          char& c = bad[below(bad.size())];
          c = static_cast<char>(below(2) ? c ^ (1 << below(8)) : random());
        }
    }
    write(path, bad);
    try {
      read_file(path);
    } catch (const FileError& e) {
      ++refused;
      EXPECT_THAT(e.what(), HasSubstr(path)) << "round " << round;
    } catch (const std::exception& e) {
      ADD_FAILURE() << "seed " << seed << ", round " << round << ": " << e.what();
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(Io, DamagedFilesAreRefusedByName) {
  const io::NamedFileArrays arrays{
      {"weight", array_of<float>(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6})},
      {"steps", array_of<std::int64_t>(DType::i64, {}, {7})}};
  io::write_npy(file("fuzz.npy"), arrays[0].second);
  expect_refusals(
      file("fuzz.npy"), [](const std::string& p) { io::read_npy(p); }, 1);
  io::write_npz(file("fuzz.npz"), arrays);
  expect_refusals(
      file("fuzz.npz"), [](const std::string& p) { io::read_npz(p); }, 2);
  write(file("fuzz2.npz"), from_hex(made_elsewhere));
  expect_refusals(
      file("fuzz2.npz"), [](const std::string& p) { io::read_npz(p); }, 3);
  io::write_safetensors(file("fuzz.safetensors"), {arrays, {{"k", "v"}}});
  expect_refusals(
      file("fuzz.safetensors"), [](const std::string& p) { io::read_safetensors(p); }, 4);
}

// ---- trees, on a device

struct Layer {
  Array weight, bias;
  int width = 3;
};
struct Model {
  std::vector<Layer> layers;
  Array scale;
  Array frozen = Array::hole();
};

class IoOnDevice : public DeviceTest {
 protected:
  Array of(const std::vector<float>& v) { return rt.from_host(v, Shape(v.size())); }
  Model model() {
    return {{{of({1, 2}), of({3})}, {of({4, 5, 6}), rt.from_host(std::vector<bool>{true, false})}},
            of({7})};
  }
};

TEST_F(IoOnDevice, TreesAreWrittenByTheNamesOfTheirParts) {
  for (const char* end : {"model.safetensors", "model.npz"}) {
    io::save_tree(rt, file(end), model());
    const Model types =
        tree::map([](const Array& a) { return abstract_array(a.dtype(), a.shape()); }, model());
    const Model got = io::load_tree(rt, file(end), types);
    EXPECT_EQ(rt.to_host<float>(got.layers[1].weight), (std::vector<float>{4, 5, 6}));
    EXPECT_EQ(rt.to_host<bool>(got.layers[1].bias), (std::vector<bool>{true, false}));
    EXPECT_EQ(rt.to_host<float>(got.scale), (std::vector<float>{7}));
    EXPECT_TRUE(got.frozen.is_hole());
  }
  const auto arrays = io::load_npz(rt, file("model.npz"));
  ASSERT_EQ(arrays.size(), 5u);
  EXPECT_EQ(arrays[0].first, "layers.0.weight");
  EXPECT_EQ(arrays[4].first, "scale");
}

TEST_F(IoOnDevice, APrefixIsAPartOrTheNameOfAnArray) {
  for (const char* end : {"parts.safetensors", "parts.npz"}) {
    SCOPED_TRACE(end);
    io::save_tree(rt, file(end), model());
    const auto load = [&](const std::string& prefix, Dim n) {
      const Array like = abstract_array(DType::f32, Shape{n});
      return rt.to_host<float>(io::load_tree(rt, file(end), like, {.prefix = prefix}));
    };
    EXPECT_EQ(load("scale", 1), (std::vector<float>{7}));
    EXPECT_EQ(load("layers.1.weight", 3), (std::vector<float>{4, 5, 6}));
    EXPECT_EQ(load("layers.1.weight.", 3), (std::vector<float>{4, 5, 6}));
    EXPECT_THAT(error_of([&] { load("layers.2.weight", 3); }),
                HasSubstr("has no `layers.2.weight`, which the tree has"));
    EXPECT_THAT(error_of([&] { load("layers.1", 3); }), HasSubstr("has no `layers.1`"));
    EXPECT_THAT(error_of([&] { load("scale", 2); }), HasSubstr("has `scale` of type f32[1]"));
    for (const char* prefix : {"layers.0", "layers.0."}) {
      const Layer like{abstract_array(DType::f32, {2}), abstract_array(DType::f32, {1})};
      const Layer got = io::load_tree(rt, file(end), like, {.prefix = prefix});
      EXPECT_EQ(rt.to_host<float>(got.weight), (std::vector<float>{1, 2}));
      EXPECT_EQ(rt.to_host<float>(got.bias), (std::vector<float>{3}));
    }
  }
  // An array saved by itself below a name is found as before.
  io::save_npz(rt, file("named.npz"), {{"a.arr_0", of({1})}, {"a", of({2})}});
  const Array got = io::load_tree(rt, file("named.npz"), of({0}), {.prefix = "a"});
  EXPECT_EQ(rt.to_host<float>(got), (std::vector<float>{1}));
}

TEST_F(IoOnDevice, TreesThatDoNotFitAreNamed) {
  io::save_tree(rt, file("other.npz"), model());
  Model larger = model(), smaller = model();
  larger.frozen = of({1});
  smaller.layers[0].bias = Array::hole();
  const auto load = [&](const Model& like) {
    return error_of([&] { io::load_tree(rt, file("other.npz"), like); });
  };
  EXPECT_THAT(load(larger), HasSubstr("has no `frozen`, which the tree has (io_test.cpp:"));
  EXPECT_THAT(load(smaller), HasSubstr("has `layers.0.bias`, which the tree does not have"));
  Model wider = model();
  wider.layers[0].weight = of({1, 2, 3});
  EXPECT_THAT(load(wider),
              HasSubstr("has `layers.0.weight` of type f32[2], which is f32[3] in the tree"));
  EXPECT_THROW(io::save_tree(rt, file("model.bin"), model()), UsageError);
}

TEST_F(IoOnDevice, ArraysGoToFilesAndBack) {
  io::save_npy(rt, file("device.npy"), of({1, 2, 3}));
  EXPECT_EQ(rt.to_host<float>(io::load_npy(rt, file("device.npy"))), (std::vector<float>{1, 2, 3}));
  io::save_safetensors(rt, file("device.safetensors"), {{"x", of({4})}});
  const auto arrays = io::load_safetensors(rt, file("device.safetensors"));
  EXPECT_EQ(arrays.at(0).first, "x");
  EXPECT_EQ(rt.to_host<float>(arrays[0].second), std::vector<float>{4});
}

}  // namespace
}  // namespace gnomon::testing

// samples/train_digits/digits.cpp -- glyphs that are turned and shifted.
#include "samples/train_digits/digits.h"

#include <string_view>
#include <vector>

namespace gn = gnomon;
using gn::Array;

namespace digits {
namespace {

/// A row of pixels of all digits, then the next one.
constexpr std::string_view lines[] = {
    ".###. ..#.. .###. ####. ...#. ##### .###. ##### .###. .###.",
    "#...# .##.. #...# ....# ..##. #.... #.... ....# #...# #...#",
    "#...# ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...#",
    "#...# ..#.. ...#. .###. #..#. ....# ####. ..#.. .###. .####",
    "#...# ..#.. ..#.. ....# ##### ....# #...# ..#.. #...# ....#",
    "#...# ..#.. .#... ....# ...#. #...# #...# .#... #...# ....#",
    ".###. .###. ##### ####. ...#. .###. .###. .#... .###. .###.",
};
constexpr std::size_t rows = 7, columns = 5;

/// How much of each pixel of a row of n belongs to a point at `place`: [.., n].
Array shares(const Array& place, std::size_t n) {
  const Array pixel = gn::arange(gn::Dim(n), gn::DType::f32) - 0.5f * float(n - 1);
  return gn::relu(1 - gn::abs(gn::expand_dims(place, -1) - pixel));
}

Examples one(const Array& font, float noise, gn::Key key) {
  auto [a, b, c] = gn::random::split<3>(std::move(key));
  const Array label = gn::random::randint(std::move(a), {}, 0, int(classes));
  const Array u = gn::random::uniform(std::move(b), {5}, -1, 1);
  const Array angle = 0.3f * u[0], scale = 1 + 0.1f * u[1], contrast = 0.8f + 0.2f * u[2];
  const Array from_center = gn::arange(side, gn::DType::f32) - 0.5f * float(side - 1);
  const Array y = gn::expand_dims(from_center - u[3], 1), x = from_center - u[4];
  // Where in the glyph the picture's pixels are, and what is there between its pixels.
  const Array down = shares(scale * (gn::cos(angle) * y - gn::sin(angle) * x), rows),
              across = shares(scale * (gn::sin(angle) * y + gn::cos(angle) * x), columns);
  const Array ink = gn::einsum("yxr,yxc,rc->yx", down, across, font[label]);
  const Array grain = noise * gn::random::normal(std::move(c), {side, side});
  return {gn::expand_dims(contrast * ink - 0.3f + grain, 0), label};
}

}  // namespace

std::vector<float> font() {
  std::vector<float> pixels;
  for (std::size_t d = 0; d < std::size_t(classes); ++d)
    for (const std::string_view line : lines)
      for (const char c : line.substr(d * (columns + 1), columns))
        pixels.push_back(c == '#' ? 1.0f : 0.0f);
  return pixels;
}

Examples draw(const Array& font, float noise, gn::Key key, gn::Dim count) {
  return gn::vmap([&](gn::Key k) { return one(font, noise, std::move(k)); })(
      gn::random::split(std::move(key), count));
}

}  // namespace digits

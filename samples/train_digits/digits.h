// samples/train_digits/digits.h -- pictures of digits, drawn on the device.
#pragma once
#include <gnomon/gnomon.h>

#include <vector>

namespace digits {

constexpr gnomon::Dim side = 8, classes = 10;

struct Examples {
  gnomon::Array images, labels;  // f32[n, 1, side, side] around 0; i32[n]
};

/// Glyphs, f32[classes, 7, 5] row by row.
std::vector<float> font();

/// `count` digits of the font, shifted by up to a pixel, turned by up to 17 degrees, larger or
/// smaller by up to a tenth, of any contrast from 0.6 to 1, with noise of a given deviation.
Examples draw(const gnomon::Array& font, float noise, gnomon::Key key, gnomon::Dim count);

}  // namespace digits

// shaders/math/special_bessel.cpp -- modified Bessel functions of the first kind, times e^-|x|.
//
// Fits interpolate the function at Chebyshev nodes, computed with 50 digits: up to 8 in x^2 / 4,
// where all coefficients are positive, beyond in 1 / x.
#include "shaders/math/elementary.h"
#include "shaders/math/special.h"
#include "shaders/math/special_support.h"

namespace gnomon::math {
namespace {

/// `y`, a function of a^2 / 4, corrected for the rounding of that: its logarithm has the derivative
/// 1 / sqrt(c + d a^2 / 4), within a few per cent.
template <class T>
Floating<T> of_exact_square(Floating<T> y, Twofold<T> square, T c, T d) {
  return y + y * (square.low * T(0.25) / square_root(square.high * (d / 4) + c));
}

/// `small` / e^a for a <= 8, else `large` / sqrt(a).
template <class T>
Floating<T> joined(Floating<T> a, Floating<T> small, Floating<T> large) {
  const Floating<T> near = at_most(a, T(8));
  const Floating<T> decay{a.b, exp(*a.b, (-near).v)};
  return select(a <= T(8), small * decay, large / square_root(a));
}

template <class T>
Floating<T> i0e_of(Floating<T> x) {
  const Floating<T> a = magnitude(x);
  const Floating<T> near = at_most(a, T(8)), t = T(16) / at_least(a, T(8)) - T(1);
  const Twofold<T> square = product_exact(near, near);
  return joined(
      a,
      of_exact_square(
          fitted(square.high * T(0.25),
                 {1.0, 1.0, 0.2500000000000001, 0.027777777777777565, 0.001736111111111376,
                  6.944444444424383e-05, 1.9290123457791118e-06, 3.936759885671325e-08,
                  6.151187413228462e-10, 7.594056845868694e-12, 7.594079960228945e-14,
                  6.275862733672974e-16, 4.360036780490047e-18, 2.5698719148716572e-20,
                  1.350965636532604e-22, 4.940539162188696e-25, 3.6455444613042936e-27},
                 {1.0f, 1.0f, 0.249999985f, 0.0277777929f, 0.00173610146f, 6.94478367e-05f,
                  1.92825451e-06f, 3.94786106e-08f, 6.04333084e-10f, 8.27936851e-12f,
                  4.8867428e-14f, 1.21164823e-15f}),
          square, T(1), T(1.08)),
      fitted(t, {0.4021765094450081,      0.003360551983667854,   0.00013621607439232746,
                 1.1143033791556743e-05,  1.4838475473607391e-06, 2.973598432479169e-07,
                 8.87225351128584e-08,    3.932602459703109e-08,  2.1545177650836005e-08,
                 7.553516470355896e-09,   -6.729724111923548e-09, -1.3404241991980871e-08,
                 -5.4685974495866e-09,    7.540601378890834e-09,  7.58022133915272e-09,
                 -3.4857887470034955e-09, -6.188265090497361e-09, 1.497880830187091e-09,
                 3.881151253996067e-09,   -5.562201990080394e-10, -1.7789375042917173e-09,
                 1.4672236659214398e-10,  5.181936971288284e-10,  -1.9216763724933513e-11,
                 -7.06893851181878e-11},
             {0.402176499f, 0.00336055574f, 0.00013621684f, 1.11115251e-05f, 1.47679214e-06f,
              3.6317104e-07f, 1.08298984e-07f}));
}

template <class T>
Floating<T> i1e_of(Floating<T> x) {
  const Floating<T> a = magnitude(x);
  const Floating<T> near = at_most(a, T(8)), t = T(16) / at_least(a, T(8)) - T(1);
  const Twofold<T> square = product_exact(near, near);
  const Floating<T> small =
      near * T(0.5) *
      of_exact_square(fitted(square.high * T(0.25),
                             {1.0, 0.5000000000000001, 0.08333333333333304, 0.0069444444444450686,
                              0.0003472222222215345, 1.1574074074531646e-05, 2.7557319204017457e-07,
                              4.920949921573997e-09, 6.834651293814351e-11, 7.594078576470997e-13,
                              6.9034591817347096e-15, 5.231992807084513e-17, 3.341001302895108e-19,
                              1.8910390401828096e-21, 7.413014626750379e-24, 5.833820724661665e-26},
                             {1.0f, 0.5f, 0.0833333656f, 0.00694441609f, 0.00034723623f,
                              1.15700259e-05f, 2.76300227e-07f, 4.83758678e-09f, 7.44255282e-11f,
                              4.89573605e-13f, 1.33361272e-14f}),
                      square, T(4), T(1.3));
  return with_sign(
      joined(a, small,
             fitted(t, {0.38939845902587233,     -0.009749577193235728,   -0.00021923576383430274,
                        -1.5038547201176271e-05, -1.8349101134666435e-06, -3.483855609009937e-07,
                        -1.0001323461066435e-07, -4.312935369971356e-08,  -2.337059627111857e-08,
                        -8.426622829598154e-09,  6.715795128085017e-09,   1.4029693589852716e-08,
                        6.040877342160988e-09,   -7.630751970065577e-09,  -8.044231276166508e-09,
                        3.406636130196794e-09,   6.4870195719816896e-09,  -1.4171698018664596e-09,
                        -4.047785403711858e-09,  5.146498826087142e-10,   1.8513716745511988e-09,
                        -1.342266320082222e-10,  -5.388285995923524e-10,  1.7502497778701306e-11,
                        7.347992441734663e-11},
                    {0.389398456f, -0.00974958111f, -0.000219236666f, -1.50033229e-05f,
                     -1.82671454e-06f, -4.21555427e-07f, -1.22124987e-07f})),
      x);
}

}  // namespace

Value i0e(Builder& b, Value x) {
  return in_either(
      b, [](auto v) { return i0e_of(v); }, x);
}
Value i1e(Builder& b, Value x) {
  return in_either(
      b, [](auto v) { return i1e_of(v); }, x);
}

}  // namespace gnomon::math

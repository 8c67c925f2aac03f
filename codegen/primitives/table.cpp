// codegen/primitives/table.cpp -- the list of all operations.
#include "codegen/primitives/table.h"

#include <algorithm>
#include <vector>

#include "codegen/primitives/buffer.h"
#include "codegen/primitives/calls.h"
#include "codegen/primitives/collectives.h"
#include "codegen/primitives/control.h"
#include "codegen/primitives/cumulative.h"
#include "codegen/primitives/custom_vmap.h"
#include "codegen/primitives/effects.h"
#include "codegen/primitives/gather_scatter.h"
#include "codegen/primitives/linalg.h"
#include "codegen/primitives/sort.h"
#include "codegen/primitives/special.h"
#include "codegen/primitives/window.h"

namespace gnomon {
namespace {

std::vector<const Primitive*> sorted_table() {
  std::vector<const Primitive*> all{
      // sources
      &constant_p, &iota_p, &buffer_p, &unwritten_p, &threefry2x32_p,
      // arithmetic
      &add_p, &sub_p, &mul_p, &div_p, &rem_p, &pow_p, &atan2_p, &max_p, &min_p, &neg_p, &abs_p,
      &sign_p, &floor_p, &ceil_p, &round_p, &trunc_p, &integer_pow_p, &relu_p, &hypot_p,
      &fmod_p, &floor_mod_p, &trunc_div_p, &floor_div_p,
      // bits
      &and_p, &or_p, &xor_p, &not_p, &shl_p, &shr_p, &popcount_p,
      // comparison and choice
      &eq_p, &ne_p, &lt_p, &le_p, &gt_p, &ge_p, &isnan_p, &isfinite_p, &select_p, &clamp_p,
      // elementary functions
      &exp_p, &exp_nonpositive_p, &exp2_p, &expm1_p, &log_p, &log2_p, &log10_p, &log1p_p, &sqrt_p, &rsqrt_p, &cbrt_p,
      &sin_p, &cos_p, &tan_p, &asin_p, &acos_p, &atan_p, &sinh_p, &cosh_p, &tanh_p, &asinh_p,
      &acosh_p, &atanh_p, &logistic_p, &erf_p, &erfc_p, &erf_inv_p, &erf_inv_giles_p, &softplus_p,
      &logaddexp_p,
      // special functions
      &lgamma_p, &digamma_p, &polygamma_p, &gammainc_p, &gammaincc_p, &gammainc_da_p,
      &gamma_density_p, &gamma_draw_p, &loggamma_draw_p, &i0e_p, &i1e_p, &betaln_p, &betainc_p,
      &i0_p, &i1_p,
      // types
      &convert_p, &bitcast_p, &stop_gradient_p,
      // moving data
      &broadcast_p, &reshape_p, &permute_p, &slice_p, &reverse_p, &concatenate_p, &pad_p, &gather_p,
      &scatter_set_p, &scatter_add_p, &scatter_mul_p, &scatter_min_p, &scatter_max_p,
      &dynamic_slice_p, &dynamic_update_slice_p,
      // order
      &sort_p, &rearrange_p,
      // sums
      &sum_p, &prod_p, &reduce_max_p, &reduce_min_p, &argmax_p, &argmin_p, &dot_general_p,
      // linear algebra
      &cholesky_p, &triangular_solve_p, &lu_p, &solve_p, &qr_p, &eigh_p, &svd_p, &pinv_p, &expm_p,
      &expm_tangent_p,
      // along an axis
      &cumsum_p, &cumprod_p, &cummax_p, &cummin_p, &cumlogsumexp_p, &linear_recurrence_p,
      // windows
      &window_sum_p, &window_max_p, &window_min_p, &window_argmax_p, &window_argmin_p, &conv_p,
      // loops and branches
      &while_p, &scan_p, &cond_p,
      // calls and markers
      &custom_jvp_p, &custom_vjp_p, &checkpoint_p, &custom_linear_solve_p, &custom_vmap_p,
      &checkpoint_name_p,
      &optimization_barrier_p, &nondifferentiable_p, &nondifferentiable_backward_p,
      // among the elements of a vmap
      &psum_p, &all_gather_p, &axis_index_p,
      // statements
      &print_p, &error_if_p};
  std::sort(all.begin(), all.end(),
            [](const Primitive* a, const Primitive* b) { return a->name < b->name; });
  return all;
}

}  // namespace

std::span<const Primitive* const> primitives() {
  static const std::vector<const Primitive*> table = sorted_table();
  return table;
}

const Primitive* find_primitive(std::string_view name) {
  const auto table = primitives();
  const auto it =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const Primitive* p, std::string_view n) { return p->name < n; });
  return it != table.end() && (*it)->name == name ? *it : nullptr;
}

}  // namespace gnomon

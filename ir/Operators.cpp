//===- Operators.cpp - every operator: its schema and its result rule -----===//
// One line an operator, as PyTorch prints its schema, in the group of the rule
// that gives its results. A new operator is a line here (and a rule, where none
// fits), and a test.
#include "Operators.h"
#include "ResultRules.h"

namespace gcompile::aten {

llvm::ArrayRef<OperatorGroup> operatorGroups() {
  // clang-format off
  static const OperatorGroup groups[] = {

    // Pointwise
    {rules::pointwise, R"(
aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
aten::mul.Scalar(Tensor self, Scalar other) -> Tensor
aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor
aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor
aten::maximum(Tensor self, Tensor other) -> Tensor
aten::minimum(Tensor self, Tensor other) -> Tensor
aten::max.other(Tensor self, Tensor other) -> Tensor
aten::min.other(Tensor self, Tensor other) -> Tensor
aten::fmax(Tensor self, Tensor other) -> Tensor
aten::fmin(Tensor self, Tensor other) -> Tensor
aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor
aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor
aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor
aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor
aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
aten::floor_divide(Tensor self, Tensor other) -> Tensor
aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor
aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor
aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor
aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor
aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor
aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor
aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor
aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor
aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
aten::bitwise_not(Tensor self) -> Tensor
aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor
aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor
aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor
aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor
aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor
aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor
aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor
aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor
aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor
aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor
aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor
aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor
aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor
aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor
aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
aten::clamp_min(Tensor self, Scalar min) -> Tensor
aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor
aten::clamp_max(Tensor self, Scalar max) -> Tensor
aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor
aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor
aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor
aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor
aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
aten::gcd(Tensor self, Tensor other) -> Tensor
aten::lcm(Tensor self, Tensor other) -> Tensor
aten::hypot(Tensor self, Tensor other) -> Tensor
aten::nextafter(Tensor self, Tensor other) -> Tensor
aten::heaviside(Tensor self, Tensor values) -> Tensor
aten::logaddexp(Tensor self, Tensor other) -> Tensor
aten::logaddexp2(Tensor self, Tensor other) -> Tensor
aten::abs(Tensor self) -> Tensor
aten::absolute(Tensor self) -> Tensor
aten::neg(Tensor self) -> Tensor
aten::negative(Tensor self) -> Tensor
aten::positive(Tensor(a) self) -> Tensor(a)
aten::sign(Tensor self) -> Tensor
aten::sgn(Tensor self) -> Tensor
aten::ceil(Tensor self) -> Tensor
aten::floor(Tensor self) -> Tensor
aten::round(Tensor self) -> Tensor
aten::round.decimals(Tensor self, *, int decimals) -> Tensor
aten::trunc(Tensor self) -> Tensor
aten::fix(Tensor self) -> Tensor
aten::frac(Tensor self) -> Tensor
aten::square(Tensor self) -> Tensor
aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor
aten::relu(Tensor self) -> Tensor
aten::relu6(Tensor self) -> Tensor
aten::conj(Tensor(a) self) -> Tensor(a)
aten::conj_physical(Tensor self) -> Tensor
aten::resolve_conj(Tensor(a) self) -> Tensor(a)
aten::resolve_neg(Tensor(a) self) -> Tensor(a)
aten::real(Tensor(a) self) -> Tensor(a)
prims::fma(Tensor self, Tensor other, Tensor third) -> Tensor
)"},
    {rules::pointwiseToFloat, R"(
aten::div.Tensor(Tensor self, Tensor other) -> Tensor
aten::div.Scalar(Tensor self, Scalar other) -> Tensor
aten::divide.Tensor(Tensor self, Tensor other) -> Tensor
aten::divide.Scalar(Tensor self, Scalar other) -> Tensor
aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor
aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor
aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
aten::atan2(Tensor self, Tensor other) -> Tensor
aten::arctan2(Tensor self, Tensor other) -> Tensor
aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor
aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor
aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor
aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor
aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor
aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor
aten::special_xlogy(Tensor self, Tensor other) -> Tensor
aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor
aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor
aten::special_xlog1py(Tensor self, Tensor other) -> Tensor
aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor
aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor
aten::special_zeta(Tensor self, Tensor other) -> Tensor
aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor
aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor
aten::exp(Tensor self) -> Tensor
aten::exp2(Tensor self) -> Tensor
aten::expm1(Tensor self) -> Tensor
aten::log(Tensor self) -> Tensor
aten::log2(Tensor self) -> Tensor
aten::log10(Tensor self) -> Tensor
aten::log1p(Tensor self) -> Tensor
aten::sqrt(Tensor self) -> Tensor
aten::rsqrt(Tensor self) -> Tensor
aten::reciprocal(Tensor self) -> Tensor
aten::sin(Tensor self) -> Tensor
aten::cos(Tensor self) -> Tensor
aten::tan(Tensor self) -> Tensor
aten::asin(Tensor self) -> Tensor
aten::arcsin(Tensor self) -> Tensor
aten::acos(Tensor self) -> Tensor
aten::arccos(Tensor self) -> Tensor
aten::atan(Tensor self) -> Tensor
aten::arctan(Tensor self) -> Tensor
aten::sinh(Tensor self) -> Tensor
aten::cosh(Tensor self) -> Tensor
aten::tanh(Tensor self) -> Tensor
aten::asinh(Tensor self) -> Tensor
aten::arcsinh(Tensor self) -> Tensor
aten::acosh(Tensor self) -> Tensor
aten::arccosh(Tensor self) -> Tensor
aten::atanh(Tensor self) -> Tensor
aten::arctanh(Tensor self) -> Tensor
aten::sigmoid(Tensor self) -> Tensor
aten::special_expit(Tensor self) -> Tensor
aten::logit(Tensor self, float? eps=None) -> Tensor
aten::special_logit(Tensor self, float? eps=None) -> Tensor
aten::erf(Tensor self) -> Tensor
aten::special_erf(Tensor self) -> Tensor
aten::erfc(Tensor self) -> Tensor
aten::special_erfc(Tensor self) -> Tensor
aten::erfinv(Tensor self) -> Tensor
aten::special_erfinv(Tensor self) -> Tensor
aten::lgamma(Tensor self) -> Tensor
aten::special_gammaln(Tensor self) -> Tensor
aten::digamma(Tensor self) -> Tensor
aten::special_digamma(Tensor self) -> Tensor
aten::polygamma(int n, Tensor self) -> Tensor
aten::mvlgamma(Tensor self, int p) -> Tensor
aten::i0(Tensor self) -> Tensor
aten::special_i0(Tensor self) -> Tensor
aten::sinc(Tensor self) -> Tensor
aten::special_sinc(Tensor self) -> Tensor
aten::deg2rad(Tensor self) -> Tensor
aten::rad2deg(Tensor self) -> Tensor
aten::angle(Tensor self) -> Tensor
aten::igamma(Tensor self, Tensor other) -> Tensor
aten::igammac(Tensor self, Tensor other) -> Tensor
aten::special_i0e(Tensor self) -> Tensor
aten::special_i1(Tensor self) -> Tensor
aten::special_i1e(Tensor self) -> Tensor
aten::special_entr(Tensor self) -> Tensor
aten::special_ndtri(Tensor self) -> Tensor
aten::special_ndtr(Tensor self) -> Tensor
aten::special_log_ndtr(Tensor self) -> Tensor
aten::special_erfcx(Tensor self) -> Tensor
aten::special_expm1(Tensor self) -> Tensor
aten::special_exp2(Tensor self) -> Tensor
aten::special_log1p(Tensor self) -> Tensor
aten::special_airy_ai(Tensor x) -> Tensor
aten::special_bessel_j0(Tensor self) -> Tensor
aten::special_bessel_j1(Tensor self) -> Tensor
aten::special_bessel_y0(Tensor self) -> Tensor
aten::special_bessel_y1(Tensor self) -> Tensor
aten::special_modified_bessel_i0(Tensor self) -> Tensor
aten::special_modified_bessel_i1(Tensor self) -> Tensor
aten::special_modified_bessel_k0(Tensor self) -> Tensor
aten::special_modified_bessel_k1(Tensor self) -> Tensor
aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor
aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor
aten::special_spherical_bessel_j0(Tensor x) -> Tensor
aten::special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor
aten::special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor
aten::special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor
aten::special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor
aten::special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor
aten::special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor
aten::special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor
aten::special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor
aten::special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor
aten::special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor
aten::special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor
aten::special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor
)"},
    {rules::pointwiseToBool, R"(
aten::eq.Tensor(Tensor self, Tensor other) -> Tensor
aten::eq.Scalar(Tensor self, Scalar other) -> Tensor
aten::ne.Tensor(Tensor self, Tensor other) -> Tensor
aten::ne.Scalar(Tensor self, Scalar other) -> Tensor
aten::lt.Tensor(Tensor self, Tensor other) -> Tensor
aten::lt.Scalar(Tensor self, Scalar other) -> Tensor
aten::le.Tensor(Tensor self, Tensor other) -> Tensor
aten::le.Scalar(Tensor self, Scalar other) -> Tensor
aten::gt.Tensor(Tensor self, Tensor other) -> Tensor
aten::gt.Scalar(Tensor self, Scalar other) -> Tensor
aten::ge.Tensor(Tensor self, Tensor other) -> Tensor
aten::ge.Scalar(Tensor self, Scalar other) -> Tensor
aten::greater.Tensor(Tensor self, Tensor other) -> Tensor
aten::greater.Scalar(Tensor self, Scalar other) -> Tensor
aten::greater_equal.Tensor(Tensor self, Tensor other) -> Tensor
aten::greater_equal.Scalar(Tensor self, Scalar other) -> Tensor
aten::less.Tensor(Tensor self, Tensor other) -> Tensor
aten::less.Scalar(Tensor self, Scalar other) -> Tensor
aten::less_equal.Tensor(Tensor self, Tensor other) -> Tensor
aten::less_equal.Scalar(Tensor self, Scalar other) -> Tensor
aten::not_equal.Tensor(Tensor self, Tensor other) -> Tensor
aten::not_equal.Scalar(Tensor self, Scalar other) -> Tensor
aten::logical_and(Tensor self, Tensor other) -> Tensor
aten::logical_or(Tensor self, Tensor other) -> Tensor
aten::logical_xor(Tensor self, Tensor other) -> Tensor
aten::logical_not(Tensor self) -> Tensor
aten::isnan(Tensor self) -> Tensor
aten::isinf(Tensor self) -> Tensor
aten::isfinite(Tensor self) -> Tensor
aten::isposinf(Tensor self) -> Tensor
aten::isneginf(Tensor self) -> Tensor
aten::isreal(Tensor self) -> Tensor
aten::signbit(Tensor self) -> Tensor
aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor
)"},
    {rules::divideRounded, R"(
aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
)"},
    {rules::floatPower, R"(
aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor
)"},
    {rules::sameAsFirst, R"(
aten::gelu(Tensor self, *, str approximate="none") -> Tensor
aten::silu(Tensor self) -> Tensor
aten::mish(Tensor self) -> Tensor
aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
aten::selu(Tensor self) -> Tensor
aten::celu(Tensor self, Scalar alpha=1.) -> Tensor
aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor
aten::hardsigmoid(Tensor self) -> Tensor
aten::hardswish(Tensor self) -> Tensor
aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor
aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor
aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor
aten::log_sigmoid(Tensor self) -> Tensor
aten::prelu(Tensor self, Tensor weight) -> Tensor
aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor
aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor
aten::dropout(Tensor input, float p, bool train) -> Tensor
aten::feature_dropout(Tensor input, float p, bool train) -> Tensor
aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor
aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor
aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor
aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor
aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor
aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor
aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor
aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor
aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor
aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor
aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor
aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor
aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor
aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor
aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor
aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor
aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor
aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor
aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor
aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor
aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor
aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor
aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor
aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor
aten::fill.Scalar(Tensor self, Scalar value) -> Tensor
aten::fill.Tensor(Tensor self, Tensor value) -> Tensor
aten::zero(Tensor self) -> Tensor
aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor
)"},
    {rules::sameAsFirst, R"(
aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)
aten::alias(Tensor(a) self) -> Tensor(a)
aten::detach(Tensor(a) self) -> Tensor(a)
aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
aten::lift(Tensor self) -> Tensor
aten::lift_fresh(Tensor(a) self) -> Tensor(a)
aten::lift_fresh_copy(Tensor self) -> Tensor
aten::detach_copy(Tensor self) -> Tensor
aten::alias_copy(Tensor self) -> Tensor
)"},
    {rules::maskedFill, R"(
aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor
)"},
    {rules::convertType, R"(
aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
aten::type_as(Tensor self, Tensor other) -> Tensor
prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor
)"},
    {rules::viewType, R"(
aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor
)"},
    {rules::sameAsSelfWithMask, R"(
aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)
)"},
    {rules::logSigmoidForward, R"(
aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)
)"},
    {rules::broadcastAll, R"(
aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]
)"},
    {rules::containedIn, R"(
aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor
aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor
aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor
)"},

    // Views
    {rules::view, R"(
aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)
aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor
aten::view_copy(Tensor self, SymInt[] size) -> Tensor
aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor
aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)
)"},
    {rules::viewAs, R"(
aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)
aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)
)"},
    {rules::expand, R"(
aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor
aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)
)"},
    {rules::expandAs, R"(
aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)
)"},
    {rules::permute, R"(
aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)
aten::permute_copy(Tensor self, int[] dims) -> Tensor
)"},
    {rules::transposeDims, R"(
aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor
aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)
aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
)"},
    {rules::transposeLast, R"(
aten::t(Tensor(a) self) -> Tensor(a)
aten::t_copy(Tensor self) -> Tensor
aten::mT(Tensor(a) self) -> Tensor(a)
aten::mH(Tensor(a) self) -> Tensor(a)
aten::adjoint(Tensor(a) self) -> Tensor(a)
)"},
    {rules::reversed, R"(
aten::numpy_T(Tensor(a) self) -> Tensor(a)
)"},
    {rules::moveDims, R"(
aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)
aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)
aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
)"},
    {rules::squeeze, R"(
aten::squeeze(Tensor(a) self) -> Tensor(a)
aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)
aten::squeeze_copy(Tensor self) -> Tensor
aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor
aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor
)"},
    {rules::unsqueeze, R"(
aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)
aten::unsqueeze_copy(Tensor self, int dim) -> Tensor
)"},
    {rules::flatten, R"(
aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)
)"},
    {rules::ravel, R"(
aten::ravel(Tensor(a) self) -> Tensor(a)
)"},
    {rules::unflatten, R"(
aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)
)"},
    {rules::slice, R"(
aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor
)"},
    {rules::select, R"(
aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor
)"},
    {rules::narrow, R"(
aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)
aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor
)"},
    {rules::split, R"(
aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]
)"},
    {rules::splitWithSizes, R"(
aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]
)"},
    {rules::chunk, R"(
aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]
)"},
    {rules::tensorSplit, R"(
aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]
aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]
)"},
    {rules::unbind, R"(
aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]
)"},
    {rules::diagonal, R"(
aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)
aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor
aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)
)"},
    {rules::stridedView, R"(
aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)
aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor
)"},
    {rules::windows, R"(
aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)
aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor
)"},
    {rules::atLeast, R"(
aten::atleast_1d(Tensor self) -> Tensor
aten::atleast_2d(Tensor self) -> Tensor
aten::atleast_3d(Tensor self) -> Tensor
)"},

    // Creation
    {rules::sized, R"(
aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
)"},
    {rules::sizedLikeSelf, R"(
aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor
)"},
    {rules::filled, R"(
aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
)"},
    {rules::likeSelf, R"(
aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
)"},
    {rules::arange, R"(
aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
)"},
    {rules::linspace, R"(
aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
)"},
    {rules::identityMatrix, R"(
aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
)"},
    {rules::scalarTensor, R"(
aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
)"},
    {rules::randomInts, R"(
aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
)"},
    {rules::sameAsFirst, R"(
aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor
aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor
aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor
aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor
aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor
aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor
aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor
aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor
aten::random(Tensor self, *, Generator? generator=None) -> Tensor
aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor
aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor
)"},
    {rules::iota, R"(
prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) -> Tensor
)"},
    {rules::triangleIndices, R"(
aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
)"},

    // Data movement
    {rules::concatenate, R"(
aten::cat(Tensor[] tensors, int dim=0) -> Tensor
aten::concat(Tensor[] tensors, int dim=0) -> Tensor
aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor
aten::hstack(Tensor[] tensors) -> Tensor
aten::vstack(Tensor[] tensors) -> Tensor
aten::dstack(Tensor[] tensors) -> Tensor
aten::column_stack(Tensor[] tensors) -> Tensor
)"},
    {rules::stack, R"(
aten::stack(Tensor[] tensors, int dim=0) -> Tensor
)"},
    {rules::meshgrid, R"(
aten::meshgrid(Tensor[] tensors) -> Tensor[]
aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]
)"},
    {rules::pad, R"(
aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor
aten::pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor
aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor
aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor
aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor
aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor
aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor
aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor
)"},
    {rules::gradOfSelf, R"(
aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor
aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor
aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor
aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor
aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor
aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor
)"},
    {rules::repeat, R"(
aten::repeat(Tensor self, SymInt[] repeats) -> Tensor
aten::tile(Tensor self, SymInt[] dims) -> Tensor
)"},
    {rules::repeatInterleave, R"(
aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor
)"},
    {rules::rotate, R"(
aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor
)"},
    {rules::sameAsFirst, R"(
aten::flip(Tensor self, int[] dims) -> Tensor
aten::fliplr(Tensor self) -> Tensor
aten::flipud(Tensor self) -> Tensor
aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
aten::tril(Tensor self, int diagonal=0) -> Tensor
aten::triu(Tensor self, int diagonal=0) -> Tensor
aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor
aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor
)"},
    {rules::difference, R"(
aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor
)"},
    {rules::diag, R"(
aten::diag(Tensor self, int diagonal=0) -> Tensor
)"},
    {rules::diagEmbed, R"(
aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor
)"},
    {rules::gather, R"(
aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
)"},
    {rules::take, R"(
aten::take(Tensor self, Tensor index) -> Tensor
aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor
)"},
    {rules::indexTensors, R"(
aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
)"},
    {rules::indexSelect, R"(
aten::index_select(Tensor self, int dim, Tensor index) -> Tensor
)"},
    {rules::embedding, R"(
aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor
)"},
    {rules::embeddingBag, R"(
aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)
aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)
)"},
    {rules::oneHot, R"(
aten::one_hot(Tensor self, int num_classes=-1) -> Tensor
)"},
    {rules::sameAsFirst, R"(
aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor
aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor
aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor
aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor
aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor
aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor
aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor
aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor
aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor
aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor
aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor
aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor
aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor
)"},
    {rules::backwardToSizes, R"(
aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor
aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor
aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor
aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor
aten::index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor
)"},
    {rules::pixelShuffle, R"(
aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor
)"},
    {rules::pixelUnshuffle, R"(
aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor
)"},
    {rules::imageToColumns, R"(
aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor
)"},
    {rules::columnsToImage, R"(
aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor
)"},

    // Reductions
    {rules::sumLike, R"(
aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
)"},
    {rules::meanLike, R"(
aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
)"},
    {rules::reduceSame, R"(
aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
aten::var(Tensor self, bool unbiased=True) -> Tensor
aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
aten::std(Tensor self, bool unbiased=True) -> Tensor
aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
)"},
    {rules::reducePair, R"(
aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)
aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)
aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)
)"},
    {rules::reduceToBool, R"(
aten::any(Tensor self) -> Tensor
aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
aten::all(Tensor self) -> Tensor
aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
)"},
    {rules::reduceToIndex, R"(
aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
aten::count_nonzero(Tensor self, int? dim=None) -> Tensor
aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor
)"},
    {rules::reduceToFloat, R"(
aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
)"},
    {rules::reduceWithIndex, R"(
aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
)"},
    {rules::extrema, R"(
aten::max(Tensor self) -> Tensor
aten::min(Tensor self) -> Tensor
aten::median(Tensor self) -> Tensor
aten::nanmedian(Tensor self) -> Tensor
)"},
    {rules::vectorNorm, R"(
aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor
aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor
aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor
aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
)"},
    {rules::distance, R"(
aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor
aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor
aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor
aten::_pdist_forward(Tensor self, float p=2.) -> Tensor
aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor
aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor
)"},
    {rules::histogram, R"(
aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor
)"},

    // Along one dimension
    {rules::softmax, R"(
aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
)"},
    {rules::softmaxBackward, R"(
aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
)"},
    {rules::onlineSoftmax, R"(
prims::prepare_softmax_online(Tensor x, int dim) -> (Tensor, Tensor)
)"},
    {rules::scan, R"(
aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
aten::logcumsumexp(Tensor self, int dim) -> Tensor
)"},
    {rules::scanWithIndex, R"(
aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)
aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)
aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
)"},
    {rules::sameAsFirst, R"(
aten::msort(Tensor self) -> Tensor
)"},
    {rules::topK, R"(
aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
)"},
    {rules::toIndices, R"(
aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor
aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor
)"},
    {rules::bucketPosition, R"(
aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor
aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor
aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
)"},

    // Losses
    {rules::loss, R"(
aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor
aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor
aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor
aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor
aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor
aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor
aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor
aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor
)"},
    {rules::crossEntropy, R"(
aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor
aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
)"},
    {rules::negativeLogLikelihood, R"(
aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)
aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)
)"},
    {rules::gradOfSelf, R"(
aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor
aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor
aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor
aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor
aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor
)"},

    // Products
    {rules::matrixProduct, R"(
aten::mm(Tensor self, Tensor mat2) -> Tensor
)"},
    {rules::batchProduct, R"(
aten::bmm(Tensor self, Tensor mat2) -> Tensor
)"},
    {rules::addedProduct, R"(
aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
)"},
    {rules::vectorProduct, R"(
aten::mv(Tensor self, Tensor vec) -> Tensor
aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
)"},
    {rules::dotProduct, R"(
aten::dot(Tensor self, Tensor tensor) -> Tensor
aten::vdot(Tensor self, Tensor other) -> Tensor
)"},
    {rules::outerProduct, R"(
aten::outer(Tensor self, Tensor vec2) -> Tensor
aten::ger(Tensor self, Tensor vec2) -> Tensor
aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
)"},
    {rules::matmul, R"(
aten::matmul(Tensor self, Tensor other) -> Tensor
aten::linalg_matmul(Tensor self, Tensor other) -> Tensor
)"},
    {rules::linear, R"(
aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
)"},
    {rules::einsum, R"(
aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor
)"},
    {rules::bilinear, R"(
aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor
aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor
aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor
)"},
    {rules::kron, R"(
aten::kron(Tensor self, Tensor other) -> Tensor
)"},
    {rules::pointwise, R"(
aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor
aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor
)"},
    {rules::sameAsFirst, R"(
aten::linalg_matrix_exp(Tensor self) -> Tensor
)"},

    // Convolution and pooling
    {rules::convolution, R"(
aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor
aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor
aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor
aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor
aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor
)"},
    {rules::convolutionNamedPadding, R"(
aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding="valid", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor
aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding="valid", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor
aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str padding="valid", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor
)"},
    {rules::convolutionTransposed, R"(
aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor
aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor
aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor
)"},
    {rules::convolutionBackward, R"(
aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
)"},
    {rules::pool, R"(
aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor
aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor
aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor
aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor
aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor
aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor
)"},
    {rules::maxPoolWithIndices, R"(
aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)
aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)
aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)
)"},
    {rules::adaptivePool, R"(
aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor
aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor
aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor
aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor
aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor
)"},
    {rules::adaptiveMaxPool, R"(
aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)
aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)
aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)
)"},
    {rules::gradOfSelf, R"(
aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor
aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor
aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor
aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor
aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor
aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor
aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor
aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor
)"},
    {rules::upsample, R"(
aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor
aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor
aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor
aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor
aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor
aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor
aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor
aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor
aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
)"},
    {rules::backwardToSizes, R"(
aten::upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor
aten::upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
)"},
    {rules::gridSample, R"(
aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor
aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor
aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor
)"},
    {rules::glu, R"(
aten::glu(Tensor self, int dim=-1) -> Tensor
)"},
    {rules::gradOfSelf, R"(
aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor
)"},

    // Recurrent networks
    {rules::recurrent, R"(
aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)
aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
)"},
    {rules::recurrentCell, R"(
aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)
aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor
aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor
aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor
)"},

    // Normalisation
    {rules::nativeBatchNorm, R"(
aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)
)"},
    {rules::batchNormFunctional, R"(
aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)
aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)
)"},
    {rules::nativeLayerNorm, R"(
aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)
)"},
    {rules::fusedRmsNorm, R"(
aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)
)"},
    {rules::nativeGroupNorm, R"(
aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)
)"},
    {rules::normBackward, R"(
aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
)"},
    {rules::batchNormBackward, R"(
aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
)"},

    // Attention
    {rules::attention, R"(
aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor
)"},
    {rules::attentionMath, R"(
aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)
)"},
    {rules::cudnnAttention, R"(
aten::_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)
)"},
    {rules::flashAttention, R"(
aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)
)"},
    {rules::flashAttentionCpu, R"(
aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)
)"},
    {rules::efficientAttention, R"(
aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)
aten::_efficient_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, int custom_mask_type, bool compute_log_sumexp=False, *, float? scale=None, Tensor? seqlen_k=None, int? window_size=None) -> (Tensor output, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, SymInt max_seqlen_batch_q, SymInt max_seqlen_batch_k)
)"},
    {rules::efficientAttentionBackward, R"(
aten::_scaled_dot_product_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor)
)"},
    {rules::attentionBackward, R"(
aten::_scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)
aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)
aten::_scaled_dot_product_cudnn_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, Tensor attn_bias, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, *, float? scale=None) -> (Tensor, Tensor, Tensor)
)"},

    // Results whose size depends on values, and what only libraries compute: types come with the program
    {nullptr, R"(
aten::nonzero(Tensor self) -> Tensor
aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor
aten::masked_select(Tensor self, Tensor mask) -> Tensor
aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)
aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)
aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)
aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
aten::argwhere(Tensor self) -> Tensor
aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)
aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor
)"},

    // Symbolic scalars
    {rules::symbolicArithmetic, R"(
_operator::add(Scalar a, Scalar b) -> Scalar
_operator::sub(Scalar a, Scalar b) -> Scalar
_operator::mul(Scalar a, Scalar b) -> Scalar
_operator::floordiv(Scalar a, Scalar b) -> Scalar
_operator::mod(Scalar a, Scalar b) -> Scalar
_operator::pow(Scalar a, Scalar b) -> Scalar
_operator::neg(Scalar a) -> Scalar
_operator::pos(Scalar a) -> Scalar
torch::sym_max(Scalar a, Scalar b) -> Scalar
torch::sym_min(Scalar a, Scalar b) -> Scalar
torch::sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar
)"},
    {rules::symbolicLogic, R"(
_operator::and_(Scalar a, Scalar b) -> Scalar
_operator::or_(Scalar a, Scalar b) -> Scalar
)"},
    {rules::symbolicToBool, R"(
_operator::eq(Scalar a, Scalar b) -> Scalar
_operator::ne(Scalar a, Scalar b) -> Scalar
_operator::lt(Scalar a, Scalar b) -> Scalar
_operator::le(Scalar a, Scalar b) -> Scalar
_operator::gt(Scalar a, Scalar b) -> Scalar
_operator::ge(Scalar a, Scalar b) -> Scalar
torch::sym_not(Scalar a) -> Scalar
)"},
    {rules::symbolicToFloat, R"(
_operator::truediv(Scalar a, Scalar b) -> Scalar
torch::sym_float(Scalar a) -> Scalar
torch::_sym_sqrt(Scalar a) -> Scalar
torch::sym_sqrt(Scalar a) -> Scalar
)"},
    {rules::symbolicToInt, R"(
torch::sym_int(Scalar a) -> Scalar
math::trunc(Scalar x) -> Scalar
math::floor(Scalar x) -> Scalar
math::ceil(Scalar x) -> Scalar
)"},
    {rules::symbolicToInt, R"(
aten::sym_size.int(Tensor self, int dim) -> SymInt
aten::sym_stride.int(Tensor self, int dim) -> SymInt
aten::sym_numel(Tensor self) -> SymInt
aten::sym_storage_offset(Tensor self) -> SymInt
)"},
    {rules::itemOf, R"(
aten::item(Tensor self) -> Scalar
aten::_local_scalar_dense(Tensor self) -> Scalar
)"},

    // Checks
    {rules::noResult, R"(
aten::_assert_scalar(Scalar self, str assert_msg) -> ()
aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()
aten::_assert_async(Tensor self) -> ()
aten::_assert_async.msg(Tensor self, str assert_msg) -> ()
aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()
aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()
)"},

    // In-place: a result is the argument written to
    {rules::inPlace, R"(
aten::abs_(Tensor(a!) self) -> Tensor(a!)
aten::absolute_(Tensor(a!) self) -> Tensor(a!)
aten::acos_(Tensor(a!) self) -> Tensor(a!)
aten::acosh_(Tensor(a!) self) -> Tensor(a!)
aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
aten::addbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)
aten::addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)
aten::addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
aten::addmv_(Tensor(a!) self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
aten::addr_(Tensor(a!) self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
aten::alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
aten::arccos_(Tensor(a!) self) -> Tensor(a!)
aten::arccosh_(Tensor(a!) self) -> Tensor(a!)
aten::arcsin_(Tensor(a!) self) -> Tensor(a!)
aten::arcsinh_(Tensor(a!) self) -> Tensor(a!)
aten::arctan_(Tensor(a!) self) -> Tensor(a!)
aten::arctan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::arctanh_(Tensor(a!) self) -> Tensor(a!)
aten::asin_(Tensor(a!) self) -> Tensor(a!)
aten::asinh_(Tensor(a!) self) -> Tensor(a!)
aten::atan_(Tensor(a!) self) -> Tensor(a!)
aten::atan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::atanh_(Tensor(a!) self) -> Tensor(a!)
aten::baddbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)
aten::bitwise_and_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::bitwise_and_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::bitwise_left_shift_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::bitwise_left_shift_.Tensor_Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::bitwise_not_(Tensor(a!) self) -> Tensor(a!)
aten::bitwise_or_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::bitwise_or_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::bitwise_right_shift_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::bitwise_right_shift_.Tensor_Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::bitwise_xor_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::bitwise_xor_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::ceil_(Tensor(a!) self) -> Tensor(a!)
aten::celu_(Tensor(a!) self, Scalar alpha=1.) -> Tensor(a!)
aten::clamp_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)
aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)
aten::clamp_max_.Tensor(Tensor(a!) self, Tensor max) -> Tensor(a!)
aten::clamp_max_(Tensor(a!) self, Scalar max) -> Tensor(a!)
aten::clamp_min_.Tensor(Tensor(a!) self, Tensor min) -> Tensor(a!)
aten::clamp_min_(Tensor(a!) self, Scalar min) -> Tensor(a!)
aten::clip_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)
aten::clip_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)
aten::conj_physical_(Tensor(a!) self) -> Tensor(a!)
aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
aten::copysign_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::copysign_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::cos_(Tensor(a!) self) -> Tensor(a!)
aten::cosh_(Tensor(a!) self) -> Tensor(a!)
aten::cumprod_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)
aten::cumsum_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)
aten::deg2rad_(Tensor(a!) self) -> Tensor(a!)
aten::detach_(Tensor(a!) self) -> Tensor(a!)
aten::digamma_(Tensor(a!) self) -> Tensor(a!)
aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)
aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)
aten::divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::divide_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)
aten::divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::divide_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)
aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
aten::elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)
aten::eq_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::eq_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::erf_(Tensor(a!) self) -> Tensor(a!)
aten::erfc_(Tensor(a!) self) -> Tensor(a!)
aten::erfinv_(Tensor(a!) self) -> Tensor(a!)
aten::exp_(Tensor(a!) self) -> Tensor(a!)
aten::exp2_(Tensor(a!) self) -> Tensor(a!)
aten::expm1_(Tensor(a!) self) -> Tensor(a!)
aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)
aten::feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
aten::feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)
aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)
aten::fix_(Tensor(a!) self) -> Tensor(a!)
aten::float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)
aten::floor_(Tensor(a!) self) -> Tensor(a!)
aten::floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::fmod_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::fmod_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::frac_(Tensor(a!) self) -> Tensor(a!)
aten::gcd_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::ge_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::ge_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::gelu_(Tensor(a!) self, *, str approximate="none") -> Tensor(a!)
aten::greater_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::greater_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::greater_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::greater_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::gt_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::gt_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::hardsigmoid_(Tensor(a!) self) -> Tensor(a!)
aten::hardswish_(Tensor(a!) self) -> Tensor(a!)
aten::hardtanh_(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)
aten::heaviside_(Tensor(a!) self, Tensor values) -> Tensor(a!)
aten::hypot_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::i0_(Tensor(a!) self) -> Tensor(a!)
aten::igamma_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::igammac_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)
aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)
aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)
aten::index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, Tensor value) -> Tensor(a!)
aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)
aten::index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor(a!)
aten::lcm_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::le_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::le_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)
aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)
aten::lerp_.Tensor(Tensor(a!) self, Tensor end, Tensor weight) -> Tensor(a!)
aten::less_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::less_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::less_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::less_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::lgamma_(Tensor(a!) self) -> Tensor(a!)
aten::log_(Tensor(a!) self) -> Tensor(a!)
aten::log10_(Tensor(a!) self) -> Tensor(a!)
aten::log1p_(Tensor(a!) self) -> Tensor(a!)
aten::log2_(Tensor(a!) self) -> Tensor(a!)
aten::logical_and_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::logical_not_(Tensor(a!) self) -> Tensor(a!)
aten::logical_or_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::logical_xor_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::logit_(Tensor(a!) self, float? eps=None) -> Tensor(a!)
aten::lt_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::lt_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)
aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)
aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)
aten::mish_(Tensor(a!) self) -> Tensor(a!)
aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::multiply_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::multiply_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!)
aten::nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor(a!)
aten::ne_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::ne_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::neg_(Tensor(a!) self) -> Tensor(a!)
aten::negative_(Tensor(a!) self) -> Tensor(a!)
aten::nextafter_(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::not_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::not_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)
aten::put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)
aten::rad2deg_(Tensor(a!) self) -> Tensor(a!)
aten::random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)
aten::random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)
aten::reciprocal_(Tensor(a!) self) -> Tensor(a!)
aten::relu_(Tensor(a!) self) -> Tensor(a!)
aten::relu6_(Tensor(a!) self) -> Tensor(a!)
aten::remainder_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::remainder_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::round_.decimals(Tensor(a!) self, *, int decimals) -> Tensor(a!)
aten::round_(Tensor(a!) self) -> Tensor(a!)
aten::rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor(a!)
aten::rsqrt_(Tensor(a!) self) -> Tensor(a!)
aten::scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor(a!)
aten::scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)
aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)
aten::scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor(a!)
aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)
aten::scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor(a!)
aten::selu_(Tensor(a!) self) -> Tensor(a!)
aten::sgn_(Tensor(a!) self) -> Tensor(a!)
aten::sigmoid_(Tensor(a!) self) -> Tensor(a!)
aten::sign_(Tensor(a!) self) -> Tensor(a!)
aten::silu_(Tensor(a!) self) -> Tensor(a!)
aten::sin_(Tensor(a!) self) -> Tensor(a!)
aten::sinc_(Tensor(a!) self) -> Tensor(a!)
aten::sinh_(Tensor(a!) self) -> Tensor(a!)
aten::sqrt_(Tensor(a!) self) -> Tensor(a!)
aten::square_(Tensor(a!) self) -> Tensor(a!)
aten::sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
aten::subtract_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
aten::subtract_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
aten::tan_(Tensor(a!) self) -> Tensor(a!)
aten::tanh_(Tensor(a!) self) -> Tensor(a!)
aten::threshold_(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)
aten::tril_(Tensor(a!) self, int diagonal=0) -> Tensor(a!)
aten::triu_(Tensor(a!) self, int diagonal=0) -> Tensor(a!)
aten::true_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::true_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::trunc_(Tensor(a!) self) -> Tensor(a!)
aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)
aten::xlogy_.Scalar_Other(Tensor(a!) self, Scalar other) -> Tensor(a!)
aten::xlogy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
aten::zero_(Tensor(a!) self) -> Tensor(a!)
aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)
aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)
)"},

    // In-place changes of the view alone
    {rules::squeeze, R"(
aten::squeeze_(Tensor(a!) self) -> Tensor(a!)
aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)
aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)
)"},
    {rules::transposeDims, R"(
aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)
aten::swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)
aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)
)"},
    {rules::transposeLast, R"(
aten::t_(Tensor(a!) self) -> Tensor(a!)
)"},
    {rules::unsqueeze, R"(
aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)
)"},
  };
  // clang-format on
  return groups;
}

} // namespace gcompile::aten

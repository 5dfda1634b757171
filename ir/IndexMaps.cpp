//===- IndexMaps.cpp - affine maps between static index spaces ------------===//
#include "gcompile/ir/IndexMaps.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"

#include <numeric>

using namespace mlir;

namespace gcompile {
namespace {

using Range = std::pair<int64_t, int64_t>;

int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::optional<int64_t> constantOf(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

/// A sum as its terms: each is (coefficient, factor that is no sum or product
/// with a constant); the constant stands apart.
struct LinearSum {
  SmallVector<std::pair<int64_t, AffineExpr>> terms;
  int64_t constant = 0;
};

void addTo(LinearSum &sum, AffineExpr expr, int64_t scale) {
  if (auto constant = constantOf(expr)) {
    sum.constant += scale * *constant;
    return;
  }
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    if (expr.getKind() == AffineExprKind::Add) {
      addTo(sum, binary.getLHS(), scale);
      addTo(sum, binary.getRHS(), scale);
      return;
    }
    if (expr.getKind() == AffineExprKind::Mul) {
      if (auto factor = constantOf(binary.getRHS()))
        return addTo(sum, binary.getLHS(), scale * *factor);
      if (auto factor = constantOf(binary.getLHS()))
        return addTo(sum, binary.getRHS(), scale * *factor);
    }
  }
  for (auto &[coefficient, factor] : sum.terms)
    if (factor == expr) {
      coefficient += scale;
      return;
    }
  sum.terms.push_back({scale, expr});
}

/// Keeps the order of the terms, so that simplifying twice changes nothing.
AffineExpr toExpr(const LinearSum &sum, MLIRContext *context) {
  AffineExpr expr = getAffineConstantExpr(0, context);
  for (auto [coefficient, factor] : sum.terms)
    if (coefficient != 0)
      expr = expr + factor * coefficient;
  return expr + sum.constant;
}

/// Splits `sum` into a part whose coefficients are multiples of `divisor` and a
/// rest.
std::pair<LinearSum, LinearSum> splitMultiples(const LinearSum &sum,
                                               int64_t divisor) {
  LinearSum multiple, rest;
  for (auto term : sum.terms)
    (term.first % divisor == 0 ? multiple : rest).terms.push_back(term);
  int64_t quotient = floorDiv(sum.constant, divisor);
  multiple.constant = quotient * divisor;
  rest.constant = sum.constant - multiple.constant;
  return {multiple, rest};
}

LinearSum divided(LinearSum sum, int64_t divisor) {
  for (auto &term : sum.terms)
    term.first /= divisor;
  sum.constant /= divisor;
  return sum;
}

/// `sum floordiv divisor` with a smaller divisor, where a part of the sum
/// cannot carry: floor((g * a + r) / (g * d)) is floor(a / d) for 0 <= r < g.
std::pair<LinearSum, int64_t> dropCarryless(LinearSum sum, int64_t divisor,
                                            ArrayRef<int64_t> sizes,
                                            MLIRContext *context) {
  for (auto &term : sum.terms) {
    int64_t common = std::gcd(divisor, term.first);
    if (common <= 1)
      continue;
    auto [multiple, rest] = splitMultiples(sum, common);
    auto range = rangeOf(toExpr(rest, context), sizes);
    if (range && range->first >= 0 && range->second < common)
      return dropCarryless(divided(multiple, common), divisor / common, sizes,
                           context);
  }
  return {sum, divisor};
}

} // namespace

std::optional<Range> rangeOf(AffineExpr expr, ArrayRef<int64_t> sizes) {
  if (auto constant = constantOf(expr))
    return Range{*constant, *constant};
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int64_t size = sizes[dim.getPosition()];
    if (size <= 0)
      return std::nullopt;
    return Range{0, size - 1};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = rangeOf(binary.getLHS(), sizes);
  auto rhs = rangeOf(binary.getRHS(), sizes);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add: {
    Range sum;
    if (__builtin_add_overflow(lhs->first, rhs->first, &sum.first) ||
        __builtin_add_overflow(lhs->second, rhs->second, &sum.second))
      return std::nullopt;
    return sum;
  }
  case AffineExprKind::Mul: {
    int64_t products[4];
    if (__builtin_mul_overflow(lhs->first, rhs->first, &products[0]) ||
        __builtin_mul_overflow(lhs->first, rhs->second, &products[1]) ||
        __builtin_mul_overflow(lhs->second, rhs->first, &products[2]) ||
        __builtin_mul_overflow(lhs->second, rhs->second, &products[3]))
      return std::nullopt;
    return Range{*llvm::min_element(products), *llvm::max_element(products)};
  }
  case AffineExprKind::FloorDiv:
    if (rhs->first != rhs->second || rhs->first <= 0)
      return std::nullopt;
    return Range{floorDiv(lhs->first, rhs->first),
                 floorDiv(lhs->second, rhs->first)};
  case AffineExprKind::CeilDiv:
    if (rhs->first != rhs->second || rhs->first <= 0)
      return std::nullopt;
    return Range{-floorDiv(-lhs->first, rhs->first),
                 -floorDiv(-lhs->second, rhs->first)};
  case AffineExprKind::Mod:
    if (rhs->first != rhs->second || rhs->first <= 0)
      return std::nullopt;
    if (floorDiv(lhs->first, rhs->first) == floorDiv(lhs->second, rhs->first)) {
      int64_t base = floorDiv(lhs->first, rhs->first) * rhs->first;
      return Range{lhs->first - base, lhs->second - base};
    }
    return Range{0, rhs->first - 1};
  default:
    return std::nullopt;
  }
}

AffineExpr simplifyInRange(AffineExpr expr, ArrayRef<int64_t> sizes) {
  MLIRContext *context = expr.getContext();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return sizes[dim.getPosition()] == 1 ? getAffineConstantExpr(0, context)
                                         : expr;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr lhs = simplifyInRange(binary.getLHS(), sizes);
  AffineExpr rhs = simplifyInRange(binary.getRHS(), sizes);
  auto divisor = constantOf(rhs);

  if (expr.getKind() == AffineExprKind::Add ||
      expr.getKind() == AffineExprKind::Mul) {
    AffineExpr combined =
        expr.getKind() == AffineExprKind::Add ? lhs + rhs : lhs * rhs;
    LinearSum sum;
    addTo(sum, combined, 1);
    // (x floordiv c) * (k * c) + (x mod c) * k is x * k.
    for (auto &[modCoefficient, modExpr] : sum.terms) {
      auto mod = dyn_cast<AffineBinaryOpExpr>(modExpr);
      if (!mod || modExpr.getKind() != AffineExprKind::Mod ||
          modCoefficient == 0)
        continue;
      auto modulus = constantOf(mod.getRHS());
      if (!modulus)
        continue;
      AffineExpr quotient =
          simplifyInRange(mod.getLHS().floorDiv(*modulus), sizes);
      for (auto &[divCoefficient, divExpr] : sum.terms)
        if (divExpr == quotient &&
            divCoefficient == modCoefficient * *modulus) {
          int64_t scale = modCoefficient;
          AffineExpr whole = mod.getLHS();
          divCoefficient = 0;
          modCoefficient = 0;
          LinearSum rebuilt;
          addTo(rebuilt, toExpr(sum, context), 1);
          addTo(rebuilt, whole, scale);
          return simplifyInRange(toExpr(rebuilt, context), sizes);
        }
    }
    return toExpr(sum, context);
  }

  if (!divisor || *divisor <= 0)
    return getAffineBinaryOpExpr(expr.getKind(), lhs, rhs);
  LinearSum sum;
  addTo(sum, lhs, 1);

  if (expr.getKind() == AffineExprKind::FloorDiv) {
    auto [multiple, rest] = splitMultiples(sum, *divisor);
    AffineExpr quotient = toExpr(divided(multiple, *divisor), context);
    auto [reduced, reducedDivisor] =
        dropCarryless(rest, *divisor, sizes, context);
    AffineExpr restExpr = toExpr(reduced, context);
    if (auto range = rangeOf(restExpr, sizes)) {
      int64_t low = floorDiv(range->first, reducedDivisor);
      if (low == floorDiv(range->second, reducedDivisor))
        return quotient + low;
    }
    // (x floordiv a) floordiv b is x floordiv (a * b).
    if (auto inner = dyn_cast<AffineBinaryOpExpr>(restExpr);
        inner && restExpr.getKind() == AffineExprKind::FloorDiv)
      if (auto innerDivisor = constantOf(inner.getRHS()))
        return simplifyInRange(
                   inner.getLHS().floorDiv(*innerDivisor * reducedDivisor),
                   sizes) +
               quotient;
    // (x mod (a * b)) floordiv b is (x floordiv b) mod a.
    if (auto inner = dyn_cast<AffineBinaryOpExpr>(restExpr);
        inner && restExpr.getKind() == AffineExprKind::Mod)
      if (auto modulus = constantOf(inner.getRHS());
          modulus && *modulus % reducedDivisor == 0)
        return simplifyInRange(inner.getLHS().floorDiv(reducedDivisor) %
                                   (*modulus / reducedDivisor),
                               sizes) +
               quotient;
    return restExpr.floorDiv(reducedDivisor) + quotient;
  }
  if (expr.getKind() == AffineExprKind::Mod) {
    auto [multiple, rest] = splitMultiples(sum, *divisor);
    AffineExpr restExpr = toExpr(rest, context);
    if (auto range = rangeOf(restExpr, sizes)) {
      int64_t low = floorDiv(range->first, *divisor);
      if (low == floorDiv(range->second, *divisor))
        return restExpr - low * *divisor;
    }
    // (x mod (a * b)) mod b is x mod b.
    if (auto inner = dyn_cast<AffineBinaryOpExpr>(restExpr);
        inner && restExpr.getKind() == AffineExprKind::Mod)
      if (auto modulus = constantOf(inner.getRHS());
          modulus && *modulus % *divisor == 0)
        return simplifyInRange(inner.getLHS() % *divisor, sizes);
    return restExpr % *divisor;
  }
  return getAffineBinaryOpExpr(expr.getKind(), lhs, rhs);
}

AffineMap simplifyInRange(AffineMap map, ArrayRef<int64_t> sizes) {
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(simplifyInRange(expr, sizes));
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                        map.getContext());
}

AffineExpr linearize(AffineMap map, ArrayRef<int64_t> shape) {
  AffineExpr position = getAffineConstantExpr(0, map.getContext());
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), shape))
    position = position * size + expr;
  return position;
}

AffineMap reshapeMap(ArrayRef<int64_t> sourceShape,
                     ArrayRef<int64_t> targetShape, MLIRContext *context) {
  unsigned rank = targetShape.size();
  AffineExpr position =
      linearize(AffineMap::getMultiDimIdentityMap(rank, context), targetShape);
  SmallVector<AffineExpr> results(sourceShape.size());
  int64_t stride = 1;
  for (size_t i = sourceShape.size(); i-- > 0;) {
    AffineExpr index = position.floorDiv(stride);
    // The outermost index cannot wrap.
    if (i > 0 && sourceShape[i] > 0)
      index = index % sourceShape[i];
    results[i] = simplifyInRange(index, targetShape);
    stride *= std::max<int64_t>(sourceShape[i], 1);
  }
  return AffineMap::get(rank, 0, results, context);
}

std::optional<StridedForm> getStridedForm(AffineExpr expr, unsigned numDims) {
  LinearSum sum;
  addTo(sum, expr, 1);
  StridedForm form;
  form.offset = sum.constant;
  form.strides.assign(numDims, 0);
  for (auto [coefficient, factor] : sum.terms) {
    if (coefficient == 0)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(factor);
    if (!dim || dim.getPosition() >= numDims)
      return std::nullopt;
    form.strides[dim.getPosition()] += coefficient;
  }
  return form;
}

/// `factor` as a digit of one dimension.
static std::optional<Digit> digitOf(AffineExpr factor,
                                    ArrayRef<int64_t> sizes) {
  if (auto dim = dyn_cast<AffineDimExpr>(factor))
    return Digit{dim.getPosition(), 1, sizes[dim.getPosition()], 0};
  auto binary = dyn_cast<AffineBinaryOpExpr>(factor);
  if (!binary)
    return std::nullopt;
  auto divisor = constantOf(binary.getRHS());
  auto inner = digitOf(binary.getLHS(), sizes);
  if (!divisor || *divisor <= 0 || !inner || inner->size % *divisor != 0)
    return std::nullopt;
  if (factor.getKind() == AffineExprKind::FloorDiv)
    return Digit{inner->dim, inner->divisor * *divisor, inner->size / *divisor,
                 0};
  if (factor.getKind() == AffineExprKind::Mod)
    return Digit{inner->dim, inner->divisor, *divisor, 0};
  return std::nullopt;
}

std::optional<SmallVector<Digit>> denseDigits(AffineExpr position,
                                              ArrayRef<int64_t> sizes,
                                              unsigned needed, int64_t total) {
  LinearSum sum;
  addTo(sum, position, 1);
  if (sum.constant != 0)
    return std::nullopt;
  SmallVector<Digit> digits;
  for (auto [coefficient, factor] : sum.terms) {
    if (coefficient == 0)
      continue;
    auto digit = digitOf(factor, sizes);
    if (!digit || digit->dim >= needed)
      return std::nullopt;
    digit->stride = coefficient;
    if (digit->size != 1)
      digits.push_back(*digit);
  }
  // The digits of each dimension make up the whole of it.
  llvm::sort(digits, [](const Digit &a, const Digit &b) {
    return std::tie(a.dim, a.divisor) < std::tie(b.dim, b.divisor);
  });
  SmallVector<int64_t> covered(sizes.size(), 1);
  for (const Digit &digit : digits) {
    if (digit.divisor != covered[digit.dim])
      return std::nullopt;
    covered[digit.dim] *= digit.size;
  }
  for (unsigned i = 0; i < needed; ++i)
    if (covered[i] != sizes[i])
      return std::nullopt;
  llvm::sort(digits, [](const Digit &a, const Digit &b) {
    return a.stride < b.stride;
  });
  int64_t expected = 1;
  for (const Digit &digit : digits) {
    if (digit.stride != expected)
      return std::nullopt;
    expected *= digit.size;
  }
  if (expected != total)
    return std::nullopt;
  return digits;
}

SmallVector<AffineExpr> indexFromDigits(ArrayRef<Digit> digits,
                                        unsigned numDims, AffineExpr position) {
  SmallVector<AffineExpr> index(
      numDims, getAffineConstantExpr(0, position.getContext()));
  for (const Digit &digit : digits)
    index[digit.dim] = index[digit.dim] + position.floorDiv(digit.stride) %
                                              digit.size * digit.divisor;
  return index;
}

} // namespace gcompile

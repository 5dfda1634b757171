#include "gcompile/base/DType.h"

#include <array>

namespace gcompile {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name, shortName;
  int8_t bytes;
  enum Kind : uint8_t { Bool, Unsigned, Signed, Float, Complex } kind;
};

// In the order of the enumeration.
constexpr std::array<DTypeInfo, 21> kDTypes{{
    {DType::Bool, "bool", "b8", 1, DTypeInfo::Bool},
    {DType::UInt8, "uint8", "u8", 1, DTypeInfo::Unsigned},
    {DType::Int8, "int8", "i8", 1, DTypeInfo::Signed},
    {DType::UInt16, "uint16", "u16", 2, DTypeInfo::Unsigned},
    {DType::Int16, "int16", "i16", 2, DTypeInfo::Signed},
    {DType::UInt32, "uint32", "u32", 4, DTypeInfo::Unsigned},
    {DType::Int32, "int32", "i32", 4, DTypeInfo::Signed},
    {DType::UInt64, "uint64", "u64", 8, DTypeInfo::Unsigned},
    {DType::Int64, "int64", "i64", 8, DTypeInfo::Signed},
    {DType::Float8E4M3FN, "float8_e4m3fn", "f8e4m3fn", 1, DTypeInfo::Float},
    {DType::Float8E5M2, "float8_e5m2", "f8e5m2", 1, DTypeInfo::Float},
    {DType::Float8E4M3FNUZ, "float8_e4m3fnuz", "f8e4m3fnuz", 1,
     DTypeInfo::Float},
    {DType::Float8E5M2FNUZ, "float8_e5m2fnuz", "f8e5m2fnuz", 1,
     DTypeInfo::Float},
    {DType::Float8E8M0FNU, "float8_e8m0fnu", "f8e8m0fnu", 1, DTypeInfo::Float},
    {DType::Float16, "float16", "f16", 2, DTypeInfo::Float},
    {DType::BFloat16, "bfloat16", "bf16", 2, DTypeInfo::Float},
    {DType::Float32, "float32", "f32", 4, DTypeInfo::Float},
    {DType::Float64, "float64", "f64", 8, DTypeInfo::Float},
    {DType::Complex32, "complex32", "c32", 4, DTypeInfo::Complex},
    {DType::Complex64, "complex64", "c64", 8, DTypeInfo::Complex},
    {DType::Complex128, "complex128", "c128", 16, DTypeInfo::Complex},
}};

const DTypeInfo &info(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)];
}

} // namespace

int64_t byteWidth(DType dtype) { return info(dtype).bytes; }
bool isFloatingPoint(DType dtype) {
  return info(dtype).kind == DTypeInfo::Float;
}
bool isComplex(DType dtype) { return info(dtype).kind == DTypeInfo::Complex; }
bool isInteger(DType dtype) {
  return info(dtype).kind == DTypeInfo::Signed || isUnsigned(dtype);
}
bool isUnsigned(DType dtype) { return info(dtype).kind == DTypeInfo::Unsigned; }
std::string_view name(DType dtype) { return info(dtype).name; }
std::string_view shortName(DType dtype) { return info(dtype).shortName; }

std::optional<DType> dtypeFromName(std::string_view name) {
  for (const DTypeInfo &entry : kDTypes)
    if (entry.name == name)
      return entry.dtype;
  return std::nullopt;
}

std::optional<DType> dtypeFromShortName(std::string_view name) {
  for (const DTypeInfo &entry : kDTypes)
    if (entry.shortName == name)
      return entry.dtype;
  return std::nullopt;
}

} // namespace gcompile

//===- DType.h - element types, as PyTorch names them ---------------------===//
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace gcompile {

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  UInt16,
  Int16,
  UInt32,
  Int32,
  UInt64,
  Int64,
  Float8E4M3FN,
  Float8E5M2,
  Float8E4M3FNUZ,
  Float8E5M2FNUZ,
  Float8E8M0FNU,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex32,
  Complex64,
  Complex128,
};

/// Bytes of one element.
int64_t byteWidth(DType dtype);
bool isFloatingPoint(DType dtype);
bool isComplex(DType dtype);
/// True for the integers, bool excluded.
bool isInteger(DType dtype);
bool isUnsigned(DType dtype);

/// PyTorch's name without "torch.": "float32", "bfloat16", "bool".
std::string_view name(DType dtype);
/// The abbreviation of FX dumps: "f32", "bf16", "b8".
std::string_view shortName(DType dtype);
std::optional<DType> dtypeFromName(std::string_view name);
std::optional<DType> dtypeFromShortName(std::string_view name);

} // namespace gcompile

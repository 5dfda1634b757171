//===- SoftFloat.cpp ------------------------------------------------------===//
// The half-precision types travel in the low 16 bits of a vector register; so
// does the low half of a float, which every compiler has.
#include "SoftFloat.h"

#include "gcompile/base/Half.h"

#include <bit>

namespace gcompile::cpu {
namespace {

float inRegister(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits}); }
uint16_t fromRegister(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value));
}

float floatToBFloat16(float value) { return inRegister(BFloat16(value).bits); }
float doubleToBFloat16(double value) {
  return inRegister(BFloat16(value).bits);
}
float floatToFloat16(float value) { return inRegister(Float16(value).bits); }
float doubleToFloat16(double value) { return inRegister(Float16(value).bits); }
float float16ToFloat(float half) {
  return static_cast<float>(Float16::fromBits(fromRegister(half)));
}

} // namespace

std::span<const SoftFloatFunction> softFloatFunctions() {
  static const SoftFloatFunction functions[] = {
      {"__truncsfbf2", reinterpret_cast<void *>(floatToBFloat16)},
      {"__truncdfbf2", reinterpret_cast<void *>(doubleToBFloat16)},
      {"__truncsfhf2", reinterpret_cast<void *>(floatToFloat16)},
      {"__truncdfhf2", reinterpret_cast<void *>(doubleToFloat16)},
      {"__extendhfsf2", reinterpret_cast<void *>(float16ToFloat)},
      {"__gnu_f2h_ieee", reinterpret_cast<void *>(floatToFloat16)},
      {"__gnu_h2f_ieee", reinterpret_cast<void *>(float16ToFloat)},
  };
  return functions;
}

} // namespace gcompile::cpu

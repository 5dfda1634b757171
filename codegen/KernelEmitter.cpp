//===- KernelEmitter.cpp - loop nests to kernels of a plan ----------------===//
#include "KernelEmitter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace gcompile {

static std::string replaceAll(StringRef text, StringRef from, StringRef to) {
  std::string result;
  for (size_t begin = 0;;) {
    size_t end = text.find(from, begin);
    result += text.slice(begin, end);
    if (end == StringRef::npos)
      return result;
    result += to;
    begin = end + from.size();
  }
}

FailureOr<plan::Launch> KernelEmitter::emit(const loops::LoopPart &part,
                                            StringRef name,
                                            ArrayRef<int> inPlace) {
  auto key =
      std::make_pair(&part, std::vector<int>(inPlace.begin(), inPlace.end()));
  if (auto known = launches.find(key); known != launches.end())
    return known->second;
  SmallVector<unsigned> inputArguments, outputArguments;
  unsigned numInputs = llvm::count(inPlace, -1), position = 0;
  for (int output : inPlace)
    inputArguments.push_back(output < 0 ? position++ : numInputs + output);
  for (unsigned i = 0; i < part.kernel.outputs.size(); ++i)
    outputArguments.push_back(numInputs + i);
  FailureOr<Emitted> emitted = emitText(part, inputArguments, outputArguments);
  if (failed(emitted))
    return failure();

  // Named after its first user and its place in the plan only once it is known
  // to be new, so that the text can tell.
  auto [it, isNew] = kernelsByText.try_emplace(emitted->text, kernels.size());
  if (isNew) {
    std::string symbol;
    for (char c : name)
      symbol += llvm::isAlnum(c) ? c : '_';
    symbol += "_" + llvm::utohexstr(llvm::xxh3_64bits(emitted->text),
                                    /*LowerCase=*/true);
    kernels.push_back(
        {symbol, language, replaceAll(emitted->text, kPlaceholder, symbol)});
  }
  emitted->launch.kernel = it->second;
  launches[key] = emitted->launch;
  return std::move(emitted->launch);
}

} // namespace gcompile

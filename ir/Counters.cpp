#include "gcompile/ir/Counters.h"
#include "gcompile/ir/Tg.h"

#include "mlir/IR/DialectInterface.h"

#include <mutex>

namespace gcompile {
namespace {

/// Lives as long as the dialect, hence as the context.
class CounterInterface : public mlir::DialectInterface::Base<CounterInterface> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CounterInterface)
  explicit CounterInterface(mlir::Dialect *dialect) : Base(dialect) {}
  mutable std::mutex mutex;
  mutable std::map<std::string, int64_t> values;
};

const CounterInterface &countersOf(mlir::MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<tg::TGDialect>();
  assert(dialect && "counting needs the tg dialect");
  return *dialect->getRegisteredInterface<CounterInterface>();
}

} // namespace

namespace tg {
void addCounterInterface(TGDialect *dialect) {
  dialect->addInterfaces<CounterInterface>();
}
} // namespace tg

void count(mlir::MLIRContext *context, llvm::StringRef counter,
           int64_t amount) {
  const CounterInterface &table = countersOf(context);
  std::lock_guard lock(table.mutex);
  table.values[counter.str()] += amount;
}

std::map<std::string, int64_t> counters(mlir::MLIRContext *context) {
  const CounterInterface &table = countersOf(context);
  std::lock_guard lock(table.mutex);
  return table.values;
}

} // namespace gcompile

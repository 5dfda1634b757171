//===- Recurrent.cpp - LSTM and GRU, unrolled over time -------------------===//
#include "Decompose.h"

using namespace mlir;

namespace gcompile {
namespace {

using aten::Call;
using Values = FailureOr<SmallVector<Value>>;

/// Weights of one direction of one layer.
struct CellWeights {
  Value inputHidden, hiddenHidden, inputBias, hiddenBias;
};

/// x W^T + b of N x K rows.
Value project(DecompositionBuilder &b, Value x, Value weight, Value bias) {
  Value transposed = b.permute(weight, {1, 0});
  return bias ? b.call("aten.addmm.default", {bias, x, transposed})
              : b.mm(x, transposed);
}

SmallVector<Value> chunks(DecompositionBuilder &b, Value x, int64_t count) {
  int64_t size = tensorType(x).getDimSize(1) / count;
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(b.slice(x, 1, i * size, (i + 1) * size));
  return parts;
}

/// The state of a cell: hidden, and for LSTM the cell's memory.
using State = SmallVector<Value>;
using Cell = State (*)(DecompositionBuilder &, Value projectedInput,
                       const State &, const CellWeights &);

/// Gates in PyTorch's order: input, forget, cell, output.
State lstmCell(DecompositionBuilder &b, Value projectedInput,
               const State &state, const CellWeights &weights) {
  Value gates = b.add(projectedInput, project(b, state[0], weights.hiddenHidden,
                                              weights.hiddenBias));
  auto g = chunks(b, gates, 4);
  Value memory = b.add(b.mul(b.sigmoid(g[1]), state[1]),
                       b.mul(b.sigmoid(g[0]), b.tanh(g[2])));
  return {b.mul(b.sigmoid(g[3]), b.tanh(memory)), memory};
}

/// Gates in PyTorch's order: reset, update, new.
State gruCell(DecompositionBuilder &b, Value projectedInput, const State &state,
              const CellWeights &weights) {
  auto x = chunks(b, projectedInput, 3);
  auto h = chunks(
      b, project(b, state[0], weights.hiddenHidden, weights.hiddenBias), 3);
  Value reset = b.sigmoid(b.add(x[0], h[0]));
  Value update = b.sigmoid(b.add(x[1], h[1]));
  Value candidate = b.tanh(b.add(x[2], b.mul(reset, h[2])));
  return {b.add(candidate, b.mul(update, b.sub(state[0], candidate)))};
}

Values decomposeRecurrent(const Call &call, DecompositionBuilder &b,
                          ArrayRef<Value> initial, Cell cell) {
  bool hasBiases = call.flag("has_biases");
  bool bidirectional = call.flag("bidirectional");
  bool batchFirst = call.flag("batch_first");
  int64_t numLayers = call.integer("num_layers");
  int64_t numDirections = bidirectional ? 2 : 1;
  if (call.number("dropout") != 0 && call.flag("train"))
    return call.op->emitError("unsupported: recurrent network with dropout in "
                              "training mode");
  SmallVector<Value> params = call.values("params");
  int64_t perCell = hasBiases ? 4 : 2;
  if (static_cast<int64_t>(params.size()) !=
      perCell * numLayers * numDirections)
    return call.op->emitError(
        "unsupported: recurrent network with projections");

  Value sequence = call.value("input"); // T x N x K, or N x K without a batch
  bool isBatched = tensorType(sequence).getRank() == 3;
  if (!isBatched)
    sequence = b.unsqueeze(sequence, 1);
  else if (batchFirst)
    sequence = b.permute(sequence, {1, 0, 2});

  SmallVector<SmallVector<Value>> finals(initial.size());
  for (int64_t layer = 0; layer < numLayers; ++layer) {
    ArrayRef<int64_t> sizes = tensorType(sequence).getShape();
    int64_t steps = sizes[0], batch = sizes[1], features = sizes[2];
    SmallVector<Value> directions;
    for (int64_t direction = 0; direction < numDirections; ++direction) {
      int64_t index = layer * numDirections + direction;
      auto param = [&](int64_t i) { return params[index * perCell + i]; };
      CellWeights weights{param(0), param(1), hasBiases ? param(2) : Value(),
                          hasBiases ? param(3) : Value()};
      // The input's projection does not depend on the state: one product for
      // all steps.
      Value projected =
          b.view(project(b, b.view(sequence, {steps * batch, features}),
                         weights.inputHidden, weights.inputBias),
                 {steps, batch, tensorType(weights.inputHidden).getDimSize(0)});
      State state;
      for (Value start : initial)
        state.push_back(isBatched ? b.select(start, 0, index)
                                  : b.unsqueeze(b.select(start, 0, index), 0));
      SmallVector<Value> outputs(steps);
      for (int64_t t = 0; t < steps; ++t) {
        int64_t step = direction == 0 ? t : steps - 1 - t;
        state = cell(b, b.select(projected, 0, step), state, weights);
        outputs[step] = state[0];
      }
      directions.push_back(b.stack(outputs, 0));
      for (auto [list, value] : llvm::zip_equal(finals, state))
        list.push_back(value);
    }
    sequence = directions.size() == 1 ? directions[0] : b.cat(directions, 2);
  }
  if (!isBatched)
    sequence = b.view(sequence, {tensorType(sequence).getDimSize(0),
                                 tensorType(sequence).getDimSize(2)});
  else if (batchFirst)
    sequence = b.permute(sequence, {1, 0, 2});
  SmallVector<Value> results{sequence};
  for (auto [list, start] : llvm::zip_equal(finals, initial))
    results.push_back(b.view(b.stack(list, 0), tensorType(start).getShape()));
  return results;
}

Values decomposeLstm(const Call &call, DecompositionBuilder &b) {
  return decomposeRecurrent(call, b, call.values("hx"), lstmCell);
}

Values decomposeGru(const Call &call, DecompositionBuilder &b) {
  return decomposeRecurrent(call, b, {call.value("hx")}, gruCell);
}

} // namespace

void addRecurrentDecompositions(DecompositionTable &table) {
  table["aten.lstm.input"] = decomposeLstm;
  table["aten.gru.input"] = decomposeGru;
}

} // namespace gcompile

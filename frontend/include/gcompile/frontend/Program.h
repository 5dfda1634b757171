//===- Program.h - what every reader produces -----------------------------===//
// Plain structs, no MLIR: the exported program as the user wrote it, one Node a
// node. Readers check form (a name is defined once and before its use, a union
// has one key); meaning (schemas, shapes) is checked by the ProgramImporter.
#pragma once
#include "gcompile/base/DType.h"
#include "gcompile/base/Tensor.h"

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace gcompile::frontend {

//===----------------------------------------------------------------------===//
// Symbolic scalars
//===----------------------------------------------------------------------===//

/// An integer (or boolean) expression over symbols, such as `2*s0 - 1`.
/// Immutable and shared.
struct SymExpr {
  enum class Kind {
    Integer, ///< value
    Float,   ///< floatValue
    Symbol,  ///< name
    Add,
    Mul,
    Pow,
    Max,
    Min,
    Abs,
    Neg,
    FloorDiv, ///< Python's //: rounds towards minus infinity
    TrueDiv,
    CeilDiv,
    Mod, ///< Python's %: takes the sign of the divisor
    Floor,
    Ceil,
    Trunc,
    ToFloat,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Not,
    Where, ///< condition, then, else
  };
  Kind kind = Kind::Integer;
  int64_t value = 0;
  double floatValue = 0;
  std::string name;
  std::vector<std::shared_ptr<const SymExpr>> operands;

  /// Python's spelling, `2*s0 - 1`, with brackets only where needed.
  std::string str() const;
};
using SymExprPtr = std::shared_ptr<const SymExpr>;

/// A size, stride or offset: a number, or an expression where `expr` is set.
struct SymInt {
  int64_t value = 0; ///< where `expr` is null
  SymExprPtr expr;
  std::optional<int64_t> hint; ///< value of `expr` at export
  bool isStatic() const { return !expr; }
};

struct SymbolRange {
  std::optional<int64_t> min, max; ///< inclusive; none: unbounded
};

//===----------------------------------------------------------------------===//
// Values and arguments
//===----------------------------------------------------------------------===//

enum class ValueKind {
  Tensor,
  SymInt,
  SymFloat,
  SymBool,
  CustomObject,
  Unknown
};

/// What the file claims of a value. Claims, not facts: the importer recomputes.
struct ValueMeta {
  ValueKind kind = ValueKind::Unknown;
  // Tensors:
  DType dtype = DType::Float32;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides; ///< empty where the format does not say
  SymInt storageOffset;
  std::string device; ///< "cuda:0"; empty where unknown
  // Symbolic scalars:
  SymInt sym;
};

/// The name of a value of the graph that holds the argument.
struct ValueRef {
  std::string name;
};
/// PyTorch's enumerations, by name: "channels_last", "strided".
struct MemoryFormat {
  std::string name;
};
struct Layout {
  std::string name;
};
struct Device {
  std::string name; ///< "cuda:0"
};
struct Graph;
struct GraphRef {
  std::string name;
  std::shared_ptr<const Graph> graph;
};
struct Argument;
/// Python's slice object, seen only in FX text.
struct Slice {
  std::shared_ptr<const Argument> start, stop, step;
};
struct Ellipsis {};

/// One argument of a node: a literal, a value, a list or a sub-graph.
/// std::monostate is None.
struct Argument {
  using List = std::vector<Argument>;
  std::variant<std::monostate, bool, int64_t, double, std::complex<double>,
               std::string, DType, MemoryFormat, Layout, Device, ValueRef, List,
               GraphRef, Slice, Ellipsis>
      data;
};

struct NamedArgument {
  std::string name; ///< schema's argument name; empty: positional
  Argument value;
};

/// Where in the user's program a node comes from.
struct SourceLocation {
  std::string file; ///< innermost user frame; empty: unknown
  int line = 0;
  std::string function;
  std::string code;   ///< the source line's text
  std::string module; ///< "blocks.1.attn"; empty: unknown
};

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// One call. `target` has no "torch.ops." prefix: "aten.add.Tensor",
/// "higher_order.cond", "_operator.mul", "math.trunc", "prims.iota.default".
/// FX text reads a tuple element with a node of target "_operator.getitem" and
/// arguments (tuple, index); torch.export JSON never does.
struct Node {
  std::string name;
  std::string target;
  std::vector<NamedArgument> arguments;
  /// One entry a return of the schema: ValueRef, List of ValueRef (a Tensor[]
  /// return) or None (an undefined result). FX text gives one ValueRef with the
  /// node's name, even where the operator returns a tuple.
  std::vector<Argument> results;
  SourceLocation location;
};

struct Graph {
  /// ValueRef, or a literal for a specialised input without a name.
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes; ///< in order; every use follows its definition
  std::map<std::string, ValueMeta> values; ///< may be incomplete (FX text)
};

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

struct InputSpec {
  enum class Kind {
    UserInput,
    Parameter,
    Buffer,
    Constant,
    CustomObject,
    Token
  };
  Kind kind = Kind::UserInput;
  std::string name;   ///< value name (placeholder); empty for a literal
  std::string target; ///< fully qualified name of a parameter, buffer, constant
  bool persistent = true; ///< buffers: in the state dict
};

struct OutputSpec {
  enum class Kind {
    UserOutput,
    Loss,
    BufferMutation,    ///< target: buffer's name
    ParameterMutation, ///< target: parameter's name
    InputMutation,     ///< target: placeholder's name
    ParameterGradient, ///< target: parameter's name
    InputGradient,     ///< target: placeholder's name
    Token,
  };
  Kind kind = Kind::UserOutput;
  std::string target;
};

/// How far a format tells the signature.
enum class SignatureSource {
  Exported, ///< inputs and outputs are what the file says
  Guessed,  ///< FX text: every input is a UserInput, every output a UserOutput;
            ///< resolveSignature() matches them to weights
};

struct Program {
  Graph graph;
  std::vector<InputSpec> inputs;   ///< as graph.inputs
  std::vector<OutputSpec> outputs; ///< as graph.outputs
  SignatureSource signatureSource = SignatureSource::Exported;
  std::map<std::string, SymbolRange> symbolRanges;
  std::vector<std::string> guards; ///< Python text, informative
  /// Names the user knows the user inputs by, "x" or "batch['ids']", in the
  /// order of the user inputs; may be empty.
  std::vector<std::string> userInputNames;
  std::string dialect;      ///< "TRAINING", "ATEN", "" (text)
  std::string torchVersion; ///< "2.11.0+cu130"; may be empty
  int schemaMajor = 0, schemaMinor = 0;
};

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Parameters, buffers and constants by fully qualified name. Tensors share
/// storages where the file says so, and stay mapped.
struct WeightStore {
  std::map<std::string, Tensor> tensors;
  /// Names present in the file without data, with the reason ("exported from
  /// fake tensors", "script object"): fatal only when a program needs them.
  std::map<std::string, std::string> absent;
};

enum class Format { Pt2Archive, ExportJson, FxText, FxJson };

/// A model file, read.
struct Model {
  Format format = Format::ExportJson;
  std::string path;
  Program program;
  WeightStore weights; ///< empty unless the format carries them
  /// Example inputs of the export, one entry a user input, where the file has
  /// them and they are tensors; else empty.
  std::vector<std::optional<Tensor>> exampleInputs;
};

} // namespace gcompile::frontend

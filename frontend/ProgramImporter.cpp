//===- ProgramImporter.cpp - from plain structs to the aten program -------===//
#include "gcompile/frontend/ProgramImporter.h"
#include "gcompile/ir/Dialects.h"
#include "gcompile/ir/OperatorTable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <fmt/format.h>

using namespace mlir;

namespace gcompile::frontend {
namespace {

template <typename T>
const T *get(const Argument &argument) {
  return std::get_if<T>(&argument.data);
}

Type elementType(MLIRContext *context, DType dtype) {
  Builder builder(context);
  auto floating = [&](auto type) -> Type {
    return decltype(type)::get(context);
  };
  switch (dtype) {
  case DType::Bool:
    return builder.getI1Type();
  case DType::UInt8:
    return builder.getIntegerType(8, false);
  case DType::Int8:
    return builder.getI8Type();
  case DType::UInt16:
    return builder.getIntegerType(16, false);
  case DType::Int16:
    return builder.getIntegerType(16);
  case DType::UInt32:
    return builder.getIntegerType(32, false);
  case DType::Int32:
    return builder.getI32Type();
  case DType::UInt64:
    return builder.getIntegerType(64, false);
  case DType::Int64:
    return builder.getI64Type();
  case DType::Float8E4M3FN:
    return floating(Float8E4M3FNType());
  case DType::Float8E5M2:
    return floating(Float8E5M2Type());
  case DType::Float8E4M3FNUZ:
    return floating(Float8E4M3FNUZType());
  case DType::Float8E5M2FNUZ:
    return floating(Float8E5M2FNUZType());
  case DType::Float8E8M0FNU:
    return builder.getIntegerType(8, false);
  case DType::Float16:
    return builder.getF16Type();
  case DType::BFloat16:
    return builder.getBF16Type();
  case DType::Float32:
    return builder.getF32Type();
  case DType::Float64:
    return builder.getF64Type();
  case DType::Complex32:
    return ComplexType::get(builder.getF16Type());
  case DType::Complex64:
    return ComplexType::get(builder.getF32Type());
  case DType::Complex128:
    return ComplexType::get(builder.getF64Type());
  }
  llvm_unreachable("covered switch");
}

const char *kindName(InputSpec::Kind kind) {
  switch (kind) {
  case InputSpec::Kind::UserInput:
    return "user_input";
  case InputSpec::Kind::Parameter:
    return "parameter";
  case InputSpec::Kind::Buffer:
    return "buffer";
  case InputSpec::Kind::Constant:
    return "constant";
  case InputSpec::Kind::CustomObject:
    return "custom_object";
  case InputSpec::Kind::Token:
    return "token";
  }
  llvm_unreachable("covered switch");
}

const char *kindName(OutputSpec::Kind kind) {
  switch (kind) {
  case OutputSpec::Kind::UserOutput:
    return "user_output";
  case OutputSpec::Kind::Loss:
    return "loss";
  case OutputSpec::Kind::BufferMutation:
    return "buffer_mutation";
  case OutputSpec::Kind::ParameterMutation:
    return "parameter_mutation";
  case OutputSpec::Kind::InputMutation:
    return "input_mutation";
  case OutputSpec::Kind::ParameterGradient:
    return "parameter_gradient";
  case OutputSpec::Kind::InputGradient:
    return "input_gradient";
  case OutputSpec::Kind::Token:
    return "token";
  }
  llvm_unreachable("covered switch");
}

/// Higher-order operators that are not calls of the table.
bool isControlFlow(StringRef target) {
  return target == "higher_order.cond" || target == "higher_order.while_loop";
}
/// Higher-order operators that only wrap a sub-graph: (position of the graph).
std::optional<unsigned> wrappedGraph(StringRef target) {
  if (target == "higher_order.wrap_with_set_grad_enabled")
    return 1;
  if (target == "higher_order.invoke_subgraph")
    return 0;
  return std::nullopt;
}
bool isKnown(MLIRContext *context, StringRef target) {
  return isControlFlow(target) || wrappedGraph(target) ||
         target == "_operator.getitem" || aten::lookupOperator(context, target);
}

//===----------------------------------------------------------------------===//
// One graph
//===----------------------------------------------------------------------===//

/// What a name stands for: one value, the list or tuple of a node's results, or
/// a literal (a specialised input, or an undefined result).
struct Binding {
  Value value;
  std::vector<Binding> elements;
  bool isTuple = false;
};

class GraphImporter {
public:
  GraphImporter(OpBuilder &builder, const Graph &graph)
      : builder(builder), context(builder.getContext()), graph(graph) {
    for (const Node &node : graph.nodes) {
      for (const NamedArgument &argument : node.arguments)
        noteUses(argument.value);
      bool readsMemory = StringRef(node.target).starts_with("aten.as_strided");
      if (readsMemory && !node.arguments.empty())
        if (auto *reference = get<ValueRef>(node.arguments[0].value))
          readAsMemory.insert(reference->name);
    }
    for (const Argument &output : graph.outputs)
      noteUses(output);
  }

  /// The type recorded for a value, or null.
  Type recordedType(StringRef name) {
    auto found = graph.values.find(name.str());
    return found == graph.values.end() ? Type() : typeOf(found->second);
  }

  /// The strides recorded for a value, or null where they are not, or symbolic.
  DenseI64ArrayAttr recordedStrides(StringRef name) {
    auto meta = graph.values.find(name.str());
    if (meta == graph.values.end() || meta->second.strides.empty() ||
        !llvm::all_of(meta->second.strides,
                      [](const SymInt &s) { return s.isStatic(); }))
      return {};
    return builder.getDenseI64ArrayAttr(llvm::map_to_vector(
        meta->second.strides, [](const SymInt &s) { return s.value; }));
  }

  void bind(StringRef name, Value value) {
    bindings[name] = Binding{value, {}, false};
  }

  /// Adds the nodes; false where one was bad (it has been reported).
  bool importNodes() {
    for (const Node &node : graph.nodes)
      importNode(node);
    return isGood;
  }

  /// The values of the graph's outputs; null for a literal.
  SmallVector<Value> outputs(ArrayRef<Argument> arguments, Location loc) {
    SmallVector<Value> values;
    for (const Argument &argument : arguments)
      collectValues(argument, loc, values);
    return values;
  }

  bool good() const { return isGood; }

private:
  void noteUses(const Argument &argument) {
    if (auto *reference = get<ValueRef>(argument))
      used.insert(reference->name);
    else if (auto *list = get<Argument::List>(argument))
      for (const Argument &element : *list)
        noteUses(element);
  }

  Type typeOf(const ValueMeta &meta) {
    switch (meta.kind) {
    case ValueKind::SymInt:
      return builder.getI64Type();
    case ValueKind::SymFloat:
      return builder.getF64Type();
    case ValueKind::SymBool:
      return builder.getI1Type();
    case ValueKind::Tensor:
      break;
    default:
      return Type();
    }
    SmallVector<int64_t> sizes;
    SmallVector<StringAttr> expressions;
    bool isDynamic = false;
    for (const SymInt &size : meta.sizes) {
      sizes.push_back(size.isStatic() ? size.value : ShapedType::kDynamic);
      expressions.push_back(builder.getStringAttr(
          size.isStatic() ? std::to_string(size.value) : size.expr->str()));
      isDynamic |= !size.isStatic();
    }
    Attribute encoding =
        isDynamic ? aten::DimsAttr::get(context, expressions) : Attribute();
    return RankedTensorType::get(sizes, elementType(context, meta.dtype),
                                 encoding);
  }

  Location locationOf(const Node &node) {
    const SourceLocation &source = node.location;
    Location place = UnknownLoc::get(context);
    if (!source.file.empty())
      place = FileLineColLoc::get(context, source.file, source.line, 0);
    // The text that messages show travels as metadata.
    std::string text = describeSource(source);
    if (!text.empty())
      place = FusedLoc::get({place}, builder.getStringAttr(text), context);
    return NameLoc::get(builder.getStringAttr(node.name), place);
  }

  InFlightDiagnostic fail(const Node &node) {
    isGood = false;
    return emitError(locationOf(node))
           << "node '" << node.name << "' (" << node.target << "): ";
  }

  //===--- Arguments ------------------------------------------------------===//

  /// The literal of an argument, for a slot of `type`; null where it has none.
  Attribute literal(const Argument &argument, aten::ArgType type) {
    bool wantsFloat = type == aten::ArgType::Float;
    if (get<std::monostate>(argument))
      return builder.getUnitAttr();
    if (auto *value = get<bool>(argument))
      return builder.getBoolAttr(*value);
    if (auto *value = get<int64_t>(argument)) {
      if (wantsFloat)
        return builder.getF64FloatAttr(static_cast<double>(*value));
      return builder.getI64IntegerAttr(*value);
    }
    if (auto *value = get<double>(argument))
      return builder.getF64FloatAttr(*value);
    if (auto *value = get<std::string>(argument))
      return builder.getStringAttr(*value);
    if (auto *value = get<DType>(argument))
      return TypeAttr::get(elementType(context, *value));
    if (auto *value = get<MemoryFormat>(argument))
      return builder.getStringAttr(value->name);
    if (auto *value = get<Layout>(argument))
      return builder.getStringAttr(value->name);
    if (auto *value = get<Device>(argument))
      return builder.getStringAttr(value->name);
    return {};
  }

  /// An entry of aten.call's `args`; appends its operands. Null, after a
  /// report, where it cannot be one.
  Attribute importArgument(const Node &node, StringRef name,
                           const Argument &argument, aten::ArgType type,
                           SmallVectorImpl<Value> &operands) {
    if (auto *reference = get<ValueRef>(argument)) {
      const Binding *binding = find(node, reference->name);
      if (!binding)
        return {};
      if (binding->isTuple) {
        SmallVector<Attribute> elements;
        for (const Binding &element : binding->elements) {
          if (!element.value) {
            fail(node) << "argument '" << name << "' is '" << reference->name
                       << "', which has an undefined element";
            return {};
          }
          elements.push_back(aten::OperandAttr::get(context, operands.size()));
          operands.push_back(element.value);
        }
        return builder.getArrayAttr(elements);
      }
      if (!binding->value)
        return builder.getUnitAttr();
      operands.push_back(binding->value);
      return aten::OperandAttr::get(context, operands.size() - 1);
    }
    if (auto *list = get<Argument::List>(argument)) {
      SmallVector<Attribute> elements;
      for (const Argument &element : *list) {
        elements.push_back(importArgument(node, name, element, type, operands));
        if (!elements.back())
          return {};
      }
      return builder.getArrayAttr(elements);
    }
    Attribute value = literal(argument, type);
    if (!value)
      fail(node) << "argument '" << name
                 << "' has a kind of value that no "
                    "operator takes";
    return value;
  }

  const Binding *find(const Node &node, StringRef name) {
    auto found = bindings.find(name);
    if (found != bindings.end())
      return &found->second;
    if (poisoned.contains(name)) // reported where it was to be defined
      isGood = false;
    else
      fail(node) << "uses '" << name << "', which no node before it defines";
    return nullptr;
  }

  /// The arguments of a call in the order of the schema, defaults filled in.
  bool bindArguments(const Node &node, const aten::Schema &schema,
                     SmallVectorImpl<Value> &operands,
                     SmallVectorImpl<Attribute> &args) {
    SmallVector<const Argument *> given(schema.arguments.size(), nullptr);
    unsigned position = 0;
    bool fits = true;
    for (const NamedArgument &argument : node.arguments) {
      int index = argument.name.empty() ? static_cast<int>(position++)
                                        : schema.find(argument.name);
      if (index < 0) {
        fail(node) << "has an argument '" << argument.name
                   << "' that the operator does not take";
        fits = false;
      } else if (index >= static_cast<int>(given.size())) {
        fail(node) << "has " << node.arguments.size()
                   << " arguments, but the operator takes " << given.size();
        return false;
      } else if (given[index]) {
        fail(node) << "gives argument '" << schema.arguments[index].name
                   << "' twice";
        fits = false;
      } else {
        given[index] = &argument.value;
      }
    }
    if (!fits)
      return false;
    for (auto [slot, value] : llvm::zip_equal(schema.arguments, given)) {
      Attribute arg;
      if (value) {
        arg = importArgument(node, slot.name, *value, slot.type, operands);
        if (!arg)
          return false;
        arg = adapt(slot, arg);
      } else if (slot.hasDefault) {
        arg = slot.defaultValue;
      } else {
        fail(node) << "lacks the argument '" << slot.name << "'";
        return false;
      }
      if (value && !aten::fitsSchema(slot, arg,
                                     llvm::map_to_vector(operands, [](Value v) {
                                       return v.getType();
                                     }))) {
        fail(node) << "argument '" << slot.name << "' should be "
                   << aten::describe(slot) << ", but is " << arg;
        return false;
      }
      args.push_back(arg);
    }
    return true;
  }

  /// A single number where the schema has a list of known length stands for all
  /// of it.
  Attribute adapt(const aten::SchemaArgument &slot, Attribute arg) {
    if (!slot.isList || isa<ArrayAttr, UnitAttr>(arg) ||
        isa<aten::OperandAttr>(arg))
      return arg;
    unsigned length = std::max(slot.listSize, 1u);
    return builder.getArrayAttr(SmallVector<Attribute>(length, arg));
  }

  //===--- Results --------------------------------------------------------===//

  /// The names of a node's results, one entry a return of the schema.
  void bindResults(const Node &node, const aten::Schema &schema,
                   ArrayRef<SmallVector<Value>> returns) {
    auto bindingOf = [&](unsigned index) {
      Binding binding;
      if (schema.returns[index].isList) {
        binding.isTuple = true;
        for (Value value : returns[index])
          binding.elements.push_back(Binding{value, {}, false});
      } else if (!returns[index].empty()) {
        binding.value = returns[index][0];
      }
      return binding;
    };
    // FX text names the tuple of all returns; its elements are read by getitem.
    bool isWhole = node.results.size() == 1 && get<ValueRef>(node.results[0]) &&
                   (schema.returns.size() > 1 ||
                    (schema.returns.size() == 1 && schema.returns[0].isList));
    if (isWhole) {
      Binding binding;
      if (schema.returns.size() == 1) {
        binding = bindingOf(0);
      } else {
        binding.isTuple = true;
        for (unsigned i = 0; i < schema.returns.size(); ++i)
          binding.elements.push_back(bindingOf(i));
      }
      bindings[get<ValueRef>(node.results[0])->name] = binding;
      return;
    }
    // FX text names every node, also one that returns nothing.
    if (schema.returns.empty() && node.results.size() == 1)
      return;
    for (auto [index, result] : llvm::enumerate(node.results)) {
      if (index >= schema.returns.size()) {
        fail(node) << "names " << node.results.size()
                   << " results, but the operator returns "
                   << schema.returns.size();
        return;
      }
      if (auto *reference = get<ValueRef>(result)) {
        bindings[reference->name] = bindingOf(index);
      } else if (auto *list = get<Argument::List>(result)) {
        for (auto [element, value] : llvm::zip(*list, returns[index]))
          if (auto *reference = get<ValueRef>(element))
            bindings[reference->name] = Binding{value, {}, false};
      }
    }
  }

  /// Recorded types of the results, flattened as aten.call's are; empty where a
  /// result that is used has none.
  SmallVector<Type> recordedTypes(const Node &node, const aten::Schema &schema,
                                  SmallVectorImpl<unsigned> &counts) {
    SmallVector<Type> types;
    counts.assign(schema.returns.size(), 1);
    for (unsigned index = 0; index < schema.returns.size(); ++index) {
      if (index >= node.results.size()) {
        types.push_back(NoneType::get(context));
        continue;
      }
      const Argument &result = node.results[index];
      if (auto *reference = get<ValueRef>(result)) {
        if (schema.returns[index].isList)
          return {}; // FX text: the list's name has no type
        Type type = recordedType(reference->name);
        if (!type)
          return {};
        // Exporters are careless about results that nothing reads.
        types.push_back(used.contains(reference->name) ? type : anyType());
      } else if (auto *list = get<Argument::List>(result)) {
        counts[index] = list->size();
        for (const Argument &element : *list) {
          auto *reference = get<ValueRef>(element);
          Type type = reference ? recordedType(reference->name) : Type();
          if (!type)
            return {};
          types.push_back(type);
        }
      } else {
        types.push_back(NoneType::get(context)); // an undefined result
      }
    }
    return types;
  }

  /// Stands for a type that is not known and does not matter.
  Type anyType() { return NoneType::get(context); }

  /// A recorded type against what the operator's rule says. They may differ in
  /// sizes that are symbolic, and where PyTorch leaves a result undefined.
  bool agree(Type recorded, Type inferred) {
    if (isa<NoneType>(recorded) || isa<NoneType>(inferred))
      return true;
    auto a = dyn_cast<RankedTensorType>(recorded);
    auto b = dyn_cast<RankedTensorType>(inferred);
    if (!a || !b)
      return recorded == inferred;
    if (a.getElementType() != b.getElementType() || a.getRank() != b.getRank())
      return false;
    for (auto [x, y] : llvm::zip_equal(a.getShape(), b.getShape()))
      if (!ShapedType::isDynamic(x) && !ShapedType::isDynamic(y) && x != y)
        return false;
    return true;
  }

  //===--- Nodes ----------------------------------------------------------===//

  void importNode(const Node &node) {
    bool wasGood = isGood;
    isGood = true;
    importOne(node);
    if (!isGood)
      for (const Argument &result : node.results)
        poison(result);
    isGood = isGood && wasGood;
  }

  /// Later uses of what a bad node defines are not worth a message.
  void poison(const Argument &result) {
    if (auto *reference = get<ValueRef>(result))
      poisoned.insert(reference->name);
    else if (auto *list = get<Argument::List>(result))
      for (const Argument &element : *list)
        poison(element);
  }

  void importOne(const Node &node) {
    if (node.target == "_operator.getitem")
      return importGetItem(node);
    if (node.target == "higher_order.cond")
      return importCond(node);
    if (node.target == "higher_order.while_loop")
      return importWhile(node);
    if (auto position = wrappedGraph(node.target))
      return importWrapped(node, *position);
    const aten::OperatorInfo *info = aten::lookupOperator(context, node.target);
    if (!info) {
      isGood = false;
      emitError(locationOf(node))
          << "unsupported: node '" << node.name << "': no operator "
          << node.target << " is known";
      return;
    }
    const aten::Schema &schema = info->schema;
    SmallVector<Value> operands;
    SmallVector<Attribute> args;
    if (!bindArguments(node, schema, operands, args))
      return;

    SmallVector<unsigned> counts;
    SmallVector<Type> types = recordedTypes(node, schema, counts);
    bool isRecorded = !types.empty() || schema.returns.empty();
    OperationState state(locationOf(node), aten::CallOp::getOperationName());
    state.addOperands(operands);
    state.addAttribute("callee", builder.getStringAttr(node.target));
    state.addAttribute("args", builder.getArrayAttr(args));
    state.addTypes(types);
    auto op = cast<aten::CallOp>(builder.create(state));
    if (aten::canInferTypes(op)) {
      if (!checkOrInfer(node, schema, op, isRecorded, types, counts)) {
        op.erase();
        return;
      }
    } else if (!isRecorded) {
      types = elementTypes(node, schema, counts);
      if (types.empty()) {
        op.erase();
        fail(node) << "the type of its result is neither recorded nor known to "
                      "follow from its arguments";
        return;
      }
    }
    if (TypeRange(types) != TypeRange(op->getResultTypes())) {
      state.types.assign(types.begin(), types.end());
      auto typed = cast<aten::CallOp>(builder.create(state));
      op.erase();
      op = typed;
    }

    if (node.results.size() == 1 && op->getNumResults() == 1)
      if (auto *reference = get<ValueRef>(node.results[0]);
          reference && readAsMemory.contains(reference->name))
        if (auto strides = recordedStrides(reference->name))
          op->setAttr("aten.strides", strides);

    SmallVector<SmallVector<Value>> returns;
    unsigned next = 0;
    for (unsigned count : counts) {
      auto &values = returns.emplace_back();
      for (unsigned i = 0; i < count; ++i, ++next) {
        Value value = op->getResult(next);
        values.push_back(isa<NoneType>(value.getType()) ? Value() : value);
      }
    }
    bindResults(node, schema, returns);
  }

  /// How many results each return has, where only one can be a list.
  void countLists(const aten::Schema &schema, size_t total,
                  SmallVectorImpl<unsigned> &counts) {
    counts.assign(schema.returns.size(), 1);
    for (auto [index, entry] : llvm::enumerate(schema.returns))
      if (entry.isList)
        counts[index] = total - (schema.returns.size() - 1);
  }

  /// Checks recorded types against the operator's rule, or takes them from it.
  bool checkOrInfer(const Node &node, const aten::Schema &schema,
                    aten::CallOp op, bool isRecorded,
                    SmallVectorImpl<Type> &types,
                    SmallVectorImpl<unsigned> &counts) {
    auto inferred = aten::inferResultTypes(op, [&] { return fail(node); });
    if (failed(inferred)) {
      isGood = false;
      return false;
    }
    if (!isRecorded) {
      types.assign(inferred->begin(), inferred->end());
      countLists(schema, types.size(), counts);
      return true;
    }
    if (types.size() != inferred->size()) {
      fail(node) << "has " << types.size()
                 << " recorded results, but the arguments give "
                 << inferred->size();
      return false;
    }
    for (size_t i = 0; i < types.size(); ++i) {
      if (!agree(types[i], (*inferred)[i])) {
        fail(node) << "result " << i << " is recorded as " << types[i]
                   << ", but the arguments give " << (*inferred)[i]
                   << "; the file was edited by hand or mixes two exports: "
                      "export the model again";
        return false;
      }
      if (isa<NoneType>(types[i]))
        types[i] = (*inferred)[i];
    }
    return true;
  }

  /// FX text: the types of a tuple's elements, recorded where they are read.
  /// Elements that nothing reads have no type.
  SmallVector<Type> elementTypes(const Node &node, const aten::Schema &schema,
                                 SmallVectorImpl<unsigned> &counts) {
    if (node.results.size() != 1 || !get<ValueRef>(node.results[0]))
      return {};
    StringRef name = get<ValueRef>(node.results[0])->name;
    SmallVector<Type> types(schema.returns.size() > 1 ? schema.returns.size()
                                                      : 0,
                            NoneType::get(context));
    bool isList = schema.returns.size() == 1 && schema.returns[0].isList;
    for (const Node &reader : graph.nodes) {
      if (reader.target != "_operator.getitem" || reader.arguments.size() != 2)
        continue;
      auto *tuple = get<ValueRef>(reader.arguments[0].value);
      auto *index = get<int64_t>(reader.arguments[1].value);
      if (!tuple || !index || tuple->name != name || *index < 0)
        continue;
      if (isList && *index >= static_cast<int64_t>(types.size()))
        types.resize(*index + 1, NoneType::get(context));
      Type type = recordedType(reader.name);
      if (!type || *index >= static_cast<int64_t>(types.size()))
        return {};
      types[*index] = type;
    }
    countLists(schema, types.size(), counts);
    return types;
  }

  void importGetItem(const Node &node) {
    auto *tuple = node.arguments.size() == 2
                      ? get<ValueRef>(node.arguments[0].value)
                      : nullptr;
    auto *index = tuple ? get<int64_t>(node.arguments[1].value) : nullptr;
    if (!index) {
      fail(node)
          << "unsupported: only an element of a tuple can be read, by an "
             "integer";
      return;
    }
    const Binding *binding = find(node, tuple->name);
    if (!binding)
      return;
    if (!binding->isTuple || *index < 0 ||
        *index >= static_cast<int64_t>(binding->elements.size())) {
      fail(node) << "reads element " << *index << " of '" << tuple->name
                 << "', which has "
                 << (binding->isTuple ? binding->elements.size() : 0);
      return;
    }
    // A copy first: the insertion may move the table.
    Binding element = binding->elements[*index];
    // Text records the type at the element; where the rule could not tell it,
    // the call has it from there already.
    for (const Argument &result : node.results)
      if (auto *reference = get<ValueRef>(result))
        bindings[reference->name] = element;
  }

  /// Positional operand lists of higher-order operators.
  bool collectValues(const Argument &argument, Location loc,
                     SmallVectorImpl<Value> &values) {
    if (auto *list = get<Argument::List>(argument)) {
      for (const Argument &element : *list)
        if (!collectValues(element, loc, values))
          return false;
      return true;
    }
    auto *reference = get<ValueRef>(argument);
    if (!reference) {
      values.push_back(Value());
      return true;
    }
    auto found = bindings.find(reference->name);
    if (found == bindings.end()) {
      isGood = false;
      if (!poisoned.contains(reference->name))
        emitError(loc) << "'" << reference->name
                       << "' is used, but no node before defines it";
      return false;
    }
    if (found->second.isTuple) {
      for (const Binding &element : found->second.elements)
        values.push_back(element.value);
      return true;
    }
    values.push_back(found->second.value);
    return true;
  }

  const Graph *subgraph(const Node &node, unsigned index) {
    auto *reference = index < node.arguments.size()
                          ? get<GraphRef>(node.arguments[index].value)
                          : nullptr;
    if (!reference || !reference->graph) {
      fail(node) << "argument " << index << " should be a sub-graph";
      return nullptr;
    }
    return reference->graph.get();
  }

  /// Fills a region with a sub-graph whose inputs are arguments of `types`.
  bool importRegion(const Node &node, const Graph &inner, TypeRange types,
                    Region &region, SmallVectorImpl<Type> &yielded) {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&region);
    Location loc = locationOf(node);
    if (inner.inputs.size() != types.size()) {
      fail(node) << "a sub-graph has " << inner.inputs.size()
                 << " inputs but is given " << types.size();
      return false;
    }
    GraphImporter importer(builder, inner);
    for (auto [input, type] : llvm::zip_equal(inner.inputs, types)) {
      Value argument = block->addArgument(type, loc);
      if (auto *reference = get<ValueRef>(input))
        importer.bind(reference->name, argument);
    }
    bool good = importer.importNodes();
    SmallVector<Value> results = importer.outputs(inner.outputs, loc);
    if (!good || !importer.good() || llvm::is_contained(results, Value())) {
      isGood = false;
      results.clear();
    }
    builder.create<aten::YieldOp>(loc, results);
    for (Value value : results)
      yielded.push_back(value.getType());
    return isGood;
  }

  void bindFlat(const Node &node, ValueRange values) {
    SmallVector<const ValueRef *> names;
    std::function<void(const Argument &)> flatten =
        [&](const Argument &result) {
          if (auto *reference = get<ValueRef>(result))
            names.push_back(reference);
          else if (auto *list = get<Argument::List>(result))
            for (const Argument &element : *list)
              flatten(element);
        };
    for (const Argument &result : node.results)
      flatten(result);
    // FX text names the tuple.
    if (names.size() == 1 && names[0]->name == node.name &&
        !graph.values.count(node.name)) {
      Binding binding;
      binding.isTuple = true;
      for (Value value : values)
        binding.elements.push_back(Binding{value, {}, false});
      bindings[node.name] = binding;
      return;
    }
    if (names.size() != values.size()) {
      fail(node) << "names " << names.size()
                 << " results, but its sub-graph has " << values.size();
      return;
    }
    for (auto [reference, value] : llvm::zip_equal(names, values))
      bind(reference->name, value);
  }

  void importCond(const Node &node) {
    Location loc = locationOf(node);
    SmallVector<Value> predicate, operands;
    const Graph *thenGraph = subgraph(node, 1);
    const Graph *elseGraph = thenGraph ? subgraph(node, 2) : nullptr;
    if (!elseGraph || !collectValues(node.arguments[0].value, loc, predicate))
      return;
    for (size_t i = 3; i < node.arguments.size(); ++i)
      if (!collectValues(node.arguments[i].value, loc, operands))
        return;
    OperationState state(loc, aten::CondOp::getOperationName());
    state.addOperands(predicate);
    state.addOperands(operands);
    Region *thenRegion = state.addRegion(), *elseRegion = state.addRegion();
    SmallVector<Type> thenTypes, elseTypes;
    TypeRange types = ValueRange(operands).getTypes();
    if (!importRegion(node, *thenGraph, types, *thenRegion, thenTypes) ||
        !importRegion(node, *elseGraph, types, *elseRegion, elseTypes))
      return;
    if (thenTypes != elseTypes) {
      fail(node) << "its branches return different types";
      return;
    }
    state.addTypes(thenTypes);
    bindFlat(node, builder.create(state)->getResults());
  }

  void importWhile(const Node &node) {
    Location loc = locationOf(node);
    const Graph *condition = subgraph(node, 0);
    const Graph *body = condition ? subgraph(node, 1) : nullptr;
    if (!body)
      return;
    SmallVector<Value> carried, additional;
    if (node.arguments.size() < 3 ||
        !collectValues(node.arguments[2].value, loc, carried) ||
        (node.arguments.size() > 3 &&
         !collectValues(node.arguments[3].value, loc, additional)))
      return;
    SmallVector<Value> all(carried);
    llvm::append_range(all, additional);
    OperationState state(loc, aten::WhileLoopOp::getOperationName());
    state.addOperands(all);
    Region *condRegion = state.addRegion(), *bodyRegion = state.addRegion();
    SmallVector<Type> condTypes, bodyTypes;
    TypeRange types = ValueRange(all).getTypes();
    if (!importRegion(node, *condition, types, *condRegion, condTypes) ||
        !importRegion(node, *body, types, *bodyRegion, bodyTypes))
      return;
    state.addTypes(bodyTypes);
    state.addAttribute("operandSegmentSizes",
                       builder.getDenseI32ArrayAttr(
                           {static_cast<int32_t>(carried.size()),
                            static_cast<int32_t>(additional.size())}));
    bindFlat(node, builder.create(state)->getResults());
  }

  /// A sub-graph that is called in place: its nodes become the caller's.
  void importWrapped(const Node &node, unsigned position) {
    Location loc = locationOf(node);
    const Graph *inner = subgraph(node, position);
    if (!inner)
      return;
    SmallVector<Value> operands;
    for (size_t i = position + 1; i < node.arguments.size(); ++i) {
      const Argument &argument = node.arguments[i].value;
      // The identifier of invoke_subgraph is no operand.
      if (!get<ValueRef>(argument) && !get<Argument::List>(argument))
        continue;
      if (!collectValues(argument, loc, operands))
        return;
    }
    if (operands.size() != inner->inputs.size()) {
      fail(node) << "its sub-graph has " << inner->inputs.size()
                 << " inputs but is given " << operands.size();
      return;
    }
    GraphImporter importer(builder, *inner);
    for (auto [input, value] : llvm::zip_equal(inner->inputs, operands))
      if (auto *reference = get<ValueRef>(input))
        importer.bind(reference->name, value);
    bool good = importer.importNodes();
    SmallVector<Value> results = importer.outputs(inner->outputs, loc);
    if (!good || !importer.good()) {
      isGood = false;
      return;
    }
    bindFlat(node, results);
  }

  OpBuilder &builder;
  MLIRContext *context;
  const Graph &graph;
  llvm::StringMap<Binding> bindings;
  llvm::StringSet<> used; ///< names that something reads
  /// Names whose place in memory matters to a reader.
  llvm::StringSet<> readAsMemory;
  llvm::StringSet<> poisoned;
  bool isGood = true;
};

/// Calls `visit` for each node, those of sub-graphs included.
void forEachNode(const Graph &graph,
                 llvm::function_ref<void(const Node &)> visit) {
  for (const Node &node : graph.nodes) {
    visit(node);
    for (const NamedArgument &argument : node.arguments)
      if (auto *inner = get<GraphRef>(argument.value); inner && inner->graph)
        forEachNode(*inner->graph, visit);
  }
}

DictionaryAttr symbolRanges(Builder &builder, const Program &program) {
  SmallVector<NamedAttribute> entries;
  for (const auto &[name, range] : program.symbolRanges) {
    auto bound = [&](std::optional<int64_t> value) -> Attribute {
      return value ? Attribute(builder.getI64IntegerAttr(*value))
                   : builder.getUnitAttr();
    };
    entries.push_back(builder.getNamedAttr(
        name, builder.getArrayAttr({bound(range.min), bound(range.max)})));
  }
  return builder.getDictionaryAttr(entries);
}

} // namespace

std::string describeSource(const SourceLocation &location) {
  std::string text;
  if (!location.file.empty())
    text = location.line > 0
               ? fmt::format("{}:{}", location.file, location.line)
               : location.file;
  if (!location.function.empty())
    text += " in " + location.function;
  if (!location.code.empty())
    text += ":  " + location.code;
  if (!location.module.empty())
    text +=
        fmt::format("{}(module {})", text.empty() ? "" : "  ", location.module);
  return text;
}

std::vector<UnknownOperator> findUnknownOperators(MLIRContext &context,
                                                  const Program &program) {
  std::map<std::string, UnknownOperator> unknown;
  forEachNode(program.graph, [&](const Node &node) {
    if (isKnown(&context, node.target))
      return;
    UnknownOperator &entry = unknown[node.target];
    entry.target = node.target;
    entry.nodes.push_back(&node);
  });
  std::vector<UnknownOperator> list;
  for (auto &[target, entry] : unknown)
    list.push_back(std::move(entry));
  return list;
}

OwningOpRef<ModuleOp> importProgram(MLIRContext &context,
                                    const Program &program) {
  DialectRegistry registry;
  registerGcompileDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();

  OpBuilder builder(&context);
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  if (!program.symbolRanges.empty())
    (*module)->setAttr("aten.symbols", symbolRanges(builder, program));

  GraphImporter importer(builder, program.graph);
  SmallVector<Type> inputTypes;
  SmallVector<DictionaryAttr> inputAttrs;
  SmallVector<StringRef> inputNames;
  size_t userInput = 0;
  bool good = true;
  for (const auto &[spec, input] :
       llvm::zip_equal(program.inputs, program.graph.inputs)) {
    bool isUser = spec.kind == InputSpec::Kind::UserInput;
    size_t leaf = userInput;
    userInput += isUser;
    auto *reference = get<ValueRef>(input);
    if (!reference)
      continue;
    Type type = importer.recordedType(reference->name);
    if (!type || spec.kind == InputSpec::Kind::CustomObject ||
        spec.kind == InputSpec::Kind::Token) {
      good = false;
      emitError(NameLoc::get(builder.getStringAttr(reference->name)))
          << (type ? "unsupported: " : "") << "input '" << reference->name
          << (type ? "' is a script object or an effect token"
                   : "' has no recorded type; use a dump with annotations");
      continue;
    }
    NamedAttrList attrs;
    attrs.append("aten.kind", builder.getStringAttr(kindName(spec.kind)));
    attrs.append("aten.name",
                 builder.getStringAttr(isUser ? reference->name : spec.target));
    if (isUser)
      attrs.append("aten.user_name",
                   builder.getStringAttr(leaf < program.userInputNames.size()
                                             ? program.userInputNames[leaf]
                                             : reference->name));
    inputTypes.push_back(type);
    inputAttrs.push_back(attrs.getDictionary(&context));
    inputNames.push_back(reference->name);
  }
  if (!good)
    return nullptr;

  builder.setInsertionPointToEnd(module->getBody());
  auto func = builder.create<func::FuncOp>(
      loc, "forward", builder.getFunctionType(inputTypes, {}));
  Block *entry = func.addEntryBlock();
  for (auto [index, name] : llvm::enumerate(inputNames)) {
    func.setArgAttrs(index, inputAttrs[index]);
    entry->getArgument(index).setLoc(NameLoc::get(builder.getStringAttr(name)));
    importer.bind(name, entry->getArgument(index));
  }
  builder.setInsertionPointToEnd(entry);
  good = importer.importNodes();

  SmallVector<Value> results;
  SmallVector<Type> resultTypes;
  SmallVector<DictionaryAttr> resultAttrs;
  size_t userOutput = 0;
  for (const auto &[spec, output] :
       llvm::zip_equal(program.outputs, program.graph.outputs)) {
    bool isUser = spec.kind == OutputSpec::Kind::UserOutput;
    size_t position = userOutput;
    userOutput += isUser;
    SmallVector<Value> values = importer.outputs(output, loc);
    if (values.size() != 1 || !values[0]) {
      // A literal that the program returns needs no computation.
      if (!get<ValueRef>(output))
        continue;
      good = false;
      continue;
    }
    NamedAttrList attrs;
    attrs.append("aten.kind", builder.getStringAttr(kindName(spec.kind)));
    attrs.append(
        "aten.name",
        builder.getStringAttr(isUser ? std::to_string(position) : spec.target));
    if (auto strides = importer.recordedStrides(get<ValueRef>(output)->name))
      attrs.append("aten.strides", strides);
    results.push_back(values[0]);
    resultTypes.push_back(values[0].getType());
    resultAttrs.push_back(attrs.getDictionary(&context));
  }
  if (!good || !importer.good())
    return nullptr;
  builder.setInsertionPointToEnd(entry);
  builder.create<func::ReturnOp>(loc, results);
  func.setFunctionType(builder.getFunctionType(inputTypes, resultTypes));
  for (auto [index, attrs] : llvm::enumerate(resultAttrs))
    func.setResultAttrs(index, attrs);
  return module;
}

} // namespace gcompile::frontend

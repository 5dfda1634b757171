#include "FxTextReader.h"
#include "FxGraphBuilder.h"
#include "FxGraphStrReader.h"
#include "FxRunnableReader.h"
#include "FxSignatureReader.h"
#include "FxValue.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <map>

namespace gcompile::frontend {
namespace {

using ExprKind = FxExpr::Kind;
using StatementKind = FxStatement::Kind;

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

struct PythonOperator {
  std::string_view text, target;
};
constexpr PythonOperator kBinaryOperators[] = {
    {"+", "_operator.add"},       {"-", "_operator.sub"},
    {"*", "_operator.mul"},       {"/", "_operator.truediv"},
    {"//", "_operator.floordiv"}, {"%", "_operator.mod"},
    {"**", "_operator.pow"},      {"<<", "_operator.lshift"},
    {">>", "_operator.rshift"},   {"&", "_operator.and_"},
    {"|", "_operator.or_"},       {"^", "_operator.xor"},
    {"@", "_operator.matmul"},    {"==", "_operator.eq"},
    {"!=", "_operator.ne"},       {"<", "_operator.lt"},
    {"<=", "_operator.le"},       {">", "_operator.gt"},
    {">=", "_operator.ge"}};
constexpr PythonOperator kUnaryOperators[] = {
    {"-", "_operator.neg"}, {"+", "_operator.pos"}, {"~", "_operator.invert"}};

template <size_t N>
std::string operatorTarget(const PythonOperator (&operators)[N],
                           std::string_view text) {
  return std::string(
      std::ranges::find(operators, text, &PythonOperator::text)->target);
}

std::string_view trim(std::string_view text) {
  text.remove_prefix(indentation(text));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// Target of a function of symbolic numbers, as the exporter spells it. FX
/// writes "math_trunc", since a global's name has no dot.
std::optional<std::string> symbolicTarget(std::string_view callee) {
  if (callee.starts_with("torch.sym_") || callee.starts_with("torch._sym_"))
    return std::string(callee);
  if (callee.starts_with("math.") || callee.starts_with("math_"))
    return fmt::format("math.{}", callee.substr(5));
  return std::nullopt;
}

/// " File: a.py:7 in forward, code: y = x + 1", maybe after an annotation.
SourceLocation parseLocation(std::string_view comment) {
  constexpr std::string_view kFile = "File: ", kCode = ", code: ";
  SourceLocation location;
  size_t begin = comment.find(kFile);
  size_t codeBegin = comment.find(kCode, begin);
  if (begin == comment.npos || codeBegin == comment.npos)
    return location;
  std::string_view place =
      comment.substr(begin + kFile.size(), codeBegin - begin - kFile.size());
  location.code = comment.substr(codeBegin + kCode.size());
  // Names of generated files hold an " in " of their own, so look from the end.
  std::string_view filePart = place;
  if (size_t in = place.rfind(" in "); in != place.npos) {
    location.function = place.substr(in + 4);
    filePart = place.substr(0, in);
  }
  size_t colon = filePart.rfind(':');
  if (colon == filePart.npos)
    return {};
  std::string_view digits = filePart.substr(colon + 1);
  std::from_chars(digits.begin(), digits.end(), location.line);
  location.file = filePart.substr(0, colon);
  return location;
}

/// What all graphs of one text share.
struct Context {
  const FxSource &source;
  FxRefusals refusals;
  std::map<const FxClass *, std::shared_ptr<const Graph>> graphs;
};

class GraphReader {
public:
  /// `parent` holds the sub-graphs; null if the text has none.
  GraphReader(Context &context, const FxClass *parent)
      : context(context), source(context.source), parent(parent),
        builder(context.source, context.refusals) {}

  void read(const FxFunction &forward);
  FxGraphBuilder &result() { return builder; }

private:
  void readParameters(const FxFunction &forward);
  void readStatement(const FxStatement &statement);
  void readAssignment(const FxStatement &statement);
  void readReturn(const FxStatement &statement);
  void readCall(const FxExpr &target, const FxExpr &call,
                std::optional<ValueMeta> meta);
  void readAttribute(const FxExpr &target, const std::string &path,
                     std::optional<ValueMeta> meta);
  void readSubscript(const FxExpr &target, const FxExpr &subscript,
                     std::optional<ValueMeta> meta);
  void readOperator(const FxExpr &target, const FxExpr &expr,
                    std::optional<ValueMeta> meta);

  Argument value(const FxExpr &expr) const {
    return readValue(source, expr, resolve);
  }
  Argument resolvePath(const FxExpr &path);
  /// The sub-graph "self.PATH"; null if there is none.
  const FxClass *findClass(std::string_view path) const;
  Argument graphRef(const FxClass &child, std::string_view path);
  bool isTensor(const Argument &value) const {
    const ValueMeta *meta = builder.meta(value);
    return meta && meta->kind == ValueKind::Tensor;
  }
  std::string_view shown(const FxExpr &expr) const {
    return shorten(source.text().substr(expr.begin, expr.end - expr.begin));
  }

  Context &context;
  const FxSource &source;
  const FxClass *parent;
  FxGraphBuilder builder;
  FxResolve resolve = [this](const FxExpr &path) { return resolvePath(path); };
  /// Name of the iterator from which a boxed graph takes its inputs.
  std::string_view inputIterator;
  bool hasReturned = false;
};

void GraphReader::read(const FxFunction &forward) {
  readParameters(forward);
  for (const FxStatement &statement : forward.body)
    readStatement(statement);
  if (!hasReturned)
    source.fail(forward.end, "the graph ends without a 'return'",
                "the text is cut off; print the graph again");
}

/// The call that takes nested Python arguments apart.
bool isFlatten(const FxStatement &statement) {
  return statement.kind == StatementKind::Assign &&
         statement.value.kind == ExprKind::Call &&
         statement.value.operands[0].isPath("fx_pytree.tree_flatten_spec");
}

/// The call that makes an iterator over the list of a boxed graph's inputs.
bool isIterator(const FxStatement &statement) {
  return statement.kind == StatementKind::Assign &&
         statement.value.kind == ExprKind::Call &&
         statement.value.operands[0].isPath("iter");
}

void GraphReader::readParameters(const FxFunction &forward) {
  auto begin = forward.body.begin(), end = forward.body.end();
  auto flatten = std::find_if(begin, end, isFlatten);
  if (flatten != end) {
    // The graph's inputs are the leaves; their types stand before the call.
    std::map<std::string_view, const FxStatement *> declarations;
    for (auto it = begin; it != flatten; ++it)
      if (it->kind == StatementKind::Declare)
        declarations.emplace(it->targets[0].text, &*it);
    const FxExpr &leaves = flatten->targets[0];
    auto addLeaf = [&](const FxExpr &leaf) {
      auto declaration = declarations.find(leaf.text);
      builder.addInput(
          leaf.text, leaf.begin,
          declaration == declarations.end()
              ? std::nullopt
              : readAnnotation(source, declaration->second->annotation));
    };
    if (leaves.kind != ExprKind::Tuple)
      addLeaf(leaves);
    else
      std::ranges::for_each(leaves.operands, addLeaf);
    return;
  }
  if (std::any_of(begin, end, isIterator))
    return; // each next() is an input
  for (size_t i = 0; i < forward.parameters.size(); ++i) {
    const FxParameter &parameter = forward.parameters[i];
    if (i == 0 && parameter.name == "self")
      continue;
    builder.addInput(parameter.name, parameter.offset,
                     readAnnotation(source, parameter.annotation));
  }
}

void GraphReader::readStatement(const FxStatement &statement) {
  if (statement.kind == StatementKind::Comment) {
    // Others ("recompute: ...") say nothing of where a node comes from. An
    // empty one stands for a trace that FX could not summarise.
    if (trim(statement.text).empty() ||
        statement.text.find("File: ") != std::string_view::npos ||
        statement.text.find("No stacktrace found") != std::string_view::npos)
      builder.setLocation(parseLocation(statement.text));
    return;
  }
  if (hasReturned)
    source.fail(statement.offset, "statement after the graph's 'return'");
  switch (statement.kind) {
  case StatementKind::Comment:
  case StatementKind::Declare: // read with the parameters
    return;
  case StatementKind::Assign:
    if (!isFlatten(statement))
      readAssignment(statement);
    return;
  case StatementKind::Update:
    context.refusals.refusals.push_back(
        {fmt::format("{} (in place)", statement.text), statement.offset});
    return;
  case StatementKind::Return:
    return readReturn(statement);
  case StatementKind::Expression:
    break;
  }
  // Descriptions, the profiler's marks, and args_list.clear().
  const FxExpr &value = statement.value;
  bool isHarmless = value.kind == ExprKind::String || value.isPath("pass") ||
                    (value.kind == ExprKind::Call &&
                     value.operands[0].kind == ExprKind::Path &&
                     (value.operands[0].text.starts_with("_rf_") ||
                      (!inputIterator.empty() &&
                       value.operands[0].text.ends_with(".clear"))));
  if (!isHarmless)
    source.fail(statement.offset, "expected an assignment");
}

void GraphReader::readReturn(const FxStatement &statement) {
  hasReturned = true;
  if (!statement.hasValue)
    return;
  const FxExpr *returned = &statement.value;
  if (returned->kind == ExprKind::Call &&
      returned->operands[0].isPath("pytree.tree_unflatten") &&
      returned->operands.size() > 1)
    returned = &returned->operands[1];
  builder.addOutputs(value(*returned), returned->begin);
}

void GraphReader::readAssignment(const FxStatement &statement) {
  const FxExpr &expr = statement.value;
  for (const FxExpr &target : statement.targets)
    if (!target.isName())
      source.fail(target.begin, "expected a name to assign to");
  if (expr.isPath("None")) {
    for (const FxExpr &target : statement.targets)
      builder.release(target.text, target.begin);
    return;
  }
  const FxExpr &target = statement.targets[0];
  if (statement.targets.size() > 1)
    source.fail(target.begin, "only None can be assigned to several names");
  if (isIterator(statement)) {
    inputIterator = target.text;
    return;
  }
  std::optional<ValueMeta> meta = readAnnotation(source, statement.annotation);
  if (std::optional<std::string> path = attributePath(source, expr);
      path && path->find('.') != path->npos && !namedConstant(*path))
    return readAttribute(target, *path, std::move(meta));
  switch (expr.kind) {
  case ExprKind::Call:
    return readCall(target, expr, std::move(meta));
  case ExprKind::Subscript:
    return readSubscript(target, expr, std::move(meta));
  case ExprKind::Unary:
  case ExprKind::Binary:
    return readOperator(target, expr, std::move(meta));
  default:
    return builder.alias(target.text, target.begin, value(expr));
  }
}

void GraphReader::readCall(const FxExpr &target, const FxExpr &call,
                           std::optional<ValueMeta> meta) {
  const FxExpr &calleeExpr = call.operands[0];
  std::optional<std::string> callee = attributePath(source, calleeExpr);
  if (!callee)
    return builder.refuse(target.text, target.begin,
                          fmt::format("{}()", shown(calleeExpr)));
  if (*callee == "next" && call.operands.size() == 2 &&
      !inputIterator.empty() && call.operands[1].isPath(inputIterator))
    return builder.addInput(target.text, target.begin, std::move(meta));
  // Checks of the inputs, and marks for a profiler: not part of the graph.
  if (*callee == "self._guards_fn" || target.text.starts_with("_rf_"))
    return builder.alias(target.text, target.begin, {});
  constexpr std::string_view kOperators = "torch.ops.";
  std::optional<std::string> operatorName = symbolicTarget(*callee);
  if (callee->starts_with(kOperators))
    operatorName = callee->substr(kOperators.size());
  if (!operatorName) {
    std::string name = *callee;
    size_t dot = name.find('.');
    if (name.starts_with("self."))
      name = fmt::format("module {}", name);
    else if (dot != name.npos && builder.isDefined(name.substr(0, dot)))
      name = fmt::format("method {}", name.substr(dot));
    return builder.refuse(target.text, target.begin, std::move(name));
  }
  std::vector<NamedArgument> arguments;
  arguments.reserve(call.keywords.size());
  for (size_t i = 0; i < call.keywords.size(); ++i)
    arguments.push_back(
        {std::string(call.keywords[i]), value(call.operands[i + 1])});
  builder.addNode(target.text, target.begin, *std::move(operatorName),
                  std::move(arguments), std::move(meta));
}

void GraphReader::readAttribute(const FxExpr &target, const std::string &path,
                                std::optional<ValueMeta> meta) {
  constexpr std::string_view kSelf = "self.";
  if (!path.starts_with(kSelf))
    return builder.refuse(target.text, target.begin,
                          fmt::format("attribute {}", path));
  std::string attribute = path.substr(kSelf.size());
  if (const FxClass *child = findClass(attribute))
    return builder.alias(target.text, target.begin,
                         graphRef(*child, attribute));
  builder.addAttribute(target.text, target.begin, std::move(attribute),
                       std::move(meta));
}

void GraphReader::readSubscript(const FxExpr &target, const FxExpr &subscript,
                                std::optional<ValueMeta> meta) {
  // A tuple's element, or indexing of a tensor: only that of Dynamo's graphs.
  const FxExpr &index = subscript.operands[1];
  Argument object = value(subscript.operands[0]);
  if (isTensor(object) || index.kind != ExprKind::Integer)
    return builder.refuse(target.text, target.begin, "indexing of a tensor");
  builder.addNode(target.text, target.begin, "_operator.getitem",
                  {{"", std::move(object)}, {"", value(index)}},
                  std::move(meta));
}

void GraphReader::readOperator(const FxExpr &target, const FxExpr &expr,
                               std::optional<ValueMeta> meta) {
  bool isUnary = expr.kind == ExprKind::Unary;
  if (isUnary && expr.operands[0].kind != ExprKind::Path)
    return builder.alias(target.text, target.begin, value(expr)); // -1
  std::vector<NamedArgument> operands;
  bool onTensors = meta && meta->kind == ValueKind::Tensor;
  for (const FxExpr &operand : expr.operands) {
    operands.push_back({"", value(operand)});
    onTensors |= isTensor(operands.back().value);
  }
  if (onTensors)
    return builder.refuse(target.text, target.begin,
                          fmt::format("operator {} of tensors", expr.text));
  builder.addNode(target.text, target.begin,
                  isUnary ? operatorTarget(kUnaryOperators, expr.text)
                          : operatorTarget(kBinaryOperators, expr.text),
                  std::move(operands), std::move(meta));
}

Argument GraphReader::resolvePath(const FxExpr &path) {
  if (path.isName())
    return builder.use(path.text, path.begin);
  if (path.text.starts_with("self."))
    if (const FxClass *child = findClass(path.text.substr(5)))
      return graphRef(*child, path.text.substr(5));
  if (path.text.starts_with("torch.ops.")) // an operator as a value
    return {std::string(path.text.substr(10))};
  source.fail(path.begin,
              fmt::format("'{}' as an argument is not supported", shown(path)),
              {}, ErrorCode::Unsupported);
}

const FxClass *GraphReader::findClass(std::string_view path) const {
  const FxClass *found = parent;
  while (found && !path.empty()) {
    size_t dot = std::min(path.find('.'), path.size());
    auto child =
        std::ranges::find(found->classes, path.substr(0, dot), &FxClass::name);
    found = child == found->classes.end() ? nullptr : &*child;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return found;
}

Argument GraphReader::graphRef(const FxClass &child, std::string_view path) {
  std::shared_ptr<const Graph> &graph = context.graphs[&child];
  if (!graph) {
    const FxFunction *forward = child.function("forward");
    if (!forward)
      source.fail(child.offset, "the class has no 'forward'");
    GraphReader reader(context, &child);
    reader.read(*forward);
    graph = std::make_shared<const Graph>(reader.result().takeGraph());
  }
  return {GraphRef{std::string(path), graph}};
}

//===----------------------------------------------------------------------===//
// Finding the graph
//===----------------------------------------------------------------------===//

/// A graph somewhere in a text.
struct Candidate {
  enum class Form { Class, Function, Lines } form;
  std::string title; ///< of its section in a log; may be empty
  size_t begin;      ///< where "class", "def" or "graph" is
  size_t firstLine, endLine;
  bool isComplete = false;
  bool isBackward = false; ///< or forward and backward in one
};

/// Where a graph begins in `line`, and in which form; none if it does not.
std::optional<std::pair<Candidate::Form, size_t>>
findHeader(std::string_view line) {
  size_t indent = indentation(line);
  std::string_view text = trim(line);
  if (text.ends_with("(torch.nn.Module):")) {
    // In logs the name of a file comes first.
    size_t at = line.find("class ");
    if (at != line.npos && (at == indent || line[at - 1] == ' '))
      return {{Candidate::Form::Class, at}};
  }
  if (text.starts_with("def forward("))
    return {{Candidate::Form::Function, indent}};
  if (text.starts_with("graph(") && text.ends_with(":"))
    return {{Candidate::Form::Lines, indent}};
  return std::nullopt;
}

/// " ===== Forward graph 0 =====", of a log.
bool isTitle(std::string_view text) {
  return text.size() > 12 && text.starts_with("=====") &&
         text.ends_with("=====");
}

/// Whether a line has parameters that are gradients of outputs, by the name
/// that AOTAutograd gives them.
bool takesGradients(std::string_view line) {
  return line.starts_with("tangents_") ||
         (line.starts_with("def forward(") &&
          line.find(", tangents_") != line.npos);
}

std::vector<Candidate> findGraphs(const FxSource &source) {
  std::vector<Candidate> graphs;
  std::string title;
  for (size_t i = 0; i < source.numLines();) {
    std::string_view text = trim(source.line(i));
    if (isTitle(text))
      title = trim(text.substr(5, text.size() - 10));
    auto header = findHeader(source.line(i));
    if (!header) {
      ++i;
      continue;
    }
    size_t indent = indentation(source.line(i));
    Candidate graph{header->first,
                    std::exchange(title, {}),
                    source.lineBegin(i) + header->second,
                    i,
                    i + 1,
                    false};
    constexpr size_t npos = std::string::npos;
    graph.isBackward = graph.title.find("Backward graph") != npos ||
                       graph.title.find("Joint graph") != npos ||
                       takesGradients(text);
    // It reaches to the next title, or line indented no more than its first.
    for (; graph.endLine < source.numLines(); ++graph.endLine) {
      std::string_view line = source.line(graph.endLine);
      std::string_view inner = trim(line);
      bool isInside = inner.empty() || inner[0] == ')' ||
                      (indentation(line) > indent && !isTitle(inner));
      if (!isInside)
        break;
      graph.isComplete |= inner.starts_with("return");
      graph.isBackward |= takesGradients(inner);
    }
    i = graph.endLine;
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

Candidate selectGraph(const FxSource &source, const std::string &wanted) {
  std::vector<Candidate> graphs = findGraphs(source);
  if (graphs.empty())
    throwError(ErrorCode::InvalidArgument,
               fmt::format("{}: no graph found", source.name()),
               "expected the text of print_readable(), print(graph) or "
               "fx_graph_runnable.py");
  std::vector<std::string> titles;
  for (const Candidate &graph : graphs)
    titles.push_back(fmt::format("graph '{}' at {}", graph.title,
                                 source.place(graph.begin)));
  if (!wanted.empty())
    std::erase_if(graphs, [&](const Candidate &graph) {
      return graph.title.find(wanted) == graph.title.npos;
    });
  else if (!std::ranges::all_of(graphs, &Candidate::isBackward))
    std::erase_if(graphs, std::mem_fn(&Candidate::isBackward));
  if (graphs.empty())
    throwError(ErrorCode::InvalidArgument,
               fmt::format("{}: no graph's title has '{}' in it", source.name(),
                           wanted),
               {}, std::move(titles));
  // A log may be cut off within its last graph. If all are, the parser says so.
  auto complete = std::find_if(graphs.rbegin(), graphs.rend(),
                               [](auto &graph) { return graph.isComplete; });
  return complete == graphs.rend() ? graphs.back() : *complete;
}

size_t offsetOfLine(const FxSource &source, size_t line) {
  return line < source.numLines() ? source.lineBegin(line)
                                  : source.text().size();
}

} // namespace

Model readFxText(std::string_view text, const std::string &name,
                 const ReadOptions &options) {
  FxSource source(text, name);
  Candidate selected = selectGraph(source, options.model);
  size_t end = offsetOfLine(source, selected.endLine);
  Model model;
  model.format = Format::FxText;
  model.path = name;
  Context context{source, {}, {}};
  if (selected.form == Candidate::Form::Lines) {
    model.program = readFxGraphLines(source, selected.firstLine,
                                     selected.endLine, context.refusals);
    context.refusals.throwIfAny(source);
    return model;
  }
  FxParser parser(source, selected.begin, end);
  FxClass module;
  if (selected.form == Candidate::Form::Class) {
    module = parser.parseClass();
  } else {
    module.offset = selected.begin;
    module.functions.push_back(parser.parseFunction());
  }
  const FxFunction *forward = module.function("forward");
  if (!forward)
    source.fail(module.offset, "the class has no 'forward'",
                "the text is cut off; print the graph again");
  GraphReader reader(context, &module);
  reader.read(*forward);
  context.refusals.throwIfAny(source);
  model.program = reader.result().takeProgram();
  readFxSignature(source, selected.endLine, model.program);
  readFxRunnable(source, module, selected.endLine, model);
  return model;
}

} // namespace gcompile::frontend

#include "FxSignatureReader.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace gcompile::frontend {
namespace {

template <typename KindT>
struct KindName {
  std::string_view name;
  KindT kind;
};
constexpr KindName<InputSpec::Kind> kInputKinds[] = {
    {"USER_INPUT", InputSpec::Kind::UserInput},
    {"PARAMETER", InputSpec::Kind::Parameter},
    {"BUFFER", InputSpec::Kind::Buffer},
    {"CONSTANT_TENSOR", InputSpec::Kind::Constant},
    {"CUSTOM_OBJ", InputSpec::Kind::CustomObject},
    {"TOKEN", InputSpec::Kind::Token}};
constexpr KindName<OutputSpec::Kind> kOutputKinds[] = {
    {"USER_OUTPUT", OutputSpec::Kind::UserOutput},
    {"LOSS_OUTPUT", OutputSpec::Kind::Loss},
    {"BUFFER_MUTATION", OutputSpec::Kind::BufferMutation},
    {"PARAMETER_MUTATION", OutputSpec::Kind::ParameterMutation},
    {"USER_INPUT_MUTATION", OutputSpec::Kind::InputMutation},
    {"GRADIENT_TO_PARAMETER", OutputSpec::Kind::ParameterGradient},
    {"GRADIENT_TO_USER_INPUT", OutputSpec::Kind::InputGradient},
    {"TOKEN", OutputSpec::Kind::Token}};

template <typename KindT, size_t N>
KindT findKind(const FxSource &source, size_t offset, std::string_view name,
               const KindName<KindT> (&kinds)[N]) {
  auto found = std::ranges::find(kinds, name, &KindName<KindT>::name);
  if (found == std::end(kinds))
    source.fail(offset, fmt::format("unknown kind '{}' in the signature", name),
                {}, ErrorCode::Unsupported);
  return found->kind;
}

/// One line of a signature, or one InputSpec(...) or OutputSpec(...) of it.
struct Entry {
  size_t offset;
  bool isInput;
  std::string_view name, kind, target;
  bool persistent = true;
};

/// What stands between `before` and `after` in `text`; empty if nothing does.
std::string_view between(std::string_view text, std::string_view before,
                         std::string_view after) {
  size_t begin = text.find(before);
  if (begin == text.npos)
    return {};
  text.remove_prefix(begin + before.size());
  return text.substr(0, std::min(text.find(after), text.size()));
}

class SignatureReader {
public:
  SignatureReader(const FxSource &source, size_t firstLine, Program &program)
      : source(source), line(firstLine), program(program) {}

  void read() {
    std::vector<Entry> entries;
    bool isSignature = false, isInput = true;
    size_t begin = 0;
    for (; line < source.numLines(); ++line) {
      std::string_view text = source.line(line);
      size_t offset = source.lineBegin(line) + indentation(text);
      text.remove_prefix(indentation(text));
      if (text.find("(torch.nn.Module):") != text.npos)
        break; // the next graph's
      if (text.starts_with("Range constraints:")) {
        readRanges(text.substr(text.find(':') + 1), offset);
        break;
      }
      if (text.starts_with("Graph signature:")) {
        isSignature = true;
        begin = offset;
        readSpecs(text, offset, entries);
      } else if (text.starts_with("# inputs")) {
        isInput = true;
      } else if (text.starts_with("# outputs")) {
        isInput = false;
      } else if (isSignature && text.find(": ") != text.npos) {
        entries.push_back(entryOfLine(text, offset, isInput));
      }
    }
    if (isSignature)
      apply(entries, begin);
  }

private:
  /// "b_mean: BUFFER target='bn.mean' persistent=True"
  static Entry entryOfLine(std::string_view text, size_t offset, bool isInput) {
    Entry entry{offset, isInput, text.substr(0, text.find(": ")), {}, {}};
    std::string_view rest = text.substr(text.find(": ") + 2);
    entry.kind = rest.substr(0, rest.find(' '));
    entry.target = between(rest, " target='", "'");
    entry.persistent = rest.find("persistent=False") == rest.npos;
    return entry;
  }

  /// Releases up to 2.6 print the data classes: "InputSpec(kind=
  /// <InputKind.BUFFER: 3>, arg=TensorArgument(name='b_mean'),
  /// target='bn.mean', persistent=True), ...".
  static void readSpecs(std::string_view text, size_t offset,
                        std::vector<Entry> &entries) {
    constexpr std::string_view kKind = "putKind."; // of InputKind, OutputKind
    size_t next = text.find(kKind);
    while (next != text.npos) {
      size_t begin = next;
      next = text.find(kKind, begin + 1);
      std::string_view spec = text.substr(begin, next - begin);
      Entry entry{offset + begin, text.substr(0, begin).ends_with("In"),
                  between(spec, "name='", "'"), between(spec, kKind, ":"),
                  between(spec, "target='", "'")};
      entry.persistent = spec.find("persistent=False") == spec.npos;
      entries.push_back(entry);
    }
  }

  void apply(const std::vector<Entry> &entries, size_t begin) {
    std::vector<InputSpec> inputs;
    std::vector<OutputSpec> outputs;
    for (const Entry &entry : entries) {
      if (!entry.isInput) {
        outputs.push_back(
            {findKind(source, entry.offset, entry.kind, kOutputKinds),
             std::string(entry.target)});
        continue;
      }
      InputSpec spec{findKind(source, entry.offset, entry.kind, kInputKinds),
                     std::string(entry.name), std::string(entry.target),
                     entry.persistent};
      size_t index = inputs.size();
      // A constant input has no name in the program.
      if (index < program.inputs.size() && program.inputs[index].name.empty())
        spec.name.clear();
      if (index >= program.inputs.size() ||
          program.inputs[index].name != spec.name)
        source.fail(
            entry.offset,
            fmt::format("'{}' is not input {} of the graph", spec.name, index));
      inputs.push_back(std::move(spec));
    }
    if (inputs.size() != program.inputs.size() ||
        outputs.size() != program.outputs.size())
      source.fail(begin,
                  fmt::format("the signature has {} inputs and {} "
                              "outputs, the graph {} and {}",
                              inputs.size(), outputs.size(),
                              program.inputs.size(), program.outputs.size()));
    program.inputs = std::move(inputs);
    program.outputs = std::move(outputs);
    program.signatureSource = SignatureSource::Exported;
  }

  /// "{s77: VR[2, 16], u0: VR[0, int_oo]}"
  void readRanges(std::string_view text, size_t offset) {
    constexpr std::string_view kRange = ": VR[";
    while (true) {
      size_t at = text.find(kRange);
      if (at == text.npos)
        return;
      size_t nameBegin = text.find_last_of("{ ", at);
      nameBegin = nameBegin == text.npos ? 0 : nameBegin + 1;
      std::string_view name = text.substr(nameBegin, at - nameBegin);
      text.remove_prefix(at + kRange.size());
      std::string_view bounds = text.substr(0, text.find(']'));
      size_t comma = bounds.find(", ");
      if (comma == bounds.npos)
        source.fail(offset, fmt::format("malformed range of '{}'", name));
      SymbolRange range{bound(bounds.substr(0, comma), offset),
                        bound(bounds.substr(comma + 2), offset)};
      program.symbolRanges.emplace(name, range);
    }
  }

  std::optional<int64_t> bound(std::string_view text, size_t offset) const {
    if (text.ends_with("oo")) // infinity: "oo", "int_oo", "-int_oo"
      return std::nullopt;
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.begin(), text.end(), value);
    if (error != std::errc() || end != text.end())
      source.fail(offset, fmt::format("malformed bound '{}' of a range", text));
    return value;
  }

  const FxSource &source;
  size_t line;
  Program &program;
};

} // namespace

void readFxSignature(const FxSource &source, size_t firstLine,
                     Program &program) {
  SignatureReader(source, firstLine, program).read();
}

} // namespace gcompile::frontend

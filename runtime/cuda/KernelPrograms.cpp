#include "KernelPrograms.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace gcompile::cuda {
namespace {

/// More would make little faster, and leave processors idle.
constexpr size_t kMaxKernels = 16;
/// What starting a program costs, in bytes of source.
constexpr size_t kStartWork = 4096;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// What of a source matters to those it shares a program with.
struct SourceFacts {
  bool isAlone = false;
  std::set<std::string> headers;
  /// What names of C linkage stand for.
  std::map<std::string, std::string> names;
};

void readDirective(std::string_view line, SourceFacts &facts) {
  std::string_view directive = trimmed(line.substr(1));
  if (directive.starts_with("pragma"))
    return;
  if (directive.starts_with("include")) {
    std::string_view name = trimmed(directive.substr(7));
    if (name.size() > 2 && name.starts_with('"') && name.ends_with('"')) {
      facts.headers.emplace(name.substr(1, name.size() - 2));
      return;
    }
  }
  facts.isAlone = true;
}

/// Whether a type means the same in every source; an alias need not.
bool isCommonType(std::string_view type) {
  constexpr std::string_view common[] = {
      "char",  "int",    "unsigned", "float", "double", "int4",
      "uint4", "float4", "i8",       "u8",    "i32",    "u32",
      "i64",   "u64",    "f32",      "f64",   "f16",    "bf16"};
  std::string_view word = type.substr(type.find_last_of(" \t\n") + 1);
  return std::find(std::begin(common), std::end(common), word) !=
         std::end(common);
}

/// Notes the arrays that are declared `extern __shared__ TYPE NAME[]`.
void readSharedArrays(std::string_view source, size_t index,
                      SourceFacts &facts) {
  constexpr std::string_view qualifier = "__shared__";
  for (size_t at = 0;
       (at = source.find(qualifier, at)) != std::string_view::npos;) {
    std::string_view before = trimmed(source.substr(0, at));
    at += qualifier.size();
    if (!before.ends_with("extern"))
      continue;
    std::string_view declaration = source.substr(at);
    declaration = trimmed(declaration.substr(0, declaration.find(';')));
    std::string_view name =
        trimmed(declaration.substr(0, declaration.rfind('[')));
    const size_t space = name.find_last_of(" \t\n");
    if (space == std::string_view::npos) {
      facts.isAlone = true; // not read; leave it to the compiler
      continue;
    }
    std::string meaning(trimmed(name.substr(0, space)));
    if (!isCommonType(meaning))
      meaning += fmt::format(" of kernel {}", index);
    auto [it, isNew] = facts.names.emplace(name.substr(space + 1), meaning);
    facts.isAlone |= !isNew && it->second != meaning;
  }
}

SourceFacts readSource(const KernelRequests::Request &request, size_t index) {
  SourceFacts facts;
  facts.names[request.symbol] = fmt::format("kernel {}", index);
  std::string_view rest = request.source;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = trimmed(rest.substr(0, end));
    if (line.starts_with('#'))
      readDirective(line, facts);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  readSharedArrays(request.source, index, facts);
  return facts;
}

/// A program while kernels are put into it.
struct Draft {
  KernelProgram program;
  size_t work = kStartWork;
  bool isAlone = false;
  std::map<std::string, std::string> names;

  bool takes(const SourceFacts &facts) const {
    if (program.kernels.empty())
      return true;
    if (isAlone || facts.isAlone || program.kernels.size() >= kMaxKernels)
      return false;
    return std::none_of(facts.names.begin(), facts.names.end(),
                        [&](const auto &name) {
                          auto it = names.find(name.first);
                          return it != names.end() && it->second != name.second;
                        });
  }
};

} // namespace

std::vector<KernelProgram>
divideKernels(std::span<const KernelRequests::Request> requests,
              std::span<const size_t> kernels, size_t numPrograms) {
  // The largest first, each to the program with the least work so far.
  std::vector<size_t> order(kernels.begin(), kernels.end());
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return requests[a].source.size() > requests[b].source.size();
  });
  std::vector<Draft> drafts(std::min(numPrograms, kernels.size()));
  for (size_t kernel : order) {
    SourceFacts facts = readSource(requests[kernel], kernel);
    Draft *best = nullptr;
    for (Draft &draft : drafts)
      if (draft.takes(facts) && (!best || draft.work < best->work))
        best = &draft;
    if (!best)
      best = &drafts.emplace_back();
    best->program.kernels.push_back(kernel);
    best->work += requests[kernel].source.size();
    best->isAlone |= facts.isAlone;
    best->names.merge(facts.names);
  }
  std::vector<KernelProgram> programs;
  for (Draft &draft : drafts) {
    if (draft.program.kernels.empty())
      continue;
    std::sort(draft.program.kernels.begin(), draft.program.kernels.end());
    programs.push_back(std::move(draft.program));
  }
  return programs;
}

std::string programText(std::span<const KernelRequests::Request> requests,
                        const KernelProgram &program) {
  auto body = [&](size_t kernel) {
    return fmt::format("#line 1 \"{}.cu\"\n{}\n", requests[kernel].symbol,
                       requests[kernel].source);
  };
  if (program.kernels.size() == 1)
    return body(program.kernels.front());
  // Headers come first: within a namespace they would end up in it. A source
  // that includes one again finds `#pragma once`.
  std::set<std::string> headers;
  std::string bodies;
  for (size_t kernel : program.kernels) {
    headers.merge(readSource(requests[kernel], kernel).headers);
    bodies +=
        fmt::format("namespace kernel{} {{\n{}}}\n", kernel, body(kernel));
  }
  std::string text;
  for (const std::string &header : headers)
    text += fmt::format("#include \"{}\"\n", header);
  return text + bodies;
}

} // namespace gcompile::cuda

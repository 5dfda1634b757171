#include "Options.h"

#include "gcompile/base/Error.h"

#include <CLI/CLI.hpp>

namespace gcompile::tool {

std::optional<Options> parseCommandLine(int argc, char **argv, int &exitCode) {
  Options options;
  CLI::App app{
      "Compiles a model exported from PyTorch, runs it once if it can, "
      "and prints what became of it.",
      "gcompile"};
  app.set_version_flag("--version", "gcompile " GCOMPILE_VERSION);
  app.option_defaults()->always_capture_default(false);
  app.footer("exit codes: 0 done; 1 outputs disagree; 2 the command line or an "
             "input file is wrong;\n            3 the model uses something "
             "unsupported; 4 the device failed");

  app.add_option("MODEL", options.model,
                 ".pt2 archive, torch.export JSON, FX text or FX JSON (told "
                 "apart by content)");
  app.add_option("--model-name", options.archiveModel,
                 "which model of an archive that holds several");
  app.add_option("--mode", options.mode, "as in torch.compile")
      ->check(CLI::IsMember({"default", "reduce-overhead", "max-autotune",
                             "max-autotune-no-cudagraphs"}));
  app.add_option("--device", options.device,
                 "auto, cpu, cuda or cuda:N; auto: the GPU if there is one")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}) |
              CLI::Validator(
                  [](std::string &text) {
                    bool index = text.starts_with("cuda:") && text.size() > 5 &&
                                 text.find_first_not_of("0123456789", 5) ==
                                     std::string::npos;
                    return index ? std::string()
                                 : "'" + text + "' is no device";
                  },
                  "cuda:N"));
  app.add_option("--target", options.targets,
                 "compile for these architectures without needing them here: "
                 "sm_90a,sm_80,…")
      ->delimiter(',');
  auto *weights =
      app.add_option("--weights", options.weights,
                     "weights by name: safetensors, torch.save file or .pt2");
  app.add_flag("--random-weights", options.randomWeights,
               "fill the weights with random numbers")
      ->excludes(weights);
  app.add_option("--seed", options.seed,
                 "seed of random weights and inputs, and of the model's own "
                 "random numbers");
  app.add_option(
      "--inputs", options.inputs,
      "safetensors with the user inputs, \"0\", \"1\", … or by name");
  app.add_option("--outputs", options.outputs, "write the user outputs here");
  app.add_option(
      "--expect", options.expect,
      "safetensors to compare the outputs with; exit 1 if they differ");
  app.add_option("--rtol", options.rtol, "relative tolerance of comparisons");
  app.add_option("--atol", options.atol, "absolute tolerance of comparisons");
  app.add_flag("--reference", options.reference,
               "also evaluate the program unfused in float64, and compare");
  app.add_option("--dump-ir", options.dumpIr,
                 "write every form of the model into this folder");
  app.add_option("--json", options.json,
                 "write what the table shows to this file, as JSON");
  app.add_flag("--print-supported", options.printSupported,
               "print the operators gcompile knows");
  app.add_flag("--triage", options.triage,
               "list all that this model uses and gcompile does not know");
  app.add_option("--threads", options.threads, "CPU threads; 0: one a core")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--poison", options.poison,
               "fill the arena with garbage before the run, to find reads of "
               "what was never written");
  app.add_flag("--no-libraries", options.noLibraries,
               "on the GPU, use neither cuBLASLt nor cuDNN, but generated "
               "kernels in their place");
  app.add_flag("-v,--verbose", options.verbose, "list every step of the plan");

  try {
    app.parse(argc, argv);
    if (options.model.empty() && !options.printSupported)
      throw CLI::RequiredError("MODEL");
  } catch (const CLI::ParseError &error) {
    int code = app.exit(error);
    exitCode = code == 0 ? 0 : static_cast<int>(ErrorCode::InvalidArgument);
    return std::nullopt;
  }
  return options;
}

} // namespace gcompile::tool

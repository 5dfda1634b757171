import os

import lit.formats

config.name = "gcompile-" + os.path.basename(os.path.dirname(__file__))
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["exec_root"]
config.environment["PATH"] = lit_config.params["tools"] + ":" + os.environ["PATH"]

//===- AtenOps.td - the program as PyTorch exported it --------------------===//
#ifndef GCOMPILE_IR_ATEN_OPS
#define GCOMPILE_IR_ATEN_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Aten_Dialect : Dialect {
  let name = "aten";
  let cppNamespace = "::gcompile::aten";
  let summary = "an exported PyTorch program, op for op";
  let description = [{
    A program is a `func.func`. Each argument and result carries an `aten.kind`
    ("user_input", "parameter", "buffer", "constant"; "user_output", "loss",
    "buffer_mutation", "parameter_mutation", "input_mutation",
    "parameter_gradient", "input_gradient") and the `aten.name` it refers to.
    Results also carry `aten.strides`, where the export recorded them. Once
    `tg-legalize` has made all integers signless, `aten.unsigned` marks those that
    are not signed. The
    module's `aten.symbols` maps each symbol to its inclusive range, `[1, 1024]`,
    with `unit` for an open end.

    Element types are signless for bool (`i1`) and signed integers (`i64`) and
    unsigned (`ui8`) for PyTorch's unsigned ones. Symbolic scalars are `i64`,
    `f64` and `i1`. A dimension with a symbolic size is `?`, and the type's
    `#aten.dims` encoding says which expression it is.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Aten_Attr<string name, string mnemonicText> : AttrDef<Aten_Dialect, name> {
  let mnemonic = mnemonicText;
}

def Aten_OperandAttr : Aten_Attr<"Operand", "operand"> {
  let summary = "stands in `args` for the operand with this index";
  let parameters = (ins "unsigned":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Aten_DimsAttr : Aten_Attr<"Dims", "dims"> {
  let summary = "sizes of a tensor type as expressions, `#aten.dims<\"2*s0\", \"64\">`";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$sizes);
  let assemblyFormat = "`<` $sizes `>`";
}

class Aten_Op<string mnemonic, list<Trait> traits = []> : Op<Aten_Dialect, mnemonic, traits>;

def Aten_CallOp : Aten_Op<"call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "one node of the exported graph";
  let description = [{
    Calls the operator `callee`, an overload of PyTorch's ("aten.add.Tensor") or a
    symbolic scalar function ("_operator.mul"). `args` has one entry for each
    argument of the schema, defaults filled in: a literal (integer, float, bool,
    string, `unit` for None, a type for a dtype, an array for a list) or
    `#aten.operand<i>`. The text shows operands in their places:

        %y = aten.call "aten.slice.Tensor"(%x, 1, 0, 2, 1) : (tensor<8x3xf32>) -> tensor<8x2xf32>
        %z = aten.call "aten.cat.default"([%x, %y], -1) : (tensor<8x3xf32>, tensor<8x2xf32>) -> tensor<8x5xf32>

    A `Tensor[]` return gives one result an element. Before `tg-functionalize` a
    call may write to its operands or return a view of one, as its schema says; an
    operand then stands for the storage, and the order of calls matters. After it
    every call is a pure function.

    - C1: `callee` is in the operator table.
    - C2: `args` has as many entries as the schema has arguments.
    - C3: each operand occurs exactly once in `args`, in order.
    - C4: each entry is of the kind that the schema says.
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyType>:$inputs, ArrayAttr:$args);
  let results = (outs Variadic<AnyType>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operand that stands for argument `index` of the schema, or null where
    /// that argument is a literal or a list.
    ::mlir::Value getOperandForArg(unsigned index);
    /// Operands of a list argument, in order; empty for a literal list.
    ::llvm::SmallVector<::mlir::Value> getOperandsForListArg(unsigned index);
  }];
}

def Aten_YieldOp : Aten_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a region of `aten.cond` or `aten.while_loop`";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Aten_CondOp : Aten_Op<"cond", [RecursiveMemoryEffects]> {
  let summary = "runs one of two sub-graphs";
  let description = [{
    `torch.cond`. Regions take the operands as arguments: nothing is captured.

        %r = aten.cond %p(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
        ^bb0(%a: tensor<4xf32>):
          aten.yield %a : tensor<4xf32>
        } else { ... }

    - C1: `predicate` is an `i1` or a one-element tensor of them.
    - C2: the arguments of both regions have the types of `inputs`.
    - C3: both regions yield the types of the results.
  }];
  let arguments = (ins AnyType:$predicate, Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{
    $predicate `(` $inputs `)` attr-dict `:` functional-type(operands, results)
    `then` $thenRegion `else` $elseRegion
  }];
  let hasVerifier = 1;
}

def Aten_WhileLoopOp : Aten_Op<"while_loop", [RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "repeats a sub-graph while a condition holds";
  let description = [{
    `torch.while_loop`. Both regions take the carried values and then the
    additional, unchanging ones. The results are the carried values at the end.

    - C1: the arguments of both regions have the types of `carried` and `additional`.
    - C2: the condition yields an `i1` or a one-element tensor of them.
    - C3: the body yields the types of `carried`, which are those of the results.
  }];
  let arguments = (ins Variadic<AnyType>:$carried, Variadic<AnyType>:$additional);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$condRegion, SizedRegion<1>:$bodyRegion);
  let assemblyFormat = [{
    `(` $carried `)` `with` `(` $additional `)` attr-dict
    `:` functional-type(operands, results) `while` $condRegion `do` $bodyRegion
  }];
  let hasVerifier = 1;
}

#endif

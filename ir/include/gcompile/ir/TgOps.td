//===- TgOps.td - what loops do not express well, and kernels -------------===//
#ifndef GCOMPILE_IR_TG_OPS
#define GCOMPILE_IR_TG_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def TG_Dialect : Dialect {
  let name = "tg";
  let cppNamespace = "::gcompile::tg";
  let summary = "tensor graph: structured operations, views and kernels";
  let description = [{
    Stands beside `linalg` in the tensor program. Pointwise, reduction and windowed
    computations are `linalg.generic`; this dialect has views (one op, an affine
    map), the operations that loops do not express well, and `tg.kernel`, which
    groups operations into one launch. All shapes are static, all integers signless.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 0;
}

class TG_Op<string mnemonic, list<Trait> traits = []> : Op<TG_Dialect, mnemonic, traits>;

class TG_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::gcompile::tg";
  let genSpecializedAttr = 0;
}

def TG_ReduceKind : TG_Enum<"ReduceKind", "how values that meet are combined", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Sum", 1, "sum">, I32EnumAttrCase<"Prod", 2, "prod">,
    I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">, I32EnumAttrCase<"LogSumExp", 5, "logsumexp">]>;
def TG_ReduceKindAttr : EnumAttr<TG_Dialect, TG_ReduceKind, "reduce">;

def TG_ScheduleAttr : AttrDef<TG_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how a kernel's loops are run";
  let description = [{
    A dictionary, so that targets and the tuner can add to it. Known keys, all
    optional integers: `tile` (elements of the innermost loop handled together),
    `vector` (elements an access), `threads`, `rows` (outer iterations a block),
    `stages`, `split` (blocks that share one reduction).
  }];
  let parameters = (ins "::mlir::DictionaryAttr":$entries);
  let assemblyFormat = "`<` $entries `>`";
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

def TG_ViewOp : TG_Op<"view", [Pure]> {
  let summary = "the elements of a tensor in another order or shape";
  let description = [{
    `result[i...] = source[map(i...)]`. Permutations, slices, expansions, reshapes,
    flips, diagonals and their compositions are all one op. The map may use floordiv
    and mod. Views fold into one another and into the indexing maps of their readers;
    what remains before a library call is a strided operand or a copy.

        // The transpose of a 4x8 matrix, and its second row as a 2x2 block.
        %t = tg.view %x (d0, d1) -> (d1, d0) : tensor<4x8xf32> -> tensor<8x4xf32>
        %b = tg.view %t (d0, d1) -> (1, d0 * 2 + d1) : tensor<8x4xf32> -> tensor<2x2xf32>

    - C1: `source` and the result have static shapes and one element type.
    - C2: `map` takes rank-of-result dimensions, no symbols, and gives rank-of-source results.
    - C3: every index that the map forms lies inside the source.
  }];
  let arguments = (ins AnyStaticShapeTensor:$source, AffineMapAttr:$map);
  let results = (outs AnyStaticShapeTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Structured operations
//===----------------------------------------------------------------------===//

def TG_MatmulOp : TG_Op<"matmul", [Pure]> {
  let summary = "batched matrix product";
  let description = [{
    `result[b..., m, n] = sum over k of lhs[b..., m, k] * rhs[b..., k, n]`, with any
    number of leading batch dimensions, equal on both sides. Products of half-precision
    operands are exact and summed in float32, so those give a float32 result; the
    narrowing is a separate op.

        %y = tg.matmul %a, %b : tensor<8x128x64xbf16>, tensor<8x64x32xbf16> -> tensor<8x128x32xf32>

    - C1: operands and result have one rank, at least 2, and equal batch dimensions.
    - C2: the contracted sizes agree, and the result is batch x m x n.
    - C3: operands have one element type; the result has float32 where it is half
          precision, else the same type.
  }];
  let arguments = (ins AnyStaticShapeTensor:$lhs, AnyStaticShapeTensor:$rhs);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def TG_ConvolutionOp : TG_Op<"convolution", [Pure]> {
  let summary = "convolution (cross-correlation) over any number of spatial dimensions";
  let description = [{
    PyTorch's convolution without its bias. `input` is N x C x spatial..., `weight` is
    O x C/groups x window... (transposed: C x O/groups x window...). Sums as `tg.matmul`.
    `padding` has one pair (before, after) a spatial dimension.

    - C1: one spatial rank throughout; `stride`, `dilation`, `output_padding` have one
          entry a spatial dimension, `padding` two.
    - C2: channels agree with `groups`.
    - C3: the result has the size that PyTorch gives it.
    - C4: element types as in `tg.matmul`.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, AnyStaticShapeTensor:$weight,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation,
                       DenseI64ArrayAttr:$output_padding, I64Attr:$groups, BoolAttr:$transposed);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` type($input) `,` type($weight) `->` type($result)";
  let hasVerifier = 1;
}

def TG_AttentionOp : TG_Op<"attention", [Pure]> {
  let summary = "softmax(q k^T * scale + mask) v";
  let description = [{
    Scaled dot-product attention without dropout. `query` is B... x H x L x E, `key`
    B... x Hkv x S x E, `value` B... x Hkv x S x Ev, with H a multiple of Hkv: query head h
    reads key head h / (H / Hkv). `mask` broadcasts nothing: it has shape
    B... x H x L x S (a view may expand it) and is either bool (`false` excludes) or is
    added to the scores. With `causal`, query i sees keys 0..i (top-left aligned). A row that sees no key
    gives zeros. Scores and sums are float32 (float64 for float64 inputs); `result` has the
    type of `query`, `logsumexp`, where asked for, the type of the sums and shape B... x H x L.

    - C1: ranks and sizes agree as above.
    - C2: element types of query, key and value are equal; the mask is i1 or a float.
  }];
  let arguments = (ins AnyStaticShapeTensor:$query, AnyStaticShapeTensor:$key, AnyStaticShapeTensor:$value,
                       Optional<AnyStaticShapeTensor>:$mask, F64Attr:$scale, BoolAttr:$causal);
  let results = (outs AnyStaticShapeTensor:$result, Optional<AnyStaticShapeTensor>:$logsumexp);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def TG_SortOp : TG_Op<"sort", [Pure]> {
  let summary = "sorts along one dimension, with positions";
  let description = [{
    Stable. NaN counts as larger than any number. `indices` are i64.

    - C1: `dim` is in [0, rank).
    - C2: `values` has the type of `input`; `indices` its shape with i64 elements.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, I64Attr:$dim, BoolAttr:$descending, BoolAttr:$is_unsigned);
  let results = (outs AnyStaticShapeTensor:$values, AnyStaticShapeTensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($values) `,` type($indices)";
  let hasVerifier = 1;
}

def TG_TopKOp : TG_Op<"top_k", [Pure]> {
  let summary = "k largest (or smallest) elements along one dimension, with positions";
  let description = [{
    In descending (ascending) order; ties keep the order of their positions. NaN counts
    as larger than any number.

    - C1: `dim` is in [0, rank).
    - C2: `k` is in [0, size of `dim`].
    - C3: `values` has the type of `input` with size `k` in `dim`; `indices` that shape, i64.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, I64Attr:$k, I64Attr:$dim, BoolAttr:$largest, BoolAttr:$is_unsigned);
  let results = (outs AnyStaticShapeTensor:$values, AnyStaticShapeTensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($values) `,` type($indices)";
  let hasVerifier = 1;
}

def TG_ScanOp : TG_Op<"scan", [Pure]> {
  let summary = "running reduction along one dimension";
  let description = [{
    `values[.., i, ..]` combines elements 0 to i inclusive. For max and min, `indices` (i64), where
    asked for, gives the position of the last element equal to the running value; NaN wins.

    - C1: `dim` is in [0, rank).
    - C2: `values` has the type of `input`.
    - C3: `indices` only with max and min; `kind` is not set.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, I64Attr:$dim, TG_ReduceKindAttr:$kind, BoolAttr:$is_unsigned);
  let results = (outs AnyStaticShapeTensor:$values, Optional<AnyStaticShapeTensor>:$indices);
  let assemblyFormat = "$input $kind attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TG_ScatterOp : TG_Op<"scatter", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "writes computed elements to computed places of a tensor";
  let description = [{
    The result is `base` with, for each point of the loop domain `domain`, one element combined
    by `kind` into a place. The region is run once a point: its arguments are the loop
    indices (index), one for each dimension, then one scalar for each tensor of `inputs`, read at
    its indexing map (over the loop indices). It yields the place (rank-of-base index values), the
    element, and last an i1 that says whether to write at all. Negative indices have been
    resolved. Places outside `base` are the user's error and are skipped. For `set`, a
    place that several points write gets one of their elements, for `domain` of a sequential
    target the last.

        // An index_put of rows: result[pos[i], j] = rows[i, j].
        %r = tg.scatter %rows, %pos into %base domain [2, 64] maps [(d0, d1) -> (d0, d1), (d0, d1) -> (d0)] set {
        ^bb0(%i: index, %j: index, %row: f32, %p: i64):
          %pi = arith.index_cast %p : i64 to index
          %yes = arith.constant true
          tg.yield %pi, %j, %row, %yes : index, index, f32, i1
        } : (tensor<2x64xf32>, tensor<2xi64>, tensor<8x64xf32>) -> tensor<8x64xf32>

    - C1: `maps` has one map for each of `inputs`, over the dimensions of `domain`.
    - C2: region arguments and yield are as above.
    - C3: the result has the type of `base`.
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs, AnyStaticShapeTensor:$base,
                       DenseI64ArrayAttr:$domain, AffineMapArrayAttr:$maps, TG_ReduceKindAttr:$kind,
                       BoolAttr:$is_unsigned);
  let results = (outs AnyStaticShapeTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $inputs `into` $base `domain` $domain `maps` $maps $kind attr-dict-with-keyword $body
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def TG_RandomOp : TG_Op<"random", []> {
  let summary = "counter-based random numbers";
  let description = [{
    Philox-4x32-10 keyed by the run's seed and by `stream` (a number unique to the op in its
    program), so that a run repeats with its seed. `distribution` is "uniform" ([0, 1)),
    "normal" (mean 0, deviation 1) or "bits" (i64, uniform over [0, 2^63)).

    - C1: `distribution` is known and fits the element type.
  }];
  let arguments = (ins StrAttr:$distribution, I64Attr:$stream);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$distribution `stream` $stream attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def TG_YieldOp : TG_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a region of a tg op";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ /* no operands */ }]>];
}

def TG_CondOp : TG_Op<"cond", [RecursiveMemoryEffects]> {
  let summary = "runs one of two regions";
  let description = [{
    `predicate` is a one-element tensor of i1, in device memory. The regions see the values around
    them. Both yield the types of the results.

    - C1: `predicate` has one element, an i1.
    - C2: both regions yield the types of the results.
  }];
  let arguments = (ins AnyStaticShapeTensor:$predicate);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{
    $predicate attr-dict `:` functional-type(operands, results) `then` $thenRegion `else` $elseRegion
  }];
  let hasVerifier = 1;
}

def TG_WhileOp : TG_Op<"while", [RecursiveMemoryEffects]> {
  let summary = "repeats a region while a condition holds";
  let description = [{
    Both regions take the carried values as arguments and see the values around them. The
    condition yields a one-element tensor of i1, the body the carried values of the next round.

    - C1: region arguments have the types of `carried`, which are those of the results.
    - C2: the condition yields one tensor of one i1, the body the types of `carried`.
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$carried);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$condRegion, SizedRegion<1>:$bodyRegion);
  let assemblyFormat = [{
    $carried attr-dict `:` functional-type(operands, results) `while` $condRegion `do` $bodyRegion
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def TG_KernelOp : TG_Op<"kernel", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "operations that run as one launch";
  let description = [{
    A fusion group. The region's arguments are the operands; it holds `linalg.generic`,
    `tg.view`, at most one structured op (the anchor), and the `tensor.empty`,
    `linalg.fill` and constants that they need, and yields what others read. It is a
    launch on a GPU, a step of the plan everywhere.

        %y = tg.kernel "silu_mul"(%x, %g) reason "silu_mul: producer and consumer, saves 32768 bytes" {
        ^bb0(%a: tensor<64x128xf32>, %b: tensor<64x128xf32>):
          ...
          tg.yield %r : tensor<64x128xf32>
        } : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>

    - C1: region arguments have the types of the operands, the yield those of the results.
    - C2: at most one structured op (matmul, convolution, attention, sort, top_k, scan, scatter, random).
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyStaticShapeTensor>:$inputs, StrAttr:$reason,
                       OptionalAttr<TG_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `(` $inputs `)` `reason` $reason (`schedule` $schedule^)? attr-dict-with-keyword $body
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The structured op of the group, or null.
    ::mlir::Operation *getAnchor();
  }];
}

#endif

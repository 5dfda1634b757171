#include "gcompile/ir/Dialects.h"
#include "gcompile/ir/Aten.h"
#include "gcompile/ir/Tg.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

void gcompile::registerGcompileDialects(mlir::DialectRegistry &registry) {
  registry.insert<aten::AtenDialect, tg::TGDialect, mlir::func::FuncDialect,
                  mlir::linalg::LinalgDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect, mlir::tensor::TensorDialect,
                  mlir::scf::SCFDialect, mlir::affine::AffineDialect>();
}

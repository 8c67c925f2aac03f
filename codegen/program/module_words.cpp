// codegen/program/module_words.cpp -- the table of the emitter's instructions.
#include "codegen/program/module_words.h"

#include <algorithm>

namespace gnomon::module_words {
namespace {

constexpr const char *unary = "trd", *binary = "trdd", *reduction = "trdld", *atomic = "trdddd";

constexpr Form forms[] = {
    {5, "is"},         // Name
    {7, "rs"},         // String
    {8, "dll"},        // Line
    {10, "s"},         // Extension
    {11, "rs"},        // ExtInstImport
    {12, "trdld*"},    // ExtInst
    {14, "ll"},        // MemoryModel
    {15, "lisi*"},     // EntryPoint
    {16, "ill*"},      // ExecutionMode
    {17, "l"},         // Capability
    {19, "r"},         // TypeVoid
    {20, "r"},         // TypeBool
    {21, "rll"},       // TypeInt
    {22, "rl"},        // TypeFloat
    {23, "rtl"},       // TypeVector
    {25, "rtllllll"},  // TypeImage
    {28, "rtd"},       // TypeArray
    {29, "rt"},        // TypeRuntimeArray
    {30, "rt*"},       // TypeStruct
    {32, "rlt"},       // TypePointer
    {33, "rt*"},       // TypeFunction
    {41, "tr"},        // ConstantTrue
    {42, "tr"},        // ConstantFalse
    {43, "trll*"},     // Constant
    {44, "trdd*"},     // ConstantComposite
    {54, "trlt"},      // Function
    {56, ""},          // FunctionEnd
    {59, "trl"},       // Variable
    {61, "trdl*"},     // Load
    {62, "ddl*"},      // Store
    {65, "trdd*"},     // AccessChain
    {71, "ill*"},      // Decorate
    {72, "illl*"},     // MemberDecorate
    {77, binary},      // VectorExtractDynamic
    {80, "trdd*"},     // CompositeConstruct
    {81, "trdll*"},    // CompositeExtract
    {98, binary},      // ImageRead
    {109, unary},      // ConvertFToU
    {110, unary},      // ConvertFToS
    {111, unary},      // ConvertSToF
    {112, unary},      // ConvertUToF
    {113, unary},      // UConvert
    {114, unary},      // SConvert
    {115, unary},      // FConvert
    {124, unary},      // Bitcast
    {126, unary},      // SNegate
    {127, unary},      // FNegate
    {128, binary},     // IAdd
    {129, binary},     // FAdd
    {130, binary},     // ISub
    {131, binary},     // FSub
    {132, binary},     // IMul
    {133, binary},     // FMul
    {134, binary},     // UDiv
    {135, binary},     // SDiv
    {136, binary},     // FDiv
    {137, binary},     // UMod
    {140, binary},     // FRem
    {142, binary},     // VectorTimesScalar
    {151, binary},     // UMulExtended
    {154, unary},      // Any
    {155, unary},      // All
    {164, binary},     // LogicalEqual
    {165, binary},     // LogicalNotEqual
    {166, binary},     // LogicalOr
    {167, binary},     // LogicalAnd
    {168, unary},      // LogicalNot
    {169, "trddd"},    // Select
    {170, binary},     // IEqual
    {171, binary},     // INotEqual
    {172, binary},     // UGreaterThan
    {173, binary},     // SGreaterThan
    {174, binary},     // UGreaterThanEqual
    {175, binary},     // SGreaterThanEqual
    {176, binary},     // ULessThan
    {177, binary},     // SLessThan
    {178, binary},     // ULessThanEqual
    {179, binary},     // SLessThanEqual
    {180, binary},     // FOrdEqual
    {183, binary},     // FUnordNotEqual
    {184, binary},     // FOrdLessThan
    {186, binary},     // FOrdGreaterThan
    {188, binary},     // FOrdLessThanEqual
    {190, binary},     // FOrdGreaterThanEqual
    {194, binary},     // ShiftRightLogical
    {195, binary},     // ShiftRightArithmetic
    {196, binary},     // ShiftLeftLogical
    {197, binary},     // BitwiseOr
    {198, binary},     // BitwiseXor
    {199, binary},     // BitwiseAnd
    {200, unary},      // Not
    {205, unary},      // BitCount
    {224, "ddd"},      // ControlBarrier
    {234, atomic},     // AtomicIAdd
    {240, atomic},     // AtomicAnd
    {241, atomic},     // AtomicOr
    {245, "trii*"},    // Phi
    {246, "iil"},      // LoopMerge
    {247, "il"},       // SelectionMerge
    {248, "r"},        // Label
    {249, "i"},        // Branch
    {250, "dii"},      // BranchConditional
    {253, ""},         // Return
    {333, unary},      // GroupNonUniformElect
    {345, "trddd"},    // GroupNonUniformShuffle
    {349, reduction},  // GroupNonUniformIAdd
    {350, reduction},  // GroupNonUniformFAdd
    {353, reduction},  // GroupNonUniformSMin
    {354, reduction},  // GroupNonUniformUMin
    {355, reduction},  // GroupNonUniformFMin
    {356, reduction},  // GroupNonUniformSMax
    {357, reduction},  // GroupNonUniformUMax
    {358, reduction},  // GroupNonUniformFMax
    {359, reduction},  // GroupNonUniformBitwiseAnd
    {360, reduction},  // GroupNonUniformBitwiseOr
};
static_assert(std::ranges::is_sorted(forms, {}, &Form::opcode));

}  // namespace

const Form* form_of(std::uint32_t opcode) {
  const auto form = std::ranges::lower_bound(forms, opcode, {}, &Form::opcode);
  return form != std::end(forms) && form->opcode == opcode ? form : nullptr;
}

}  // namespace gnomon::module_words

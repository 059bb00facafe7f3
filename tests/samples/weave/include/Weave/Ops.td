def Weave_Dialect : Dialect {
  let name = "weave";
  let cppNamespace = "::mlir::weave";
}

class Weave_Op<string mnemonic, list<Trait> traits = []> : Op<Weave_Dialect, !strconcat("hw.", mnemonic), traits>;

def Weave_VecAddOp : Weave_Op<"vadd", [Pure]> {
  let summary = "Adds two vectors";
}

def Weave_VecSumOp : Weave_Op<"vsum", [Pure]> {
  let summary = "Sums a vector";
  let extraClassDeclaration = [{
    static StringRef getOpName() { return "sum"; }
  }];
}

def Weave_MulL1Op : Weave_Op<"mulL1">;

// The dialect of this one is only included here.
def Thread_SpinOp : Op<Thread_Dialect, "spin">;
def Thread_JoinOp : Op<Thread_Dialect, "join_all">;
def Thread_WaitOp : Op<Thread_Dialect, "wait">;

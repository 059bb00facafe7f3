def Toy_Dialect : Dialect {
  let name = "toy";
}

class Toy_Op<string mnemonic, list<Trait> traits = []>
    : Op<Toy_Dialect, !strconcat("ir.", mnemonic), traits>;

class Toy_CopyOp<string mnemonic> : Toy_Op<mnemonic, [Pure]>;

def CopyRowOp : Toy_CopyOp<"copy_row"> {
  let summary = "Copies one row to the on-chip buffer";
}

def PadOp : Toy_Op<"pad", [Pure]> {
  let summary = "Pads a row to a multiple of the vector width";
}

class DriverOption<string text, string type> : Option {
  let description = text;
}

def EnableSumTree : DriverOption<"Sum by a tree.", "bool">;

def TreeWidth : DriverOption<"Leaves of the tree.", "unsigned">;

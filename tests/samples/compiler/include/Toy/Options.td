class ToyOption<string text, string type> : Option {
  let description = text;
}

def EnableRowPrefetch : ToyOption<"Prefetch the next row while this one is computed.", "bool">;

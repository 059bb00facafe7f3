def lower(arch, flags):
    if arch not in KNOWN:
        raise ValueError(f"unknown arch {arch!r}, "
                         "choose one that is listed")
    return ["--enable-sum-tree", *flags]

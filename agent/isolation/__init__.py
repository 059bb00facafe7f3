"""What keeps a stranger's program apart, one file a means: bubblewrap, Landlock, system calls, cgroups, devices."""

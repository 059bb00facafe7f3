"""Work for a device elsewhere: a folder that measures by itself, and its results taken back."""

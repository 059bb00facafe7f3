"""Returns an object that would run code when it is unpickled."""
# scan: introspection
# run: wrong verify.other_form
class Gadget:
    def __reduce__(self):
        return print, ("ATTACK WORKED",)

def run(x, y):
    launch(x, y)
    return Gadget()

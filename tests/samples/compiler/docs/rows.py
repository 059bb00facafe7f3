"""Rows of the toy compiler."""


def plan_rows(count, width):
    """Give each core the rows it copies, so that no core is idle while another has two."""
    cores = min(count, 8)
    return [range(core, count, cores) for core in range(cores)]


class RowPlan:
    """A plan that can be printed."""

    def __init__(self, rows):
        self.rows = rows

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.rewrite.algebra import Lane, Poly, Symbol, number, single

N, PID = Symbol("n"), Symbol("pid")
BLOCK = Symbol("BLOCK", bits=0, value=64)
LANE = Lane(single(BLOCK))
factors = st.lists(st.sampled_from([N, PID, BLOCK, LANE]), max_size=3).map(tuple)
polys = st.lists(st.tuples(factors, st.integers(-5, 5)), max_size=4).map(Poly.collect)


@settings(max_examples=40)
@given(polys, polys, polys)
def test_sums_and_products_obey_the_laws_of_integers(a: Poly, b: Poly, c: Poly) -> None:
    assert a + b == b + a
    assert a * b == b * a
    assert a * (b + c) == a * b + a * c
    assert a - a == Poly()


@settings(max_examples=40)
@given(polys, st.sampled_from([single(BLOCK), number(3), single(N) * number(2)]))
def test_what_divides_a_sum_gives_it_back(a: Poly, divisor: Poly) -> None:
    assert (a * divisor).divide(divisor) == a


def test_a_sum_that_does_not_divide_for_every_value_does_not_divide() -> None:
    assert (single(PID) * single(BLOCK) + number(1)).divide(single(BLOCK)) is None


def test_a_lane_times_a_lane_is_not_affine() -> None:
    assert (single(LANE) * single(LANE)).split() is None


def test_the_scalar_part_and_the_coefficient_of_each_lane_come_apart() -> None:
    affine = (single(PID) * single(BLOCK) + single(LANE) * single(N)).split()
    assert affine is not None
    assert affine.scalar == single(PID) * single(BLOCK)
    assert affine.coefficients == {LANE: single(N)}


@pytest.mark.parametrize(("poly", "value"), [(single(BLOCK) * number(2), 128), (number(7), 7), (Poly(), 0)])
def test_constexprs_of_the_launch_make_a_number(poly: Poly, value: int) -> None:
    assert poly.known == value


def test_a_run_time_scalar_is_not_known() -> None:
    assert single(N).known is None
    assert single(BLOCK).literal is None

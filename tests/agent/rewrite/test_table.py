from agent.rewrite.table import REWRITES
from agent.symptoms.table import SYMPTOMS


def test_every_symptom_of_the_table_is_a_known_one() -> None:
    assert set(REWRITES) <= {symptom.id for symptom in SYMPTOMS}


def test_the_rules_stand_in_alphabetical_order_of_symptoms() -> None:
    assert list(REWRITES) == sorted(REWRITES)

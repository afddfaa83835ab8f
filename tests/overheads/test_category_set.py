"""Files of categories: what is read, and what each mistake is told as."""

import pytest

from perf_analysis.categories import NO_STATE, classify, read_categories
from perfcore import Trace
from perfcore.base.errors import DataError, InputError

GOOD = """
[classes]
computing = ["run"]
idle = []
[[category]]
name = "work"
of = "computing"
[[category]]
name = "rest"
of = ["idle"]
"""


@pytest.fixture
def read(tmp_path):
    def make(text):
        path = tmp_path / "own.toml"
        path.write_text(text)
        return read_categories(path)

    return make


def states(*names, busy=None):
    return Trace([0] * len(names), range(len(names)), range(len(names)), range(1, len(names) + 1), ["a"], names,
                 busy_states=busy)  # fmt: skip


def classes(trace, rules=None, **own):
    found = classify(trace, rules or read_categories(), own)
    return {state: found.classes[k] for state, k in zip(found.states, found.class_of, strict=True)}


def test_a_set_of_ones_own(read):
    rules = read(GOOD)
    assert [category.name for category in rules.categories] == ["work", "rest"]
    assert rules.needs == ()
    assert read(GOOD + 'when = "computing > 0"').needs == ("computing",)


def test_the_standard_set_has_the_papers_categories():
    """Crovella and LeBlanc: the five losses and pure computation."""
    names = {category.name for category in read_categories().categories}
    assert names >= {
        *("pure computation", "load imbalance", "insufficient parallelism"),
        *("synchronization loss", "communication loss", "resource contention"),
    }


def test_names_go_before_patterns_and_long_patterns_before_short_ones(read):
    rules = read(GOOD.replace('["run"]', '["MPI_B*", "lock", "run"]').replace("idle = []", 'idle = ["MPI_*", "loc?"]'))
    found = classes(states("MPI_Barrier", "MPI_Send", "lock", "loco"), rules)
    assert list(found.values())[:4] == ["computing", "idle", "computing", "idle"]


def test_what_the_trace_calls_busy_computes_and_nothing_else():
    """Whatever the table says: `perf info` and `perf overheads` mean the same states."""
    found = classes(states("run", "mystery", "send", "lock", busy=["mystery", "send"]))
    assert found == {
        "run": "idle",
        "mystery": "computing",
        "send": "computing",
        "lock": "synchronizing",
        NO_STATE: "idle",
    }


def test_states_in_no_class_of_a_set_of_ones_own_are_named_with_time_and_first_moment(read):
    trace = Trace([0, 0, 1], [0, 1, 1], [10, 30, 20], [30, 90, 25], ["a", "b"], ["run", "mystery"], busy_states=["run"])
    with pytest.raises(DataError, match=r"1 of its states is in no class: 'mystery' \(65 ns, first at 20 ns\); say wh"):
        classify(trace, read(GOOD))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[classes]", "[clases]"), "own.toml: object missing required field `classes`|unknown field `clases`"),
        (('name = "work"', ""), r"category\[0\]|category"),
        (('of = "computing"', 'of = "computng"'), r"category\[0\]\.of: unknown class 'computng': did you mean 'comput"),
        (('name = "work"', 'name = "rest"'), "category: two are named 'rest'"),
        (("idle = []", 'idle = []\n"two words" = ["x"]'), "classes.two words: a name of letters, digits and _"),
        (("idle = []", "idle = []\nready = []"), "classes.ready: the name has a meaning already"),
        (("idle = []", 'idle = []\n[counts]\nidle = ["x"]'), "counts.idle: the name has a meaning already"),
        (("idle = []", "idle = 3"), "classes"),
        (("[classes]", 'without_state = "none"\n[classes]'), "without_state: unknown class 'none'"),
        (("[classes]", 'needs = ["locks"]\n[classes]'), "needs: unknown class or count 'locks'"),
        (("[classes]", "[classes"), "own.toml: not TOML"),
        (('of = "computing"', 'of = "computing"\nwhen = "computing >"'), r"category\[0\]\.when: formula 'computing >'"),
        (
            ('of = "computing"', "of = \"computing\"\nwhen = \"__import__('os').system('true')\""),
            r"category\[0\]\.when: formula",
        ),
        (('of = "computing"', 'of = "computing"\nwhen = "lambda: 1"'), r"category\[0\]\.when: formula"),
    ],
)
def test_mistakes_name_file_and_key(read, change, message):
    assert change[0] in GOOD
    with pytest.raises(InputError, match=message) as error:
        read(GOOD.replace(*change))
    assert "own.toml: " in str(error.value)
    assert "\n" not in str(error.value)

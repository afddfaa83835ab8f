"""Cycles by category: exact nanoseconds, complete and orthogonal, as a loop over every instant finds them."""

import pytest
from made_traces import phases_at, trace_of

from perfcore import Series, Trace, UtilizationCurve, overheads
from perfcore.base.errors import DataError, InputError


def profiled(trace, categories=None, **options):
    (profile,) = overheads(trace, categories=categories, **options)
    return profile


def found(profile):
    """Categories in which something is lost."""
    return {n: int(t) for n, t in zip(profile.categories, profile.by_category_ns, strict=True) if t}


@pytest.fixture
def rules(tmp_path):
    """A file of categories from their text, over the states of `STATES`."""

    def make(categories, extra="", classes=None):
        path = tmp_path / "own.toml"
        classes = classes or 'computing = ["run"]\nidle = ["idle"]\nheld = ["lock", "wait/waitall", "send"]'
        path.write_text(f"{extra}\n[classes]\n{classes}\n{categories}")
        return path

    return make


def category(name, of, when=None):
    condition = f'when = "{when}"\n' if when else ""
    return f'[[category]]\nname = "{name}"\nof = {of!r}\n{condition}'.replace("'", '"')


def test_every_category_of_a_run_by_hand():
    """Three locations, 100 ns; cpu2 is in no state from 40 on, and idle while two, then one, then none compute."""
    trace = trace_of(
        [
            (0, "run", 0, 70), (0, "send", 70, 90), (0, "wait/waitall", 90, 100),
            (1, "run", 0, 50), (1, "lock", 50, 65), (1, "run", 65, 80), (1, "idle", 80, 100),
            (2, "run", 0, 40),
        ],
        3,
    )  # fmt: skip
    profile = profiled(trace)
    assert found(profile) == {
        "pure computation": 70 + 50 + 15 + 40,
        "load imbalance": 10 + 5,  # cpu2: 40 to 50 and 65 to 70, while cpu0 and cpu1 compute
        "insufficient parallelism": 15 + 30 + 20,  # cpu2: 50 to 65, 70 to 100; cpu1: 80 to 100
        "synchronization loss": 15,
        "communication loss": 20 + 10,
    }
    assert profile.by_location_ns[:, 2].tolist()[:3] == [40, 15, 45]
    assert profile.total_ns == 300
    # The lines that a reader needs: what stands for ready work, and what the trace cannot tell.
    assert profile.notes[0].startswith("assumes: work is available while two or more locations compute")
    assert "resource contention, runtime overhead" in profile.notes[1]


def test_states_in_no_class_are_named_the_longest_first():
    """Seven states of no known name; `barrier` has a pattern, `never` takes no time."""
    names = [f"kernel {k}" for k in range(7)]
    states = [*names, "barrier", "never"]
    trace = Trace([0] * 8, range(8), range(0, 80, 10), [10 * k + k + 1 for k in range(8)], ["a"], states)
    [note] = [note for note in profiled(trace).notes if note.startswith("assumes: unclassified")]
    longest = ", ".join(names[:2:-1])
    assert note == f"assumes: unclassified states are computing: {longest}, ... (7 in all) (set with --class)"


def test_phases_divide_states_that_span_them():
    trace = trace_of([(0, "run", 5, 105), (1, "run", 5, 45), (1, "lock", 45, 105)], 2)
    profile = profiled(trace, phases=phases_at([5, 25, 60, 105], trace.source))
    assert profile.edges_ns.tolist() == [5, 25, 60, 105]
    assert profile.by_phase_ns[0].tolist() == [20 + 20, 35 + 20, 45]
    assert profile.by_phase_ns[3].tolist() == [0, 15, 45]
    assert profile.cycles_ns.sum(axis=(0, 1)).tolist() == [40, 70, 90]


def test_measured_ready_work_decides_what_idle_time_is():
    """Ready work of 2 until 30, none until 60, 1 after; one of two locations is idle all the time."""
    trace = trace_of([(0, "run", 0, 100), (1, "idle", 0, 100)], 2)
    profile = profiled(trace, ready=Series([-10, 30, 60], {"tasks": [2.0, 0.0, 1.0]}, time_unit="ns"))
    assert found(profile) == {"pure computation": 100, "load imbalance": 30 + 40, "insufficient parallelism": 30}
    assert found(profiled(trace, ready=UtilizationCurve([-10, 30, 60, 100], [2, 0, 1], "ns"))) == found(profile)
    # Without it, one location computes at most.
    assert found(profiled(trace))["insufficient parallelism"] == 100


def test_predicates_use_counts_states_by_name_and_ready(rules):
    trace = trace_of(
        [
            (0, "run", 0, 100), (1, "lock", 0, 60), (1, "run", 60, 100),
            (2, "lock", 20, 50), (2, "send", 50, 100),
        ],
        3,
    )  # fmt: skip
    own = rules(
        category("work", "computing")
        + category("nothing", "idle")
        + category("queue", "held", "in_lock > 1 and ready >= 2")
        + category("held", "held", "not (in_lock > 1 and ready >= 2)")
        + '[counts]\nin_lock = ["lo*"]\n'
    )
    ready = Series([0, 40], {"tasks": [2.0, 1.0]}, time_unit="ns")
    times = found(profiled(trace, own, ready=ready))
    assert times == {"work": 140, "nothing": 20, "queue": 2 * 20, "held": 20 + 10 + 10 + 10 + 50}
    # `lock` alone is a state of the trace, and no class or count of the file.
    by_state = rules(
        category("work", "computing") + category("nothing", "idle")
        + category("alone", "held", "lock == 1 and locations == 3") + category("held", "held", "lock != 1")
    )  # fmt: skip
    assert found(profiled(trace, by_state))["alone"] == 20 + 10 + 10  # 0-20, and 50-60 with cpu2 in `send`


def test_times_that_do_not_fit_beside_location_and_state():
    """A span of 146 years, at which time, location and state have no room in one int64: the other way to sort."""
    century = 2**62
    trace = trace_of([(0, "run", 0, century), (1, "lock", 0, 7), (1, "run", 7, 9), (1, "send", 9, century)], 2)
    times = found(profiled(trace))
    assert times == {"pure computation": century + 2, "synchronization loss": 7, "communication loss": century - 9}


# Files of categories: what is read, and what each mistake is told as.
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
def write(tmp_path):
    def make(text):
        path = tmp_path / "own.toml"
        path.write_text(text)
        return path

    return make


def states(*names, busy=None):
    return Trace([0] * len(names), range(len(names)), range(len(names)), range(1, len(names) + 1), ["a"], names,
                 busy_states=busy)  # fmt: skip


def classes(trace, categories=None):
    """The class of each state."""
    return {
        state: name for name, members in profiled(trace, categories).states.items() for state in members
    }  # fmt: skip


def test_names_go_before_patterns_and_long_patterns_before_short_ones(write):
    rules = write(GOOD.replace('["run"]', '["MPI_B*", "lock", "run"]').replace("idle = []", 'idle = ["MPI_*", "loc?"]'))
    assert classes(states("MPI_Barrier", "MPI_Send", "lock", "loco"), rules) == {
        "MPI_Barrier": "computing", "MPI_Send": "idle", "lock": "computing", "loco": "idle", "(no state)": "idle",
    }  # fmt: skip


def test_what_the_trace_calls_busy_computes_and_nothing_else():
    """Whatever the table says: `perf info` and `perf overheads` mean the same states."""
    assert classes(states("run", "mystery", "send", "lock", busy=["mystery", "send"])) == {
        "run": "idle", "mystery": "computing", "send": "computing", "lock": "synchronizing", "(no state)": "idle",
    }  # fmt: skip


def test_states_in_no_class_of_a_set_of_ones_own_are_named_with_time_and_first_moment(write):
    trace = Trace([0, 0, 1], [0, 1, 1], [10, 30, 20], [30, 90, 25], ["a", "b"], ["run", "mystery"], busy_states=["run"])
    with pytest.raises(DataError, match=r"1 of its states is in no class: 'mystery' \(65 ns, first at 20 ns\); say wh"):
        profiled(trace, write(GOOD))


@pytest.mark.parametrize(("change", "message"), [
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
    (('of = "computing"', "of = \"computing\"\nwhen = \"__import__('os').system('true')\""),
        r"category\[0\]\.when: formula"),
    (('of = "computing"', 'of = "computing"\nwhen = "lambda: 1"'), r"category\[0\]\.when: formula"),
])  # fmt: skip
def test_mistakes_name_file_and_key(write, change, message):
    assert change[0] in GOOD
    with pytest.raises(InputError, match=message) as error:
        profiled(states("run"), write(GOOD.replace(*change)))
    assert "own.toml: " in str(error.value)
    assert "\n" not in str(error.value)

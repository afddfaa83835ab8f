"""Cycles by category: exact nanoseconds, complete and orthogonal, as a loop over every instant finds them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perf_analysis import moments as two_passes
from perf_analysis.attribution import profile_overheads
from perf_analysis.categories import NO_STATE, classify, read_categories
from perfcore import Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError, InputError

STATES = ("run", "idle", "lock", "wait/waitall", "send")


def trace_of(rows, n_locations, states=STATES, **facts):
    """A trace from (location, state, start, end)."""
    location, state, start, end = zip(*rows, strict=True)
    names = [f"cpu{k}" for k in range(n_locations)]
    return Trace(location, [states.index(s) for s in state], start, end, names, states, **facts)


def found(profile):
    """Categories in which something is lost."""
    return {n: int(t) for n, t in zip(profile.categories, profile.by_category_ns, strict=True) if t}


@pytest.fixture
def rules(tmp_path):
    """A set of categories from the text of its categories, over the states of `STATES`."""

    def make(categories, extra="", classes=None):
        path = tmp_path / "own.toml"
        classes = classes or 'computing = ["run"]\nidle = ["idle"]\nheld = ["lock", "wait/waitall", "send"]'
        path.write_text(f"{extra}\n[classes]\n{classes}\n{categories}")
        return read_categories(path)

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
    profile = profile_overheads(trace)
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
    [note] = [note for note in profile_overheads(trace).notes if note.startswith("assumes: unclassified")]
    assert note == (
        f"assumes: unclassified states are computing: {', '.join(names[:2:-1])}, ... (7 in all) (set with --class)"
    )


def test_phases_divide_states_that_span_them():
    trace = trace_of([(0, "run", 5, 105), (1, "run", 5, 45), (1, "lock", 45, 105)], 2)
    profile = profile_overheads(trace, phase_edges_ns=[5, 25, 60, 105])
    assert profile.edges_ns.tolist() == [5, 25, 60, 105]
    assert profile.by_phase_ns[0].tolist() == [20 + 20, 35 + 20, 45]
    assert profile.by_phase_ns[3].tolist() == [0, 15, 45]
    assert profile.cycles_ns.sum(axis=(0, 1)).tolist() == [40, 70, 90]


def test_measured_ready_work_decides_what_idle_time_is():
    """Ready work of 2 until 30, none until 60, 1 after; one of two locations is idle all the time."""
    trace = trace_of([(0, "run", 0, 100), (1, "idle", 0, 100)], 2)
    ready = Series([-10, 30, 60], {"tasks": [2.0, 0.0, 1.0]}, time_unit="ns")
    profile = profile_overheads(trace, ready=ready)
    assert found(profile) == {"pure computation": 100, "load imbalance": 30 + 40, "insufficient parallelism": 30}
    curve = UtilizationCurve([-10, 30, 60, 100], [2, 0, 1], "ns")
    assert found(profile_overheads(trace, ready=curve)) == found(profile)
    # Without it, one location computes at most.
    assert found(profile_overheads(trace))["insufficient parallelism"] == 100


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
    times = found(profile_overheads(trace, own, ready=ready))
    assert times == {"work": 140, "nothing": 20, "queue": 2 * 20, "held": 20 + 10 + 10 + 10 + 50}
    # `lock` alone is a state of the trace, and no class or count of the file.
    by_state = rules(
        category("work", "computing") + category("nothing", "idle")
        + category("alone", "held", "lock == 1 and locations == 3") + category("held", "held", "lock != 1")
    )  # fmt: skip
    assert found(profile_overheads(trace, by_state))["alone"] == 20 + 10 + 10  # 0-20, and 50-60 with cpu2 in `send`


@st.composite
def traces(draw):
    """Up to four locations with states and gaps between them, some without duration."""
    n_locations = draw(st.integers(1, 4))
    rows = []
    for location in range(n_locations):
        at = draw(st.integers(0, 6))
        for gap, width, state in draw(
            st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.sampled_from(STATES)), max_size=6)
        ):
            rows.append((location, state, at + gap, at + gap + width))
            at += gap + width
    last = max((end for *_, end in rows), default=0)
    rows.append((0, "run", last, last + draw(st.integers(1, 5))))
    start = min(row[2] for row in rows) - draw(st.integers(0, 4))
    return trace_of(draw(st.permutations(rows)), n_locations, span_ns=(start, rows[-1][3]))


OWN = (
    category("work", "computing")
    + category("starved", "idle", "held + 2*computing > locations")
    + category("unused", "idle", "held + 2*computing <= locations")
    + category("in turn", "held", "lock > 1 or idle == 0")
    + category("held", "held", "lock <= 1 and idle > 0")
)


def by_instants(trace, edges):
    """The categories of `OWN`, one location and one nanosecond after the other: (category, location, phase)."""
    spent = np.zeros((5, len(trace.locations), len(edges) - 1), dtype=int)
    for now in range(edges[0], edges[-1]):
        states = []
        for location in range(len(trace.locations)):
            inside = (trace.location == location) & (trace.start_ns <= now) & (now < trace.end_ns)
            states.append(STATES[int(trace.state[inside][0])] if inside.any() else "idle")
        computing, idle, lock = states.count("run"), states.count("idle"), states.count("lock")
        held = len(states) - computing - idle
        phase = max(k for k in range(len(edges) - 1) if edges[k] <= now)
        for location, state in enumerate(states):
            if state == "run":
                own = 0
            elif state == "idle":
                own = 1 if held + 2 * computing > len(states) else 2
            else:
                own = 3 if lock > 1 or idle == 0 else 4
            spent[own, location, phase] += 1
    return spent


@pytest.fixture(params=["interpreted", "compiled"])
def passes(request, monkeypatch):
    """Both ways in which the passes run; the compiled one is compiled before any example is timed."""
    for passed in (two_passes.number_vectors, two_passes.attribute_time):
        monkeypatch.setattr(passed, "small", 10**9 if request.param == "interpreted" else 0)
    profile_overheads(trace_of([(0, "run", 0, 1)], 1))


@given(trace=traces(), cuts=st.sets(st.integers(1, 200), max_size=3))
@example(trace=trace_of([(0, "lock", 0, 5), (0, "run", 5, 9), (0, "send", 5, 5), (1, "run", 5, 6)], 2), cuts={5})
@settings(deadline=None, max_examples=60)
def check_against_instants(own, trace, cuts):
    start, end = trace.span_ns
    edges = [start, *sorted({start + cut for cut in cuts if start + cut < end}), end]
    profile = profile_overheads(trace, own, phase_edges_ns=edges)
    np.testing.assert_array_equal(profile.cycles_ns, by_instants(trace, edges))
    assert profile.total_ns == len(trace.locations) * (end - start)
    np.testing.assert_array_equal(profile.timeline_ns.sum(axis=1), profile.by_category_ns)
    np.testing.assert_array_equal(profile.class_cycles_ns.sum(axis=0), profile.cycles_ns.sum(axis=0))


def test_as_every_instant_says(rules, passes):
    check_against_instants(rules(OWN))


def test_times_that_do_not_fit_beside_location_and_state():
    """A span of 146 years, at which time, location and state have no room in one int64: the other way to sort."""
    century = 2**62
    trace = trace_of([(0, "run", 0, century), (1, "lock", 0, 7), (1, "run", 7, 9), (1, "send", 9, century)], 2)
    assert found(profile_overheads(trace)) == {
        "pure computation": century + 2,
        "synchronization loss": 7,
        "communication loss": century - 9,
    }


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

"""The job: the 64-bit words that the march's native loops read, and the helper functions of its modules.

Work is done on blocks of at most `block` states ("lanes"). Buffers of a block hold the states row after row without
gaps, so that updates are flat loops over count*nx numbers whatever nx is; h therefore stands in a buffer of that length
too. A lane that has ended rests: its h is 0, its results are stored already, and it is computed on without use.
"""

from __future__ import annotations

from symbody.motion.march.ir.routine import Routine

# Signals are looked up this fraction of a step inside the step: a jump where two steps meet belongs to the later one.
INSIDE = 1e-9

WORDS = (
    # sizes
    *("block", "pad", "nx", "nu", "ng", "rows_shared"),
    # compiled functions, contexts (addresses of contexts: one for each stage, then project, guards, drifts)
    *("rates", "project", "guards", "drift", "contexts", "n_contexts"),
    *("project_context", "guards_context", "drift_contexts"),
    # solve blocks of each function, and where it writes their outcomes
    *("rates_blocks", "rates_status", "project_blocks", "project_status"),
    *("guards_blocks", "guards_status", "drift_blocks", "drift_status"),
    # work buffers of a block
    *("X", "Y", "XN", "XB", "XP", "K", "KD", "HX", "R1", "R2", "G0", "G1", "U", "kick", "pairs", "n_pairs"),
    *("T", "TB", "TS", "H", "place", "done", "fail"),
    # lanes of adaptive runs: next and planned h, accepted, last step, why the step was cut, and two memories
    *("HN", "HP", "accepted", "last", "why", "old", "cut", "tolerance"),
    # signals: knots and values, distance from one member to the next in doubles
    *("timed", "varying", "knots", "n_knots", "values", "member_stride", "hold"),
    # data of all members
    *("x", "t", "h", "x_end", "t_end", "x_before", "t_before", "status", "crossed", "directions"),
    # guards that end nothing, and the steps in which they crossed
    *("passive", "log", "n_log", "log_room"),
    *("steps", "rejected", "evaluations", "samples", "t_samples", "n_samples", "room"),
    # fixed steps
    *("n_steps", "every", "reuse"),
    # adaptive steps
    *("t_stop", "sign", "rtol", "longest", "max_steps", "dense", "times", "n_times", "memory", "pow"),
    # lanes with events and clocks (`lanes`): the job of a single lane, its contexts, their parameters
    *("single", "single_contexts", "n_single", "single_derived"),
    # events: numbers of each (ne,), states that only events change (nx,), limits of a run
    *("ne", "acting", "elements", "stopping", "limits", "slowest", "resets", "rests", "frozen"),
    *("span", "most_events"),
    # what each member remembers of them
    *("counts", "leaving", "instants", "n_instants", "begun", "x_begin", "held_begin"),
    # marks: what happened, row by row
    *("marks", "n_marks", "mark_room", "mark_width"),
    # Kernels of the single lane: rates of the states, resets; and where they write
    *("field", "field_blocks", "field_status", "field_context", "KF"),
    *("after", "after_blocks", "after_status", "after_context", "AF"),
    # its scratch memory: states, guards, slopes
    *("sx", "sg", "slopes", "memory_row", "tick_out"),
    # steps of fixed length: the grid, and the piece of it that a member is on
    *("grid_start", "grid_step", "now", "piece_begin", "piece_h", "piece_end", "piece_step", "piece_steps", "inside"),
    *("FR", "freshes", "forces"),
    # adaptive steps of lanes: end of the stretch, whether rates at X are to be made anew
    *("stop_time", "renew"),
    # instants at which held signals change: by a clock (its number) or a table (-1)
    *("stops", "stop_clock", "stop_slack", "stop_values", "stop_mask", "n_stops", "next_stop"),
    *("clocks", "clock_memory", "n_memory", "held", "overlay", "n_overlay", "u_samples"),
    # derivatives (`adjoint`, `variational`): pullbacks of the rates or the step, and of the projection
    *("pull", "pull_blocks", "pull_status", "pulled", "pulled_blocks", "pulled_status"),
    # states and weights of the stages, what the pullbacks give, adjoints of the state and of what does not change
    *("YS", "LAM", "W", "PB", "GM", "GU", "MU", "MV", "nm", "nv"),
    *("states", "n_rows", "lam", "mu", "mv", "seeds", "seeded", "ubar", "inputs_wanted"),
    # derivatives of the state by directions, as they are propagated and recorded; rows that are pulled, rows copied
    *("S", "DY", "DK", "DX", "columns", "s_samples", "n_live", "live", "copied", "gm_row"),
)

REACHED, GUARD, NOT_FINITE, TOO_SMALL, TOO_MANY, FAILED = range(6)
STOPPED, EVENTS = 6, 7  # lanes: an event stops the run; events without end
PAUSED = -1  # adaptive: the room for samples is full, or a member has not begun
# kinds of marks: an event that only records, one that acts, one of a force element by a jump, the jump itself
RECORDED, HAPPENED, CARRIED, JUMPED = range(4)


def helpers(width: int) -> list[Routine]:
    """Functions that every module of the march has: signals at a time, and failed solve blocks."""
    return [_signals(width), _failed(width)]


def _signals(width: int) -> Routine:
    """U at the times TS: linear between knots or held, constant outside.

    The knot before is kept for each lane; where time has left its interval, bisection finds the next.
    """
    r = Routine("signals", WORDS, width, "ptr noalias %job, i64 %rows, i64 %first, double %side")
    knots, values, nu, last = r.pointer("knots"), r.pointer("values"), r.word("nu"), r.word("n_knots")
    p = r.variable("i64", "0")
    high = r.variable("i64", "0")
    with r.loop("%rows") as lane:
        t = r.load(r.pointer("TS"), lane)
        inside = r.f("fadd", t, r.f("fmul", "%side", r.load(r.pointer("H"), lane)))
        p.set(r.load(r.pointer("place"), lane, "i64"))
        stale = r.variable("i1", "false")
        with r.when(r.compare("sge", p.get(), "0")):
            stale.set(r.compare("ogt", r.load(knots, p.get()), inside))
        with r.when(r.compare("slt", r.add(p.get(), "1"), last)):
            after = r.load(knots, r.add(p.get(), "1"))
            stale.set(r.either(stale.get(), r.compare("ole", after, inside)))
        with r.when(stale.get()):
            p.set("-1")
            high.set(last)
            with r.forever() as out:
                gap = r.sub(high.get(), p.get())
                r.leave(r.compare("sle", gap, "1"), out)
                middle = r.add(p.get(), r.op(f"ashr i64 {gap}, 1"))
                reached = r.compare("ole", r.load(knots, middle), inside)
                high.set(r.select(reached, high.get(), middle, "i64"))
                p.set(r.select(reached, middle, p.get(), "i64"))
        found = p.get()
        r.store(found, r.pointer("place"), lane, "i64")
        negative = r.compare("slt", found, "0")
        low = r.select(negative, "0", found, "i64")
        next_ = r.select(negative, "0", r.least(r.add(found, "1"), r.sub(last, "1")), "i64")
        flat = r.either(r.flag("hold"), r.compare("eq", low, next_))
        since = r.f("fsub", t, r.load(knots, low))
        length = r.f("fsub", r.load(knots, next_), r.load(knots, low))
        weight = r.select(flat, r.literal(0.0), r.f("fdiv", since, length))
        member = r.at(values, r.mul(r.add("%first", lane), r.word("member_stride")))
        a, b = (r.at(member, r.mul(k, nu)) for k in (low, next_))
        target = r.at(r.pointer("U"), r.mul(lane, nu))
        with r.loop(nu) as e:
            left = r.load(a, e)
            change = r.f("fmul", weight, r.f("fsub", r.load(b, e), left))
            r.store(r.f("fadd", left, change), target, e)
    r.do("ret void")
    return r


def _failed(width: int) -> Routine:
    """i1: whether some solve block of some lane failed (a negative outcome); marks the lanes."""
    head = "ptr %status, i64 %blocks, i64 %count, ptr %fail"
    r = Routine("failed", WORDS, width, head, "i1")
    any_ = r.variable("i1", "false")
    with r.loop("%count") as lane, r.loop("%blocks") as b:
        outcome = r.load("%status", r.add(r.mul(lane, "%blocks"), b))
        with r.when(r.compare("olt", outcome, r.literal(0.0))):
            r.store("1", "%fail", lane, "i64")
            any_.set("true")
    r.do(f"ret i1 {any_.get()}")
    return r

/* Integration of a motion: fixed and controlled steps, events and projections. Emitted by symbody; no allocation. */

#include <math.h>
#include <string.h>

typedef struct {
    double v[NV];
    motion_derived derived;
    double guard[NG + 1]; /* at the last accepted point */
    int leaving[NG + 1];  /* side of zero from which a guard comes back after its event was seen late; 0: none */
    int fresh;            /* rates and outputs belong to v */
    int bad;              /* a solve block failed */
    double step;          /* the next step of a method that chooses it */
} motion;

enum { EULER, RK4, DOPRI5 };

/* inputs that follow time are put into v here */
#ifndef MOTION_INPUTS
#define MOTION_INPUTS(v) ((void)0)
#endif

/* Rates and outputs at v, computed once a point. */
static int motion_refresh(motion *m)
{
    if (!m->fresh) {
        MOTION_INPUTS(m->v);
        m->bad = motion_rates(m->v, &m->derived, m->v + AT_DX, m->v + AT_Y);
        m->fresh = 1;
    }
    return m->bad;
}

static int motion_retune(motion *m)
{
    m->fresh = 0;
    return motion_setup(m->v + AT_P, &m->derived);
}

static int motion_begin(motion *m)
{
    memcpy(m->v, motion_start, sizeof m->v);
    memset(m->leaving, 0, sizeof m->leaving);
    m->step = 0.0;
    m->bad = 0;
    return motion_retune(m);
}

/* The guards at v become those that the next crossings are seen against. */
static int motion_watch(motion *m)
{
#if HAS_GUARDS
    if (motion_guards(m->v, &m->derived, m->guard))
        return 1;
    for (int k = 0; k < NG; ++k)
        if (m->leaving[k] * m->guard[k] <= 0.0)
            m->leaving[k] = 0;
    return 0;
#else
    (void)m;
    return 0;
#endif
}

/* Which guards have crossed zero since they were watched; within `near` of zero counts where the caller located it. */
static int motion_crossed(const motion *m, int *fired, double near)
{
    int any = 0;
#if HAS_GUARDS
    double now[NG];
    if (motion_guards(m->v, &m->derived, now))
        return -1;
    for (int k = 0; k < NG; ++k) {
        const double margin = near * (1.0 + fabs(m->guard[k]));
        const int down = m->guard[k] > 0.0 && now[k] <= margin;
        const int up = m->guard[k] < 0.0 && now[k] >= -margin;
        fired[k] = !m->leaving[k] && ((down && motion_direction[k] <= 0) || (up && motion_direction[k] >= 0));
        any |= fired[k];
    }
#else
    (void)m;
    (void)fired;
    (void)near;
#endif
    return any;
}

static int motion_react(motion *m, const int *fired)
{
    m->fresh = 0;
#if HAS_GUARDS
    if (motion_resets(m->v, &m->derived, fired))
        return 1;
    return motion_watch(m);
#else
    (void)fired;
    return 0;
#endif
}

/* After an event its guard lies on zero but for rounding; it counts on the side that the motion leaves it to, so that
   leaving is no crossing, and coming back is one, also within the next step. Where the event was seen late the guard lies
   beyond zero; if it comes back from there, that is no crossing. before: the guards before the event */
static int motion_leave(motion *m, const int *fired, const double *before, double step)
{
#if HAS_GUARDS
    double now[NG];
    if (motion_refresh(m))
        return 1;
    motion ahead = *m;
    for (int i = 0; i < NX; ++i)
        ahead.v[AT_X + i] += 1e-6 * step * m->v[AT_DX + i];
    ahead.v[0] += 1e-6 * step;
    if (motion_guards(ahead.v, &ahead.derived, now))
        return 1;
    for (int k = 0; k < NG; ++k) {
        const double at = m->guard[k], way = now[k] - at;
        if (fired[k] && fabs(at) <= 1e-9 * (1.0 + fabs(before[k])))
            m->guard[k] = way > 0.0 ? 1e-300 : way < 0.0 ? -1e-300 : 0.0;
        else if (fired[k] && ((at > 0.0 && before[k] < 0.0 && way < 0.0) || (at < 0.0 && before[k] > 0.0 && way > 0.0)))
            m->leaving[k] = at > 0.0 ? 1 : -1;
    }
#else
    (void)m;
    (void)fired;
    (void)before;
    (void)step;
#endif
    return 0;
}

static int motion_correct(motion *m)
{
#if HAS_PROJECTION
    double x[NX];
    memcpy(x, m->v + AT_X, sizeof x);
    if (motion_project(m->v, &m->derived, x))
        return 1;
    memcpy(m->v + AT_X, x, sizeof x);
    m->fresh = 0;
#else
    (void)m;
#endif
    return 0;
}

static const double motion_a[7][6] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
static const double motion_c[7] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
static const double motion_e[7] = {
    71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40,
};

/* One step of size h from v; the error, relative to the tolerances, of DOPRI5. */
static int motion_advance(motion *m, int method, double h, double rtol, double atol, double *error)
{
    double x[NX], k[7][NX], dummy[NY + 1], *const now = m->v + AT_X;
    const double t = m->v[0];
    *error = 0.0;
    if (motion_refresh(m))
        return 1;
    memcpy(x, now, sizeof x);
    memcpy(k[0], m->v + AT_DX, sizeof k[0]);
    m->fresh = 0;
    if (method == EULER) {
        for (int i = 0; i < NX; ++i)
            now[i] = x[i] + h * k[0][i];
    } else if (method == RK4) {
        static const double fraction[4] = {0.0, 0.5, 0.5, 1.0};
        for (int s = 1; s < 4; ++s) {
            for (int i = 0; i < NX; ++i)
                now[i] = x[i] + fraction[s] * h * k[s - 1][i];
            m->v[0] = t + fraction[s] * h;
            MOTION_INPUTS(m->v);
            if (motion_rates(m->v, &m->derived, k[s], dummy))
                return 1;
        }
        for (int i = 0; i < NX; ++i)
            now[i] = x[i] + h * ((k[0][i] + k[3][i]) / 6.0 + (k[1][i] + k[2][i]) / 3.0);
    } else {
        for (int s = 1; s < 7; ++s) {
            for (int i = 0; i < NX; ++i) {
                double sum = 0.0;
                for (int j = 0; j < s; ++j)
                    sum += motion_a[s][j] * k[j][i];
                now[i] = x[i] + h * sum;
            }
            m->v[0] = t + motion_c[s] * h;
            MOTION_INPUTS(m->v);
            if (motion_rates(m->v, &m->derived, k[s], dummy))
                return 1;
        }
        for (int i = 0; i < NX; ++i) {
            double sum = 0.0;
            for (int j = 0; j < 7; ++j)
                sum += motion_e[j] * k[j][i];
            const double size = fmax(fabs(x[i]), fabs(now[i]));
            const double one = h * sum / (atol + rtol * size);
            *error += one * one / NX;
        }
        *error = sqrt(*error);
    }
    m->v[0] = t + h;
    return 0;
}

/* Advances to `end` in steps of at most `step`; events are handled on the way. 0, or what failed. */
static int motion_run(motion *m, double end, int method, double step, double rtol, double atol)
{
    const double start = m->v[0], span = end - start;
    const int fixed = method != DOPRI5;
    long done = 0;
    const long whole = fixed ? (long)ceil(span / step - 1e-9) : 0;
    int event = 0;
    if (m->step <= 0.0)
        m->step = step;
    while (event || (fixed ? done < whole : m->v[0] < end - 1e-14 * (1.0 + fabs(end)))) {
        const motion before = *m;
        const double aim = fixed ? (done + 1 >= whole ? end : start + (double)(done + 1) * step) : end;
        double h = fixed ? aim - m->v[0] : fmin(m->step, end - m->v[0]), error;
        int fired[NG + 1] = {0}, any;
        event = 0;
        for (;;) {
            if (motion_advance(m, method, h, rtol, atol, &error))
                return 1;
            if (fixed || error <= 1.0)
                break;
            *m = before;
            h *= fmax(0.2, 0.9 * pow(error, -0.2));
            if (!(h > 1e-14 * (1.0 + fabs(m->v[0]))))
                return 1;
        }
        if (!fixed) {
            const double next = h * (error > 0.0 ? fmin(5.0, 0.9 * pow(error, -0.2)) : 5.0);
            m->step = h < m->step && m->v[0] >= end - 1e-14 * (1.0 + fabs(end)) ? fmax(m->step, next) : next;
        }
        any = motion_crossed(m, fired, 0.0);
        if (any < 0)
            return 1;
        if (any && method != EULER) { /* located by halving the step */
            double low = 0.0, high = h;
            for (int k = 0; k < 60 && high - low > 1e-15 * (1.0 + fabs(m->v[0])); ++k) {
                const double middle = 0.5 * (low + high);
                int some[NG + 1] = {0};
                *m = before;
                if (motion_advance(m, method, middle, rtol, atol, &error))
                    return 1;
                if (motion_crossed(m, some, 0.0) > 0)
                    high = middle;
                else
                    low = middle;
            }
            *m = before;
            if (motion_advance(m, method, high, rtol, atol, &error))
                return 1;
            if (motion_crossed(m, fired, 0.0) < 0)
                return 1;
            event = fixed && high < h;
        }
        if (fixed && !event) {
            ++done;
            m->v[0] = aim;
        }
        if (motion_correct(m))
            return 1;
        if (any) {
            if (motion_react(m, fired))
                return 1;
            if (motion_leave(m, fired, before.guard, step))
                return 1;
        } else if (motion_watch(m)) {
            return 1;
        }
    }
    m->v[0] = end;
    m->fresh = 0;
    return motion_refresh(m);
}

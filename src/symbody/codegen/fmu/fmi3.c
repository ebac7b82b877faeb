/* FMI 3.0 for model exchange and co-simulation around a motion. Emitted by symbody. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3IntermediateUpdateCallback)(void);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

typedef struct {
    motion m;
    int tuned;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
} instance;

static fmi3Status complain(instance *c, const char *text)
{
    if (c->log)
        c->log(c->environment, fmi3Error, "logStatusError", text);
    return fmi3Error;
}

static fmi3Status ready(instance *c)
{
    if (!c->tuned) {
        if (motion_retune(&c->m))
            return complain(c, "a solve block of the parameters found no solution");
        c->tuned = 1;
    }
    return fmi3OK;
}

static fmi3Status refreshed(instance *c)
{
    if (ready(c) != fmi3OK)
        return fmi3Error;
    return motion_refresh(&c->m) ? complain(c, "a solve block found no solution at this state") : fmi3OK;
}

/* number of elements of a variable, 0: no variable begins there */
static unsigned length(fmi3ValueReference vr)
{
    for (unsigned k = 0; k < sizeof motion_variables / sizeof *motion_variables; ++k)
        if (motion_variables[k][0] == vr)
            return motion_variables[k][1];
    return 0;
}

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

EXPORT fmi3Status fmi3SetDebugLogging(fmi3Instance c, bool on, size_t n, const fmi3String categories[])
{
    (void)c, (void)on, (void)n, (void)categories;
    return fmi3OK;
}

static fmi3Instance made(fmi3String token, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    instance *c;
    if (!token || strcmp(token, MODEL_TOKEN) != 0)
        return NULL;
    c = (instance *)calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->environment = environment;
    c->log = log;
    motion_begin(&c->m);
    c->tuned = 0;
    return c;
}

EXPORT fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources, bool visible,
                                                 bool logging, fmi3InstanceEnvironment environment,
                                                 fmi3LogMessageCallback log)
{
    (void)name, (void)resources, (void)visible, (void)logging;
    return made(token, environment, log);
}

EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, bool visible,
                                                bool logging, bool events, bool early,
                                                const fmi3ValueReference intermediate[], size_t n,
                                                fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                fmi3IntermediateUpdateCallback update)
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)intermediate, (void)n;
    (void)update;
    return made(token, environment, log);
}

EXPORT fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                                      bool visible, bool logging, fmi3InstanceEnvironment environment,
                                                      fmi3LogMessageCallback log, void (*clock)(void),
                                                      fmi3LockPreemptionCallback lock,
                                                      fmi3UnlockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log, (void)clock;
    (void)lock, (void)unlock;
    return NULL;
}

EXPORT void fmi3FreeInstance(fmi3Instance c) { free(c); }

EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool tolerance_defined, double tolerance, double start,
                                              bool stop_defined, double stop)
{
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    ((instance *)c)->m.v[0] = start;
    ((instance *)c)->m.fresh = 0;
    return fmi3OK;
}

EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance c)
{
    instance *const i = (instance *)c;
    if (ready(i) != fmi3OK)
        return fmi3Error;
    if (motion_correct(&i->m) || motion_watch(&i->m))
        return complain(i, "a solve block found no solution at the initial state");
    return fmi3OK;
}

EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance c) { (void)c; return fmi3OK; }
EXPORT fmi3Status fmi3Terminate(fmi3Instance c) { (void)c; return fmi3OK; }

EXPORT fmi3Status fmi3Reset(fmi3Instance c)
{
    motion_begin(&((instance *)c)->m);
    ((instance *)c)->tuned = 0;
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, double value[], size_t nv)
{
    instance *const i = (instance *)c;
    size_t at = 0;
    for (size_t k = 0; k < n; ++k) {
        const unsigned size = length(vr[k]);
        if (!size || at + size > nv)
            return complain(i, "unknown value reference, or too few values");
        if (((vr[k] >= AT_DX && vr[k] < AT_U) || vr[k] >= AT_Y) && refreshed(i) != fmi3OK)
            return fmi3Error;
#if HAS_GUARDS
        if (vr[k] >= AT_G && motion_guards(i->m.v, &i->m.derived, i->m.v + AT_G))
            return complain(i, "a solve block found no solution at this state");
#endif
        memcpy(value + at, i->m.v + vr[k], size * sizeof *value);
        at += size;
    }
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const double value[], size_t nv)
{
    instance *const i = (instance *)c;
    size_t at = 0;
    for (size_t k = 0; k < n; ++k) {
        const unsigned size = length(vr[k]);
        if (!size || at + size > nv)
            return complain(i, "unknown value reference, or too few values");
        if (vr[k] >= AT_Y || (vr[k] >= AT_DX && vr[k] < AT_U) || vr[k] == 0)
            return complain(i, "this variable cannot be set");
        memcpy(i->m.v + vr[k], value + at, size * sizeof *value);
        if (vr[k] >= AT_P)
            i->tuned = 0;
        i->m.fresh = 0;
        at += size;
    }
    return fmi3OK;
}

#define NONE(kind, type)                                                                                                \
    EXPORT fmi3Status fmi3Get##kind(fmi3Instance c, const fmi3ValueReference vr[], size_t n, type value[], size_t nv)   \
    {                                                                                                                   \
        (void)vr, (void)value, (void)nv;                                                                                \
        return n ? complain((instance *)c, "there are variables of type Float64 only") : fmi3OK;                        \
    }                                                                                                                   \
    EXPORT fmi3Status fmi3Set##kind(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const type value[],        \
                                    size_t nv)                                                                          \
    {                                                                                                                   \
        (void)vr, (void)value, (void)nv;                                                                                \
        return n ? complain((instance *)c, "there are variables of type Float64 only") : fmi3OK;                        \
    }
NONE(Float32, float)
NONE(Int8, int8_t)
NONE(UInt8, uint8_t)
NONE(Int16, int16_t)
NONE(UInt16, uint16_t)
NONE(Int32, int32_t)
NONE(UInt32, uint32_t)
NONE(Int64, int64_t)
NONE(UInt64, uint64_t)
NONE(Boolean, bool)
NONE(String, fmi3String)

EXPORT fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t sizes[],
                                const fmi3Byte *value[], size_t nv)
{
    (void)vr, (void)sizes, (void)value, (void)nv;
    return n ? complain((instance *)c, "there are variables of type Float64 only") : fmi3OK;
}

EXPORT fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t sizes[],
                                const fmi3Byte *const value[], size_t nv)
{
    (void)vr, (void)sizes, (void)value, (void)nv;
    return n ? complain((instance *)c, "there are variables of type Float64 only") : fmi3OK;
}

EXPORT fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, bool value[])
{
    (void)vr, (void)value;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const bool value[])
{
    (void)vr, (void)value;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference vr, size_t *n)
{
    (void)vr, (void)n;
    return complain((instance *)c, "dependencies stand in the model description");
}

EXPORT fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference vr, size_t of[],
                                              fmi3ValueReference on[], size_t at[], int kinds[], size_t n)
{
    (void)vr, (void)of, (void)on, (void)at, (void)kinds, (void)n;
    return complain((instance *)c, "dependencies stand in the model description");
}

EXPORT fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *state)
{
    if (!*state)
        *state = calloc(1, sizeof(instance));
    if (!*state)
        return fmi3Error;
    memcpy(*state, c, sizeof(instance));
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state)
{
    ((instance *)c)->m = ((const instance *)state)->m;
    ((instance *)c)->tuned = ((const instance *)state)->tuned;
    return fmi3OK;
}

EXPORT fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *state)
{
    (void)c;
    free(*state);
    *state = NULL;
    return fmi3OK;
}

EXPORT fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState state, size_t *size)
{
    (void)c, (void)state;
    *size = sizeof(instance);
    return fmi3OK;
}

EXPORT fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    if (size < sizeof(instance))
        return complain((instance *)c, "too few bytes for the state");
    memcpy(bytes, state, sizeof(instance));
    return fmi3OK;
}

EXPORT fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    if (size != sizeof(instance))
        return complain((instance *)c, "these bytes are no state of this model");
    if (!*state)
        *state = calloc(1, sizeof(instance));
    if (!*state)
        return fmi3Error;
    memcpy(*state, bytes, sizeof(instance));
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference unknown[], size_t nu,
                                               const fmi3ValueReference known[], size_t nk, const double along[],
                                               size_t na, double found[], size_t nf)
{
#if HAS_DERIVATIVES
    instance *const i = (instance *)c;
    double seed[NV] = {0}, dx[NX], dy[NY + 1];
    size_t at = 0;
    for (size_t k = 0; k < nk; ++k) {
        const unsigned size = length(known[k]);
        if (known[k] < AT_X || known[k] >= AT_M || (known[k] >= AT_DX && known[k] < AT_U) || at + size > na)
            return complain(i, "derivatives go along states and inputs");
        memcpy(seed + known[k], along + at, size * sizeof *along);
        at += size;
    }
    if (ready(i) != fmi3OK)
        return fmi3Error;
    if (motion_along(i->m.v, &i->m.derived, seed, dx, dy))
        return complain(i, "a solve block found no solution at this state");
    at = 0;
    for (size_t k = 0; k < nu; ++k) {
        const unsigned vr = unknown[k], size = length(vr);
        if (at + size > nf)
            return complain(i, "too few values for the derivatives");
        if (vr >= AT_DX && vr < AT_U)
            memcpy(found + at, dx + (vr - AT_DX), size * sizeof *dx);
        else if (vr >= AT_Y && vr < AT_G)
            memcpy(found + at, dy + (vr - AT_Y), size * sizeof *dy);
        else if (vr >= AT_X && vr < AT_DX)
            memcpy(found + at, seed + vr, size * sizeof *seed);
        else
            return complain(i, "derivatives are of rates and outputs");
        at += size;
    }
    return fmi3OK;
#else
    (void)unknown, (void)nu, (void)known, (void)nk, (void)along, (void)na, (void)found, (void)nf;
    return complain((instance *)c, "there are no directional derivatives");
#endif
}

EXPORT fmi3Status fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference unknown[], size_t nu,
                                           const fmi3ValueReference known[], size_t nk, const double along[], size_t na,
                                           double found[], size_t nf)
{
    (void)unknown, (void)nu, (void)known, (void)nk, (void)along, (void)na, (void)found, (void)nf;
    return complain((instance *)c, "there are no adjoint derivatives");
}

EXPORT fmi3Status fmi3EnterConfigurationMode(fmi3Instance c) { (void)c; return fmi3OK; }
EXPORT fmi3Status fmi3ExitConfigurationMode(fmi3Instance c) { (void)c; return fmi3OK; }

EXPORT fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, double interval[],
                                         int qualifiers[])
{
    (void)vr, (void)interval, (void)qualifiers;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, uint64_t counters[],
                                          uint64_t resolutions[], int qualifiers[])
{
    (void)vr, (void)counters, (void)resolutions, (void)qualifiers;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, double shifts[])
{
    (void)vr, (void)shifts;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, uint64_t counters[],
                                       uint64_t resolutions[])
{
    (void)vr, (void)counters, (void)resolutions;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3SetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const double interval[])
{
    (void)vr, (void)interval;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3SetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                          const uint64_t counters[], const uint64_t resolutions[])
{
    (void)vr, (void)counters, (void)resolutions;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3SetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const double shifts[])
{
    (void)vr, (void)shifts;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3SetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const uint64_t counters[],
                                       const uint64_t resolutions[])
{
    (void)vr, (void)counters, (void)resolutions;
    return n ? complain((instance *)c, "there are no clocks") : fmi3OK;
}

EXPORT fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance c) { (void)c; return fmi3OK; }

EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, bool *again, bool *terminate, bool *nominals, bool *changed,
                                           bool *next_defined, double *next)
{
    instance *const i = (instance *)c;
    int fired[NG + 1] = {0}, any;
    *again = *terminate = *nominals = *changed = *next_defined = false;
    *next = 0.0;
    if (ready(i) != fmi3OK)
        return fmi3Error;
    any = motion_crossed(&i->m, fired, 1e-9);
    if (any < 0 || (any && motion_react(&i->m, fired)))
        return complain(i, "a solve block found no solution at an event");
    *changed = any != 0;
    return fmi3OK;
}

/* ---- model exchange */

EXPORT fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance c)
{
    instance *const i = (instance *)c;
    if (ready(i) != fmi3OK)
        return fmi3Error;
    return motion_watch(&i->m) ? complain(i, "a solve block found no solution at this state") : fmi3OK;
}

EXPORT fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, bool same, bool *event, bool *terminate)
{
    instance *const i = (instance *)c;
    (void)same;
    *event = *terminate = false;
#if HAS_GUARDS
    int fired[NG + 1] = {0};
    const int any = motion_crossed(&i->m, fired, 0.0);
    if (any < 0)
        return complain(i, "a solve block found no solution at this state");
    *event = any != 0;
    if (!any && motion_watch(&i->m))
        return complain(i, "a solve block found no solution at this state");
#else
    (void)i;
#endif
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetTime(fmi3Instance c, double time)
{
    ((instance *)c)->m.v[0] = time;
    ((instance *)c)->m.fresh = 0;
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetContinuousStates(fmi3Instance c, const double x[], size_t n)
{
    if (n != NX)
        return complain((instance *)c, "wrong number of states");
    memcpy(((instance *)c)->m.v + AT_X, x, NX * sizeof *x);
    ((instance *)c)->m.fresh = 0;
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, double dx[], size_t n)
{
    if (n != NX)
        return complain((instance *)c, "wrong number of states");
    if (refreshed((instance *)c) != fmi3OK)
        return fmi3Error;
    memcpy(dx, ((instance *)c)->m.v + AT_DX, NX * sizeof *dx);
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetEventIndicators(fmi3Instance c, double z[], size_t n)
{
    if (n != NG)
        return complain((instance *)c, "wrong number of event indicators");
#if HAS_GUARDS
    if (ready((instance *)c) != fmi3OK)
        return fmi3Error;
    if (motion_guards(((instance *)c)->m.v, &((instance *)c)->m.derived, z))
        return complain((instance *)c, "a solve block found no solution at this state");
    for (int k = 0; k < NG; ++k) /* an event left it at zero: where it goes from there is what crossings are seen against */
        if (((instance *)c)->m.guard[k] == 0.0)
            ((instance *)c)->m.guard[k] = z[k];
#else
    (void)z;
#endif
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetContinuousStates(fmi3Instance c, double x[], size_t n)
{
    if (n != NX)
        return complain((instance *)c, "wrong number of states");
    memcpy(x, ((instance *)c)->m.v + AT_X, NX * sizeof *x);
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, double x[], size_t n)
{
    (void)c;
    for (size_t k = 0; k < n; ++k)
        x[k] = 1.0;
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *n)
{
    (void)c;
    *n = NG;
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *n)
{
    (void)c;
    *n = NX;
    return fmi3OK;
}

/* ---- co-simulation */

EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance c) { (void)c; return fmi3OK; }

EXPORT fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const int32_t order[],
                                           double value[], size_t nv)
{
    (void)vr, (void)n, (void)order, (void)value, (void)nv;
    return complain((instance *)c, "outputs have no derivatives here");
}

EXPORT fmi3Status fmi3DoStep(fmi3Instance c, double now, double size, bool no_set_back, bool *event, bool *terminate,
                             bool *early, double *reached)
{
    instance *const i = (instance *)c;
    (void)no_set_back;
    *event = *terminate = *early = false;
    *reached = now;
    if (ready(i) != fmi3OK)
        return fmi3Error;
    i->m.v[0] = now;
    i->m.fresh = 0;
    if (motion_run(&i->m, now + size, METHOD, STEP, RTOL, ATOL))
        return complain(i, "the step failed");
    *reached = now + size;
    return fmi3OK;
}

EXPORT fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference vr, double time)
{
    (void)vr, (void)time;
    return complain((instance *)c, "there are no model partitions");
}

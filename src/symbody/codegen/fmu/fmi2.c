/* FMI 2.0 for model exchange and co-simulation around a motion. Emitted by symbody. */

#include <stdio.h>
#include <stdlib.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;
typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

typedef struct {
    motion m;
    int tuned; /* derived values belong to the parameters */
    int watched;
    char name[256];
    const fmi2CallbackFunctions *callbacks;
} instance;

static fmi2Status complain(instance *c, const char *text)
{
    if (c->callbacks && c->callbacks->logger)
        c->callbacks->logger(c->callbacks->componentEnvironment, c->name, fmi2Error, "logStatusError", text);
    return fmi2Error;
}

static fmi2Status ready(instance *c)
{
    if (!c->tuned) {
        if (motion_retune(&c->m))
            return complain(c, "a solve block of the parameters found no solution");
        c->tuned = 1;
    }
    return fmi2OK;
}

static fmi2Status refreshed(instance *c)
{
    if (ready(c) != fmi2OK)
        return fmi2Error;
    return motion_refresh(&c->m) ? complain(c, "a solve block found no solution at this state") : fmi2OK;
}

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    (void)c, (void)on, (void)n, (void)categories;
    return fmi2OK;
}

EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                     const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    instance *c;
    (void)type, (void)resources, (void)visible, (void)logging;
    if (!name || !guid || strcmp(guid, MODEL_TOKEN) != 0)
        return NULL;
    c = (instance *)calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->callbacks = functions;
    strncpy(c->name, name, sizeof c->name - 1);
    motion_begin(&c->m);
    c->tuned = 0;
    return c;
}

EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }

EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_defined, fmi2Real tolerance, fmi2Real start,
                                      fmi2Boolean stop_defined, fmi2Real stop)
{
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    ((instance *)c)->m.v[0] = start;
    ((instance *)c)->m.fresh = 0;
    return fmi2OK;
}

EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }

EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    instance *const i = (instance *)c;
    if (ready(i) != fmi2OK)
        return fmi2Error;
    if (motion_correct(&i->m) || motion_watch(&i->m))
        return complain(i, "a solve block found no solution at the initial state");
    return fmi2OK;
}

EXPORT fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return fmi2OK; }

EXPORT fmi2Status fmi2Reset(fmi2Component c)
{
    motion_begin(&((instance *)c)->m);
    ((instance *)c)->tuned = 0;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    instance *const i = (instance *)c;
    for (size_t k = 0; k < n; ++k) {
        if (vr[k] >= NV)
            return complain(i, "unknown value reference");
        if (((vr[k] >= AT_DX && vr[k] < AT_U) || vr[k] >= AT_Y) && refreshed(i) != fmi2OK)
            return fmi2Error;
#if HAS_GUARDS
        if (vr[k] >= AT_G && motion_guards(i->m.v, &i->m.derived, i->m.v + AT_G))
            return complain(i, "a solve block found no solution at this state");
#endif
        value[k] = i->m.v[vr[k]];
    }
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    instance *const i = (instance *)c;
    for (size_t k = 0; k < n; ++k) {
        if (vr[k] >= AT_Y || (vr[k] >= AT_DX && vr[k] < AT_U) || vr[k] == 0)
            return complain(i, "this variable cannot be set");
        i->m.v[vr[k]] = value[k];
        if (vr[k] >= AT_P)
            i->tuned = 0;
        i->m.fresh = 0;
    }
    return fmi2OK;
}

#define NONE(kind, type)                                                                                                \
    EXPORT fmi2Status fmi2Get##kind(fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[])             \
    {                                                                                                                   \
        (void)vr, (void)value;                                                                                          \
        return n ? complain((instance *)c, "there are variables of type Real only") : fmi2OK;                           \
    }                                                                                                                   \
    EXPORT fmi2Status fmi2Set##kind(fmi2Component c, const fmi2ValueReference vr[], size_t n, const type value[])       \
    {                                                                                                                   \
        (void)vr, (void)value;                                                                                          \
        return n ? complain((instance *)c, "there are variables of type Real only") : fmi2OK;                           \
    }
NONE(Integer, fmi2Integer)
NONE(Boolean, fmi2Boolean)
NONE(String, fmi2String)

EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    if (!*state)
        *state = calloc(1, sizeof(instance));
    if (!*state)
        return fmi2Error;
    memcpy(*state, c, sizeof(instance));
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    instance *const to = (instance *)c;
    const instance *const from = (const instance *)state;
    to->m = from->m;
    to->tuned = from->tuned;
    return fmi2OK;
}

EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    free(*state);
    *state = NULL;
    return fmi2OK;
}

EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    (void)c, (void)state;
    *size = sizeof(instance);
    return fmi2OK;
}

EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (size < sizeof(instance))
        return complain((instance *)c, "too few bytes for the state");
    memcpy(bytes, state, sizeof(instance));
    return fmi2OK;
}

EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    if (size != sizeof(instance))
        return complain((instance *)c, "these bytes are no state of this model");
    if (!*state)
        *state = calloc(1, sizeof(instance));
    if (!*state)
        return fmi2Error;
    memcpy(*state, bytes, sizeof(instance));
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t nu,
                                               const fmi2ValueReference known[], size_t nk, const fmi2Real along[],
                                               fmi2Real found[])
{
#if HAS_DERIVATIVES
    instance *const i = (instance *)c;
    double seed[NV] = {0}, dx[NX], dy[NY + 1];
    for (size_t k = 0; k < nk; ++k) {
        if (known[k] < AT_X || known[k] >= AT_M || (known[k] >= AT_DX && known[k] < AT_U))
            return complain(i, "derivatives go along states and inputs");
        seed[known[k]] = along[k];
    }
    if (ready(i) != fmi2OK)
        return fmi2Error;
    if (motion_along(i->m.v, &i->m.derived, seed, dx, dy))
        return complain(i, "a solve block found no solution at this state");
    for (size_t k = 0; k < nu; ++k) {
        const unsigned vr = unknown[k];
        if (vr >= AT_DX && vr < AT_U)
            found[k] = dx[vr - AT_DX];
        else if (vr >= AT_Y && vr < AT_G)
            found[k] = dy[vr - AT_Y];
        else if (vr >= AT_X && vr < AT_DX)
            found[k] = seed[vr];
        else
            return complain(i, "derivatives are of rates and outputs");
    }
    return fmi2OK;
#else
    (void)unknown, (void)nu, (void)known, (void)nk, (void)along, (void)found;
    return complain((instance *)c, "there are no directional derivatives");
#endif
}

/* ---- model exchange */

EXPORT fmi2Status fmi2EnterEventMode(fmi2Component c) { (void)c; return fmi2OK; }

EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    instance *const i = (instance *)c;
    int fired[NG + 1] = {0}, any;
    memset(info, 0, sizeof *info);
    if (ready(i) != fmi2OK)
        return fmi2Error;
    any = motion_crossed(&i->m, fired, 1e-9);
    if (any < 0 || (any && motion_react(&i->m, fired)))
        return complain(i, "a solve block found no solution at an event");
    info->valuesOfContinuousStatesChanged = any;
    return fmi2OK;
}

EXPORT fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    instance *const i = (instance *)c;
    if (ready(i) != fmi2OK)
        return fmi2Error;
    return motion_watch(&i->m) ? complain(i, "a solve block found no solution at this state") : fmi2OK;
}

EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean same, fmi2Boolean *event, fmi2Boolean *terminate)
{
    instance *const i = (instance *)c;
    (void)same;
    *event = 0;
    *terminate = 0;
#if HAS_GUARDS
    int fired[NG + 1] = {0};
    const int any = motion_crossed(&i->m, fired, 0.0);
    if (any < 0)
        return complain(i, "a solve block found no solution at this state");
    *event = any;
    if (!any && motion_watch(&i->m))
        return complain(i, "a solve block found no solution at this state");
#else
    (void)i;
#endif
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    ((instance *)c)->m.v[0] = time;
    ((instance *)c)->m.fresh = 0;
    return fmi2OK;
}

EXPORT fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n)
{
    if (n != NX)
        return complain((instance *)c, "wrong number of states");
    memcpy(((instance *)c)->m.v + AT_X, x, NX * sizeof *x);
    ((instance *)c)->m.fresh = 0;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dx[], size_t n)
{
    if (n != NX)
        return complain((instance *)c, "wrong number of states");
    if (refreshed((instance *)c) != fmi2OK)
        return fmi2Error;
    memcpy(dx, ((instance *)c)->m.v + AT_DX, NX * sizeof *dx);
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n)
{
    if (n != NG)
        return complain((instance *)c, "wrong number of event indicators");
#if HAS_GUARDS
    if (ready((instance *)c) != fmi2OK)
        return fmi2Error;
    if (motion_guards(((instance *)c)->m.v, &((instance *)c)->m.derived, z))
        return complain((instance *)c, "a solve block found no solution at this state");
    for (int k = 0; k < NG; ++k) /* an event left it at zero: where it goes from there is what crossings are seen against */
        if (((instance *)c)->m.guard[k] == 0.0)
            ((instance *)c)->m.guard[k] = z[k];
#else
    (void)z;
#endif
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    if (n != NX)
        return complain((instance *)c, "wrong number of states");
    memcpy(x, ((instance *)c)->m.v + AT_X, NX * sizeof *x);
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    (void)c;
    for (size_t k = 0; k < n; ++k)
        x[k] = 1.0;
    return fmi2OK;
}

/* ---- co-simulation */

EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                              const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr, (void)n, (void)order, (void)value;
    return complain((instance *)c, "inputs are held between communication points");
}

EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                               const fmi2Integer order[], fmi2Real value[])
{
    (void)vr, (void)n, (void)order, (void)value;
    return complain((instance *)c, "outputs have no derivatives here");
}

EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real now, fmi2Real size, fmi2Boolean no_set_back)
{
    instance *const i = (instance *)c;
    (void)no_set_back;
    if (ready(i) != fmi2OK)
        return fmi2Error;
    i->m.v[0] = now;
    i->m.fresh = 0;
    return motion_run(&i->m, now + size, METHOD, STEP, RTOL, ATOL) ? complain(i, "the step failed") : fmi2OK;
}

EXPORT fmi2Status fmi2CancelStep(fmi2Component c) { return complain((instance *)c, "steps are never pending"); }

EXPORT fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)c, (void)kind;
    *value = fmi2OK;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = ((instance *)c)->m.v[0];
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}

EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    (void)c;
    if (kind != fmi2Terminated)
        return fmi2Discard;
    *value = 0;
    return fmi2OK;
}

EXPORT fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}

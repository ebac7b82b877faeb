/* A motion as a program: integrates and writes a table. Emitted by symbody; needs the C library alone. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* inputs of a file: rows of time and one column an input; between rows they go straight, outside they stay */
static struct {
    double *rows;
    long count;
    int columns;
    int place[NU + 1];
} table;

static void motion_table(double *v)
{
    const int width = table.columns + 1;
    const double t = v[0];
    long low = 0, high = table.count - 1;
    if (table.count == 0)
        return;
    while (high - low > 1) {
        const long middle = (low + high) / 2;
        if (table.rows[middle * width] <= t)
            low = middle;
        else
            high = middle;
    }
    const double *const a = table.rows + low * width, *const b = table.rows + high * width;
    double part = high > low ? (t - a[0]) / (b[0] - a[0]) : 0.0;
    part = part < 0.0 ? 0.0 : (part > 1.0 ? 1.0 : part);
    for (int k = 0; k < table.columns; ++k)
        v[table.place[k]] = (1.0 - part) * a[k + 1] + part * b[k + 1];
}

#define MOTION_INPUTS(v) motion_table(v)
#include "core.c"

static int fail(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s%s\n", MODEL_NAME, what, which);
    return 1;
}

static int find(const char *name, size_t length)
{
    for (int k = 0; k < (int)(sizeof motion_names / sizeof *motion_names); ++k)
        if (strlen(motion_names[k]) == length && strncmp(motion_names[k], name, length) == 0)
            return k;
    return -1;
}

/* name=value: a state, an input, a mode or a parameter */
static int set(motion *m, const char *text)
{
    const char *const sign = strchr(text, '=');
    char *end;
    double value;
    int k;
    if (!sign)
        return fail("expected name=value, not ", text);
    k = find(text, (size_t)(sign - text));
    if (k < 1 || (k >= AT_DX && k < AT_U) || k >= AT_Y)
        return fail("there is no state, input or parameter for ", text);
    value = strtod(sign + 1, &end);
    if (end == sign + 1 || *end)
        return fail("no number in ", text);
    m->v[k] = value;
    return 0;
}

/* lines name=value; empty lines and those that begin with # are passed over */
static int read_values(motion *m, const char *path)
{
    char line[512];
    FILE *const file = fopen(path, "r");
    if (!file)
        return fail("cannot read ", path);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (line[0] && line[0] != '#' && set(m, line)) {
            fclose(file);
            return 1;
        }
    }
    fclose(file);
    return 0;
}

static int read_inputs(const char *path)
{
    static char line[65536];
    long room = 0;
    FILE *const file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) {
        if (file)
            fclose(file);
        return fail("cannot read ", path);
    }
    line[strcspn(line, "\r\n")] = 0;
    char *word = strtok(line, ",");
    if (!word || (strcmp(word, "time") != 0 && strcmp(word, "t") != 0)) {
        fclose(file);
        return fail("the first column is not time in ", path);
    }
    while ((word = strtok(NULL, ","))) {
        const int k = find(word, strlen(word));
        if (k < AT_U || k >= AT_M || table.columns >= NU) {
            fclose(file);
            return fail("no input is called ", word);
        }
        table.place[table.columns++] = k;
    }
    while (fgets(line, sizeof line, file)) {
        const int width = table.columns + 1;
        char *at = line, *end;
        if (!line[strspn(line, " \t\r\n")])
            continue;
        if (table.count == room) {
            room = room ? 2 * room : 256;
            double *const more = (double *)realloc(table.rows, (size_t)(room * width) * sizeof(double));
            if (!more) {
                fclose(file);
                return fail("not enough memory for ", path);
            }
            table.rows = more;
        }
        for (int k = 0; k < width; ++k) {
            table.rows[table.count * width + k] = strtod(at, &end);
            if (end == at) {
                fclose(file);
                return fail("a row is short in ", path);
            }
            at = *end == ',' ? end + 1 : end;
        }
        if (table.count && !(table.rows[table.count * width] > table.rows[(table.count - 1) * width])) {
            fclose(file);
            return fail("times do not increase in ", path);
        }
        ++table.count;
    }
    fclose(file);
    return 0;
}

static void write_row(motion *m)
{
    printf("%.17g", m->v[0]);
    for (int k = 0; k < NX; ++k)
        printf(",%.17g", m->v[AT_X + k]);
    for (int k = 0; k < NY; ++k)
        printf(",%.17g", m->v[AT_Y + k]);
    printf("\n");
}

int main(int count, char **words)
{
    static motion m;
    double duration = 1.0, step = STEP, every = 0.0, rtol = RTOL, atol = ATOL;
    int method = METHOD;
    long rows;
    if (motion_begin(&m))
        return fail("setup failed", "");
    for (int k = 1; k < count; ++k) {
        const char *const value = k + 1 < count ? words[k + 1] : "";
        if (strcmp(words[k], "--duration") == 0)
            duration = atof(value), ++k;
        else if (strcmp(words[k], "--step") == 0)
            step = atof(value), ++k;
        else if (strcmp(words[k], "--every") == 0)
            every = atof(value), ++k;
        else if (strcmp(words[k], "--rtol") == 0)
            rtol = atof(value), ++k;
        else if (strcmp(words[k], "--atol") == 0)
            atol = atof(value), ++k;
        else if (strcmp(words[k], "--method") == 0) {
            method = strcmp(value, "euler") == 0 ? EULER : (strcmp(value, "rk4") == 0 ? RK4 : DOPRI5);
            if (method == DOPRI5 && strcmp(value, "dopri5") != 0)
                return fail("expected euler, rk4 or dopri5, not ", value);
            ++k;
        } else if (strcmp(words[k], "--parameters") == 0) {
            if (read_values(&m, value))
                return 1;
            ++k;
        } else if (strcmp(words[k], "--inputs") == 0) {
            if (read_inputs(value))
                return 1;
            ++k;
        } else if (strchr(words[k], '=')) {
            if (set(&m, words[k]))
                return 1;
        } else {
            return fail("usage: [--duration s] [--step s] [--every s] [--method euler|rk4|dopri5] [--rtol r] [--atol a] "
                        "[--parameters FILE] [--inputs FILE.csv] [name=value ...], not ", words[k]);
        }
    }
    every = every > 0.0 ? every : step;
    if (!(duration > 0.0 && step > 0.0))
        return fail("duration and step are positive", "");
    if (motion_retune(&m) || motion_correct(&m) || motion_watch(&m) || motion_refresh(&m))
        return fail("a solve block found no solution at the start", "");
    printf("time");
    for (int k = 0; k < NX; ++k)
        printf(",%s", motion_names[AT_X + k]);
    for (int k = 0; k < NY; ++k)
        printf(",%s", motion_names[AT_Y + k]);
    printf("\n");
    write_row(&m);
    rows = (long)(duration / every + 1e-9);
    for (long k = 1; k <= rows; ++k) {
        if (motion_run(&m, (double)k * every, method, step, rtol, atol))
            return fail("a solve block found no solution on the way, or the steps became too small", "");
        write_row(&m);
    }
    free(table.rows);
    return 0;
}

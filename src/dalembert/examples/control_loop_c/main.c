/*
 * Computed torque at 1 kHz on a UR5, with the exported functions and nothing else of the library.
 *
 *   tau = ID(q, qd, qdd_d + 2 w (qd_d - qd) + w^2 (q_d - q))
 *
 * Here the arm itself is simulated by the exported forward dynamics; on a real one, read the encoders
 * and write the torques where the comments say so. The loop sleeps until its next tick, and reports the
 * longest time a tick took.
 */
#define _POSIX_C_SOURCE 200112L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "forward_dynamics.h"
#include "inverse_dynamics.h"

#define JOINTS 6
#define PERIOD_NS 1000000L

static const double bandwidth = 20.0; /* rad/s, of the error */

static void wanted(double t, double q[JOINTS], double qd[JOINTS], double qdd[JOINTS])
{
    const double w = 1.5;
    for (int i = 0; i < JOINTS; i++) {
        const double amplitude = 0.3 / (1.0 + (double)i);
        q[i] = amplitude * sin(w * t);
        qd[i] = amplitude * w * cos(w * t);
        qdd[i] = -amplitude * w * w * sin(w * t);
    }
}

static double seconds_between(const struct timespec *a, const struct timespec *b)
{
    return (double)(b->tv_sec - a->tv_sec) + 1e-9 * (double)(b->tv_nsec - a->tv_nsec);
}

int main(int argc, char **argv)
{
    const long ticks = (argc > 1) ? strtol(argv[1], NULL, 10) : 2000;
    double q[JOINTS] = {0.05, -0.05, 0.05, 0.0, 0.0, 0.0};
    double qd[JOINTS] = {0.0};
    double slowest = 0.0;
    double error = 0.0;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long tick = 0; tick < ticks; tick++) {
        struct timespec start;
        struct timespec stop;
        double q_d[JOINTS], qd_d[JOINTS], command[JOINTS], tau[JOINTS], qdd[JOINTS];
        clock_gettime(CLOCK_MONOTONIC, &start);
        /* a real arm: read q and qd here */
        wanted(1e-3 * (double)tick, q_d, qd_d, command);
        for (int i = 0; i < JOINTS; i++) {
            command[i] += 2.0 * bandwidth * (qd_d[i] - qd[i])
                + bandwidth * bandwidth * (q_d[i] - q[i]);
        }
        dalembert_ur5_inverse_dynamics(q, qd, command, tau);
        /* a real arm: write tau here; what follows is the simulated one */
        clock_gettime(CLOCK_MONOTONIC, &stop);
        slowest = fmax(slowest, seconds_between(&start, &stop));
        dalembert_ur5_forward_dynamics(q, qd, tau, qdd);
        error = 0.0;
        for (int i = 0; i < JOINTS; i++) {
            qd[i] += 1e-3 * qdd[i];
            q[i] += 1e-3 * qd[i];
            error = fmax(error, fabs(q_d[i] - q[i]));
        }
        next.tv_nsec += PERIOD_NS;
        if (next.tv_nsec >= 1000000000L) {
            next.tv_nsec -= 1000000000L;
            next.tv_sec += 1;
        }
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) != 0) {
        }
    }
    printf("%ld ticks, slowest %.1f us, last error %.2e rad\n", ticks, 1e6 * slowest, error);
    return (error < 2e-3) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/share.h"

#include <pthread.h>
#include <unistd.h>

void carm_threads_share(int n, void *(*work)(void *), void *arg)
{
    pthread_t ids[CARM_THREADS_MAX];
    int started = 0;
    n = n > 0 ? n : (int)sysconf(_SC_NPROCESSORS_ONLN);
    n = n > CARM_THREADS_MAX ? CARM_THREADS_MAX : n;
    while (started + 1 < n && pthread_create(&ids[started], NULL, work, arg) == 0) {
        started++;
    }
    work(arg);
    for (int i = 0; i < started; i++) {
        pthread_join(ids[i], NULL);
    }
}

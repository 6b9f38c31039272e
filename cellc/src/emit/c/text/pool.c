/* ---- two threads ---- */

enum {
    UPPER_IDLE,    /* no work; the helper spins */
    UPPER_ASLEEP,  /* no work; the helper sleeps, or is about to */
    UPPER_OFFERED, /* there is work; the thread that changes this does it */
    UPPER_TAKEN,   /* the helper does the work */
    UPPER_ENDED    /* the helper has to end */
};

/* Iterations before a spinning thread yields: some microseconds. */
#define UPPER_TURNS 128
/* How often the helper yields before it sleeps. */
#define UPPER_YIELDS 64

static void PREFIX_wait(unsigned turn) {
    if (turn >= UPPER_TURNS) {
        sched_yield();
        return;
    }
    PAUSE;
}

/* The loop of the helper. What it reads of a pair was written before OFFERED, which it acquires. The caller writes it again
 * only after the helper has finished, which the caller acquires. */
static void *PREFIX_pair_help(void *argument) {
    PREFIX_pair *pair = argument;
    unsigned turns = 0;
    for (;;) {
        unsigned state = __atomic_load_n(&pair->state, __ATOMIC_RELAXED);
        if (state == UPPER_ENDED) {
            return NULL;
        }
        if (state == UPPER_OFFERED) {
            if (__atomic_compare_exchange_n(&pair->state, &state, UPPER_TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
                pair->work(pair->argument);
                __atomic_store_n(&pair->state, UPPER_IDLE, __ATOMIC_RELEASE);
                turns = 0;
            }
        } else if (turns < UPPER_TURNS + UPPER_YIELDS) {
            PREFIX_wait(turns++);
        } else {
            if (__atomic_compare_exchange_n(&pair->state, &state, UPPER_ASLEEP, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
                pthread_mutex_lock(&pair->mutex);
                while (__atomic_load_n(&pair->state, __ATOMIC_RELAXED) == UPPER_ASLEEP) {
                    pthread_cond_wait(&pair->wake, &pair->mutex);
                }
                pthread_mutex_unlock(&pair->mutex);
            }
            turns = 0;
        }
    }
}

static void PREFIX_pair_wake(PREFIX_pair *pair) {
    pthread_mutex_lock(&pair->mutex);
    pthread_cond_signal(&pair->wake);
    pthread_mutex_unlock(&pair->mutex);
}

static void PREFIX_pair_join(void *context, void (*here)(void *), void *here_argument, void (*there)(void *),
                             void *there_argument) {
    PREFIX_pair *pair = context;
    unsigned offered = UPPER_OFFERED;
    if (!pair->started) {
        here(here_argument);
        there(there_argument);
        return;
    }
    pair->work = there;
    pair->argument = there_argument;
    if (__atomic_exchange_n(&pair->state, UPPER_OFFERED, __ATOMIC_ACQ_REL) == UPPER_ASLEEP) {
        PREFIX_pair_wake(pair);
    }
    here(here_argument);
    if (__atomic_compare_exchange_n(&pair->state, &offered, UPPER_IDLE, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        there(there_argument);
        return;
    }
    for (unsigned turns = 0; __atomic_load_n(&pair->state, __ATOMIC_ACQUIRE) == UPPER_TAKEN; turns += turns < UPPER_TURNS) {
        PREFIX_wait(turns); /* the helper may need this core */
    }
}

int PREFIX_pair_start(PREFIX_pair *pair) {
    int error;
    __builtin_memset(pair, 0, sizeof *pair);
    error = pthread_mutex_init(&pair->mutex, NULL);
    if (error != 0) {
        return error;
    }
    error = pthread_cond_init(&pair->wake, NULL);
    if (error == 0) {
        error = pthread_create(&pair->thread, NULL, PREFIX_pair_help, pair);
        if (error == 0) {
            pair->started = 1;
            return 0;
        }
        pthread_cond_destroy(&pair->wake);
    }
    pthread_mutex_destroy(&pair->mutex);
    return error;
}

void PREFIX_pair_stop(PREFIX_pair *pair) {
    if (!pair->started) {
        return;
    }
    __atomic_store_n(&pair->state, UPPER_ENDED, __ATOMIC_RELEASE);
    PREFIX_pair_wake(pair);
    pthread_join(pair->thread, NULL);
    pthread_cond_destroy(&pair->wake);
    pthread_mutex_destroy(&pair->mutex);
    pair->started = 0;
}

PREFIX_pool PREFIX_pair_pool(PREFIX_pair *pair) {
    PREFIX_pool pool;
    pool.join = PREFIX_pair_join;
    pool.context = pair;
    return pool;
}

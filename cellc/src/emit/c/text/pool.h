/* Runs the two halves of a cell, at the same time if it can. PREFIX_pair_pool makes one of two threads; you can make one
 * of a thread pool that you have already. join calls here(here_argument) and there(there_argument) once, on any threads,
 * and returns when both have returned. */
typedef struct PREFIX_pool {
    void (*join)(void *context, void (*here)(void *), void *here_argument, void (*there)(void *), void *there_argument);
    void *context;
} PREFIX_pool;

/* The caller's thread and a helper thread. Without work the helper spins for some 50 microseconds, then sleeps. If it has not
 * begun its half when the caller has finished the other, the caller takes that half over. One caller at a time may use a
 * pair, and it must not move. */
typedef struct PREFIX_pair {
    char before[APART]; /* what both threads write is on its own cache lines */
    unsigned state;
    int started;
    void (*work)(void *);
    void *argument;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    char after[APART];
} PREFIX_pair;

/* Starts the helper, with the caller's floating-point environment. Returns 0, or the error of pthreads; after an error the
 * caller does all work. */
int PREFIX_pair_start(PREFIX_pair *pair);

/* Ends the helper of a started pair. */
void PREFIX_pair_stop(PREFIX_pair *pair);

/* A started pair as a pool. */
PREFIX_pool PREFIX_pair_pool(PREFIX_pair *pair);

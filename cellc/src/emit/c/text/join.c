static void PREFIX_join(const PREFIX_pool *pool, void (*here)(void *), void *here_argument, void (*there)(void *),
                        void *there_argument) {
    if (pool == NULL) {
        here(here_argument);
        there(there_argument);
    } else {
        pool->join(pool->context, here, here_argument, there, there_argument);
    }
}

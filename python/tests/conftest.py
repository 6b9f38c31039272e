import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CELLC_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield

"""Files that tests of readers make; ``FILE`` of a module is what they are called by default."""

import pytest

import perfcore


@pytest.fixture
def write(tmp_path, request):
    def write(content, name=None):
        path = tmp_path / (name or request.module.FILE)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def read(write):
    def read(content, name=None, **options):
        return perfcore.read(write(content, name), **options)

    return read

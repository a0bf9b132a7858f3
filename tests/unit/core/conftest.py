"""Its folder is on the path of the tests in folders below, which use `core_builders` too."""

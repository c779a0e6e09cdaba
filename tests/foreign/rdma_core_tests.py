"""Runs rdma-core's own Python tests, one line for each: `test ID: ok`, `… skipped: WHY` or `… error: WHY`.

usage: rdma_core_tests.py FOLDER [WORD]   FOLDER holds their package `tests`; with WORD only tests whose id holds it
"""
import importlib
import multiprocessing
import signal
import sys
import unittest

# No test that passes takes a fraction of this; one that waits for a message never ends. In seconds.
PATIENCE = 4
POLL_PATIENCE = 0.2


class Lines(unittest.TestResult):
    """One line a test."""

    def startTest(self, test):
        super().startTest(test)
        signal.alarm(PATIENCE)

    def tell(self, test, outcome):
        signal.alarm(0)
        print(f"test {test.id()}: {outcome}", flush=True)

    def addSuccess(self, test):
        self.tell(test, "ok")

    def addSkip(self, test, reason):
        self.tell(test, f"skipped: {reason}")

    def addError(self, test, error):
        self.tell(test, f"error: {error[0].__name__}: {error[1]}".replace("\n", " "))

    addFailure = addError


def too_long(*_):
    raise TimeoutError("did not end")


def each(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def main(folder, word=""):
    sys.path[:0] = [folder, f"{folder}/tests"]
    # Python cannot start itself by name: that would be another loader's.
    multiprocessing.set_start_method("fork")
    sys.argv[1:] = ["--dev", "mlx5_0"]
    importlib.import_module("args_parser").parser.parse_args()
    signal.signal(signal.SIGALRM, too_long)
    tests = importlib.import_module("tests")
    importlib.import_module("tests.utils").POLL_CQ_TIMEOUT = POLL_PATIENCE
    result = Lines()
    for test in each(unittest.defaultTestLoader.loadTestsFromModule(tests)):
        if word in test.id():
            test.run(result)
    print(f"{result.testsRun} run")


if __name__ == "__main__":
    main(*sys.argv[1:])

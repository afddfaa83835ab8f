"""An executor that turns the order of tasks round."""

import threading
from concurrent.futures import Executor, Future


class Backwards(Executor):
    """Does what it was given last first."""

    def __init__(self):
        self.tasks, self.working = [], threading.Lock()

    def submit(self, function, /, *arguments):
        self.tasks.append((Future(), function, arguments))
        if len(self.tasks) == 1:
            threading.Timer(0.05, self.work).start()
        return self.tasks[-1][0]

    def work(self):
        with self.working:  # one at a time
            while self.tasks:
                future, function, arguments = self.tasks.pop()
                if future.set_running_or_notify_cancel():
                    future.set_result(function(*arguments))

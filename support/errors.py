"""The kinds of error a user can meet. A tool prints their text, which is made for people, and exits with 1."""


class WhenceError(Exception):
    """Base of the errors whose text is meant for a user: a tool prints it without a traceback and exits with 1."""


class FrontendError(WhenceError):
    """The model or an input of it is bad."""


class FrontendWarning(UserWarning):
    """The model is imported, but not as surely as others."""


class ScheduleError(WhenceError):
    """The schedule is illegal."""


class PipelineError(WhenceError):
    """A pass pipeline, a command line or a compile option is bad."""

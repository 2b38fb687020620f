"""How much may be asked: sizes, counts, seconds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits", "Refused"]


class Refused(Exception):
    """A request that is answered by an error status and one line.

    Parameters
    ----------
    status : int
        Status of HTTP.
    message : str
        What was wrong, and what to do.
    retry : int or None
        Seconds after which to try again.

    Examples
    --------
    >>> from trelliswork.web.limits import Refused
    >>> Refused(413, "too long").status
    413
    """

    def __init__(self, status: int, message: str, *, retry: int | None = None):
        super().__init__(message)
        self.status, self.message, self.retry = status, message, retry


@dataclass(frozen=True)
class Limits:
    """Limits of the service.

    Attributes
    ----------
    body : int
        Bytes of a request with JSON.
    file : int
        Bytes of a file.
    unpacked : int
        Bytes that a compressed file may unpack to.
    inputs : int
        Inputs of a request.
    rows : int
        Inputs of a file.
    k : int
        Candidates, and samples, of an input.
    seconds : float
        Estimated time of a request; what would take longer is refused before it starts.
    patience : float
        Time after which a request is answered with 503, although its work goes on.
    sending : float
        Time that a client may take to send a request.
    short : float
        Estimated time up to which requests are answered together, by threads of their own.
    waiting : int
        Requests that may wait or run; the next one is answered with 503.
    connections : int
        Open connections.
    cells : int
        Cells of a matrix of probabilities that is sent.

    Examples
    --------
    >>> from trelliswork.web.limits import Limits
    >>> Limits(seconds=2.0).seconds
    2.0
    """

    body: int = 1 << 20
    file: int = 8 << 20
    unpacked: int = 32 << 20
    inputs: int = 1000
    rows: int = 20_000
    k: int = 50
    seconds: float = 10.0
    patience: float = 120.0
    sending: float = 15.0
    short: float = 0.1
    waiting: int = 256
    connections: int = 1000
    cells: int = 250_000

    def check_work(self, seconds: float, what: str) -> None:
        """Refuse what would take too long.

        Parameters
        ----------
        seconds : float
            Estimate.
        what : str
            What is asked, for the message.
        """
        if seconds > self.seconds:
            raise Refused(
                422,
                f"{what} would take about {seconds:,.0f} s here; the limit is {self.seconds:g} s. "
                "Ask for less, or use the command line, which has no such limit",
            )

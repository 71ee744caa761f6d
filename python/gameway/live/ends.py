"""The namespaces of a run, with the kernel's settings that a measurement needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from gameway.live import offers
from gameway.live.namespaces import Namespaces, call

if TYPE_CHECKING:
    from collections.abc import Sequence


class Ends(Namespaces):
    """Namespaces whose ends are set as `offers.SYSCTLS` says."""

    def __enter__(self) -> Self:
        entered = super().__enter__()
        settings = [f"{name}={value}" for name, value in offers.SYSCTLS.items()]
        try:
            for part in ("server", "client"):
                self.execute(part, ["sysctl", "-q", "-w", *settings])
        except BaseException:
            self.__exit__()
            raise
        return entered

    def command(self, part: str, command: Sequence[str]) -> list[str]:
        """Give the command that runs another in the namespace of a part, by the same process id."""
        return ["nsenter", f"--net={self.path(part)}", "--", *command]

    def execute(self, part: str, command: Sequence[str]) -> str:
        """Run a command in the namespace of a part and give its output."""
        return call(*self.command(part, command))

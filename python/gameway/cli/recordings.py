"""What `gameway frames` does: the frames of a recorded video."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gameway import video as videos
from gameway.cli import terminal
from gameway.cli.console import err, out
from gameway.video.frame_table import summarise

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class FramesCommand:
    """What the command line asks for: a video, how its frames are shown, and a table of them."""

    video: Path
    csv: bool
    json: bool
    table: Path | None
    frame_rate: str | None

    def carry_out(self) -> None:
        """Print the frames, and write the table if there is to be one."""
        rate = None if self.frame_rate is None else videos.parse_frame_rate(self.frame_rate)
        sizes = videos.frame_sizes(self.video, frame_rate=rate)
        if self.csv:
            sys.stdout.write(sizes.write_csv())
        elif self.json:
            sys.stdout.write(sizes.write_json() + "\n")
        else:
            figures = summarise(sizes).transpose(
                include_header=True, header_name="figure", column_names=["value"]
            )
            out.print(terminal.frame(figures))
        if self.table is not None:
            places = videos.frame_table_from_videos([self.video], self.table, frame_rate=rate)
            err.print(f"wrote {self.table}: {places.told()}", highlight=False, soft_wrap=True)

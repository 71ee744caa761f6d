import { useMemo } from "preact/hooks";
import { Chart, type Series } from "../charts/chart";
import { Legend } from "../charts/legend";
import { type Store, useStore } from "../store";
import { type History, linesOf, WINDOW } from "./state";

// The first flow is the game; colours that are told apart with any kind of colour vision (Okabe and Ito).
const COLOURS = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#f0e442"];
const CAPACITY_COLOUR = "#999";

export function LabLines({ history }: { history: Store<History> }) {
  const shown = useStore(history);
  const newest = shown.at(-1)?.seconds ?? 0;
  const times = useMemo(() => shown.map(({ seconds }) => seconds - newest), [shown, newest]);
  const rates: Series[] = [
    { name: "capacity", colour: CAPACITY_COLOUR, values: shown.map((now) => now.capacity_mbps) },
    ...linesOf(shown).map((line, at) => ({ ...line, colour: COLOURS[at % COLOURS.length] ?? CAPACITY_COLOUR })),
  ];
  const queue: Series[] = [{ name: "queue", colour: "#d55e00", values: shown.map((now) => now.queue_ms) }];
  return (
    <>
      <figure>
        <figcaption>Mb/s over the last minute</figcaption>
        <Chart times={times} series={rates} window={WINDOW} />
        <Legend series={rates} />
      </figure>
      <figure>
        <figcaption>ms of queue at the link</figcaption>
        <Chart times={times} series={queue} window={WINDOW} />
        <Legend series={queue} />
      </figure>
    </>
  );
}

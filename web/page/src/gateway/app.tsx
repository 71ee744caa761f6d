import { useStore } from "../store";
import type { Client, Names, Shown } from "./client";
import { Deeds } from "./deeds";
import { Devices } from "./devices";
import { FoundGames } from "./games";
import { lossOf, troubleOf } from "./health";
import { Rates, Waits } from "./lines";
import { Queue } from "./queue";
import type { Status } from "./state";
import { count, millis, rate, span } from "./words";

function Tile({ name, value, more }: { name: string; value: string; more: string }) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        <span>{more}</span>
      </dd>
    </div>
  );
}

function Tiles({ status }: { status: Status }) {
  const minute = status.wait_minute;
  const wait = status.wait_ms === null ? "–" : millis(status.wait_ms);
  const last = minute === null ? "no download can tell" : `99 % of the last minute: ${millis(minute.p99_ms)}`;
  const limited = `${count(status.lowered)} windows lowered since the start`;
  return (
    <dl id="tiles">
      <Tile name="Wait in front of the home" value={wait} more={last} />
      {status.wait_behind_ms !== null && (
        <Tile name="Wait behind the gateway" value={millis(status.wait_behind_ms)} more="at the home's interface" />
      )}
      <Tile name="To the home" value={rate(status.to_home_bps)} more={`${rate(status.from_home_bps)} from it`} />
      <Tile name="Downloads limited" value={count(status.limited)} more={limited} />
    </dl>
  );
}

function Health({ shown, status }: { shown: Shown; status: Status }) {
  const loss = lossOf(shown);
  const rows: [string, string][] = [
    ["Runs for", span(status.time_s)],
    ["Process", String(status.process)],
    ["TCP segments seen", count(status.segments)],
    ["Segments passed unseen", count(status.lost_records)],
    ["Fragments, left alone", count(status.fragments)],
    ["Other packets, left alone", count(status.others)],
    ["Rules by hand", count(status.exceptions)],
  ];
  return (
    <section id="health">
      <h2>Health</h2>
      {loss !== null && <p class="wrong">{loss}</p>}
      <table>
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Content({ shown, status, names }: { shown: Shown; status: Status; names: Names }) {
  const { points, deeds } = shown.history;
  return (
    <>
      <Tiles status={status} />
      <div class="columns">
        <Waits points={points} />
        <Rates points={points} />
        <Devices status={status} names={names} />
        <FoundGames games={status.games} names={names} />
        {status.own_queue !== null && <Queue queue={status.own_queue} />}
        <Deeds deeds={deeds} now={status.time_s} />
        <Health shown={shown} status={status} />
      </div>
    </>
  );
}

export function App({ client }: { client: Client }) {
  const shown = useStore(client.shown);
  const names = useStore(client.names);
  const trouble = troubleOf(shown, performance.now());
  const { status } = shown;
  return (
    <main data-told={shown.told ?? undefined}>
      <h1>Home gateway{status === null ? "" : ` at ${status.home}`}</h1>
      <p id="trouble" class="wrong" role="status">
        {trouble}
      </p>
      {status === null ? <p>The gateway is asked …</p> : <Content shown={shown} status={status} names={names} />}
    </main>
  );
}

import type { OwnQueue, QueueClass } from "./state";
import { count, millis, rate } from "./words";

// How long what waits takes at the queue's rate.
export function waitOf({ backlog_bytes }: QueueClass, rate_bps: number): number {
  return rate_bps === 0 ? 0 : (backlog_bytes * 8e3) / rate_bps;
}

function Row({ name, of, rate_bps }: { name: string; of: QueueClass; rate_bps: number }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{millis(waitOf(of, rate_bps))}</td>
      <td>{count(of.sent_packets)}</td>
      <td>{count(of.drops)}</td>
      <td>{count(of.marks)}</td>
    </tr>
  );
}

export function Queue({ queue }: { queue: OwnQueue }) {
  return (
    <section id="queue">
      <h2>The gateway's own queue</h2>
      <p>
        {queue.kind}, {rate(queue.rate_bps)} at most
      </p>
      <table>
        <thead>
          <tr>
            <td />
            {["wait", "packets sent", "dropped", "marked"].map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Row name="Games" of={queue.game} rate_bps={queue.rate_bps} />
          <Row name="Others" of={queue.others} rate_bps={queue.rate_bps} />
        </tbody>
      </table>
    </section>
  );
}

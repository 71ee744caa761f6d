import type { Names } from "./client";
import { type Connection, type Device, devicesOf, type Status } from "./state";
import { counted, rate, size, span } from "./words";

// A share of what comes to the home.
function Bar({ share }: { share: number }) {
  const width = Math.min(Math.max(share, 0), 1) * 100;
  return (
    <svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect width="100" height="1" class="rest" />
      <rect width={width} height="1" class="own" />
    </svg>
  );
}

function fateOf({ limit_bytes, limited_s, left_alone }: Connection): string {
  if (left_alone) return "left alone by a rule";
  if (limit_bytes === null || limited_s === null) return "not limited";
  return `limited to ${size(limit_bytes)} for ${span(limited_s)}`;
}

function Flow({ flow, whole }: { flow: Connection; whole: number }) {
  return (
    <li>
      <span class="who">from {flow.sender}</span>
      <span class="rate">{rate(flow.rate_bps)}</span>
      <Bar share={flow.rate_bps / whole} />
      <span class="fate">{fateOf(flow)}</span>
    </li>
  );
}

// Who sends less has ended, or waits.
const IDLE_BPS = 1000;

function idleOf(device: Device): string | null {
  const idle = device.connections.filter(({ rate_bps }) => rate_bps < IDLE_BPS).length;
  return idle === 0 ? null : `${counted(idle, "connection")} to it that ${idle === 1 ? "sends" : "send"} nothing now`;
}

function DeviceRow({ device, name, whole }: { device: Device; name: string | undefined; whole: number }) {
  return (
    <li class="device">
      <span class="who">{name === undefined ? device.address : `${name} (${device.address})`}</span>
      <span class="rate">{rate(device.rate_bps)}</span>
      <Bar share={device.rate_bps / whole} />
      <ul>
        {device.connections
          .filter(({ rate_bps }) => rate_bps >= IDLE_BPS)
          .map((flow) => (
            <Flow key={`${flow.sender} ${flow.receiver}`} flow={flow} whole={whole} />
          ))}
      </ul>
      <span class="fate">{idleOf(device)}</span>
    </li>
  );
}

export function Devices({ status, names }: { status: Status; names: Names }) {
  const devices = devicesOf(status.connections);
  const sum = devices.reduce((all, { rate_bps }) => all + rate_bps, 0);
  const whole = Math.max(sum, status.to_home_bps, 1);
  return (
    <section id="devices">
      <h2>Who fills the queue</h2>
      {devices.length === 0 && <p>Nobody downloads by TCP.</p>}
      <ul>
        {devices.map((device) => (
          <DeviceRow key={device.address} device={device} name={names[device.address]} whole={whole} />
        ))}
      </ul>
      {status.more_connections > 0 && <p>{counted(status.more_connections, "slower connection")} more</p>}
    </section>
  );
}

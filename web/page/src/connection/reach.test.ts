import { expect, test } from "vitest";
import { obstacleOf } from "./reach";

const TCP = "a=candidate:1 1 tcp 1 192.0.2.1 8443 typ host tcptype passive\r\n";
const UDP = "a=candidate:1 1 udp 1 192.0.2.1 8443 typ host\r\n";
const SRFLX = "a=candidate:1 1 udp 1 198.51.100.1 5 typ srflx raddr 0.0.0.0 rport 0\r\n";
const stun = { urls: ["stun:192.0.2.9:3478"] };
const turn = { urls: "turn:192.0.2.9:3478", username: "u", credential: "p" };

test.each([
  [{ own: "", host: UDP, servers: [] }, ["takes no media by TCP", "names no STUN or TURN"]],
  [{ own: "", host: UDP + TCP, servers: [] }, ["No connection of TCP", "names no STUN or TURN"]],
  [{ own: UDP, host: UDP, servers: [stun] }, ["takes no media by TCP", "does not answer this browser"]],
  [{ own: UDP + SRFLX, host: UDP, servers: [stun] }, ["takes no media by TCP", "names no TURN server"]],
])("%o", (ways, reasons) => {
  const words = obstacleOf(ways);
  for (const reason of reasons) expect(words).toContain(reason);
});

const loopback = (...addresses: string[]) =>
  addresses.map((address) => `a=candidate:1 1 udp 1 ${address} 8443 typ host\r\n`).join("");

test("a host on loopback alone is to listen elsewhere", () => {
  expect(obstacleOf({ own: "", host: loopback("127.0.0.1", "::1"), servers: [] })).toContain("--listen");
  const both = obstacleOf({ own: "", host: loopback("127.0.0.1") + UDP, servers: [] });
  expect(both).toContain("Packets of UDP do not pass");
});

test("with a TURN server that answers nothing is said of servers", () => {
  expect(obstacleOf({ own: SRFLX, host: TCP, servers: [turn] })).not.toContain("server");
});

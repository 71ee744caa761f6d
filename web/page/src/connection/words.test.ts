import { expect, test } from "vitest";
import { CONNECTED, stateOf } from "./words";

test.each([
  [{ connection: "new" }, "Connecting to the host."],
  [{ connection: "connecting" }, "Connecting to the host."],
  [{ connection: "connected" }, CONNECTED],
  [{ connection: "disconnected" }, "The connection is interrupted. It may come back by itself."],
  [{ connection: "connected", ended: "the program has ended" }, "The stream has ended: the program has ended."],
  [{ connection: "failed", obstacle: "No connection yet." }, "No connection yet."],
  [{ connection: "new", error: "Error: 503: the host is busy" }, "This does not work: Error: 503: the host is busy"],
])("%o", (facts, words) => {
  expect(stateOf(facts)).toBe(words);
});

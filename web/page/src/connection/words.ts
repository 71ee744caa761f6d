import type { Facts } from "../facts";

// Of a connection that is as it should be nothing more is to be shown.
export const CONNECTED = "Connected.";

const STATES: Record<string, string> = {
  connected: CONNECTED,
  disconnected: "The connection is interrupted. It may come back by itself.",
  failed: "The connection is lost. Load this page again.",
  closed: "The connection is closed. Load this page again.",
};

// How the stream is, in words.
export function stateOf({
  ended,
  error,
  obstacle,
  connection,
}: Pick<Facts, "ended" | "error" | "obstacle" | "connection">): string {
  if (error !== undefined) return `This does not work: ${error}`;
  if (ended !== undefined) return `The stream has ended: ${ended}.`;
  if (obstacle !== undefined) return obstacle;
  return STATES[connection] ?? "Connecting to the host.";
}

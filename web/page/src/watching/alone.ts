// Who watches is told when nobody plays: the picture stands still then.
import { facts } from "../facts";
import { Store } from "../store";
import { placesOf } from "./role";

const INTERVAL = 2000;

export const isNobodyPlaying = new Store(false);

export function lookForPlayer(headers: Record<string, string>): void {
  const look = async () => {
    if (facts.ended !== undefined) return isNobodyPlaying.set(false);
    // A host that does not answer is seen by the connection.
    const places = await placesOf(headers).catch(() => null);
    if (places) isNobodyPlaying.set(!places.plays);
    setTimeout(look, INTERVAL);
  };
  look();
}

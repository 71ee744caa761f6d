// Whether this page plays or watches beside the one that does. One plays at a time, so a page that would take the stream from somebody
// asks first, where the host lets others watch.

import { Kept } from "../kept";
import { Store } from "../store";

export type Role = "play" | "watch";

// What the host says at /watch.
export interface Places {
  plays: boolean;
  watchers: number;
  max_watchers: number;
  // Those that the host wants this browser to ask.
  iceServers: RTCIceServer[];
}

export const PLACES = "/watch";

export interface RoleQuestion {
  // Whether one more may watch.
  hasRoom: boolean;
  onRole(role: Role): void;
}

// What a person is asked, while one is.
export const roleQuestion = new Store<RoleQuestion | null>(null);
// What this page does, once it is known, and whether the host lets anybody watch.
export const role = new Store<Role | null>(null);
export const mayWatch = new Store(false);

// In this tab, for when the page is loaded again.
const kept = new Kept(() => sessionStorage, "gameway-role");

const isRole = (text: string | null): text is Role => text === "play" || text === "watch";

// What a page does without asking; null if a person has to say.
export function roleOf(
  { plays, max_watchers }: Pick<Places, "plays" | "max_watchers">,
  wish: string | null,
): Role | null {
  if (max_watchers === 0) return "play";
  if (isRole(wish)) return wish;
  return plays ? null : "play";
}

// Null if this page is not let in.
export async function placesOf(headers: Record<string, string>): Promise<Places | null> {
  const response = await fetch(PLACES, { headers });
  if (response.status === 401) return null;
  // A server of one stream that knows no watchers.
  if (response.status === 404) return { plays: false, watchers: 0, max_watchers: 0, iceServers: [] };
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response.json();
}

// As long as a person takes to choose, if there is something to choose.
export async function chooseRole(places: Places): Promise<Role> {
  mayWatch.set(places.max_watchers > 0);
  const hasRoom = places.watchers < places.max_watchers;
  const known = roleOf(places, kept.get());
  const ask = () => new Promise<Role>((onRole) => roleQuestion.set({ hasRoom, onRole }));
  const chosen = known ?? (await ask());
  roleQuestion.set(null);
  kept.set(chosen);
  role.set(chosen);
  return chosen;
}

// The page begins anew with another role.
export function change(next: Role): void {
  kept.set(next);
  location.reload();
}

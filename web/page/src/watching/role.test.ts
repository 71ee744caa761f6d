import { expect, test } from "vitest";
import { roleOf } from "./role";

const places = (plays: boolean, max_watchers: number) => ({ plays, watchers: 0, max_watchers });

test.each([
  // Where nobody may watch, who comes last plays, as ever.
  [places(true, 0), null, "play"],
  [places(true, 0), "watch", "play"],
  [places(false, 2), null, "play"],
  [places(true, 2), null, null],
  // What this tab did before the page was loaded again.
  [places(true, 2), "play", "play"],
  [places(false, 2), "watch", "watch"],
  [places(true, 2), "something", null],
])("with %o and %s kept a page does %s", (found, wish, done) => {
  expect(roleOf(found, wish)).toBe(done);
});

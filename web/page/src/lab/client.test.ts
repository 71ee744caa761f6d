import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Lab } from "./client";

const answers: Response[] = [];
const fetched = vi.fn(async () => answers.shift() ?? new Response("", { status: 503 }));
const state = (seconds: number) => Response.json({ now: { seconds, flows: [] } });
const error = (status: number) => Response.json({ error: "A sentence." }, { status });

const watching = { isWatched: () => true, isOver: () => false };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", fetched);
  fetched.mockClear();
  answers.length = 0;
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each([401, 403, 404, 405])("a host that answers %s is not asked again", async (status) => {
  answers.push(error(status));
  await new Lab({}, watching).look();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fetched).toHaveBeenCalledTimes(1);
});

test("a host that is busy is asked again", async () => {
  answers.push(error(429), error(503), state(1));
  const lab = new Lab({}, watching);
  await lab.look();
  await vi.advanceTimersByTimeAsync(2000);
  expect(lab.state.value?.now?.seconds).toBe(1);
});

test("it is asked each second while it is watched, each five while it is not, and no more once the stream has ended", async () => {
  let [isWatched, isOver] = [true, false];
  await new Lab({}, { isWatched: () => isWatched, isOver: () => isOver }).look();
  await vi.advanceTimersByTimeAsync(3000);
  expect(fetched).toHaveBeenCalledTimes(4);
  isWatched = false;
  await vi.advanceTimersByTimeAsync(11_000);
  expect(fetched).toHaveBeenCalledTimes(7);
  isOver = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fetched).toHaveBeenCalledTimes(7);
});

test("looks at the same time go on as one", async () => {
  const lab = new Lab({}, watching);
  await Promise.all([lab.look(), lab.look()]);
  await vi.advanceTimersByTimeAsync(3000);
  expect(fetched).toHaveBeenCalledTimes(5);
});

test("a wish that is refused has its reason, one that is done the new state", async () => {
  answers.push(error(400), state(7));
  const lab = new Lab({}, watching);
  expect(await lab.tell({ keep: true })).toBe("A sentence.");
  expect(lab.state.value).toBeNull();
  expect(await lab.tell({ keep: true })).toBeNull();
  expect(lab.state.value?.now?.seconds).toBe(7);
});

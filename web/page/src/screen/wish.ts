// Does what a person wishes of the ways to the screen; where that is `auto`, what measurements say.

import type { Figures } from "../figures/figures";
import type { Sampler } from "../figures/sampler";
import type { Settings } from "../settings/settings";
import type { Store } from "../store";
import { BEGIN, type Choice, chosen, decided } from "./choice";
import { lackOf } from "./lack";
import type { Screen } from "./screen";

export function wished({ screen: wish }: Settings, areCarried: boolean): Choice {
  if (areCarried) return decided("canvas", "this browser takes no H.264 by WebRTC");
  const lack = lackOf(window);
  if (lack !== "") return decided("video", lack);
  return wish === "auto" ? BEGIN : decided(wish, "it is set so");
}

// Looks once a second as long as there is something to decide.
export function follow(screen: Screen, settings: Store<Settings>, sampler: Sampler): void {
  const take = (choice: Choice) => {
    screen.choose(choice);
    if (choice.phase === "decided") sampler.stop();
  };
  const look = (history: readonly Figures[]) => {
    const newest = history.at(-1);
    if (newest && newest.rate > 0) take(chosen(screen.choice.value, newest));
  };
  const begin = () => {
    sampler.start();
    take(wished(settings.value, screen.areCarried));
  };
  sampler.history.listen(look);
  let wish = settings.value.screen;
  settings.listen(({ screen: now }) => {
    if (now === wish) return;
    wish = now;
    begin();
  });
  begin();
}

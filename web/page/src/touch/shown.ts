import { type Settings, settings } from "../settings/settings";
import { Store } from "../store";

const onlyTouch = matchMedia("(hover: none) and (pointer: coarse)");

const isShown = ({ touch }: Settings) => touch === "on" || (touch === "auto" && onlyTouch.matches);

// Whether touch controls are shown: if a person has set so, or where there is only touch.
export const touchControls = new Store(isShown(settings.value));

const look = () => touchControls.set(isShown(settings.value));
settings.listen(look);
onlyTouch.addEventListener("change", look);

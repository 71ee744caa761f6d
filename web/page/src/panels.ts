// Which panels stand beside the picture.
import { Store } from "./store";

export const isSettingsOpen = new Store(false);
export const isLabOpen = new Store(false);
export const isPhotonOpen = new Store(false);

export const toggle = (store: Store<boolean>) => () => store.set(!store.value);

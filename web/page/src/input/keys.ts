// Usages of the USB HID page of keys by `code` of a browser's event, as crates/core/input has them.
import { keys } from "../../../../crates/core/input/tests/vectors.json";

export const USAGES: ReadonlyMap<string, number> = new Map(Object.entries(keys));

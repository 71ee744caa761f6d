import { expect, test } from "vitest";
import { RECEIVED, reportBytes } from "./reports";

test("a report has its fields where docs/wire-protocol.md says", () => {
  const report = { kind: RECEIVED, flags: 1, timestamp: 0xfffefdfc, time: 1.5, detail: 0x01020304, missed: 5 };
  const bytes = [...new Uint8Array(reportBytes(report, 2))];
  expect(bytes).toEqual([
    ...[0x47, 0x46, 1, 1, ...[0, 0, 0, 0, 0, 0, 0x07, 0xd0]],
    ...[1, 1, 0, 0, ...[0xff, 0xfe, 0xfd, 0xfc], ...[0, 0, 0, 0, 0, 0, 0x05, 0xdc], ...[1, 2, 3, 4], ...[0, 0, 0, 5]],
  ]);
});

import { expect, test } from "vitest";
import { asCarrier, isCarrier, takesPictures } from "./carried";

const text = (...lines: string[]) => lines.map((line) => `${line}\r\n`).join("");
const SECTION = ["m=video 9 X 120 121", "a=rtpmap:120 VP8/90000", "a=rtpmap:121 VP9/90000"];
const MARK = "x-gameway-frames=H264";

test.each([
  [[], false],
  [["video/VP8", "video/AV1", "video/rtx"], false],
  [["video/VP8", "video/H264"], true],
  [["video/h265"], true],
])("a browser that takes %o: %s", (types, takes) => {
  expect(takesPictures(types.map((mimeType) => ({ mimeType })))).toBe(takes);
});

test("the parameter stands with VP8 alone, and the rest of the offer stays", () => {
  expect(asCarrier(text(...SECTION))).toBe(text(...SECTION.slice(0, 2), `a=fmtp:120 ${MARK}`, ...SECTION.slice(2)));
  const before = ["m=video 9 X 120 121", "a=fmtp:121 max-fr=60", "a=fmtp:120 max-fr=60"];
  const marked = before.with(2, `a=fmtp:120 max-fr=60;${MARK}`);
  expect(asCarrier(text(...before, ...SECTION.slice(1)))).toBe(text(...marked, ...SECTION.slice(1)));
  const none = text("m=audio 9 X 109", "a=rtpmap:109 opus/48000/2");
  expect(asCarrier(none)).toBe(none);
});

test("an answer says whether the host knows of it", () => {
  expect(isCarrier(text(...SECTION))).toBe(false);
  expect(isCarrier(asCarrier(text(...SECTION)))).toBe(true);
});

import { expect, test } from "vitest";
import { answerAgain } from "./wires";

const text = (...lines: string[]) => lines.map((line) => `${line}\r\n`).join("");
const HEAD = ["v=0", "a=group:BUNDLE 0 1"];
const VIDEO = [
  "m=video 9 X 96",
  "a=mid:0",
  "a=sendonly",
  "a=msid:gameway video",
  "a=ssrc-group:FID 1 2",
  "a=ssrc:1 cname:x",
];
const DATA = ["m=application 9 X", "a=mid:1"];
const OFFER = text("v=0", "m=video 9 X 96 97", "a=mid:0", "m=application 9 X", "a=mid:1", "m=video 9 X 96", "a=mid:2");
const SILENT = ["m=video 9 X 96", "a=mid:0", "a=inactive"];

test("the video is in the section that is asked for, and in no other one", () => {
  const answer = text(...HEAD, ...VIDEO, ...DATA);
  const moved = VIDEO.map((line) => line.replace("mid:0", "mid:2"));
  const group = "a=group:BUNDLE 0 1 2";
  expect(answerAgain(answer, OFFER, "2")).toBe(text("v=0", group, ...SILENT, ...DATA, ...moved));
  const back = SILENT.map((line) => line.replace("mid:0", "mid:2"));
  expect(answerAgain(answer, OFFER, "0")).toBe(text("v=0", group, ...VIDEO, ...DATA, ...back));
});

test("a section that is over stays so, outside the bundle", () => {
  const over = ["m=video 0 X 96", "c=IN IP4 0.0.0.0", "a=mid:0", "a=inactive"];
  const offer = OFFER.replace("m=video 9 X 96 97", "m=video 0 X 96");
  const moved = VIDEO.map((line) => line.replace("mid:0", "mid:2"));
  const answer = answerAgain(text(...HEAD, ...VIDEO, ...DATA), offer, "2");
  expect(answer).toBe(text("v=0", "a=group:BUNDLE 1 2", ...over, ...DATA, ...moved));
});

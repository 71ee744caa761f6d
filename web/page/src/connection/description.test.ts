import { expect, test } from "vitest";
import {
  DEPENDENCIES,
  inStereo,
  ON_REQUEST,
  withDependencies,
  withReferenceTime,
  withReportsOnRequest,
} from "./description";

const offer = (...lines: string[]) => ({ type: "offer" as const, sdp: lines.map((line) => `${line}\r\n`).join("") });

const BY_NUMBER = "a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";

test("reports on request get the first free number", () => {
  const asked = withReportsOnRequest(offer("a=extmap:1 urn:x", BY_NUMBER, "a=extmap:2 urn:y"));
  expect(asked).toEqual(offer("a=extmap:1 urn:x", BY_NUMBER, `a=extmap:4 ${ON_REQUEST}`, "a=extmap:2 urn:y"));
});

test("what is added has numbers of its own", () => {
  const asked = withReportsOnRequest(offer("a=extmap:1 urn:x", BY_NUMBER)) as { type: "offer"; sdp: string };
  const lines = ["a=extmap:1 urn:x", BY_NUMBER, `a=extmap:4 ${DEPENDENCIES}`, `a=extmap:2 ${ON_REQUEST}`];
  expect(withDependencies(asked)).toEqual(offer(...lines));
});

test("without a free number, or without reports, the offer stays", () => {
  const full = offer(...[...Array(14).keys()].map((number) => `a=extmap:${number + 1} urn:x`), BY_NUMBER);
  expect(withReportsOnRequest(full)).toEqual(full);
  const none = offer("a=extmap:1 urn:x");
  expect(withReportsOnRequest(none)).toEqual(none);
});

test("whatever is asked again for has the reference time, too", () => {
  const asked = withReferenceTime(offer("a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli", "a=rtcp-fb:98 nack"));
  const wanted = ["a=rtcp-fb:96 nack", "a=rtcp-fb:96 rrtr", "a=rtcp-fb:96 nack pli"];
  expect(asked).toEqual(offer(...wanted, "a=rtcp-fb:98 nack", "a=rtcp-fb:98 rrtr"));
});

test("a later offer has each once, in each section of video, by the same number", () => {
  const first = ["m=video 9", BY_NUMBER, `a=extmap:5 ${ON_REQUEST}`, "a=rtcp-fb:96 nack", "a=rtcp-fb:96 rrtr"];
  const sound = ["m=audio 9", BY_NUMBER];
  const added = withReferenceTime(
    withReportsOnRequest(offer(...first, ...sound, "m=video 9", BY_NUMBER, "a=rtcp-fb:96 nack")) as {
      type: "offer";
      sdp: string;
    },
  );
  expect(added).toEqual(offer(...first, ...sound, ...first));
});

test("sound is in stereo, once", () => {
  const stereo = offer("a=fmtp:111 minptime=10;useinbandfec=1;stereo=1");
  expect(inStereo(offer("a=fmtp:111 minptime=10;useinbandfec=1"))).toEqual(stereo);
  expect(inStereo(stereo)).toEqual(stereo);
});

import { expect, test } from "vitest";
import { digitsOf } from "./code";
import { tokenOf } from "./link";

const CERTIFICATE = "0123456789abcdef".repeat(4);

test.each([
  ["#token", "http:", "token"],
  ["", "http:", ""],
  [`#token.${CERTIFICATE}`, "https:", "token"],
  [`#token.${CERTIFICATE}`, "http:", `token.${CERTIFICATE}`],
  ["#a%20b", "http:", "a b"],
  ["#%zz", "http:", "%zz"],
])("the token of %s over %s", (hash, protocol, token) => {
  expect(tokenOf({ hash, protocol })).toBe(token);
});

test.each([
  ["123456", "123456"],
  [" 123 456 ", "123456"],
  ["12345", null],
  ["1234567", null],
  ["", null],
])("the digits of a code, typed as %s", (typed, digits) => {
  expect(digitsOf(typed)).toBe(digits);
});

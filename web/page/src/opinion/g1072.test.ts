import { expect, test } from "vitest";
import vectors from "../../../../python/tests/opinion_vectors.json";
import { penaltiesOf, scoreOf } from "./g1072";

test("the page and the report have the same model", () => {
  expect(vectors.length).toBeGreaterThan(300);
  for (const { quality, penalties, score } of vectors) {
    const own = penaltiesOf(quality);
    for (const [name, value] of Object.entries(own))
      expect(Math.abs(value - penalties[name as keyof typeof own]), JSON.stringify(quality)).toBeLessThan(1e-6);
    expect(Math.abs(scoreOf(own) - score), JSON.stringify(quality)).toBeLessThan(1e-6);
  }
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { ACTIVITIES, CycleLedger } from "../../src/sim/cycle-ledger.ts";

test("every tile's activities add up to the time elapsed, whatever it did", () => {
  const spans = fc.array(fc.tuple(fc.nat(4), fc.constantFrom(...ACTIVITIES), fc.nat(1_000_000)), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(spans, (items) => {
      const ledger = new CycleLedger(5);
      for (const [tile, activity, span] of items) ledger.spend(tile, activity, span);
      ledger.settle();
      ledger.audit();
      const sum = Object.values(ledger.totals()).reduce((a, b) => a + b, 0);
      expect(sum).toBe(ledger.elapsed * 5);
      for (let tile = 0; tile < 5; tile++) expect(ledger.clock[tile]).toBe(ledger.elapsed);
    }),
  );
});

test("a clock that would run backwards is our fault, and said so", () => {
  const ledger = new CycleLedger(1);
  expect(() => ledger.spend(0, "sync", -1)).toThrowError(
    expect.objectContaining({ name: "InternalError", code: "INTERNAL" }),
  );
});

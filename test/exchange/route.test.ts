import { describe, expect, test } from "vitest";
import { tileId, type TileId } from "../../src/base/units.ts";
import { routeOf, sendControl } from "../../src/exchange/route.ts";
import { transferTiming, type TransferTiming } from "../../src/exchange/timing.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { partnerOf, physicalOf } from "../../src/target/topology.ts";
import { goldenCases, invalidReason, reasonOf } from "./support.ts";

type GoldenTiming = TransferTiming & { readonly words: number; readonly error?: string };

interface GoldenRoute {
  readonly sender: TileId;
  readonly receiver: TileId;
  readonly senderPhysical: number;
  readonly receiverPhysical: number;
  readonly displacement: number;
  readonly direction: 1 | 2;
  readonly timeToMux: number;
  readonly pairedTimeToMux: number;
  readonly pairedSendControl: number;
  readonly pairedReceiverIsEarly: boolean;
  readonly pairedSourceMux: number;
  readonly pairedReceivers: readonly TileId[];
  readonly single: readonly GoldenTiming[];
  readonly singlePointReceiver: readonly GoldenTiming[];
  readonly paired64: readonly GoldenTiming[];
}

interface GoldenMulticast {
  readonly sender: TileId;
  readonly receivers: readonly TileId[];
  readonly words: number;
  readonly timing: TransferTiming;
}

const routes = goldenCases<GoldenRoute>("routes");
const multicasts = goldenCases<GoldenMulticast>("multicast");

describe("routes and single transfers are those of the public compiler", () => {
  test("all 252 of the golden file, every field", () => {
    expect(routes).toHaveLength(252);
    for (const golden of routes) {
      const { sender, receiver, pairedReceivers } = golden;
      const route = routeOf(IPU21, sender, receiver);
      const timing = (
        { words, offset }: GoldenTiming,
        width: 32 | 64,
        receivers: readonly TileId[],
        isOnlyReceive: boolean,
      ): unknown => ({
        ...transferTiming(IPU21, { sender, receivers, words, width, isOnlyReceive }, offset),
        words,
      });
      expect(pairedReceivers).toEqual([receiver, partnerOf(receiver)]);
      expect({
        ...route,
        sender,
        receiver,
        senderPhysical: physicalOf(IPU21, sender),
        receiverPhysical: physicalOf(IPU21, receiver),
        pairedReceivers,
        single: golden.single.map((one) => timing(one, 32, [receiver], false)),
        singlePointReceiver: golden.singlePointReceiver.map((one) =>
          timing(one, 32, [receiver], true),
        ),
        paired64: golden.paired64.map((one) =>
          one.error === undefined
            ? timing(one, 64, pairedReceivers, false)
            : {
                words: one.words,
                error: invalidReason(() => timing(one, 64, pairedReceivers, false)),
              },
        ),
      }).toEqual({
        ...golden,
        paired64: golden.paired64.map((one) =>
          one.error === undefined ? one : { words: one.words, error: reasonOf(one.error) },
        ),
      });
      expect(sendControl(IPU21, sender, [receiver], 32)).toBe(golden.direction);
      expect(sendControl(IPU21, sender, pairedReceivers, 64)).toBe(golden.pairedSendControl);
    }
  });

  test("all 36 multicasts of the golden file, every field", () => {
    expect(multicasts).toHaveLength(36);
    for (const { sender, receivers, words, timing } of multicasts) {
      const shape = { sender, receivers, words, width: 32, isOnlyReceive: false } as const;
      expect(transferTiming(IPU21, shape)).toEqual(timing);
      expect(sendControl(IPU21, sender, receivers, 32)).toBe(3);
    }
  });
});

// prettier-ignore
test.each([
  // sender receiver  mux  why
  [      0,       1, -28, "the sender's own pair"],
  [      0,       2, -31, "the row below"],
  [      0,    1286, -23, "across the chip"],
  [    736,     100,  49, "up and back"],
  [   1286,    1471, -14, "the last tile"],
  [     32,       0,   3, "up a column"],
  [      0,      46, -69, "down a column"],
  [     46,       0,  19, "the same way back"],
  [      5,      97, -27, "the next column but one"],
])("words from %i reach the mux of %i after %i cycles: %s", (sender, receiver, mux) => {
  expect(routeOf(IPU21, tileId(sender), tileId(receiver)).timeToMux).toBe(mux);
});

// prettier-ignore
test.each<[number, number[], number, 32 | 64, string, string]>([
  // sender receivers words width  reason       why
  [       0, [1],         0,   32, "count",     "nothing to send"],
  [       0, [1],       1.5,   32, "count",     "half a word"],
  [       0, [1],      4149,   32, "count",     "longer than one transfer may be"],
  [       0, [2, 3],    126,   64, "count",     "too few items of 64 bits"],
  [       0, [2, 3],    129,   64, "count",     "half an item"],
  [       0, [],          1,   32, "receivers", "nobody receives"],
  [       0, [2, 2],      1,   32, "receivers", "one receives twice"],
  [       0, [0],         1,   32, "receivers", "the sender receives"],
  [       0, [2],       128,   64, "receivers", "half a pair receives"],
  [       0, [0, 1],    128,   64, "receivers", "the sender's pair receives"],
  [       0, [1472],      1,   32, "tile",      "no such tile"],
  [      -1, [1],         1,   32, "tile",      "no such sender"],
  [       0, [12, 13],  130,   64, "controls",  "65 items to row 6 end as its pointer is set"],
])("a transfer from %i to %j of %d words at %i bits fails on its %s: %s", (sender, receivers, words, width, reason) => {
  const shape = { sender: tileId(sender), receivers: receivers.map(tileId), words, width, isOnlyReceive: false };
  expect(invalidReason(() => transferTiming(IPU21, shape))).toBe(reason);
});

test("64 bits to several pairs names both directions and the wide item", () => {
  expect(sendControl(IPU21, tileId(0), [2, 3, 4, 5].map(tileId), 64)).toBe(7);
});

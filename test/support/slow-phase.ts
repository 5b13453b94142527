import type { PhaseTransfer } from "../../src/exchange/phase.ts";
import { muxTime, transferTiming, type TransferTiming } from "../../src/exchange/timing.ts";
import { elementOf } from "../../src/target/ipu21.ts";
import type { Target } from "../../src/target/target.ts";
import { partnerOf, physicalOf } from "../../src/target/topology.ts";
import type { TileId } from "../../src/base/units.ts";

/** What a phase does on a tile; `transfer` is an index into the transfers. */
export interface SlowActivity {
  readonly transfer: number;
  readonly tile: TileId;
  readonly kind: "send" | "receive" | "partnerBusy";
  readonly start: number;
  readonly end: number;
  readonly horizon: number;
}

interface Span {
  readonly tile: TileId;
  readonly start: number;
  readonly end: number;
}

interface Placed {
  readonly transfer: number;
  readonly timing: TransferTiming;
  /** Events of each receiver's controls; `pointer` is null where the receive goes on where the last ended. */
  readonly controls: readonly (readonly number[])[];
}

interface Key {
  readonly start: number;
  readonly pressure: number;
}

/**
 * The list scheduling of `schedulePhase`, as one would say it: every question is asked of the list of what
 * was placed. Quadratic and worse; the transfers must be sound.
 */
export function slowPhase(
  transfers: readonly PhaseTransfer[],
  target: Target,
  keepElementsApart = true,
): readonly SlowActivity[] {
  const receivers = transfers.map(({ destinations }) =>
    destinations.flatMap(({ tiles, address }) => tiles.map((tile) => ({ tile, address }))),
  );
  const receivesOf = (tile: TileId): number =>
    receivers.flat().filter((receiver) => receiver.tile === tile).length;
  const timingFrom = (i: number, origin: number): TransferTiming => {
    const { source, words, width } = transfers[i];
    const tiles = receivers[i].map(({ tile }) => tile);
    const isOnlyReceive = width === 32 && tiles.length === 1 && receivesOf(tiles[0]) === 1;
    return transferTiming(
      target,
      { sender: source, receivers: tiles, words, width, isOnlyReceive },
      origin,
    );
  };
  const itemsOf = (i: number): number => transfers[i].words / (transfers[i].width / 32);
  const readOf = (i: number): Span => ({
    tile: transfers[i].source,
    start: transfers[i].address,
    end: transfers[i].address + 4 * transfers[i].words,
  });
  const writesOf = (i: number): Span[] =>
    receivers[i].map(({ tile, address }) => ({
      tile,
      start: address,
      end: address + 4 * transfers[i].words,
    }));

  const placed: Placed[] = [];
  const find = (i: number): Placed | undefined => placed.find(({ transfer }) => transfer === i);
  const horizonOf = (i: number): number => find(i)?.timing.senderHorizon ?? 0;

  /** When transfer i lets j go; null: j need not wait; undefined: i is not placed. */
  const release = (i: number, j: number): number | null | undefined => {
    const writes = writesOf(i).flatMap((span, k) =>
      [readOf(j), ...writesOf(j)].some((other) => meet(span, other)) ? [k] : [],
    );
    const reads = writesOf(j).some((other) => meet(readOf(i), other));
    if (writes.length === 0 && !reads) return null;
    const timing = find(i)?.timing;
    if (!timing) return undefined;
    return Math.max(reads ? timing.sendEnd : 0, ...writes.map((k) => timing.receiveEnds[k]));
  };
  const isReady = (j: number): boolean =>
    !find(j) && transfers.slice(0, j).every((_, i) => release(i, j) !== undefined);

  const sendFree = (tile: TileId): number =>
    Math.max(
      0,
      ...placed.map(({ transfer, timing }) => {
        if (transfers[transfer].source === tile) return timing.sendEnd;
        return lends(tile, transfers[transfer]) ? horizonOf(transfer) : 0;
      }),
    );
  const receiveFree = (tile: TileId): number =>
    Math.max(
      0,
      ...placed.map(({ transfer, timing }) => {
        if (lends(tile, transfers[transfer])) return horizonOf(transfer);
        const k = receivers[transfer].findIndex((receiver) => receiver.tile === tile);
        return k < 0 ? 0 : timing.receiveEnds[k];
      }),
    );
  const earliest = (j: number): number => {
    const { source, width } = transfers[j];
    const partner = partnerOf(source);
    return Math.max(
      sendFree(source),
      ...receivers[j].map(({ tile }) => receiveFree(tile)),
      ...(width === 64 ? [sendFree(partner), receiveFree(partner)] : []),
      ...transfers.slice(0, j).map((_, i) => release(i, j) ?? 0),
    );
  };

  const hasMulticast = receivers.some((list) => list.length > 1);
  const pressure = (j: number): number => {
    const left = transfers.flatMap((_, i) => (hasMulticast && find(i) ? [] : [i]));
    const usersOf = (i: number): TileId[] => [
      transfers[i].source,
      ...receivers[i].map(({ tile }) => tile),
      ...(transfers[i].width === 64 ? [partnerOf(transfers[i].source)] : []),
    ];
    return usersOf(j).reduce(
      (sum, tile) =>
        sum + left.reduce((items, i) => items + (usersOf(i).includes(tile) ? itemsOf(i) : 0), 0),
      0,
    );
  };

  /** Where the receiver's pointer stands: after its last receive. */
  const pointerOf = (tile: TileId): number => {
    const last = placed.findLast(({ transfer }) =>
      receivers[transfer].some((r) => r.tile === tile),
    );
    if (!last) return -1;
    return writesOf(last.transfer).find((span) => span.tile === tile)?.end ?? -1;
  };
  const controlsOf = (i: number, k: number, timing: TransferTiming): number[] => {
    const { source, width } = transfers[i];
    const { tile, address } = receivers[i][k];
    const from = physicalOf(target, source);
    const to = physicalOf(target, tile);
    const select = timing.sendStart + muxTime(from, to, width);
    const write = timing.receiveStarts[k];
    const items = itemsOf(i);
    if (width === 32) {
      const pointer = pointerOf(tile) === address ? [] : [write];
      return [select + 1, select + 1 + items, ...pointer];
    }
    const isSelector = muxTime(from, to, 32) < muxTime(from, to ^ 2, 32);
    return [...(isSelector ? [select, select + items] : []), write - 2, write, write - 2 + items];
  };
  const shareElement = (a: Span, b: Span): boolean =>
    elementOf(target, a.start) <= elementOf(target, b.end - 1) &&
    elementOf(target, b.start) <= elementOf(target, a.end - 1);

  /** Whether a send and a receive of one tile are in each other's way. */
  const collide = (send: Placed, receive: Placed): boolean => {
    const read = readOf(send.transfer);
    const k = receivers[receive.transfer].findIndex(({ tile }) => tile === read.tile);
    if (k < 0) return false;
    const { sendStart, senderHorizon } = send.timing;
    const events = receive.controls[k];
    if (events.some((event) => event === sendStart || event === sendStart + 1)) return true;
    const { receiveStarts, receiverHorizons } = receive.timing;
    return (
      keepElementsApart &&
      sendStart < receiverHorizons[k] &&
      receiveStarts[k] < senderHorizon &&
      shareElement(read, writesOf(receive.transfer)[k])
    );
  };

  const keys = new Map<number, Key>();
  const isBefore = (a: number, b: number): boolean => {
    const [keyA, keyB] = [keys.get(a), keys.get(b)];
    if (!keyA || !keyB) throw new Error("a transfer without a key");
    const order =
      keyA.start - keyB.start ||
      keyB.pressure - keyA.pressure ||
      receivers[b].length - receivers[a].length ||
      transfers[b].words - transfers[a].words ||
      transfers[a].source - transfers[b].source ||
      a - b;
    return order < 0;
  };
  while (placed.length < transfers.length) {
    const ready = transfers.flatMap((_, i) => (isReady(i) ? [i] : []));
    for (const i of ready) {
      if (!keys.has(i)) keys.set(i, { start: earliest(i), pressure: pressure(i) });
    }
    const best = ready.reduce((first, i) => (isBefore(i, first) ? i : first));
    const start = earliest(best);
    if (start !== keys.get(best)?.start) {
      keys.set(best, { start, pressure: pressure(best) });
      continue;
    }
    for (let origin = start; ; origin++) {
      const timing = timingFrom(best, origin);
      const controls = receivers[best].map((_, k) => controlsOf(best, k, timing));
      const candidate = { transfer: best, timing, controls };
      if (placed.some((other) => collide(other, candidate) || collide(candidate, other))) continue;
      placed.push(candidate);
      break;
    }
  }
  return placed
    .toSorted((a, b) => a.transfer - b.transfer)
    .flatMap(({ transfer, timing }): SlowActivity[] => {
      const { source: tile, width } = transfers[transfer];
      const { sendStart: start, sendEnd: end, senderHorizon: horizon } = timing;
      return [
        { transfer, tile, kind: "send", start, end, horizon },
        ...receivers[transfer].map((receiver, k): SlowActivity => ({
          transfer,
          tile: receiver.tile,
          kind: "receive",
          start: timing.receiveStarts[k],
          end: timing.receiveEnds[k],
          horizon: timing.receiverHorizons[k],
        })),
        ...(width === 64
          ? [
              {
                transfer,
                tile: partnerOf(tile),
                kind: "partnerBusy",
                start,
                end: horizon,
                horizon,
              } as const,
            ]
          : []),
      ];
    });
}

function meet(a: Span, b: Span): boolean {
  return a.tile === b.tile && a.start < b.end && b.start < a.end;
}

/** Whether the tile lends its lane to the transfer. */
function lends(tile: TileId, { source, width }: PhaseTransfer): boolean {
  return width === 64 && partnerOf(source) === tile;
}

/** What `hazardsOf` reads of a phase: see `PreparedPhase`. */
interface Transfers {
  readonly count: number;
  readonly tiles: number;
  readonly source: Int32Array;
  readonly address: Int32Array;
  readonly words: Int32Array;
  readonly firstSlot: Int32Array;
  readonly receiver: Int32Array;
  readonly receiverAddress: Int32Array;
}

/**
 * Transfers that must wait for others because both touch the same bytes and one writes them. Those that
 * wait for transfer i are at firstEdge[i] .. firstEdge[i + 1], by rising number: `later` waits until i has
 * sent (slot -1) or written to the receiver of `slot`.
 */
export interface Hazards {
  readonly firstEdge: Int32Array;
  readonly later: Int32Array;
  readonly slot: Int32Array;
  /** Edges that a transfer waits for: by transfer. */
  readonly waits: Int32Array;
}

/** Columns of reads and writes, each tile's together; `slot` is -1 for a read. */
interface Accesses {
  readonly start: Int32Array;
  readonly end: Int32Array;
  readonly transfer: Int32Array;
  readonly slot: Int32Array;
}

interface Edge {
  readonly earlier: number;
  readonly later: number;
  readonly slot: number;
}

/** Pairs of transfers, the earlier-listed first, that read and write or write and write shared bytes. */
export function hazardsOf(phase: Transfers): Hazards {
  const { count, tiles, source, address, words, firstSlot, receiver, receiverAddress } = phase;
  const length = firstSlot[count] + count;
  const first = new Int32Array(tiles + 1);
  for (let slot = 0; slot < firstSlot[count]; slot++) first[receiver[slot] + 1]++;
  for (let i = 0; i < count; i++) first[source[i] + 1]++;
  for (let tile = 0; tile < tiles; tile++) first[tile + 1] += first[tile];
  const next = first.slice(0, tiles);
  const accesses: Accesses = {
    start: new Int32Array(length),
    end: new Int32Array(length),
    transfer: new Int32Array(length),
    slot: new Int32Array(length),
  };
  for (let i = 0; i < count; i++) {
    const bytes = 4 * words[i];
    const read = next[source[i]]++;
    accesses.start[read] = address[i];
    accesses.end[read] = address[i] + bytes;
    accesses.transfer[read] = i;
    accesses.slot[read] = -1;
    for (let slot = firstSlot[i]; slot < firstSlot[i + 1]; slot++) {
      const write = next[receiver[slot]]++;
      accesses.start[write] = receiverAddress[slot];
      accesses.end[write] = receiverAddress[slot] + bytes;
      accesses.transfer[write] = i;
      accesses.slot[write] = slot;
    }
  }
  const order = new Int32Array(length);
  for (let access = 0; access < length; access++) order[access] = access;
  const edges: Edge[] = [];
  for (let tile = 0; tile < tiles; tile++) {
    const from = first[tile];
    const to = first[tile + 1];
    if (to - from < 2) continue;
    sortByStart(accesses.start, order, from, to);
    if (hasHazard(accesses, order, from, to)) findHazards(accesses, order, from, to, edges);
  }
  return group(edges, count);
}

/** Sorts order[from .. to]; most tiles' accesses are few, or in order already. */
function sortByStart(start: Int32Array, order: Int32Array, from: number, to: number): void {
  if (to - from > 64) {
    order.subarray(from, to).sort((a, b) => start[a] - start[b]);
    return;
  }
  for (let at = from + 1; at < to; at++) {
    const access = order[at];
    let place = at;
    while (place > from && start[order[place - 1]] > start[access]) {
      order[place] = order[place - 1];
      place--;
    }
    order[place] = access;
  }
}

/** Whether a write overlaps another access, among those of one tile by start. */
function hasHazard(
  { start, end, slot }: Accesses,
  order: Int32Array,
  from: number,
  to: number,
): boolean {
  let writeEnd = -1;
  let anyEnd = -1;
  for (let at = from; at < to; at++) {
    const access = order[at];
    const isWrite = slot[access] >= 0;
    if (start[access] < (isWrite ? anyEnd : writeEnd)) return true;
    if (end[access] > anyEnd) anyEnd = end[access];
    if (isWrite && end[access] > writeEnd) writeEnd = end[access];
  }
  return false;
}

/** Goes along one tile's accesses by start: work grows with the overlaps found. */
function findHazards(
  { start, end, transfer, slot }: Accesses,
  order: Int32Array,
  from: number,
  to: number,
  edges: Edge[],
): void {
  // Accesses that begin no later than the present one, and do not end before it.
  let reads: number[] = [];
  let writes: number[] = [];
  const meet = (a: number, b: number): void => {
    const [earlier, later] = transfer[a] < transfer[b] ? [a, b] : [b, a];
    edges.push({ earlier: transfer[earlier], later: transfer[later], slot: slot[earlier] });
  };
  for (let at = from; at < to; at++) {
    const access = order[at];
    writes = writes.filter((write) => start[access] < end[write]);
    for (const write of writes) meet(write, access);
    if (slot[access] < 0) {
      reads.push(access);
      continue;
    }
    reads = reads.filter((read) => start[access] < end[read]);
    for (const read of reads) meet(read, access);
    writes.push(access);
  }
}

function group(edges: Edge[], count: number): Hazards {
  edges.sort((a, b) => a.earlier - b.earlier || a.later - b.later);
  const firstEdge = new Int32Array(count + 1);
  const waits = new Int32Array(count);
  for (const { earlier, later } of edges) {
    firstEdge[earlier + 1]++;
    waits[later]++;
  }
  for (let i = 0; i < count; i++) firstEdge[i + 1] += firstEdge[i];
  return {
    firstEdge,
    later: Int32Array.from(edges, (edge) => edge.later),
    slot: Int32Array.from(edges, (edge) => edge.slot),
    waits,
  };
}

/** What `hazardsOf` reads of a phase: see `PreparedPhase`. */
interface Accesses {
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
 * wait for transfer i are at firstEdge[i] .. firstEdge[i + 1], by rising number: `later` waits until i has sent (slot -1) or
 * written to the receiver of `slot`.
 */
export interface Hazards {
  readonly firstEdge: Int32Array;
  readonly later: Int32Array;
  readonly slot: Int32Array;
  /** Edges that a transfer waits for: by transfer. */
  readonly waits: Int32Array;
}

/** Pairs of transfers, the earlier-listed first, that read and write or write and write shared bytes. */
export function hazardsOf(phase: Accesses): Hazards {
  const { count, tiles, source, firstSlot, receiver } = phase;
  const slots = firstSlot[count];
  // An access is a receive, named by its slot, or a send: slots + the transfer's index.
  const firstOf = new Int32Array(tiles + 1);
  for (let slot = 0; slot < slots; slot++) firstOf[receiver[slot] + 1]++;
  for (let i = 0; i < count; i++) firstOf[source[i] + 1]++;
  for (let tile = 0; tile < tiles; tile++) firstOf[tile + 1] += firstOf[tile];
  const at = firstOf.slice(0, tiles);
  const accesses = new Int32Array(slots + count);
  const transferOf = new Int32Array(slots);
  for (let i = 0; i < count; i++) {
    accesses[at[source[i]]++] = slots + i;
    for (let slot = firstSlot[i]; slot < firstSlot[i + 1]; slot++) {
      accesses[at[receiver[slot]]++] = slot;
      transferOf[slot] = i;
    }
  }
  const edges: Edge[] = [];
  for (let tile = 0; tile < tiles; tile++) {
    const ofTile = accesses.subarray(firstOf[tile], firstOf[tile + 1]);
    if (ofTile.length > 1) findHazards(ofTile, phase, transferOf, edges);
  }
  return group(edges, count);
}

interface Edge {
  readonly earlier: number;
  readonly later: number;
  readonly slot: number;
}

/** Sorts one tile's accesses by address and goes along them: work grows with the overlaps found. */
function findHazards(
  accesses: Int32Array,
  { address, words, receiverAddress }: Accesses,
  transferOf: Int32Array,
  edges: Edge[],
): void {
  const slots = transferOf.length;
  const startOf = (access: number): number =>
    access < slots ? receiverAddress[access] : address[access - slots];
  let isSorted = true;
  for (let k = 1; k < accesses.length && isSorted; k++) {
    isSorted = startOf(accesses[k - 1]) <= startOf(accesses[k]);
  }
  if (!isSorted) accesses.sort((a, b) => startOf(a) - startOf(b));
  // Accesses that begin no later than this one; those that have ended are dropped when next looked at.
  const reads: number[] = [];
  const writes: number[] = [];
  const overlapping = (open: number[], start: number): readonly number[] => {
    let kept = 0;
    for (const other of open) {
      const transfer = other < slots ? transferOf[other] : other - slots;
      if (start < startOf(other) + 4 * words[transfer]) open[kept++] = other;
    }
    open.length = kept;
    return open;
  };
  for (const access of accesses) {
    const start = startOf(access);
    if (access >= slots) {
      const reader = access - slots;
      for (const write of overlapping(writes, start)) {
        edges.push(edgeOf(reader, -1, transferOf[write], write));
      }
      reads.push(access);
      continue;
    }
    const writer = transferOf[access];
    for (const write of overlapping(writes, start)) {
      edges.push(edgeOf(writer, access, transferOf[write], write));
    }
    for (const read of overlapping(reads, start)) {
      edges.push(edgeOf(writer, access, read - slots, -1));
    }
    writes.push(access);
  }
}

/** The later of two transfers waits until the earlier has sent (-1), or written to the slot's receiver. */
function edgeOf(a: number, slotOfA: number, b: number, slotOfB: number): Edge {
  return a < b ? { earlier: a, later: b, slot: slotOfA } : { earlier: b, later: a, slot: slotOfB };
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
    later: Int32Array.from(edges, ({ later }) => later),
    slot: Int32Array.from(edges, ({ slot }) => slot),
    waits,
  };
}

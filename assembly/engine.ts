/**
 * Works through records of 16 words: an operation and its arguments. Threads share one memory and one
 * counter; each takes the next group of records until none is left. No instance keeps data in memory of its
 * own: all scratch is handed in.
 */
import { merge, softmax } from "./attention";
import {
  gemmExact,
  gemmF32,
  gemmNearest,
  gemmStochastic,
  packLeft,
  packRight,
  packedLeftBytes,
} from "./gemm";
import {
  addF16,
  addF32,
  castF16ToF16,
  castF16ToF32,
  castF32ToF16,
  castF32ToF32,
  copyRows,
  gelu,
  move,
  reduceSum,
  same,
} from "./simple";

// Operations; src/backends/wasm/records.ts has the same list.
const PACK_LEFT: i32 = 0;
const PACK_RIGHT: i32 = 1;
const GEMM_NEAREST: i32 = 2;
const GEMM_EXACT: i32 = 3;
const GEMM_STOCHASTIC: i32 = 4;
const GEMM_F32: i32 = 5;
const REDUCE_SUM: i32 = 6;
const COPY: i32 = 7;
const FILL_ZERO: i32 = 8;
const MOVE: i32 = 9;
const SOFTMAX: i32 = 10;
const MERGE: i32 = 11;
const GELU: i32 = 12;
const ADD_F16: i32 = 13;
const ADD_F32: i32 = 14;
const CAST_F16_F32: i32 = 15;
const CAST_F32_F16: i32 = 16;
const CAST_F16_F16: i32 = 17;
const CAST_F32_F32: i32 = 18;
const SAME: i32 = 19;

const RECORD_BYTES: usize = 64;

/**
 * control: the counter of groups. starts: u32 index of the first record of each group, and of the end.
 * scratch: this thread's own bytes.
 */
export function work(
  control: usize,
  starts: usize,
  groups: i32,
  records: usize,
  scratch: usize,
): void {
  while (true) {
    const group = atomic.add<i32>(control, 1);
    if (group >= groups) return;
    const end = records + <usize>load<u32>(starts + ((<usize>group + 1) << 2)) * RECORD_BYTES;
    let record = records + <usize>load<u32>(starts + ((<usize>group) << 2)) * RECORD_BYTES;
    for (; record < end; record += RECORD_BYTES) execute(record, scratch);
  }
}

// @ts-ignore: decorator
@inline
function word(record: usize, index: i32): i32 {
  return load<i32>(record + ((<usize>index) << 2));
}

function execute(record: usize, scratch: usize): void {
  const a = <usize>word(record, 1);
  const b = <usize>word(record, 2);
  const c = <usize>word(record, 3);
  const d = word(record, 4);
  const e = word(record, 5);
  const f = word(record, 6);
  const g = word(record, 7);
  const h = word(record, 8);
  const i = word(record, 9);
  const j = word(record, 10);
  switch (word(record, 0)) {
    case PACK_LEFT:
      packLeft(a, b, d, e);
      break;
    case PACK_RIGHT:
      packRight(a, b, d, e);
      break;
    case GEMM_NEAREST:
    case GEMM_EXACT:
    case GEMM_STOCHASTIC: {
      // i, j: the operands are packed already; else pack them here, for this call alone.
      let left = b;
      let right = c;
      let free = scratch + 512;
      if (!i) {
        left = free;
        packLeft(left, b, d, e);
        free += packedLeftBytes(d, e);
      }
      if (!j) {
        right = free;
        packRight(right, c, e, f);
      }
      if (word(record, 0) == GEMM_NEAREST) {
        gemmNearest(a, left, right, d, e, f, g != 0, h != 0, scratch);
      } else if (word(record, 0) == GEMM_EXACT) {
        gemmExact(a, left, right, d, e, f, g != 0, h != 0, scratch);
      } else {
        gemmStochastic(a, left, right, d, e, f, g != 0, h != 0, <u32>word(record, 11));
      }
      break;
    }
    case GEMM_F32:
      gemmF32(a, b, c, d, e, f, g != 0);
      break;
    case REDUCE_SUM:
      reduceSum(a, b, c, d, e, f != 0, g != 0);
      break;
    case COPY:
      copyRows(a, b, d, e, f, g);
      break;
    case FILL_ZERO:
      memory.fill(a, 0, d);
      break;
    case MOVE:
      move(a, b, c, <usize>h, d, e, f, g);
      break;
    case SOFTMAX:
      softmax(a, b, d, e, f, g, h, i != 0, j != 0, c);
      break;
    case MERGE:
      merge(a, b, c, d, e, f, g != 0, h != 0);
      break;
    case GELU:
      gelu(a, b, d, e != 0, f != 0, c);
      break;
    case ADD_F16:
      addF16(a, b, c, d, e != 0);
      break;
    case ADD_F32:
      addF32(a, b, c, d);
      break;
    case CAST_F16_F32:
      castF16ToF32(a, b, d);
      break;
    case CAST_F32_F16:
      castF32ToF16(a, b, d, e != 0);
      break;
    case CAST_F16_F16:
      castF16ToF16(a, b, d);
      break;
    case CAST_F32_F32:
      castF32ToF32(a, b, d);
      break;
    case SAME:
      store<i32>(c, same(a, b, d) ? 1 : 0);
      break;
    default:
      unreachable();
  }
}

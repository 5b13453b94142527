/**
 * Writes the attention block as an ONNX model: the few messages of onnx.proto that it needs, in the
 * protobuf wire format. Numbers are onnx.proto's field numbers.
 *
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */

export interface BlockShape {
  readonly tokens: number;
  readonly width: number;
  readonly heads: number;
}

/** Right operands of the three projections, [width, width], row-major. */
export interface BlockWeights {
  readonly query: Float32Array;
  readonly key: Float32Array;
  readonly value: Float32Array;
}

type Field = readonly [number: number, value: number | string | Uint8Array];

const FLOAT = 1;
const INT64 = 7;

/**
 * softmax(q k^T / sqrt(d)) v with q, k, v = x times the weights, in f32: input `x` [tokens, width], output
 * `y` [heads, tokens, width / heads]. The scale is folded into the query weights, the cheapest place.
 */
export function attentionModel(shape: BlockShape, weights: BlockWeights): Uint8Array {
  const { tokens, width, heads } = shape;
  const headSize = width / heads;
  const scale = 1 / Math.sqrt(headSize);
  const toHeads = new BigInt64Array([BigInt(tokens), BigInt(heads), BigInt(headSize)]);
  const graph = message([
    [2, "attention"],
    ...nodes().map((node): Field => [1, node]),
    [
      5,
      tensor(
        "wq",
        FLOAT,
        [width, width],
        weights.query.map((w) => w * scale),
      ),
    ],
    [5, tensor("wk", FLOAT, [width, width], weights.key)],
    [5, tensor("wv", FLOAT, [width, width], weights.value)],
    [5, tensor("to-heads", INT64, [3], toHeads)],
    [11, valueInfo("x", [tokens, width])],
    [12, valueInfo("y", [heads, tokens, headSize])],
  ]);
  return message([
    [1, 8], // IR version
    [2, "tilesim"],
    [7, graph],
    [8, message([[2, 17]])], // opset 17 of the default domain
  ]);
}

function nodes(): Uint8Array[] {
  const headsFirst = [1, 0, 2];
  return [
    node("MatMul", ["x", "wq"], "q"),
    node("MatMul", ["x", "wk"], "k"),
    node("MatMul", ["x", "wv"], "v"),
    node("Reshape", ["q", "to-heads"], "q-split"),
    node("Reshape", ["k", "to-heads"], "k-split"),
    node("Reshape", ["v", "to-heads"], "v-split"),
    node("Transpose", ["q-split"], "q-heads", [integers("perm", headsFirst)]),
    node("Transpose", ["k-split"], "k-heads", [integers("perm", [1, 2, 0])]),
    node("Transpose", ["v-split"], "v-heads", [integers("perm", headsFirst)]),
    node("MatMul", ["q-heads", "k-heads"], "scores"),
    node("Softmax", ["scores"], "attention", [integer("axis", -1)]),
    node("MatMul", ["attention", "v-heads"], "y"),
  ];
}

function node(
  operation: string,
  inputs: readonly string[],
  output: string,
  attributes: readonly Uint8Array[] = [],
): Uint8Array {
  return message([
    ...inputs.map((input): Field => [1, input]),
    [2, output],
    [4, operation],
    ...attributes.map((attribute): Field => [5, attribute]),
  ]);
}

function integer(name: string, value: number): Uint8Array {
  return message([
    [1, name],
    [3, value],
    [20, 2], // AttributeProto.INT
  ]);
}

function integers(name: string, values: readonly number[]): Uint8Array {
  return message([
    [1, name],
    ...values.map((value): Field => [8, value]),
    [20, 7], // AttributeProto.INTS
  ]);
}

function tensor(
  name: string,
  dataType: number,
  dims: readonly number[],
  { buffer, byteOffset, byteLength }: Float32Array | BigInt64Array,
): Uint8Array {
  return message([
    ...dims.map((dim): Field => [1, dim]),
    [2, dataType],
    [8, name],
    [9, new Uint8Array(buffer, byteOffset, byteLength)], // little endian, as every Node host is
  ]);
}

function valueInfo(name: string, dims: readonly number[]): Uint8Array {
  const shape = message(dims.map((dim): Field => [1, message([[1, dim]])]));
  const tensorType = message([
    [1, FLOAT],
    [2, shape],
  ]);
  return message([
    [1, name],
    [2, message([[1, tensorType]])],
  ]);
}

/** A protobuf message: numbers as varints, strings and bytes with their length before them. */
function message(fields: readonly Field[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const [number, value] of fields) {
    if (typeof value === "number") {
      parts.push(varint(number << 3), varint(value));
    } else {
      const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
      parts.push(varint((number << 3) | 2), varint(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

/** Seven bits a byte, low ones first; a negative number as its 64-bit two's complement. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { InternalError, SimError } from "../../src/base/errors.ts";
import { npyBytes, parseNpy, readNpy, writeNpy } from "../../src/io/npy.ts";
import type { NpyArray } from "../../src/io/npy.ts";

const folder = mkdtempSync(join(tmpdir(), "npy-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Parts {
  readonly magic?: string;
  readonly version?: readonly [number, number];
  /** What the file says of its header's length; by default the truth. */
  readonly length?: number;
  readonly header: string;
  /** Bytes in hex. */
  readonly data?: string;
}

function npy({ magic = "\x93NUMPY", version = [1, 0], length, header, data = "" }: Parts): Buffer {
  const size = length ?? header.length;
  const lengthBytes = Buffer.alloc(version[0] === 1 ? 2 : 4);
  if (version[0] === 1) lengthBytes.writeUInt16LE(size);
  else lengthBytes.writeUInt32LE(size);
  return Buffer.concat([
    Buffer.from(magic, "latin1"),
    Buffer.from(version),
    lengthBytes,
    Buffer.from(header, "latin1"),
    Buffer.from(data, "hex"),
  ]);
}

function header(descr: string, shape: string, fortran = "False"): string {
  return `{'descr': ${descr}, 'fortran_order': ${fortran}, 'shape': ${shape}, }\n`;
}

function plain({ dtype, shape, data }: NpyArray): [NpyArray["dtype"], readonly number[], number[]] {
  return [dtype, shape, [...data]];
}

// prettier-ignore
test.each<[string, Parts, NpyArray["dtype"], number[], number[]]>([
  // why                                   file                                                            dtype  shape   data
  ["f2 is held as bits",                   { header: header("'<f2'", "(2,)"), data: "003c00fc" },           "f16", [2],    [0x3c00, 0xfc00]],
  ["big-endian f2 is turned",              { header: header("'>f2'", "(2,)"), data: "3c00fc00" },           "f16", [2],    [0x3c00, 0xfc00]],
  ["f4 in rows",                           { header: header("'<f4'", "(2, 1)"), data: "0000803f000000c0" }, "f32", [2, 1], [1, -2]],
  ["big-endian f4 is turned",              { header: header("'>f4'", "(1,)"), data: "3f800000" },           "f32", [1],    [1]],
  ["f8",                                   { header: header("'<f8'", "(1,)"), data: "000000000000f03f" },   "f64", [1],    [1]],
  ["big-endian f8 is turned",              { header: header("'>f8'", "(1,)"), data: "3ff0000000000000" },   "f64", [1],    [1]],
  ["a scalar has no axes",                 { header: header("'<f2'", "()"), data: "003c" },                 "f16", [],     [0x3c00]],
  ["an axis of none has no data",          { header: header("'<f2'", "(3, 0)") },                           "f16", [3, 0], []],
  ["none of very many is none",            { header: header("'<f2'", "(9007199254740991, 9007199254740991, 0)") }, "f16", [2 ** 53 - 1, 2 ** 53 - 1, 0], []],
  ["Fortran order is put in rows",         { header: header("'<f2'", "(2, 3)", "True"), data: "010002000300040005000600" }, "f16", [2, 3], [1, 3, 5, 2, 4, 6]],
  ["Fortran order of three axes too",      { header: header("'<f2'", "(2, 1, 2)", "True"), data: "0100020003000400" }, "f16", [2, 1, 2], [1, 3, 2, 4]],
  ["Fortran order of one axis is the same",{ header: header("'<f2'", "(2,)", "True"), data: "01000200" },   "f16", [2],    [1, 2]],
  ["version 2 has a longer length",        { version: [2, 0], header: header("'<f2'", "(1,)"), data: "003c" }, "f16", [1], [0x3c00]],
  ["version 3 as well",                    { version: [3, 0], header: header("'<f2'", "(1,)"), data: "003c" }, "f16", [1], [0x3c00]],
  ["other quotes, order and spacing",      { header: `{"shape":(1L,),"descr":"<f2" , "fortran_order":False}`, data: "003c" }, "f16", [1], [0x3c00]],
])("%s", (_, parts, dtype, shape, data) => {
  expect(plain(parseNpy(npy(parts)))).toEqual([dtype, shape, data]);
});

test("data at an odd place in its buffer is read all the same", () => {
  const file = npy({ header: header("'<f4'", "(1,)"), data: "0000803f" });
  const shifted = new Uint8Array(file.length + 1);
  shifted.set(file, 1);
  expect(plain(parseNpy(shifted.subarray(1)))).toEqual(["f32", [1], [1]]);
});

test("what is read does not change with the bytes it was read from", () => {
  const file = npy({ header: header("'<f2'", "(1,)"), data: "003c" });
  const array = parseNpy(file);
  file.fill(0);
  expect(plain(array)).toEqual(["f16", [1], [0x3c00]]);
});

/** NumPy 2.4.6: numpy.save of asfortranarray(arange(6, dtype='>f4').reshape(2, 3)). */
test("a file of NumPy's is read", () => {
  const text = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }";
  const file = npy({
    header: `${text.padEnd(117)}\n`,
    data: "000000004040" + "00003f80000040800000" + "40000000" + "40a00000",
  });
  expect(file.subarray(0, 10).toString("hex")).toBe("934e554d505901007600");
  expect(plain(parseNpy(file))).toEqual(["f32", [2, 3], [0, 1, 2, 3, 4, 5]]);
});

/** NumPy 2.4.6: numpy.save of array([1, -0.0, 65504, inf], dtype='<f2'). */
test("a file is written as NumPy writes it", () => {
  const bytes = npyBytes({
    dtype: "f16",
    shape: [4],
    data: Uint16Array.of(0x3c00, 0x8000, 0x7bff, 0x7c00),
  });
  const text = "{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }";
  const expected = npy({ header: `${text.padEnd(117)}\n`, data: "003c0080ff7b007c" });
  expect(Buffer.from(bytes).toString("latin1")).toBe(expected.toString("latin1"));
});

const F2 = header("'<f2'", "(2,)");

// prettier-ignore
test.each<[string, Buffer, string, number]>([
  // why                                   file                                                    field             offset
  ["an empty file",                        Buffer.alloc(0),                                        "magic",              0],
  ["another kind of file",                 Buffer.from("PK\x03\x04, a zip of arrays"),             "magic",              0],
  ["a magic cut short",                    Buffer.from("\x93NUM", "latin1"),                       "magic",              4],
  ["no version",                           Buffer.from("\x93NUMPY\x01", "latin1"),                 "version",            7],
  ["version 0",                            npy({ version: [0, 0], header: F2 }),                   "version",            6],
  ["version 1.1",                          npy({ version: [1, 1], header: F2 }),                   "version",            6],
  ["version 4",                            npy({ version: [4, 0], header: F2 }),                   "version",            6],
  ["no length",                            Buffer.from("\x93NUMPY\x01\0\x10", "latin1"),           "header length",      9],
  ["a header longer than the file",        npy({ header: F2, length: 500 }),                       "header",            10 + F2.length],
  ["a header of 4 GiB",                    npy({ version: [2, 0], header: F2, length: 0xffffffff }), "header length",    8],
  ["no header",                            npy({ header: "" }),                                    "header",            10],
  ["a header that is no dictionary",       npy({ header: "[1]" }),                                 "header",            10],
  ["a dictionary that stops",              npy({ header: "{'descr': '<f2'" }),                     "descr",             25],
  ["more after the dictionary",            npy({ header: "{} {}" }),                               "header",            13],
  ["a key missing",                        npy({ header: "{'descr': '<f2', 'shape': (2,)}" }),     "header",            41],
  ["a key unknown",                        npy({ header: "{'colour': 1}" }),                       "colour",            11],
  ["a key twice",                          npy({ header: "{'descr': '<f2', 'descr': '<f4'}" }),    "descr",             27],
  ["a key that is no string",              npy({ header: "{1: 2}" }),                              "header",            11],
  ["an escape in a string",                npy({ header: "{'\\x64escr': '<f2'}" }),                "header",            11],
  ["a descr that is a number",             npy({ header: header("4", "(2,)") }),                   "descr",             20],
  ["an order that is a number",            npy({ header: header("'<f2'", "(2,)", "1") }),          "fortran_order",     44],
  ["a shape that is a list",               npy({ header: header("'<f2'", "[2]") }),                "shape",             60],
  ["a shape that is a number",             npy({ header: header("'<f2'", "(2)") }),                "shape",             60],
  ["a negative extent",                    npy({ header: header("'<f2'", "(-2,)") }),              "shape",             61],
  ["an extent that is no integer",         npy({ header: header("'<f2'", "(2.0,)") }),             "shape",             62],
  ["an extent beyond counting",            npy({ header: header("'<f2'", "(99999999999999999999,)") }), "shape",        60],
  ["elements beyond counting",             npy({ header: header("'<f2'", "(4294967296, 4294967296)") }), "shape",       60],
  ["an expression",                        npy({ header: header("'<f2'", "(2 * 2,)") }),           "shape",             63],
  ["65 axes",                              npy({ header: header("'<f2'", `(${"1,".repeat(65)})`) }), "shape",           60],
  ["no data",                              npy({ header: F2 }),                                    "data",              10 + F2.length],
  ["data that is cut short",               npy({ header: F2, data: "003c00" }),                    "data",              10 + F2.length],
  ["data and more",                        npy({ header: F2, data: "003c003c00" }),                "data",              10 + F2.length],
  ["a shape of 8 PiB",                     npy({ header: header("'<f8'", "(1125899906842624,)") }), "data",             10 + header("'<f8'", "(1125899906842624,)").length],
])("%s is refused where it stands", (_, file, field, offset) => {
  const error = thrownBy(() => parseNpy(file, "x.npy"));
  expect([error.code, error.fault.where]).toEqual(["FILE_MALFORMED", { file: "x.npy", field, offset }]);
});

// prettier-ignore
test.each([
  ["'<i4'"], ["'|b1'"], ["'|u1'"], ["'<c8'"], ["'<f16'"], ["'<U3'"], ["'|O'"], ["'f4'"], ["'=f4'"], ["''"], ["'toString'"],
  ["[('x', '<f4')]"], ["('<f4', (2,))"],
])("elements of %s are refused", (descr) => {
  const error = thrownBy(() => parseNpy(npy({ header: header(descr, "(2,)") })));
  expect([error.code, error.fault.where.offset]).toEqual(["DTYPE_MISMATCH", 20]);
});

function thrownBy(run: () => unknown): SimError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(SimError);
    return error as SimError;
  }
  throw new Error("nothing was thrown");
}

test("an array that is not of its shape is our own fault", () => {
  expect(() => npyBytes({ dtype: "f32", shape: [2], data: new Float32Array(3) })).toThrow(
    InternalError,
  );
});

const arrays: fc.Arbitrary<NpyArray> = fc
  .tuple(
    fc.constantFrom("f16" as const, "f32" as const, "f64" as const),
    fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 }),
    fc.infiniteStream(fc.integer({ min: 0, max: 255 })),
  )
  .map(([dtype, shape, stream]): NpyArray => {
    const elements = shape.reduce((product, extent) => product * extent, 1);
    const bytes = Uint8Array.from(stream.take(8 * elements));
    if (dtype === "f16") return { dtype, shape, data: new Uint16Array(bytes.buffer, 0, elements) };
    if (dtype === "f32") return { dtype, shape, data: new Float32Array(bytes.buffer, 0, elements) };
    return { dtype, shape, data: new Float64Array(bytes.buffer, 0, elements) };
  });

/** The bits, NaN payloads too. */
function bits({ data }: NpyArray): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("hex");
}

describe("any array", () => {
  test("is read as it was written, bit by bit", () => {
    fc.assert(
      fc.property(arrays, (array) => {
        const read = parseNpy(npyBytes(array));
        expect([read.dtype, read.shape, bits(read)]).toEqual([
          array.dtype,
          array.shape,
          bits(array),
        ]);
      }),
    );
  });

  test("has its data at a multiple of 64 bytes", () => {
    fc.assert(
      fc.property(arrays, (array) => {
        expect((npyBytes(array).length - array.data.byteLength) % 64).toBe(0);
      }),
    );
  });

  test("whose bytes are damaged is an array or a typed error", () => {
    const damage = fc.array(
      fc.record({
        at: fc.nat(),
        cut: fc.integer({ min: 0, max: 3 }),
        put: fc.oneof(
          fc.uint8Array({ maxLength: 3 }),
          fc.constantFrom(..."'{}(),:0199L<>-".split("")).map((one) => Buffer.from(one)),
        ),
        /** Most damage goes where the header is. */
        isEarly: fc.boolean(),
      }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(arrays, damage, (array, edits) => {
        let bytes = Buffer.from(npyBytes(array));
        for (const { at, cut, put, isEarly } of edits) {
          const place = at % Math.max(1, isEarly ? Math.min(80, bytes.length) : bytes.length);
          bytes = Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(place + cut)]);
        }
        try {
          parseNpy(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(SimError);
          expect(["FILE_MALFORMED", "DTYPE_MISMATCH"]).toContain((error as SimError).code);
        }
      }),
      { numRuns: 5000 },
    );
  });
});

test("a file is written whole and read back", () => {
  const path = join(folder, "x.npy");
  const array: NpyArray = { dtype: "f32", shape: [2, 2], data: Float32Array.of(1, 2, 3, NaN) };
  writeNpy(path, array);
  expect(readNpy(path)).toEqual(array);
  expect(readdirSync(folder)).toEqual(["x.npy"]);
});

test("an error names the file", () => {
  const path = join(folder, "x.npy");
  writeFileSync(path, "text");
  expect(thrownBy(() => readNpy(path)).fault.where.file).toBe(path);
});

/**
 * e^x of an f32 in f32 arithmetic alone, each operation rounded to f32, so that any language gives the same
 * bits: at most 3 units in the last place from the nearest f32, found over every argument from 2^-27 up in
 * magnitude (94 % are the nearest, 5.6 % one off); 1 below. The `exact` mode's softmax uses it.
 *
 *   n = round(x * log2 e) to nearest even;  r = (x - n*HIGH) - n*LOW, HIGH + LOW = ln 2
 *   p = ((((((1/720 r + 1/120) r + 1/24) r + 1/6) r + 1/2) r + 1) r + 1);  p * 2^(n>>1) * 2^(n - (n>>1))
 *
 * x is held to -104 .. 89, beyond which the result is 0 or infinite anyhow.
 */
export function expF32(x: number): number {
  if (x !== x) return NaN;
  const f = Math.fround;
  const clamped = f(Math.min(Math.max(x, -104), 89));
  const n = roundToEven(f(clamped * LOG2_E));
  const r = f(f(clamped - f(n * LN2_HIGH)) - f(n * LN2_LOW));
  let p = COEFFICIENTS[0];
  for (let i = 1; i < COEFFICIENTS.length; i++) p = f(f(p * r) + COEFFICIENTS[i]);
  const half = n >> 1;
  return f(f(p * 2 ** half) * 2 ** (n - half));
}

const LOG2_E = Math.fround(Math.LOG2E);
/** ln 2 in two parts; the first has so few bits that n * HIGH is exact. */
const LN2_HIGH = 0.693359375;
const LN2_LOW = Math.fround(-2.1219444e-4);
const COEFFICIENTS = [1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1].map(Math.fround);

function roundToEven(x: number): number {
  return x + 1.5 * 2 ** 52 - 1.5 * 2 ** 52;
}

/** Element types that tile memory holds. */
export type DType = "f16" | "f32";

export const BYTES_PER_ELEMENT: Readonly<Record<DType, number>> = { f16: 2, f32: 4 };

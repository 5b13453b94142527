import { createHash } from "node:crypto";

/** SHA-256 in hexadecimal of bytes as they lie in memory, or of text as UTF-8. */
export function sha256(data: Uint8Array | Uint16Array | Float32Array | string): string {
  const bytes =
    typeof data === "string" ? data : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return createHash("sha256").update(bytes).digest("hex");
}

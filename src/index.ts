/** What the package offers to programs; the command line is built on the same. */
export {
  SimError,
  BackendError,
  InternalError,
  CODES,
  type Code,
  type Finding,
} from "./base/errors.ts";
export { VERSION } from "./base/version.ts";
export type { Layout } from "./layouts/layout.ts";
export type { Backend, MemoryMap } from "./kernels/backend.ts";
export type { KernelCall } from "./kernels/call.ts";
export type { Transfer } from "./kernels/exchange.ts";
export type { KernelSpec } from "./kernels/spec.ts";
export { ReferenceBackend } from "./backends/reference/reference-backend.ts";
export { createWasmBackend } from "./backends/wasm/wasm-backend.ts";
export { NEAREST, type Numerics, type Rounding } from "./numerics/rounding.ts";
export { plan } from "./plan/plan.ts";
export type { Program } from "./plan/program.ts";
export { parseProgram } from "./plan/program-file.ts";
export { attention } from "./plan/programs/attention.ts";
export { gemm } from "./plan/programs/gemm.ts";
export { mlp } from "./plan/programs/mlp.ts";
export { siglipAttention } from "./plan/programs/siglip-attention.ts";
export type { HostTensor } from "./sim/host-io.ts";
export { Machine, type RunResult } from "./sim/machine.ts";
export type { Schedule } from "./sim/schedule.ts";
export { formatSchedule, parseSchedule } from "./sim/schedule-file.ts";
export { timeSchedule, type Timing } from "./sim/timing.ts";
export { validateSchedule } from "./sim/validate.ts";
export { IPU21 } from "./target/ipu21.ts";
export type { Target } from "./target/target.ts";

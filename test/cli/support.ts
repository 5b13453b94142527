import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect } from "vitest";
import type { Code } from "../../src/base/errors.ts";
import type { RunReport } from "../../src/report/run-report.ts";

/** The command as it is installed; global-setup.ts builds it. */
export const MAIN: string = join(
  dirname(fileURLToPath(import.meta.url)),
  "../../dist/src/cli/main.js",
);

/** A SigLIP block that plans and runs at once. */
export const SMALL = "--tokens 20 --width 48 --heads 2 --head-size 16 --tiles 8";
export const SMALL_GEMM = "gemm --m 32 --n 32 --k 64 --tiles 8";

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in `folder`, its output in pipes. `line` is cut at spaces; what follows is given as it is. */
export function tilesim(folder: string, line: string, ...more: readonly string[]): Promise<Run> {
  const args = [...line.split(" ").filter((word) => word !== ""), ...more];
  return run(process.execPath, [MAIN, ...args], folder);
}

/** Runs a line of the shell, in which $TILESIM is the command. */
export function shell(folder: string, line: string): Promise<Run> {
  return run("bash", ["-c", line], folder, { TILESIM: `${process.execPath} ${MAIN}` });
}

function run(command: string, args: string[], cwd: string, env: object = {}): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, timeout: 60_000 });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
    child.stdin.end();
  });
}

/** The report of a run that has nothing to say beside it. */
export async function report(folder: string, line: string, ...more: string[]): Promise<RunReport> {
  const { code, stdout, stderr } = await tilesim(folder, line, "--json", ...more);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as RunReport;
}

/** A new folder, gone after the file's tests. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cli-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Bad input: exit code 2, and one line that says the code, what, where it is known, and a remedy. */
export function expectRefused({ code, stdout, stderr }: Run, error: Code): void {
  expect(stderr).toMatch(new RegExp(`^${error}: [^\\n]+\\. [A-Z-][^\\n]*\\.\\n$`));
  expect([code, stdout]).toEqual([2, ""]);
}

/** Names in a folder, hidden ones too. */
export function namesIn(folder: string): string[] {
  return readdirSync(folder).sort();
}

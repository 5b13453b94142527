import { printable } from "./printable.ts";

/** One line on a terminal that says what goes on; silent in a pipe. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #isLive: boolean;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
    this.#isLive = stream.isTTY === true;
  }

  say(what: string): void {
    if (!this.#isLive) return;
    this.#stream.clearLine(0);
    this.#stream.cursorTo(0);
    this.#stream.write(printable(what).slice(0, Math.max(20, (this.#stream.columns ?? 80) - 1)));
  }

  end(): void {
    if (!this.#isLive) return;
    this.#stream.clearLine(0);
    this.#stream.cursorTo(0);
  }
}

/** What `inFreshProcess` starts: calls `once(argument)` of the module named, and sends what it returns. */

interface Module {
  once(argument: string): Promise<object>;
}

const [, , module, argument] = process.argv;
const loaded = (await import(module)) as Module;
const result = await loaded.once(argument);
process.send?.(result, () => process.disconnect());

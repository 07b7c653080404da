import '../../own-modules.ts';
import { afterEach, beforeEach, vi } from 'vitest';

const RealDate = Date;
let now = 0;

/** Goes on with each look at it, so that no two moments are the same, and with each pause. */
class VirtualDate extends RealDate {
  constructor(...args: unknown[]) {
    super(...((args.length === 0 ? [VirtualDate.now()] : args) as [number]));
  }

  static override now(): number {
    return ++now;
  }
}

/** Lets others have their turn. */
async function pause<T>(ms = 0, value?: T): Promise<T | undefined> {
  now += ms;
  await new Promise((resolve) => void setImmediate(resolve));
  return value;
}

/** Commands that pause don't wait: the clock continues by as much. Must be imported before any of drover's code. */
vi.mock('node:timers/promises', () => ({ setTimeout: pause, default: { setTimeout: pause } }));
beforeEach(() => {
  now = RealDate.now();
  vi.stubGlobal('Date', VirtualDate);
});
afterEach(() => void vi.unstubAllGlobals());

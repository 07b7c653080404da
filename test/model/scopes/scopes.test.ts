import '../world/real-code.ts';
import fc from 'fast-check';
import { test } from 'vitest';
import { anyScope, playScopes } from './play.ts';

/** As in `guarantees.test.ts`. */
const FIXED = process.env['RUNS'] === undefined ? { seed: Number(process.env['SEED'] ?? 1) } : {};

test('operations of a namespace and of the cluster touch only VMs that they include, once, beside a rollout, and nothing in a namespace that is left to others', async () => {
  const numRuns = Number(process.env['RUNS'] ?? 8);
  const holds = fc.asyncProperty(anyScope, async (scenario) => void (await playScopes(scenario)));
  await fc.assert(holds, { ...FIXED, numRuns, endOnFailure: process.env['SHRINK'] === undefined });
}, 3_600_000);

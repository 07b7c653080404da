import type { VmInProgress } from '../../decisions/power/outcome.ts';
import { disrupt, type WaveOptions } from '../disruption/wave.ts';
import type { RunChanges } from './request.ts';
import type { RunMethod, RunPlan } from './run-method.ts';

interface CarryOutOptions extends WaveOptions {
  /** Of the operation as it was read. */
  operationVersion: RunChanges['operationVersion'];
}

interface CarriedOut<Plan> {
  changes: RunChanges;
  /** What the last look has found. */
  plan: Plan;
  /** Since when nothing has been in progress, in milliseconds since the epoch; null if something is. */
  idleSince: number | null;
}

/** Acts on VMs for a run, and follows them, until there is something to tell. */
export async function carryOut<Plan extends RunPlan>(
  method: RunMethod<Plan>,
  { operationVersion, ...options }: CarryOutOptions,
): Promise<CarriedOut<Plan>> {
  const { outcomes: settled, begun, isOver, idleSince, minVersions } = await disrupt(method, options);
  const { plan, digest } = method.found;
  const inProgress = begun.map(({ vm, since }: VmInProgress) => ({ vm, since }));
  return { changes: { settled, inProgress, isOver, digest, minVersions, operationVersion }, plan, idleSince };
}

import { timestamp } from '../objects/conditions.ts';
import type { KubeVirt, StartFailure, VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { hasRun, isFinal } from '../objects/vmi.ts';
import { runStrategyOf } from './run-strategy.ts';

/** On the KubeVirt object: a factor for each delay after a failed start, to avoid waits of minutes. */
const BACKOFF_ANNOTATION = 'sim.drover.dev/backoff-factor';

const BASE_SECONDS = 10;
const CAP_SECONDS = 300;
const COUNTING = new Set(['Always', 'RerunOnFailure', 'Once']);

/**
 * Returns the seconds until the next start after `count` failures: 10·n² plus up to half of that, at most 300. `random`
 * is in [0, 1).
 */
export function backoffSeconds(count: number, random: number): number {
  const seconds = BASE_SECONDS * Math.max(1, count) ** 2;
  return Math.min(CAP_SECONDS, seconds + Math.floor(random * (Math.floor(seconds / 2) + 1)));
}

/** Returns the annotation's factor if it is a number of at least 0, else 1, as in KubeVirt. */
export function backoffFactorOf(kubevirt: KubeVirt | undefined): number {
  const factor = Number(kubevirt?.metadata.annotations?.[BACKOFF_ANNOTATION] ?? 1);
  return factor >= 0 ? factor : 1;
}

export interface Chance {
  now: number;
  /** In [0, 1). */
  random: number;
  /** Factor for each delay. */
  backoffFactor: number;
}

/**
 * Returns what `status.startFailure` should be: one failure more if the VMI ended without ever running; undefined if it
 * ran, or if the run strategy doesn't count failures.
 */
export function startFailureOf(
  vm: VirtualMachine,
  vmi: VirtualMachineInstance | undefined,
  { now, random, backoffFactor }: Chance,
): StartFailure | undefined {
  const before = vm.status?.startFailure ?? undefined;
  if ((vmi !== undefined && hasRun(vmi)) || !COUNTING.has(runStrategyOf(vm))) return undefined;
  const uid = vmi?.metadata.uid;
  if (vmi === undefined || uid === undefined || !isFinal(vmi) || before?.lastFailedVMIUID === uid) return before;
  const count = (before?.consecutiveFailCount ?? 0) + 1;
  const retryAfter = now + backoffSeconds(count, random) * 1000 * backoffFactor;
  return { consecutiveFailCount: count, lastFailedVMIUID: uid, retryAfterTimestamp: timestamp(retryAfter) };
}

import { timestamp } from '../store/conditions.ts';
import type { KubeVirt, StartFailure, VirtualMachine, VirtualMachineInstance } from '../types.ts';
import { hasRun, isFinal } from '../vmi/vmi.ts';
import { runStrategyOf } from './run-strategy.ts';

/**
 * On the KubeVirt object: what each delay after a failed start is multiplied by, so that a person need not wait for
 * minutes.
 */
export const BACKOFF_ANNOTATION = 'sim.drover.dev/backoff-factor';

const BASE_SECONDS = 10;
const CAP_SECONDS = 300;
const COUNTING = new Set(['Always', 'RerunOnFailure', 'Once']);

/**
 * Seconds until the next start after `count` failures: 10·n² and up to half as much again, at most 300; `random` in [0,
 * 1).
 */
export function backoffSeconds(count: number, random: number): number {
  const seconds = BASE_SECONDS * Math.max(1, count) ** 2;
  return Math.min(CAP_SECONDS, seconds + Math.floor(random * (Math.floor(seconds / 2) + 1)));
}

/** 1, as KubeVirt has it, unless the annotation holds another number of at least 0. */
export function backoffFactorOf(kubevirt: KubeVirt | undefined): number {
  const factor = Number(kubevirt?.metadata.annotations?.[BACKOFF_ANNOTATION] ?? 1);
  return factor >= 0 ? factor : 1;
}

export interface Chance {
  now: number;
  /** In [0, 1). */
  random: number;
  /** What each delay is multiplied by. */
  backoffFactor: number;
}

/**
 * `status.startFailure` as it should be: one more for an instance that ended without ever running, none after one that
 * ran.
 */
export function startFailureOf(
  machine: VirtualMachine,
  instance: VirtualMachineInstance | undefined,
  { now, random, backoffFactor }: Chance,
): StartFailure | undefined {
  const before = machine.status?.startFailure ?? undefined;
  if ((instance !== undefined && hasRun(instance)) || !COUNTING.has(runStrategyOf(machine))) return undefined;
  const uid = instance?.metadata.uid;
  if (instance === undefined || uid === undefined || !isFinal(instance) || before?.lastFailedVMIUID === uid)
    return before;
  const count = (before?.consecutiveFailCount ?? 0) + 1;
  const retryAfter = now + backoffSeconds(count, random) * 1000 * backoffFactor;
  return { consecutiveFailCount: count, lastFailedVMIUID: uid, retryAfterTimestamp: timestamp(retryAfter) };
}

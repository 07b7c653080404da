import { isDeepStrictEqual } from 'node:util';
import { conditionOf, isTrue, timestamp, withCondition } from '../store/conditions.ts';
import type { TimedCondition, VirtualMachine, VirtualMachineInstance, VirtualMachineStatus } from '../types.ts';
import { GENERATION_ANNOTATION } from '../vmi/vmi.ts';
import { printableStatus } from './printable-status.ts';
import { outstandingRequests, runStrategyOf } from './run-strategy.ts';
import { startFailureOf, type Chance } from './start-failure.ts';

/** What becomes of RestartRequired: it stays as it is, goes, or is set; with `anew`, its time is that of this pass. */
export type RestartRequired = 'kept' | 'none' | { why: string; anew?: true };

export interface Seen extends Chance {
  machine: VirtualMachine;
  instance: VirtualMachineInstance | undefined;
  dataVolumePhases: readonly (string | undefined)[];
  unboundClaim: boolean;
  restartRequired: RestartRequired;
  /** Its VMI has just been made, and is not in sight yet. */
  starting?: boolean;
  /** What kept this pass from doing what it should. */
  failure: { reason: string; message: string } | undefined;
}

/** Conditions that are the VM's own; all others are copies of its VMI's. */
const OWN = new Set(['Ready', 'Failure', 'RestartRequired']);

/** The VM's status as it should be; the very same object where nothing is to be written. */
export function machineStatus(seen: Seen): VirtualMachineStatus {
  const { machine, instance } = seen;
  const before = machine.status ?? {};
  const startFailure = startFailureOf(machine, instance, seen);
  const requests = outstandingRequests(machine, instance);
  const {
    stateChangeRequests: _requests,
    startFailure: _failure,
    created: _created,
    ready: _ready,
    runStrategy,
    ...rest
  } = before;
  const after: VirtualMachineStatus = {
    ...rest,
    // Left out unless true, as KubeVirt's API has it.
    ...(instance === undefined ? {} : { created: true }),
    ...(isTrue(instance, 'Ready') ? { ready: true } : {}),
    ...generations(machine, instance),
    // Its presence tells a VM that has been started at least once.
    ...(runStrategy === undefined && instance === undefined ? {} : { runStrategy: runStrategyOf(machine) }),
    ...(requests.length === 0 ? {} : { stateChangeRequests: requests }),
    ...(startFailure === undefined ? {} : { startFailure }),
    conditions: conditionsOf(seen),
    printableStatus: printableStatus({ ...seen, startFailure }),
  };
  return isDeepStrictEqual(after, before) ? before : after;
}

function generations(
  machine: VirtualMachine,
  instance: VirtualMachineInstance | undefined,
): Partial<VirtualMachineStatus> {
  const observed = Number(instance?.metadata.annotations?.[GENERATION_ANNOTATION]);
  const desired = machine.metadata.generation;
  return Number.isInteger(observed) && desired !== undefined
    ? { observedGeneration: observed, desiredGeneration: desired }
    : {};
}

/** Written anew each time that it has a VMI, so that a condition from elsewhere does not stay. */
function conditionsOf({ machine, instance, restartRequired, failure, now }: Seen): TimedCondition[] {
  const time = timestamp(now);
  const before = machine.status?.conditions ?? [];
  const wanted: TimedCondition[] = [readyCondition(instance, time)];
  if (failure !== undefined)
    wanted.push({ type: 'Failure', status: 'True', ...failure, lastProbeTime: null, lastTransitionTime: time });
  if (typeof restartRequired === 'object') {
    const message = restartRequired.why;
    wanted.push({ type: 'RestartRequired', status: 'True', message, lastProbeTime: null, lastTransitionTime: time });
  }
  for (const condition of instance?.status?.conditions ?? []) if (!OWN.has(condition.type)) wanted.push(condition);
  const types = new Set(wanted.map(({ type }) => type));
  const stays = ({ type }: TimedCondition): boolean => {
    if (type === 'RestartRequired')
      return restartRequired === 'kept' || (typeof restartRequired === 'object' && restartRequired.anew !== true);
    return types.has(type) || (instance === undefined && !OWN.has(type));
  };
  return wanted.reduce<TimedCondition[]>(withCondition, before.filter(stays));
}

function readyCondition(instance: VirtualMachineInstance | undefined, time: string): TimedCondition {
  const times = { lastProbeTime: time, lastTransitionTime: time };
  if (instance === undefined)
    return { type: 'Ready', status: 'False', reason: 'VMINotExists', message: 'VMI does not exist', ...times };
  const ready = conditionOf(instance, 'Ready');
  return (
    ready ?? {
      type: 'Ready',
      status: 'False',
      reason: 'VMIConditionMissing',
      message: 'VMI is missing the Ready condition',
      ...times,
    }
  );
}

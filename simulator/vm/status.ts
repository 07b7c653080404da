import { isDeepStrictEqual } from 'node:util';
import { conditionOf, isTrue, timestamp, withCondition } from '../store/conditions.ts';
import type { TimedCondition, VirtualMachine, VirtualMachineInstance, VirtualMachineStatus } from '../types.ts';
import { GENERATION_ANNOTATION } from '../vmi/vmi.ts';
import { printableStatus } from './printable-status.ts';
import { outstandingRequests, runStrategyOf } from './run-strategy.ts';
import { startFailureOf, type Chance } from './start-failure.ts';

/** What happens to the RestartRequired condition: kept, removed, or set. With `anew`, its time is that of this pass. */
export type RestartRequired = 'kept' | 'none' | { why: string; anew?: true };

export interface Seen extends Chance {
  machine: VirtualMachine;
  instance: VirtualMachineInstance | undefined;
  dataVolumePhases: readonly (string | undefined)[];
  unboundClaim: boolean;
  restartRequired: RestartRequired;
  /** True if this pass has just created the VMI; `instance` is still undefined then. */
  starting?: boolean;
  /** What prevented this pass from completing. */
  failure: { reason: string; message: string } | undefined;
}

/** Conditions of the VM itself; all others are copied from its VMI. */
const OWN = new Set(['Ready', 'Failure', 'RestartRequired']);

/** Returns what the VM's status should be; the same object if nothing changes. */
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
    // Omitted unless true, as in KubeVirt's API.
    ...(instance === undefined ? {} : { created: true }),
    ...(isTrue(instance, 'Ready') ? { ready: true } : {}),
    ...generations(machine, instance),
    // Set only if the VM has been started at least once.
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

/** Rebuilt in each pass while the VM has a VMI, so that conditions written by others don't stay. */
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

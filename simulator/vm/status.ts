import { isDeepStrictEqual } from 'node:util';
import { conditionOf, isTrue, timestamp, withCondition } from '../objects/conditions.ts';
import type {
  TimedCondition,
  VirtualMachine,
  VirtualMachineInstance,
  VirtualMachineStatus,
} from '../objects/kubevirt.ts';
import { GENERATION_ANNOTATION } from '../objects/vmi.ts';
import { printableStatus } from './printable-status.ts';
import { outstandingRequests, runStrategyOf } from './run-strategy.ts';
import { startFailureOf, type Chance } from './start-failure.ts';

/**
 * What happens to the RestartRequired condition: kept, removed, or set. With `isNew`, its time is that of this pass.
 */
export type RestartRequired = 'kept' | 'none' | { message: string; isNew?: true };

export interface ResourceVersions extends Chance {
  vm: VirtualMachine;
  vmi: VirtualMachineInstance | undefined;
  dataVolumePhases: readonly (string | undefined)[];
  unboundClaim: boolean;
  restartRequired: RestartRequired;
  /** True if this pass has just created the VMI; `vmi` is still undefined then. */
  starting?: boolean;
  /** What prevented this pass from completing. */
  failure: { reason: string; message: string } | undefined;
}

/** Conditions of the VM itself; all others are copied from its VMI. */
const OWN = new Set(['Ready', 'Failure', 'RestartRequired']);

/** Returns what the VM's status should be; the same object if nothing changes. */
export function vmStatus(seen: ResourceVersions): VirtualMachineStatus {
  const { vm, vmi } = seen;
  const before = vm.status ?? {};
  const startFailure = startFailureOf(vm, vmi, seen);
  const requests = outstandingRequests(vm, vmi);
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
    ...(vmi === undefined ? {} : { created: true }),
    ...(isTrue(vmi, 'Ready') ? { ready: true } : {}),
    ...generations(vm, vmi),
    // Set only if the VM has been started at least once.
    ...(runStrategy === undefined && vmi === undefined ? {} : { runStrategy: runStrategyOf(vm) }),
    ...(requests.length === 0 ? {} : { stateChangeRequests: requests }),
    ...(startFailure === undefined ? {} : { startFailure }),
    conditions: conditionsOf(seen),
    printableStatus: printableStatus({ ...seen, startFailure }),
  };
  return isDeepStrictEqual(after, before) ? before : after;
}

/** Both stay as they were while the VM has no VMI, also when its spec changes. */
function generations(
  { metadata, status }: VirtualMachine,
  vmi: VirtualMachineInstance | undefined,
): Partial<VirtualMachineStatus> {
  const annotated = Number(vmi?.metadata.annotations?.[GENERATION_ANNOTATION]);
  const isKnown = Number.isInteger(annotated) && metadata.generation !== undefined;
  const observed = isKnown ? annotated : status?.observedGeneration;
  const desired = isKnown ? metadata.generation : status?.desiredGeneration;
  return {
    ...(observed === undefined ? {} : { observedGeneration: observed }),
    ...(desired === undefined ? {} : { desiredGeneration: desired }),
  };
}

/** Rebuilt in each pass while the VM has a VMI, so that conditions written by others don't stay. */
function conditionsOf({ vm, vmi, restartRequired, failure, now }: ResourceVersions): TimedCondition[] {
  const time = timestamp(now);
  const before = vm.status?.conditions ?? [];
  const wanted: TimedCondition[] = [readyCondition(vmi, time)];
  if (failure !== undefined)
    wanted.push({ type: 'Failure', status: 'True', ...failure, lastProbeTime: null, lastTransitionTime: time });
  if (typeof restartRequired === 'object') {
    const message = restartRequired.message;
    wanted.push({ type: 'RestartRequired', status: 'True', message, lastProbeTime: null, lastTransitionTime: time });
  }
  for (const condition of vmi?.status?.conditions ?? []) if (!OWN.has(condition.type)) wanted.push(condition);
  const types = new Set(wanted.map(({ type }) => type));
  const stays = ({ type }: TimedCondition): boolean => {
    if (type === 'RestartRequired')
      return restartRequired === 'kept' || (typeof restartRequired === 'object' && restartRequired.isNew !== true);
    return types.has(type) || (vmi === undefined && !OWN.has(type));
  };
  return wanted.reduce<TimedCondition[]>(withCondition, before.filter(stays));
}

function readyCondition(vmi: VirtualMachineInstance | undefined, time: string): TimedCondition {
  const times = { lastProbeTime: time, lastTransitionTime: time };
  if (vmi === undefined)
    return { type: 'Ready', status: 'False', reason: 'VMINotExists', message: 'VMI does not exist', ...times };
  const ready = conditionOf(vmi, 'Ready');
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

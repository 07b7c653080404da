import type { Condition } from '../../api/pool/pool.ts';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { isReady, type VmiOf } from '../disruption-budget/availability.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import { formatNames } from '../lib/names.ts';
import { availableWhile, type Availability } from '../pool/availability.ts';
import { withTime, type Untimed } from '../pool/conditions.ts';
import { replicaFailure, type Failure } from '../pool/status.ts';
import type { StoredReplicaSet } from '../views/vm-owner.ts';
import type { VmView } from '../views/vm.ts';
import type { Members } from './members.ts';
import { selectorText } from './selector-text.ts';

const MESSAGE_LENGTH = 2_048;
const OURS = new Set(['ReplicaFailure', 'Available', 'Progressing', 'Paused', 'Stalled']);

export interface ReplicaSetStatusInput {
  set: StoredReplicaSet;
  /** All VMs that the set controls. */
  vms: readonly VmView[];
  members: Members;
  vmiOf: VmiOf;
  availability: Availability;
  failure: Failure | null;
  /** RFC 3339. */
  now: string;
}

/** Returns the status that the set should have. */
export function replicaSetStatus(input: ReplicaSetStatusInput): ReplicaSetStatus {
  const { set, vms, members, vmiOf, availability, failure, now } = input;
  const others = (set.status?.conditions ?? []).filter(({ type }) => !OURS.has(type));
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: vms.length - members.ended.length - members.unmatched.length,
    readyReplicas: members.active.filter((vm) => isReady(vm, vmiOf(vm))).length,
    availableReplicas: availability.available,
    labelSelector: selectorText(set.spec.selector),
    conditions: [
      ...others,
      availableWhile(set, availability, 0, now),
      ...[progressing(input), paused(set)].map((condition): Condition => withTime(set, condition, now)),
      ...(failure === null ? [] : [replicaFailure(failure)]),
    ],
  };
}

/** `Progressing`: True while VMs come or go, with the reason why that takes time. */
function progressing({ set, vms, members }: ReplicaSetStatusInput): Untimed<'Progressing'> {
  const { replicas, paused: isPaused } = set.spec;
  const { active, present, unmatched, orphans } = members;
  const going = vms.filter(({ deleting }) => deleting).map(({ name }) => name);
  if (set.metadata.deletionTimestamp !== undefined)
    return { type: 'Progressing', status: 'True', reason: 'Deleting', message: 'the set is being deleted' };
  const words = [
    `${active.length} of ${replicas} VMs exist`,
    ...(going.length === 0 ? [] : [`${formatNames(going)} being deleted, and in their places until they are gone`]),
    ...(unmatched.length === 0 ? [] : [`to be released: ${formatNames(unmatched.map(({ name }) => name))}`]),
    ...(orphans.length === 0 ? [] : [`to be adopted: ${formatNames(orphans.map(({ name }) => name))}`]),
  ];
  const message = inOneMessage(words, MESSAGE_LENGTH);
  if (isPaused === true) return { type: 'Progressing', status: 'False', reason: 'Paused', message };
  if (present.size > replicas) return { type: 'Progressing', status: 'True', reason: 'ScalingIn', message };
  if (active.length < replicas) return { type: 'Progressing', status: 'True', reason: 'ScalingOut', message };
  return { type: 'Progressing', status: 'False', reason: 'Complete', message };
}

const paused = ({ spec }: StoredReplicaSet): Untimed<'Paused'> =>
  spec.paused === true
    ? { type: 'Paused', status: 'True', reason: 'PausedBySpec', message: 'spec.paused is true' }
    : { type: 'Paused', status: 'False', reason: 'NotPaused', message: '' };

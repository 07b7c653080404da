import { ORPHAN_FINALIZER } from '../../api/labels-and-annotations.ts';
import type { Condition, LabelSelector } from '../../api/pool/pool.ts';
import type { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { DEFAULT_ROLLOUT } from '../../api/rules/pool-defaults.ts';
import { runsByItself } from '../health/availability.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import type { Restore } from '../membership/restore.ts';
import { conditionsOfOthers, withTime, type UntimedCondition } from '../owners/conditions.ts';
import { failedStarts, housekeepingFailure, replicaFailure, type Failure } from '../owners/failures.ts';
import { readinessConditions, setReadiness } from '../owners/readiness.ts';
import { formatWaiting } from '../owners/removal-limit.ts';
import { vmNames } from '../owners/steps.ts';
import { formatTerminating } from '../owners/terminating.ts';
import { availableWhile, type Availability } from '../scaling/available-condition.ts';
import type { StoredSet } from '../views/owner.ts';
import type { Members, MembersInput } from './members.ts';
import { overlapping, type Overlaps } from './overlaps.ts';
import { setRestoring } from './restore.ts';

/** How long a refusal may last before it counts as not passing by itself, as in a pool. */
const REFUSAL_SECONDS = DEFAULT_ROLLOUT.progressDeadlineSeconds;
export const MEMBER_NOUNS = { strict: 'VMs', eager: 'VMIs' } as const;
const TERMINATING_COUNTS = { strict: 'in their places until they are gone', eager: 'replaced' };
const UNKNOWN_COUNTS = {
  strict: 'in their places until they are deleted or the nodes are back',
  eager: 'replaced',
};
interface ReplicaSetStatusInput extends Pick<MembersInput, 'set' | 'replicas' | 'counting'> {
  members: Members;
  availability: Availability;
  /** How many are to be deleted, and wait until others have gone. */
  waiting: number;
  failures: readonly Failure[];
  overlaps: Overlaps;
  restore: Restore;
  /** RFC 3339. */
  now: string;
}

export function replicaSetStatus(input: ReplicaSetStatusInput): ReplicaSetStatus {
  const { set, replicas, counting, members, availability, failures, overlaps, now } = input;
  const { active, ended, unmatched } = members;
  const isDeleted = set.metadata.deletionTimestamp !== undefined;
  const shared = isDeleted ? null : overlapping(overlaps, MEMBER_NOUNS[counting]);
  const status: ReplicaSetStatus = {
    observedGeneration: set.metadata.generation ?? 0,
    desiredReplicas: set.spec.replicas,
    replicas: counting === 'eager' ? active.length : replicas.length - ended.length - unmatched.length,
    readyReplicas: active.filter(({ isReady }) => isReady).length,
    availableReplicas: availability.available,
    labelSelector: selectorText(set.spec.selector),
    conditions: [
      ...conditionsOfOthers(set),
      ...[
        availableWhile(set, availability, availability.available >= set.spec.replicas, MEMBER_NOUNS[counting]),
        progressing(input),
        paused(set),
        ...(shared === null ? [] : [shared]),
        ...setRestoring(set, MEMBER_NOUNS[counting], members, input.restore),
      ].map((condition): Condition => withTime(set, condition, now)),
      ...replicaFailure([...failures, ...failedStarts(set, active, now)]),
      ...housekeepingFailure(failures, now),
    ],
  };
  const wanted = { replicas: set.spec.replicas, isToRun: isToRun(set), deadlineSeconds: REFUSAL_SECONDS };
  const readiness = setReadiness(wanted, status, now);
  return { ...status, conditions: [...readinessConditions(set, readiness, now), ...(status.conditions ?? [])] };
}

/** Whether the members of a set are meant to start by themselves. */
export const isToRun = ({
  kind,
  spec,
}: Pick<StoredSet, 'kind'> & { spec: Pick<StoredSet['spec'], 'template'> }): boolean =>
  kind === 'VirtualMachineInstanceReplicaSet' || runsByItself(spec.template);

/** `Progressing`: True while VMs come or go, with the reason why that takes time. */
function progressing({
  set,
  replicas: all,
  members,
  counting,
  waiting,
}: ReplicaSetStatusInput): UntimedCondition<'Progressing'> {
  const { replicas, paused: isPaused } = set.spec;
  const { active, present, ended, unknown, unmatched, orphans } = members;
  const going = all.filter(({ deleting }) => deleting);
  if (set.metadata.deletionTimestamp !== undefined)
    return { type: 'Progressing', status: 'True', reason: 'Deleting', message: deletion(set, all, waiting) };
  const sentences = [
    `${active.length} of ${replicas} ${MEMBER_NOUNS[counting]} exist`,
    ...(going.length === 0
      ? []
      : [`${vmNames(going)} being deleted, and ${TERMINATING_COUNTS[counting]}`, ...formatTerminating(going)]),
    ...formatWaiting(waiting),
    ...(unknown.length === 0
      ? []
      : [`on nodes that do not answer, and ${UNKNOWN_COUNTS[counting]}: ${vmNames(unknown)}`]),
    ...(counting === 'strict' || ended.length === 0 ? [] : [`ended, and to be deleted: ${vmNames(ended)}`]),
    ...(unmatched.length === 0 ? [] : [`to be released: ${vmNames(unmatched)}`]),
    ...(orphans.length === 0 ? [] : [`to be adopted: ${vmNames(orphans)}`]),
  ];
  const message = inOneMessage(sentences);
  if (isPaused === true) return { type: 'Progressing', status: 'False', reason: 'Paused', message };
  if (present.size > replicas) return { type: 'Progressing', status: 'True', reason: 'ScalingIn', message };
  if (active.length < replicas) return { type: 'Progressing', status: 'True', reason: 'ScalingOut', message };
  return { type: 'Progressing', status: 'False', reason: 'Complete', message };
}

/** Names what is left, because something else may hold it, such as a finalizer. */
function deletion(
  { metadata: { finalizers = [] } }: StoredSet,
  remaining: MembersInput['replicas'],
  waiting: number,
): string {
  const what = 'the set is being deleted';
  if (finalizers.includes(ORPHAN_FINALIZER)) return `${what}, and what it owns is not`;
  if (remaining.length === 0) return what;
  return [
    `${what}, and goes after ${vmNames(remaining)}`,
    ...formatTerminating(remaining),
    ...formatWaiting(waiting),
  ].join('; ');
}

const paused = ({ spec }: StoredSet): UntimedCondition<'Paused'> =>
  spec.paused === true
    ? { type: 'Paused', status: 'True', reason: 'PausedBySpec', message: 'spec.paused is true' }
    : { type: 'Paused', status: 'False', reason: 'NotPaused', message: '' };

/** Formats a selector as the scale subresource and `kubectl -l` have it: `app=web,tier in (a,b),!old`. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    switch (operator) {
      case 'Exists':
        return key;
      case 'DoesNotExist':
        return `!${key}`;
      case 'In':
        return `${key} in (${values.join(',')})`;
      case 'NotIn':
        return `${key} notin (${values.join(',')})`;
    }
  });
  return [...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`), ...expressions].join(',');
}

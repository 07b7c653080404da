import { conditionOf } from '../../api/objects.ts';
import type { Condition } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import { formatNames } from '../lib/names.ts';
import { HOUSEKEEPING, housekeepingOf, type HousekeepingKind, type HousekeepingReason } from './housekeeping.ts';
import { refusedLast, type RefusedVms } from './refused-vms.ts';

export type FailureReason = ConditionReason<'ReplicaFailure'> | HousekeepingReason;

/** A failure to bring a pool or a set to its spec, from when it began until it passes. */
export interface Failure {
  reason: FailureReason;
  message: string;
  /** RFC 3339: since when. */
  since: string;
}

/** What failures of one kind leave to the next plan. Those of other kinds have nothing to do with it. */
export interface Backoff {
  /** Null once it has passed: what was refused is still tried last. */
  failure: Failure | null;
  /** How many VMs may be begun on now; null for no limit. */
  allowance: number | null;
  /** VMs that the API server refused to act on: others go first. */
  refused: RefusedVms;
}

/** By the reason of the failures; none for what has not failed. */
export type Backoffs = Partial<Record<FailureReason, Backoff>>;

/** What a step is, as far as that says which failure it may have. */
interface StepKind {
  kind: string;
  /** Of VMs that are created. */
  role?: 'Standby' | 'Surge';
  /** Why VMs are released. */
  because?: string;
  /** VMs, or claims, that it acts on, each by itself. */
  vms?: readonly { name: string }[];
  claims?: readonly { name: string }[];
}

/** Each by itself: a quota that stops extra VMs alone slows down no replica. */
const FAILURE_OF_ROLE = { Standby: 'FailedStandby', Surge: 'FailedSurge' } as const;

const FAILURE_OF_KIND: Partial<Record<string, FailureReason>> = {
  addFinalizer: 'FailedFinalizer',
  removeFinalizer: 'FailedFinalizer',
  recordUid: 'FailedFinalizer',
  create: 'FailedCreate',
  createReplicas: 'FailedCreate',
  deleteKeptDisks: 'FailedCreate',
  promoteStandby: 'FailedPromote',
  setStandbyState: 'FailedStandby',
  delete: 'FailedDelete',
  halt: 'FailedDelete',
  release: 'FailedDelete',
  adopt: 'FailedAdopt',
  adoptNamed: 'FailedAdopt',
  ...HOUSEKEEPING,
};

/** As which failure it counts that a step is refused; null for a step whose failures are another's. */
export function failureOf({ kind, role, because }: StepKind): FailureReason | null {
  if (kind === 'release' && because !== undefined) return 'FailedRelease';
  const failure = FAILURE_OF_KIND[kind] ?? null;
  return failure === 'FailedCreate' && role !== undefined ? FAILURE_OF_ROLE[role] : failure;
}

/**
 * Which names in progress are those of steps that may have this failure; null if the steps are about no VMs. The most
 * important failure comes first: the status has one condition for all of these.
 */
export const OPERATIONS = {
  FailedFinalizer: null,
  FailedCreate: 'creating',
  FailedStart: 'creating',
  FailedPromote: 'creating',
  FailedDelete: 'deleting',
  FailedStandby: 'standby',
  FailedSurge: 'creating',
  FailedAdopt: 'creating',
  FailedRelease: 'deleting',
} as const satisfies Record<ConditionReason<'ReplicaFailure'>, string | null>;

type Operation = Exclude<(typeof OPERATIONS)[keyof typeof OPERATIONS], null>;

interface Limited {
  backoffs: Backoffs;
  /** How many VMs may be in flight at once. */
  burst: number;
}

/** What is in flight if a step is being carried out that may have this failure; null if no name tells. */
export const operationOf = (reason: FailureReason): HousekeepingKind | Operation | null =>
  isOfHousekeeping(reason) ? housekeepingOf(reason)! : OPERATIONS[reason];

/** How many VMs may be begun on now by steps that may have this failure. */
export const allowanceOf = ({ backoffs, burst }: Limited, reason: FailureReason): number =>
  Math.max(Math.min(backoffs[reason]?.allowance ?? burst, burst), 0);

/** Whether a step that is about no VMs may be tried now. */
export const mayTry = ({ backoffs }: Pick<Limited, 'backoffs'>, reason: FailureReason): boolean =>
  backoffs[reason]?.allowance !== 0;

export const refusedOf = ({ backoffs }: Pick<Limited, 'backoffs'>, reason: FailureReason): RefusedVms | undefined =>
  backoffs[reason]?.refused;

/** Returns the steps without housekeeping that waits to be tried again; what was refused comes last. */
export const withoutDelayed = <S extends StepKind>(limited: Pick<Limited, 'backoffs'>, steps: readonly S[]): S[] =>
  steps.flatMap((step) => (step.kind in HOUSEKEEPING ? undelayed(limited, step) : [step]));

function undelayed<S extends StepKind>(limited: Pick<Limited, 'backoffs'>, step: S): S[] {
  const reason = failureOf(step)!;
  if (!mayTry(limited, reason)) return [];
  const about = step.claims === undefined ? 'vms' : 'claims';
  const all = step[about] ?? [];
  // There are steps about the pool's own record alone, with no VM.
  if (all.length === 0) return [step];
  const tried = refusedLast(all, ({ name }) => name, refusedOf(limited, reason));
  return tried.length === 0 ? [] : [{ ...step, [about]: tried }];
}

/**
 * Returns the failures that still stand: each for as long as a plan would have a step of its kind if this failure alone
 * did not hold it back. Whatever makes a step due makes its failure stand. A failure that passed earlier would take its
 * delay along, and the step would be tried again at once, and so on without end.
 * `stepsWithout`: the steps of a plan with these back-offs, and without any other limit; `tidying`: all housekeeping
 * that is due.
 */
export function openFailures(
  { backoffs, inProgress }: { backoffs: Backoffs; inProgress: Partial<Record<string, readonly string[]>> },
  stepsWithout: (backoffs: Backoffs) => readonly StepKind[],
  tidying: () => readonly StepKind[],
): Failure[] {
  return failuresOf(backoffs).filter(({ reason }) => {
    if (isOfHousekeeping(reason)) return tidying().some((step) => failureOf(step) === reason);
    const operation = OPERATIONS[reason];
    // What is being tried now tells itself how it ends.
    if (operation !== null && (inProgress[operation] ?? []).length > 0) return true;
    const { [reason]: _own, ...others } = backoffs;
    return stepsWithout(others).some((step) => failureOf(step) === reason);
  });
}

const isOfHousekeeping = (reason: FailureReason): reason is HousekeepingReason => housekeepingOf(reason) !== undefined;

const RANKING: readonly FailureReason[] = [
  ...(Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[]),
  ...Object.values(HOUSEKEEPING),
];

export const failuresOf = (backoffs: Backoffs): Failure[] =>
  RANKING.flatMap((reason) => backoffs[reason]?.failure ?? []);

interface NotStarting {
  name: string;
  /** In KubeVirt's words; null for one that starts or runs. */
  whyNotStarting: string | null;
}

/** What keeps members from starting, as a failure since the status has said so; none if nothing does. */
export function failedStarts(
  { status }: { status?: { conditions?: Condition[] } | undefined },
  members: readonly NotStarting[],
  now: string,
): Failure[] {
  const hindered = members.filter(({ whyNotStarting }) => whyNotStarting !== null);
  if (hindered.length === 0) return [];
  const before = conditionOf(status, 'ReplicaFailure');
  const alike = Map.groupBy(hindered, ({ whyNotStarting }) => whyNotStarting);
  const sentences = [...alike].map(([why, some]) => `${formatNames(some.map(({ name }) => name))}: ${why}`);
  const message = inOneMessage([
    hindered.length === 1 ? '1 VM cannot start' : `${hindered.length} VMs cannot start`,
    ...sentences.toSorted(),
  ]);
  const since = before?.reason === 'FailedStart' ? (before.lastTransitionTime ?? now) : now;
  return [{ reason: 'FailedStart', message, since }];
}

const MESSAGE_LENGTH = 4_096;
const SENTENCE_LENGTH = 1_024;

/** `ReplicaFailure`: has the reason of the most important failure, and names all. There only while one stands. */
export const replicaFailure = (failures: readonly Failure[]): Condition[] =>
  failureCondition(
    'ReplicaFailure',
    failures.filter(({ reason }) => !isOfHousekeeping(reason)),
  );

/** Housekeeping can wait: a failure that passes within a minute is not reported. */
const UNTOLD_MS = 60_000;

/** `HousekeepingFailure`: likewise, of housekeeping that has failed for a minute. `now`: RFC 3339. */
export const housekeepingFailure = (failures: readonly Failure[], now: string): Condition[] =>
  failureCondition(
    'HousekeepingFailure',
    failures.filter(
      ({ reason, since }) => isOfHousekeeping(reason) && Date.parse(now) - Date.parse(since) >= UNTOLD_MS,
    ),
  );

function failureCondition(type: 'ReplicaFailure' | 'HousekeepingFailure', failures: readonly Failure[]): Condition[] {
  const [first, ...others] = failures.toSorted((a, b) => RANKING.indexOf(a.reason) - RANKING.indexOf(b.reason));
  if (first === undefined) return [];
  const { reason, message, since } = first;
  const sentences = [message, ...others.map((other) => `${other.reason}: ${other.message}`)];
  const short = sentences.map((sentence) => sentence.slice(0, SENTENCE_LENGTH));
  const all = inOneMessage(short, { length: MESSAGE_LENGTH });
  return [{ type, status: 'True', reason, message: others.length === 0 ? message : all, lastTransitionTime: since }];
}

import { ApplicationFailure, Context, log } from '@temporalio/activity';
import { OWNER_KINDS, type VmOwnerKind } from '../../api/owner-kinds.ts';

interface PlannedOwner {
  kind: VmOwnerKind;
  namespace: string;
  name: string;
}

/** Called for each plan: how long the decisions took, and whether one has thrown. */
export type OnPlanned<P = unknown> = (planned: PlannedOwner & { seconds: number; isFailed: boolean; plan: P }) => void;

/** Makes a plan. `error`: a bug in drover that kept a plan from being made; the status has the reason. */
export function planned<P>(
  owner: PlannedOwner,
  make: () => { plan: P; error: Error | null },
  onPlanned?: OnPlanned<P>,
): P {
  const began = performance.now();
  const { plan, error } = make();
  onPlanned?.({ ...owner, seconds: (performance.now() - began) / 1_000, isFailed: error !== null, plan });
  if (error !== null) {
    const { kind, namespace, name } = owner;
    const about = { owner: `${namespace}/${name}`, error: error.stack ?? error.message };
    log.error(`no plan could be made for a ${OWNER_KINDS[kind].noun}: its condition Stalled has the reason`, about);
  }
  return plan;
}

/** How far the clock of a caller may be from that of the worker. */
const SKEW_MS = 60_000;

/** Returns the id of the workflow of a pool or a replica set. */
export type OwnerIdOf = (kind: VmOwnerKind, ref: { namespace: string; name: string }) => string;

/**
 * Throws a `Refused` unless the workflow of the owner asks itself, by a local activity: only the code of a worker makes
 * one, and only the answer to the workflow's current task counts.
 */
export function requireOwnLocalCall(
  ownerIdOf: OwnerIdOf,
  kind: VmOwnerKind,
  { namespace, name }: { namespace: string; name: string },
): void {
  const { isLocal, workflowExecution } = Context.current().info;
  const id = ownerIdOf(kind, { namespace, name });
  if (isLocal && workflowExecution?.workflowId === id) return;
  const message = `the ${OWNER_KINDS[kind].noun} ${namespace}/${name} is planned for its workflow ${id} alone, locally`;
  throw ApplicationFailure.nonRetryable(message, 'Refused');
}

/** Returns the time that a workflow gives, or the nearest one within a minute of the worker's: none is made to pass. */
export const clampedNow = (given: number, now = Date.now()): number =>
  Math.min(Math.max(given, now - SKEW_MS), now + SKEW_MS);

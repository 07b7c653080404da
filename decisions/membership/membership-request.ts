import { MEMBERSHIP_REQUEST_ANNOTATION, MEMBERSHIP_REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { HandledRequest, HealingStatus } from '../../api/pool/pool.ts';
import { HANDOVER_REQUEST } from '../../api/requests/handover.ts';
import { formatNames } from '../lib/names.ts';
import { name, optional, taggedBy, whole, type Reader } from '../lib/payload-reader.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import {
  isNewPool,
  NEW_POOL,
  unhandledRequest,
  withAnswer,
  type Answer,
  type ReadRequest,
  type RequestNames,
} from '../owners/request.ts';
import type { PoolStep } from '../owners/steps.ts';
import type { StoredPool } from '../views/pool.ts';
import { isReleasing, membershipChangeOf, type MembersReport } from './change.ts';
import { busyWith } from './condition.ts';
import { isRestoring } from './restore.ts';

/** Where what users ask of who a pool's VMs are stands on the pool. */
export const MEMBERSHIP_REQUESTS: RequestNames = {
  request: MEMBERSHIP_REQUEST_ANNOTATION,
  requestedBy: MEMBERSHIP_REQUESTED_BY_ANNOTATION,
};

/**
 * What users ask of all VMs, those of the KubeVirt pool that has the pool's name, or its own. `uid`, `generation`:
 * of the KubeVirt pool that was looked at; absent if there was none any more.
 */
export type MembershipRequest = { action: 'takeover'; uid?: string; generation?: number } | { action: 'release' };

/** The most VMs that an answer names. */
export const MOST_MOVED = 500;

const membershipRequest: Reader<MembershipRequest> = taggedBy<'action', MembershipRequest>('action', {
  takeover: { uid: optional(name), generation: optional(whole) },
  release: {},
});

/** A request that its pool's status does not answer yet. */
type FoundMembershipRequest = ReadRequest<MembershipRequest>;

/** Returns the request that stands on the pool without an answer; null if there is none. */
export function membershipRequestOf({ metadata: { annotations }, status }: StoredPool): FoundMembershipRequest | null {
  const handled = status?.membership?.handledRequests;
  const found = unhandledRequest(annotations, MEMBERSHIP_REQUESTS, membershipRequest, handled);
  if (found === null || 'fault' in found) return found;
  const { body, ...rest } = found;
  const isPlain = new RegExp(HANDOVER_REQUEST).test(annotations![MEMBERSHIP_REQUEST_ANNOTATION]!);
  return isPlain ? found : { ...rest, fault: `"action": "${body.action}" must be written without escapes` };
}

/** Returns the request that a worker may carry out: one without an answer that the pool, as it is, does not refuse. */
export function permittedRequestOf(pool: StoredPool): Extract<FoundMembershipRequest, { body: object }> | null {
  const found = membershipRequestOf(pool);
  return found === null || 'fault' in found || whyNot(pool) !== null ? null : found;
}

/** What a plan makes of the request on its pool. */
export interface MembershipPlan {
  steps: PoolStep[];
  /** The answers for the status; undefined if nothing was ever asked. */
  handledRequests: HandledRequest[] | undefined;
}

interface Input extends Pick<PlanInput, 'pool' | 'inProgress' | 'batches' | 'now'> {
  /** State of healing; null or absent if only the pool's status can tell. */
  healing?: Pick<HealingStatus, 'cycles'> | null;
  /** What has become of the request; absent until that is known. */
  membership?: MembersReport;
}

/**
 * Returns the step that carries out the request on the pool, or else its answer: refused for the whole pool, or what a
 * worker reports.
 */
export function planMembership(input: Input): MembershipPlan {
  const { pool, now, membership: report } = input;
  const handledRequests = pool.status?.membership?.handledRequests;
  const found = membershipRequestOf(pool);
  if (found === null) return { handledRequests, steps: [] };
  const answer = answerOf(pool, found, report);
  if (answer === null && isFinishing(input)) return { handledRequests, steps: [] };
  if (answer === null) return { handledRequests, steps: [{ kind: 'changeMembers', reason: reasonOf(found) }] };
  const at = new Date(now).toISOString();
  const { moved, ...rest } = answer;
  const handled = moved === undefined ? found : { ...found, vms: moved };
  return { handledRequests: withAnswer(handledRequests, handled, rest, at), steps: [] };
}

const reasonOf = ({ action, by }: FoundMembershipRequest): string => `${action}: ${by} asks for it`;

/** Whether the pool, whose VMs are all to leave, first finishes what it had begun: it is held by now. */
const isFinishing = ({ pool, healing, ...input }: Input): boolean =>
  isReleasing(pool) && busyWith(input, (healing ?? pool.status?.healing)?.cycles ?? []).length > 0;

/** Null if a worker has yet to carry the request out. */
function answerOf(
  pool: StoredPool,
  found: FoundMembershipRequest,
  report: MembersReport | undefined,
): (Answer & { moved?: string[] }) | null {
  if ('fault' in found) return { outcome: 'Invalid', message: found.fault };
  const reason = whyNot(pool);
  if (reason !== null) return { outcome: 'Refused', message: reason, moved: [] };
  if (report?.digest !== found.digest) return null;
  const { moved: all, refused, note } = report;
  const moved = all.slice(0, MOST_MOVED);
  if (refused !== undefined) return { outcome: 'Refused', message: refused, moved };
  const is = MOVED[found.body.action];
  const sentences = [...(all.length === 0 ? [] : [`${is} ${formatNames(all)}`]), ...(note === undefined ? [] : [note])];
  return { outcome: 'Done', message: sentences.join('; ') || 'no VM to move', moved };
}

const MOVED: Record<MembershipRequest['action'], string> = {
  takeover: 'taken over',
  release: 'released',
};

/** Why none of the pool's members may change now; null if they may. */
function whyNot(pool: StoredPool): string | null {
  if (pool.metadata.deletionTimestamp !== undefined) return 'the pool is being deleted';
  // By its status alone: a workflow that knows the pool may have failed to write its refusal there.
  if (isNewPool(pool)) return NEW_POOL;
  if (isRestoring(pool)) return 'the pool is being restored from a backup: ask again once its VMs are complete';
  return membershipChangeOf(pool) === 'unreadable'
    ? "its annotation drover.dev/membership-change can't be read: remove it"
    : null;
}

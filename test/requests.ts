import { HEALING_REQUEST_ANNOTATION, HEALING_REQUESTED_BY_ANNOTATION } from '../api/labels-and-annotations.ts';
import type { PoolSpec, PoolStatus } from '../api/pool/pool.ts';
import { field } from '../decisions/lib/json.ts';
import { MEMBERSHIP_REQUESTS, type MembershipRequest } from '../decisions/membership/membership-request.ts';
import { digestOf, type RequestNames } from '../decisions/owners/request.ts';
import { HEALING_REQUESTS, type HealingRequest } from '../decisions/pool/healing-request.ts';
import { ROLLOUT_REQUESTS, type RolloutRequest } from '../decisions/rollout/state/rollout-request.ts';
import { revisionOf } from '../decisions/template/revision.ts';
import { poolTemplate } from '../decisions/template/template.ts';
import { KubeError } from '../kubernetes/errors.ts';

/** Who asks, why, and under which id. */
export interface Asking {
  by?: string;
  reason?: string;
  id?: string;
}

type Asked = { annotations: Record<string, string>; digest: string };

let count = 0;

function annotationsOf(names: RequestNames, asked: object, { by = 'a test', reason: why, id }: Asking): Asked {
  const request = { id: id ?? `test-${++count}`, ...asked, ...(why === undefined ? {} : { reason: why }) };
  const text = JSON.stringify(request);
  return { annotations: { [names.request]: text, [names.requestedBy]: by }, digest: digestOf(text) };
}

/** The annotations by which users ask something of the rollout of a pool as it is. */
export function rolloutRequest(
  { spec, status }: { spec: PoolSpec; status?: PoolStatus | undefined },
  action: RolloutRequest['action'],
  { full = false, ...asking }: Asking & { full?: boolean } = {},
): Asked {
  const revision = revisionOf(poolTemplate(spec));
  const known = status?.rollout?.revision === revision ? status.rollout : undefined;
  const step = full ? { full } : { step: (known?.step ?? 0) + 1 };
  const asked = { action, ...(action === 'pause' ? {} : { revision }), ...(action === 'promote' ? step : {}) };
  return annotationsOf(ROLLOUT_REQUESTS, asked, asking);
}

/** The same of its healing. */
export const healingRequest = (request: HealingRequest, asking: Asking = {}): Asked =>
  annotationsOf(HEALING_REQUESTS, request, asking);

/** The same of who its VMs are. */
export const membershipRequest = (request: MembershipRequest, asking: Asking = {}): Asked =>
  annotationsOf(MEMBERSHIP_REQUESTS, request, asking);

/** Refuses, as the policy `requested-by.drover.dev` does, a request in nobody's name. */
export function refuseNameless(patch: unknown): void {
  const [request, by] = [HEALING_REQUEST_ANNOTATION, HEALING_REQUESTED_BY_ANNOTATION].map((name) =>
    field(patch, 'metadata', 'annotations', name),
  );
  if (typeof request === 'string' && by === '')
    throw new KubeError(422, 'Invalid', `the annotation ${HEALING_REQUESTED_BY_ANNOTATION} must be a worker`);
}

import { CAPS } from '../../api/lib/caps.ts';
import { MEMBERSHIP_REQUESTS } from '../../decisions/membership/membership-request.ts';
import type { Annotations } from '../../decisions/owners/request.ts';
import { HEALING_REQUESTS } from '../../decisions/pool/healing-request.ts';
import { ROLLOUT_REQUESTS } from '../../decisions/rollout/state/rollout-request.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';

/** How long an annotation that is remembered may be. */
const LENGTH = 4_096;
const REQUESTS: ReadonlySet<string> = new Set(
  [ROLLOUT_REQUESTS, HEALING_REQUESTS, MEMBERSHIP_REQUESTS].flatMap(({ request, requestedBy }) => [
    request,
    requestedBy,
  ]),
);

/**
 * What users have lately asked of pools, as this worker has seen it on them: a request may be overwritten by the next
 * one before the status that answers it is written.
 */
export class RequestsSeen {
  readonly #ofPools = new Map<string, Annotations[]>();

  constructor(cache: Pick<ClusterCache, 'subscribe'>) {
    cache.subscribe((change) => {
      if (change.kind !== 'pool') return;
      const { before, after } = change;
      if (after !== undefined) this.#remember(after.metadata);
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid)
        this.#ofPools.delete(before.metadata.uid);
    });
  }

  /** The annotations that the pool has had, the oldest first. */
  of(uid: string): readonly Annotations[] {
    return this.#ofPools.get(uid) ?? [];
  }

  #remember({ uid, annotations }: { uid: string; annotations?: Annotations | undefined }): void {
    const requests = Object.fromEntries(
      Object.entries(annotations ?? {}).filter(([name, text]) => REQUESTS.has(name) && text.length <= LENGTH),
    );
    const known = this.#ofPools.get(uid) ?? [];
    if (Object.keys(requests).length === 0 || JSON.stringify(known.at(-1)) === JSON.stringify(requests)) return;
    this.#ofPools.set(uid, [...known, requests].slice(-CAPS.requestsSeen));
  }
}

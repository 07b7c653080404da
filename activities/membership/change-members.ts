import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { MembersReport } from '../../decisions/membership/change.ts';
import { permittedRequestOf } from '../../decisions/membership/membership-request.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { handOver } from './hand-over.ts';
import { MembersRun } from './members-run.ts';

/** `report`: null if nothing is requested of the pool any longer. `minVersions`: what a later plan must have seen. */
export interface MembersChanged {
  report: MembersReport | null;
  minVersions: ResourceVersions;
}

/** Carries out the request on the pool. An attempt that was cut short anywhere is continued by the next. */
export async function changeMembers(client: KubeClient, key: PoolKey, concurrency: number): Promise<MembersChanged> {
  const run = new MembersRun(client, key, concurrency);
  const pool = await run.pool();
  const permitted = pool === undefined ? null : permittedRequestOf(pool);
  const report = permitted === null ? null : await handOver(run, permitted);
  return { report, minVersions: run.minVersions };
}

import { expect } from 'vitest';
import { ResourceQuotas, type Resource } from '../../api/resources.ts';
import { until, type TestFleet } from './fleet.ts';

/**
 * Limits a namespace to so many objects of a kind. The stack runs no quota controller, so the test writes the quota's
 * status; the API server's admission does the rest.
 */
export async function setQuota(
  { kube }: TestFleet,
  namespace: string,
  { group, plural }: Resource,
  { hard, used }: { hard: number; used: number },
): Promise<void> {
  const key = { namespace, name: plural };
  const count = `count/${plural}.${group}`;
  const spec = { hard: { [count]: String(hard) } };
  await kube.patch(ResourceQuotas, key, 'apply', { metadata: key, spec }, { force: true });
  const status = { ...spec, used: { [count]: String(used) } };
  await kube.patch(ResourceQuotas, key, 'merge', { status }, { subresource: 'status' });
  // The admission plugin reads quotas from its own cache.
  await until(async () => expect((await kube.get(ResourceQuotas, key))['status']).toMatchObject(spec));
}

import { expect, test } from 'vitest';
import './virtual-pauses.ts';
import { readManifests, right, rightsOf } from '../../deploy/rights.ts';
import { Cluster } from './handover-cluster.ts';

const roleIn = (file: string): string[] => rightsOf(readManifests(file).find(({ kind }) => kind === 'ClusterRole')!);

test('takeovers and releases use what the component grants, and otherwise only what every worker has', async () => {
  const used = new Set<string>();
  const cluster = new Cluster();
  cluster.before = async ({ verb, resource: { plural, group }, subresource }) =>
    void used.add(right(verb, group, plural, subresource));
  cluster.kubeVirtPool('web-0', 'web-1');
  await cluster.takeOver();
  await cluster.release();

  const own = roleIn('rbac/worker.yaml');
  const others = [...used].filter((one) => !own.includes(one)).sort();
  // No call needs this one; OpenShift's admission does when a VM gets its owner.
  const granted = roleIn('components/takeover/role.yaml').filter((one) => !one.endsWith('/finalizers'));
  expect(others).toEqual(granted.sort());
});

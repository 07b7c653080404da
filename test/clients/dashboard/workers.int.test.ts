import { expect, onTestFinished, test } from 'vitest';
import { Deployments } from '../../../api/resources.ts';
import type { Globals } from '../../../clients/cli/globals.ts';
import { missingWorkers } from '../../../clients/dashboard/fleet/workers.ts';
import { Session } from '../../../clients/session/session.ts';
import { aFleet } from '../../integration/fleet.ts';

const fleet = aFleet();

function aSession(globals: Partial<Globals> = {}): Session {
  const session = new Session({ kubeconfig: fleet().stack.kubeconfig, cluster: 'default', ...globals });
  onTestFinished(() => session.close());
  return session;
}

test('Temporal tells that no worker polls, and that one does', async () => {
  const address = fleet().stack.env['TEMPORAL_ADDRESS']!;
  expect(await missingWorkers(aSession({ address }))).toBeNull();
  expect(await missingWorkers(aSession({ address, cluster: 'nobody' }))).toEqual({
    sentence: 'no worker polls the task queue drover/nobody: nothing happens',
    since: null,
  });
});

test('without Temporal, a Deployment of workers tells whether one is available, and since when not', async () => {
  const { kube } = fleet();
  const namespace = await fleet().namespace();
  const key = { namespace, name: 'drover-worker' };
  const component = { 'app.kubernetes.io/component': 'worker' };
  await kube.create(Deployments, {
    metadata: { ...key, labels: { 'app.kubernetes.io/name': 'drover' } },
    spec: {
      selector: { matchLabels: component },
      template: { metadata: { labels: component }, spec: { containers: [{ name: 'worker', image: 'drover' }] } },
    },
  });
  const since = '2026-01-01T00:00:00Z';
  const judge = (availableReplicas: number): Promise<unknown> => {
    const conditions = [
      { type: 'Available', status: availableReplicas > 0 ? 'True' : 'False', lastTransitionTime: since },
    ];
    const status = { replicas: 1, readyReplicas: availableReplicas, availableReplicas, conditions };
    return kube.patch(Deployments, key, 'merge', { status }, { subresource: 'status' });
  };
  await judge(0);
  expect(await missingWorkers(aSession())).toEqual({
    sentence: `no worker is available: no pod of Deployment ${namespace}/drover-worker is ready`,
    since,
  });
  await judge(1);
  expect(await missingWorkers(aSession())).toBeNull();
});
